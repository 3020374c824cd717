"""Event logs without their head, tail or middle: windows hold what the log tells of, idle too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support.cli import inside
from tests.support.examples import examples

from pyrometer.accounts.ledger.elapsed.elapsed_view import elapsed
from pyrometer.accounts.ledger.slot_view import slots
from pyrometer.accounts.window import open_scope
from pyrometer.store import Run, ingest_eventlogs
from pyrometer.summary.kept import summary_of
from pyrometer.window.scope import Scope
from pyrometer.window.windows import Window

RECORDED = Path(__file__).parents[2] / "fixtures" / "eventlog" / "recorded"
MS = 1_000_000
NO_HEAD = "eventlog_no_application_start"
# Fields of events that say when something of the application's own work began or ended.
TIMES = {
    "SparkListenerApplicationStart": ("Timestamp",),
    "SparkListenerApplicationEnd": ("Timestamp",),
    "SparkListenerJobStart": ("Submission Time",),
    "SparkListenerJobEnd": ("Completion Time",),
    "SparkListenerStageSubmitted": ("Submission Time", "Completion Time"),
    "SparkListenerStageCompleted": ("Submission Time", "Completion Time"),
    "SparkListenerTaskStart": ("Launch Time", "Finish Time"),
    "SparkListenerTaskEnd": ("Launch Time", "Finish Time"),
    "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart": ("time",),
    "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd": ("time",),
}
cheap = settings(
    max_examples=examples(8, 25),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture(scope="module")
def lines() -> list[bytes]:
    packed = (RECORDED / "scan-4.3.0.zstd").read_bytes()
    with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as stream:
        return stream.read().splitlines(keepends=True)


@pytest.fixture(scope="module")
def whole(lines: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with opened(tmp_path_factory.mktemp("whole"), lines) as run:
        yield run


def opened(folder: Path, lines: list[bytes]) -> Run:
    """Ingest a log of these lines."""
    (folder / "app-1").write_bytes(b"".join(lines))
    ingest_eventlogs([folder / "app-1"], folder / "run")
    return Run.open(folder / "run")


def times(lines: list[bytes]) -> list[int]:
    """Times in ns that events of work have in them."""
    found = []
    for line in lines:
        event = json.loads(line)
        names = TIMES.get(event["Event"], ())
        inner = event.get("Stage Info") or event.get("Task Info") or event
        found += [inner[name] * MS for name in names if inner.get(name, 0) > 0]
    return found


def at_work(line: bytes) -> bool:
    """Whether an event tells when something ran."""
    return bool(times([line]))


@cheap
@given(data=st.data())
@pytest.mark.parametrize("kind", ["head", "tail", "both", "middle"])
def test_a_cut_log_has_no_time_and_no_idle_from_outside(
    kind: str, data: st.DataObject, lines: list[bytes], whole: Run,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:  # fmt: skip
    n = len(lines)
    first = data.draw(st.integers(1, n - 2)) if kind != "tail" else 0
    last = data.draw(st.integers(first + 1, n - 1)) if kind != "head" else n
    left = lines[:first] + lines[last:] if kind == "middle" else lines[first:last]
    if kind != "middle":
        # With executors known, idle slots can be: as where an application gets more of them later.
        left = [line for line in lines[:first] if b"SparkListenerExecutorAdded" in line] + left
    if not any(map(at_work, left)):
        return
    known = times(left)
    with opened(tmp_path_factory.mktemp("cut"), left) as run:
        scope = open_scope(run, None)
        window = scope.window
        headless = not any(b"SparkListenerApplicationStart" in line for line in left)
        assert (NO_HEAD in {doubt.code for doubt in run.doubts}) == headless
        for one in window.intervals:
            assert min(known) <= one.start_wall_ns <= one.end_wall_ns <= max(known)
        path, view = elapsed(scope)
        assert path.total_ns in (None, window.length_ns)
        assert not view.closure_ratio
        found = slots(scope) if window.intervals else None
        if found is None or kind == "middle":
            return
        # The whole log knows every task that ran then: its idle time is the truth.
        true = slots(Scope(whole, Window("cut", (), window.intervals)))
        assert true is not None
        assert sum(found.idle_ns.values()) <= sum(true.idle_ns.values())


def edited(lines: list[bytes], event: str, change: dict[str, Any]) -> list[bytes]:
    """Shift times in all events of a kind by milliseconds."""
    made = []
    for line in lines:
        one = json.loads(line)
        if one["Event"] == f"SparkListener{event}":
            inner = one.get("Task Info") or one
            for name, shift in change.items():
                inner[name] += shift
        made.append(json.dumps(one).encode() + b"\n")
    return made


def test_executors_of_another_year_do_not_make_the_window_longer(
    lines: list[bytes], tmp_path: Path
) -> None:
    year = 365 * 24 * 3600 * 1000
    cut = [line for line in lines if b"SparkListenerApplicationEnd" not in line]
    with opened(tmp_path, edited(cut, "ExecutorAdded", {"Timestamp": year})) as run:
        window = open_scope(run, None).window
    assert max(times(cut)) == window.intervals[-1].end_wall_ns


def test_tasks_of_another_year_are_a_doubt_and_not_the_window(
    lines: list[bytes], tmp_path: Path
) -> None:
    year = -5 * 365 * 24 * 3600 * 1000
    cut = [line for line in lines if b"SparkListenerApplicationStart" not in line]
    old = edited(cut, "TaskEnd", {"Launch Time": year, "Finish Time": year})
    (tmp_path / "app-1").write_bytes(b"".join(old))
    ingest_eventlogs([tmp_path / "app-1"], tmp_path / "run")
    summary = summary_of(tmp_path / "run")
    assert summary.window.length_ns is not None
    assert summary.window.length_ns <= max(times(lines)) - min(times(lines))
    assert "task_times_apart" in {doubt.code for doubt in summary.doubts}


@pytest.mark.parametrize("rolling", [False, True])
def test_a_log_that_names_no_application_is_called_by_its_file(
    rolling: bool, lines: list[bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    given = tmp_path / ("eventlog_v2_app-1" if rolling else "app-1")
    file = given / "events_1_app-1" if rolling else given
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(b"".join(lines[len(lines) // 2 :]))
    shown = inside(capsys, "show", str(given))
    assert shown.code == 0, shown.stderr
    assert shown.stdout.splitlines()[0].split()[0] == given.name
    page = tmp_path / "page.html"
    assert inside(capsys, "report", str(given), "-o", str(page)).code == 0
    assert f"<title>{given.name} · Pyrometer</title>" in page.read_text(encoding="utf-8")
