"""What reads found in the page cache, and which threads read and wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import HOST, PID, StageSpec, World, mono

from pyrometer.accounts.io import COUNTED, ESTIMATED
from pyrometer.accounts.window import open_scope
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary
from pyrometer.window.counters import define_series

MB = 1_000_000
STAGES = [StageSpec([40, 40], iteration=0)]
CALLS = ("read", "pread64", "io_submit")


def shown(made: World, folder: Path) -> Summary:
    with Run.open(made.write(folder)) as run:
        return summary(run, "application")


def test_hits_are_counted_where_calls_on_files_were_traced_else_estimated(tmp_path: Path) -> None:
    made = World(STAGES)
    read = {r["name"]: r["value"] for r in made.rows["os_series"] if r["name"].endswith("r_bytes")}
    estimated = shown(made, tmp_path / "estimated").io.page_cache
    assert estimated.source == ESTIMATED
    assert estimated.hit_bytes is not None
    assert estimated.missed_bytes is not None
    asked = estimated.hit_bytes + estimated.missed_bytes
    assert asked == pytest.approx(read["rchar_bytes"], rel=0.02)
    for call in CALLS:
        made.add(
            "io_latency", host=HOST, begin_mono_ns=mono(0), end_mono_ns=mono(made.end_ms),
            kind="read", device=None, pid=PID, operation=call, low_ns=1024, count=9, sum_ns=9000,
            bytes=MB,
        )  # fmt: skip
    counted = shown(made, tmp_path / "counted").io.page_cache
    assert counted.source == COUNTED
    assert counted.missed_bytes == min(estimated.missed_bytes, 2 * MB)
    assert counted.hit_bytes == pytest.approx(2 * MB - counted.missed_bytes, abs=2)


def test_a_process_that_two_probes_recorded_counts_once(tmp_path: Path) -> None:
    made = World(STAGES)
    # What a child read is in the first reading of its parent, which had waited for it by then.
    parent, child = PID + 700, PID + 701
    for pid, at, name, value in (
        (parent, 20, "start_time_mono_ns", mono(5)),
        (parent, 20, "parent_pid", PID),
        (parent, 20, "rchar_bytes", 5 * MB),
        (parent, 40, "rchar_bytes", 6 * MB),
        (child, 15, "start_time_mono_ns", mono(10)),
        (child, 15, "parent_pid", parent),
        (child, 15, "rchar_bytes", 2 * MB),
    ):
        made.add("os_series", host=HOST, scope=f"process/{pid}", name=name, t_mono_ns=mono(at),
                 value=value)  # fmt: skip

    def grown(folder: Path) -> list[tuple[object, ...]]:
        with Run.open(made.write(folder)) as run:
            define_series(open_scope(run, "application"))
            return run.tables.query("FROM w_series ORDER BY ALL")

    once = grown(tmp_path / "once")
    bytes_of = {row[1]: row[3] for row in once if row[2] == "rchar_bytes"}
    assert bytes_of[f"process/{child}"] == 2 * MB
    assert bytes_of[f"process/{parent}"] == (5 - 2 + 1) * MB
    of_processes = [r for r in made.rows["os_series"] if r["scope"].startswith("process/")]
    made.rows["os_series"] += of_processes
    assert grown(tmp_path / "twice") == once


def test_nothing_is_told_of_the_cache_without_the_counters_of_processes(tmp_path: Path) -> None:
    made = World(STAGES)
    del made.rows["os_series"]
    cache = shown(made, tmp_path).io.page_cache
    assert cache.hit_bytes is None
    assert cache.reason


def test_what_threads_wrote_counts_once_and_only_after_their_first_reading(tmp_path: Path) -> None:
    made = World(STAGES)
    # Bytes as first seen, unread as it woke up, after it had written; another one of its number.
    for at, value in ((10, 7 * MB), (50, None), (60, 10 * MB), (70, 1 * MB), (75, 2 * MB)):
        made.add(
            "thread_counters", host=HOST, pid=PID, tid=PID + 900, t_mono_ns=mono(at),
            comm="shuffle-server", run_ns=at, run_delay_ns=0, timeslices_count=at,
            rchar_bytes=value, wchar_bytes=value, read_bytes=0, written_bytes=value,
            first=at in (10, 70), last=False,
        )  # fmt: skip
    roles = {part.role: part for part in shown(made, tmp_path).io.threads}
    assert roles["helper"].wchar_bytes == pytest.approx(4 * MB, abs=2)
    assert (roles["helper"].threads_count, roles["helper"].read_bytes) == (1, 0)
