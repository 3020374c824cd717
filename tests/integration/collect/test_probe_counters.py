"""Software counters against a thread of known doings; hardware ones as this machine has them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.integration.collect.test_probe import ingest, report_of, wait_until

from pyrometer.collect.probes.os import OsProbe, capabilities
from pyrometer.store import Tables
from pyrometer.store.paths import RunPaths

ROOT = Path(__file__).parents[3]
COUNTED = [sys.executable, "-S", str(ROOT / "tests" / "support" / "counted.py")]
SOFTWARE = {"task-clock", "context-switches", "cpu-migrations", "page-faults"}


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> tuple[RunPaths, dict[str, int]]:
    """One run of the program: its run directory, and what it says it did."""
    paths = RunPaths(tmp_path_factory.mktemp("counted"))
    paths.raw.mkdir()
    paths.tables.mkdir()
    probe = OsProbe(hz=50, host="h", counters="all")
    with subprocess.Popen(COUNTED, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        program.stdout.readline()
        probe.start(paths, program.pid)
        wait_until(lambda: report_of(paths)["counters"]["threads_count"] >= 2, "two threads opened")
        program.stdin.write(b"go\n")
        program.stdin.flush()
        done: dict[str, int] = json.loads(program.stdout.readline())
    probe.stop()
    ingest(paths)
    return paths, done


def grown(paths: RunPaths, tid: int) -> dict[str, int]:
    with Tables(paths.tables) as tables:
        rows = tables.query(
            "SELECT event, arg_max(value, t_mono_ns) - arg_min(value, t_mono_ns)"
            " FROM perf_counts WHERE tid = ? AND scope = 'thread' GROUP BY event",
            [tid],
        )
    return {event: int(value) for event, value in rows}


def test_what_a_thread_did_is_counted_to_its_end(counted):
    paths, done = counted
    found = grown(paths, done["tid"])
    assert set(found) >= SOFTWARE
    # The interpreter faults and waits besides: more where its pages were reclaimed.
    assert done["pages"] <= found["page-faults"] <= 1.9 * done["pages"]
    assert done["sleeps"] <= found["context-switches"]
    # Besides, the thread starts and ends; and its own clock may leave out what a hypervisor stole
    # while the kernel's counter does not, told in ticks of 10 ms.
    most = 1.03 * done["cpu_ns"] + done["stolen_ns"] + 23e6
    assert 0.97 * done["cpu_ns"] - 3e6 <= found["task-clock"] <= most
    if done["moves"]:
        # Told to run elsewhere, the scheduler moves it; it is free before and after.
        assert done["moves"] <= found["cpu-migrations"] <= done["moves"] + 10


def test_kernel_counters_never_take_turns_and_rows_are_few(counted):
    paths, _ = counted
    with Tables(paths.tables) as tables:
        turns = tables.scalar(
            "SELECT count(*) FROM perf_counts WHERE running_ns < enabled_ns AND event IN"
            f" ({', '.join(f'{chr(39)}{event}{chr(39)}' for event in sorted(SOFTWARE))})"
        )
        repeated = tables.scalar(
            "SELECT count(*) FROM (SELECT value = lag(value) OVER c AND value = lead(value) OVER c"
            " AS same FROM perf_counts WINDOW c AS (PARTITION BY tid, event ORDER BY t_mono_ns))"
            " WHERE same"
        )
    assert (turns, repeated) == (0, 0)


def test_every_event_that_was_tried_is_told(counted):
    paths, _ = counted
    counters: dict[str, Any] = report_of(paths)["counters"]
    events = {row["event"]: row for row in counters["events"]}
    assert set(events) >= SOFTWARE | {"cycles", "instructions", "LLC-load-misses"}
    for row in events.values():
        assert row["counted"] == (row["reason"] is None) == (row["remedy"] is None), row
    assert counters["threads_beyond_limit_count"] == 0
    assert all(row["reason"] and row["remedy"] for row in counters["traffic_refused"])


def test_doctor_tells_counters_bandwidth_and_energy_apart():
    found = {(one.name, one.tier): one for one in capabilities()}
    software = found["counters", "software"]
    assert software.available, software.reason
    for key in (("counters", "hardware"), ("bandwidth", "memory controllers"), ("energy", "RAPL")):
        one = found[key]
        assert one.available == (one.remedy is None), one
        assert one.reason
