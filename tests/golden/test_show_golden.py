"""What people and programs see of invented runs, kept word for word."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.support import golden
from tests.support.tables import MS, PID, StageSpec, World, mono

from pyrometer.accounts.ledger import terminal as ledger_terminal
from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.accounts.window import facts
from pyrometer.store import Run
from pyrometer.summary import screen, terminal
from pyrometer.summary.summary import summary

GOLDENS = (
    "screen-80.txt", "screen-findings-80.txt", "screen-log-80.txt",
    "screen-failed-60.txt", "full-80.txt", "full-120.txt",
    "full-ascii.txt", "log-80.txt", "failed-60.txt", "ledger-80.txt", "full.json", "ledger.json",
    "log.json",
)  # fmt: skip
LOG_ONLY = {"apps", "executors", "stages", "tasks", "sql_executions", "plan_nodes", "node_metrics"}


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a run in which every instrument worked, with hostile names."""
    world = World(
        [
            StageSpec([400, 300, 500, 200], iteration=0),
            StageSpec([400, 300, 500, 200, 700], iteration=1, gap_ms=50),
            StageSpec([300], iteration=1),
            StageSpec([300, 200], iteration=2),
        ]
    )
    for k, at in enumerate((300, 1200, 1500)):
        world.add(
            "gc_pauses",
            pid=PID,
            gc_id=k,
            start_mono_ns=mono(at),
            duration_ns=12 * MS,
            collector="G1",
            kind="young" if k else "full",
        )
        world.add(
            "safepoints", pid=PID, end_mono_ns=mono(at + 13), operation="G1", total_ns=13 * MS
        )
    for row in world.rows["tasks"]:
        row["jvm_gc_time_ns"] = 12 * MS
    return world.write(tmp_path_factory.mktemp("full"))


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a run of which only the event log is known."""
    world = World([StageSpec([400, 300, 500, 200]), StageSpec([90, 80])])
    return world.write(tmp_path_factory.mktemp("log"), only=LOG_ONLY)


@pytest.fixture(scope="module")
def failed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a run with failed attempts, an old log and no cores known."""
    world = World([StageSpec([400, 300, 500, 200]), StageSpec([90, 80])])
    for row in world.rows["tasks"]:
        row["executor_cpu_time_ns"] = None
    world.rows["tasks"][1].update(status="failed")
    world.rows["tasks"][2].update(status="killed")
    world.rows["executors"][0]["cores_count"] = None
    return world.write(tmp_path_factory.mktemp("failed"), only=LOG_ONLY)


def text(
    run: Path,
    width: int,
    view: Any = None,
    encoding: str = "utf-8",
    findings: Sequence[tuple[str, str]] = (),
) -> str:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=out, width=width, highlight=False, color_system=None)
    with Run.open(run) as opened:
        if view is None:
            terminal.show_sections(console, summary(opened), list(terminal.SECTIONS))
        elif view == "screen":
            screen.show(console, summary(opened), "RUN", findings=findings)
        elif view == "later":
            screen.show(console, summary(opened), "RUN", findings=None)
            screen.show_findings(console, summary(opened), "RUN", "pyrometer", findings)
        else:
            ledger_terminal.ledger(console, ledger_report(opened))
    out.seek(0)
    lines = [line.rstrip() for line in out.read().splitlines()]
    assert all(len(line) <= width for line in lines)
    return "\n".join(lines) + "\n"


def plain(value: Any, folder: Path) -> str:
    data = value.model_dump(mode="json", by_alias=True)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    data["run"]["run_dir"] = "RUN"
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def test_one_screen(full: Path, log: Path, failed: Path) -> None:
    shown = text(full, 80, view="screen")
    assert len(shown.splitlines()) <= screen.LINES
    golden.check("show/screen-80.txt", shown)
    golden.check("show/screen-log-80.txt", text(log, 80, view="screen"))
    golden.check("show/screen-failed-60.txt", text(failed, 60, view="screen"))


FINDINGS = [
    ("", "12 findings save 6 min 15 s of 57 min 14 s (4 min 48 s to 6 min 36 s)"),
    ("4 min 14 s (2 min 55 s to 5 min 33 s)", "The same is computed again: stage 276"),
    ("58.1 s (40.2 s to 71.0 s)", "A join compares all pairs of rows: " + "x" * 80),
    ("1.20 s (900 ms to 1.50 s)", "Tasks spill to disk: stage 3 [b]\x1b[31m"),
]


def test_findings_stand_on_the_one_screen(full: Path) -> None:
    shown = text(full, 80, view="screen", findings=FINDINGS)
    assert len(shown.splitlines()) <= screen.LINES
    assert "next: pyrometer explain RUN" in shown
    golden.check("show/screen-findings-80.txt", shown)


def test_the_facts_of_a_virtual_machine_have_room_on_the_one_screen(
    full: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = {"Virtual machine": "emulated, Linux 6.1", "Its host": "box, EPYC, 2 CPUs"}
    monkeypatch.setattr(
        "pyrometer.summary.summary.facts",
        lambda run: facts(run).model_copy(update={"machine_facts": machine}),
    )
    lines = text(full, 80, view="screen", findings=FINDINGS).splitlines()
    assert len(lines) <= screen.LINES
    assert lines[2:4] == ["virtual machine: emulated, Linux 6.1", "its host: box, EPYC, 2 CPUs"]


def test_findings_that_come_after_the_summary_stand_below_it(full: Path) -> None:
    at_once = text(full, 80, view="screen", findings=FINDINGS).splitlines()
    later = text(full, 80, view="later", findings=FINDINGS).splitlines()
    assert len(later) <= screen.LINES
    assert sorted(set(later) - set(at_once)) == ["Findings " + 71 * "─"]
    assert later[-1] == "next: pyrometer explain RUN"
    assert [line for line in later if line.startswith("next:")] == later[-1:]
    assert text(full, 80, view="later", findings=()).splitlines()[-1].startswith("next:")


def test_terminal_of_a_full_run(full: Path) -> None:
    golden.check("show/full-80.txt", text(full, 80))
    golden.check("show/full-120.txt", text(full, 120))


def test_terminal_without_unicode(full: Path) -> None:
    shown = text(full, 80, encoding="ascii")
    assert shown.isascii()
    golden.check("show/full-ascii.txt", shown)


def test_terminal_of_an_event_log(log: Path) -> None:
    golden.check("show/log-80.txt", text(log, 80))


def test_terminal_of_failures_in_a_narrow_window(failed: Path) -> None:
    golden.check("show/failed-60.txt", text(failed, 60))


def test_terminal_of_the_ledger(full: Path) -> None:
    golden.check("show/ledger-80.txt", text(full, 80, view="ledger"))


def test_json(full: Path, log: Path) -> None:
    with Run.open(full) as run:
        golden.check("show/full.json", plain(summary(run), full))
        golden.check("show/ledger.json", plain(ledger_report(run), full))
    with Run.open(log) as run:
        golden.check("show/log.json", plain(summary(run), log))


def test_every_golden_is_referenced() -> None:
    kept = {path.name for path in (golden.FOLDER / "show").iterdir()}
    assert kept == set(GOLDENS)


def test_strings_of_a_log_are_neither_markup_nor_control(full: Path) -> None:
    shown = text(full, 120)
    assert "[red]x[/] <script>alert(1)</script>" in shown
    console = partial(Console, width=80, force_terminal=True, highlight=False)
    out = io.StringIO()
    hostile = "\x1b[31m[bold]x\r\n\x07"
    from pyrometer.terminal.drawing import safe

    console(file=out).print(safe(hostile))
    assert "\x1b[31m" not in out.getvalue()
    assert "[bold]x" in out.getvalue()
    assert "\r" not in out.getvalue()
