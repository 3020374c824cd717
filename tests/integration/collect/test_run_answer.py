"""A run ends with its application: its summary is shown at once, and nothing else is waited for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pyrometer.cli.main import run_verb
from pyrometer.collect.launch.observe import Silent
from pyrometer.collect.launch.record import Record
from pyrometer.orchestrator import run as orchestrator
from pyrometer.summary.schema import Summary
from pyrometer.trial.trial import Trial


class _Reader(Silent):
    def __init__(self, error: OSError | None = None) -> None:
        self.seen: list[str] = []
        self.error = error

    def phase(self, name: str) -> None:
        self.seen.append(name)

    def summarised(self, record: Record, made: object, scope: object) -> None:
        assert isinstance(made, Summary)
        self.seen.append("shown, with report" if record.paths.report.exists() else "shown")
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [None, BrokenPipeError("gone")])
def test_the_summary_is_shown_before_the_report_is_written(
    tmp_path: Path, error: OSError | None
) -> None:
    reader = _Reader(error)
    trial = Trial(command=("true",), profile="off", run_dir=tmp_path / "run")
    outcome = orchestrator.run(trial, reader)
    assert reader.seen[-5:] == ["ingest", "summary", "findings", "shown", "report"]
    assert outcome.record.paths.report.is_file()
    assert "analysis_failed" not in {doubt.code for doubt in outcome.record.manifest.doubts}


def test_it_is_shown_once(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    code = run_verb(["run", "--profile", "off", "-o", str(tmp_path / "run"), "--", "true"])
    shown = capfd.readouterr().err
    assert code == 0
    assert shown.count("finished after") == 1
    assert shown.index("finished after") < shown.index("report: ") < shown.index("run:    ")


def test_a_process_that_was_there_before_is_not_waited_for(tmp_path: Path) -> None:
    other = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    try:
        trial = Trial(command=("true",), profile="off", run_dir=tmp_path / "run")
        outcome = orchestrator.run(trial, report=False)
        assert other.poll() is None
    finally:
        other.communicate(b"\n")
    assert "processes_left" not in {doubt.code for doubt in outcome.record.manifest.doubts}
