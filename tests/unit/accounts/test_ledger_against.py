"""Of a time that one side did not measure there is no difference, but the reason."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from tests.support.tables import HOST, MS, PID, StageSpec, World, mono

from pyrometer.accounts import cpu
from pyrometer.accounts.ledger.core_view import NOT_IN_STAT
from pyrometer.accounts.ledger.delays import NO_PROBE
from pyrometer.accounts.ledger.report import ledger_against
from pyrometer.accounts.ledger.schema import LedgerReport, RowDifference
from pyrometer.accounts.ledger.terminal import difference_lines
from pyrometer.accounts.ledger.unseen import NO_EXITS, NO_GC_LOG, NOT_OBSERVED
from pyrometer.cli.main import run_verb
from pyrometer.terminal.drawing import Look, put

STAGES = [StageSpec([400, 300, 500, 200])]


def seen() -> World:
    return World(STAGES)


def unseen() -> World:
    """Give a run without a probe of the system, whose profiler took no wall samples."""
    made = World(STAGES)
    made.rows["samples"] = [row for row in made.rows["samples"] if row["event"] != "wall"]
    del made.rows["thread_counters"], made.rows["os_series"]
    return made


def against(folder: Path, a: list[World], b: list[World]) -> LedgerReport:
    sides = [
        [world.write(folder / f"{name}{number}") for number, world in enumerate(side)]
        for name, side in (("a", a), ("b", b))
    ]
    return ledger_against(*sides)


def slot_rows(report: LedgerReport) -> dict[str, RowDifference]:
    assert report.against is not None
    return {row.path: row for row in report.against.slot_view}


def core_rows(report: LedgerReport) -> dict[str, RowDifference]:
    assert report.against is not None
    return {row.path: row for row in report.against.core_view}


@pytest.mark.parametrize("words", [["--top", "5"], ["--by", "stage"], ["--stage", "0"]])
def test_options_of_parts_do_not_go_with_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    run = str(tmp_path)
    assert run_verb(["ledger", run, "--against", run, *words]) == 2
    assert f"--against cannot be combined with {words[0]}" in capsys.readouterr().err


def test_what_one_side_did_not_measure_is_no_change(tmp_path: Path) -> None:
    report = against(tmp_path, [seen()], [unseen()])
    rows = slot_rows(report)
    for path, why in (
        ("task/waiting", NOT_OBSERVED),
        ("task/waiting/block_io", NOT_OBSERVED),
        ("task/run_queue", NO_PROBE),
    ):
        row = rows[path]
        assert (row.difference.value, row.b_ns, row.share, row.reason) == (None, None, None, why)
        assert row.a_ns
    assert (rows["task"].difference.value, rows["task"].reason) == (0, None)
    assert report.against is not None
    assert {row.reason for row in report.against.core_view} == {cpu.NO_PROBE}


def test_what_would_have_been_seen_is_zero_where_it_was_not(tmp_path: Path) -> None:
    other = seen()
    for row in other.rows["samples"]:
        row["category"] = "filter" if row.get("category") else None
    decode = slot_rows(against(tmp_path, [seen()], [other]))["task/on_cpu/decode"]
    assert decode.a_ns
    assert (decode.b_ns, decode.reason) == (0, None)
    assert decode.difference.value == pytest.approx(-decode.a_ns)


def test_a_gc_log_without_a_pause_is_no_time_and_none_at_all_is_not_known(tmp_path: Path) -> None:
    paused, calm = seen(), seen()
    paused.add("gc_pauses", host=HOST, pid=PID, start_mono_ns=mono(150), duration_ns=10 * MS,
               collector="G1", kind="young")  # fmt: skip
    calm.add("safepoints", host=HOST, pid=PID, end_mono_ns=mono(150), operation="Cleanup",
             total_ns=MS)  # fmt: skip
    row = slot_rows(against(tmp_path / "log", [paused], [calm]))["task/gc_pause"]
    assert row.a_ns
    assert (row.b_ns, row.difference.value, row.reason) == (0, pytest.approx(-row.a_ns), None)
    row = slot_rows(against(tmp_path / "none", [paused], [seen()]))["task/gc_pause"]
    assert (row.b_ns, row.difference.value, row.reason) == (None, None, NO_GC_LOG)


def test_what_a_kernel_does_not_tell_is_not_known(tmp_path: Path) -> None:
    told, untold = seen(), seen()
    told.add("thread_counters", host=HOST, pid=90_000, tid=90_000, first=True, last=True,
             t_mono_ns=mono(300), comm="chmod", state="Z", run_ns=MS, run_delay_ns=0,
             timeslices_count=1)  # fmt: skip
    series = [row for row in untold.rows["os_series"] if row["name"] != "cpu_iowait_ns"]
    for row in series:
        if row["name"] == "cpu_ns" and row["value"]:
            row["value"] += 5 * MS
    untold.rows["os_series"] = series
    rows = core_rows(against(tmp_path, [told], [untold]))
    assert rows["exited_threads/process chmod"].reason == NO_EXITS
    assert rows["iowait"].reason == NOT_IN_STAT


def test_a_run_that_did_not_measure_a_time_does_not_count_for_it(tmp_path: Path) -> None:
    rows = slot_rows(against(tmp_path, [seen(), unseen()], [seen(), seen()]))
    waiting = rows["task/waiting"]
    assert waiting.a_ns == pytest.approx(waiting.b_ns)
    assert (waiting.difference.value, waiting.reason) == (pytest.approx(0), None)


def test_the_text_says_which_rows_are_not_known_and_why(tmp_path: Path) -> None:
    report = against(tmp_path, [seen()], [unseen()])
    console = Console(width=200, record=True, file=io.StringIO())
    put(console, difference_lines(report, Look(False, 40, 200), "slot", None))
    text = console.export_text()
    assert "not known" in text
    assert f"task/waiting: {NOT_OBSERVED}" in text
