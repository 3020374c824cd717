"""A run ends with its application: its summary is shown at once, and nothing else is waited for."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.cli import command, environment
from tests.support.experiments import NAP

from pyrometer.cli.main import run_verb
from pyrometer.collect.launch.observe import Silent
from pyrometer.collect.launch.record import Record
from pyrometer.orchestrator import run as orchestrator
from pyrometer.store.manifest import read_manifest
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


def test_a_process_of_another_user_that_outlasts_the_time_is_named_while_it_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kill = os.kill

    def as_another_user(pid: int, number: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    class Root(Silent):
        def note(self, text: str) -> None:
            kill(int(text.rpartition("as root: kill ")[2]), signal.SIGTERM)

    monkeypatch.setattr(os, "kill", as_another_user)
    words = ("sleep", "600")
    trial = Trial(command=words, profile="off", run_dir=tmp_path / "run", timeout_s=0.1)
    ending = orchestrator.run(trial, Root(), report=False).ending
    assert (ending.signal, ending.interrupted_by) == ("SIGTERM", "time-out")


@pytest.mark.slow
@pytest.mark.parametrize("reads", [0, 1])
@pytest.mark.parametrize("what", [["--", "sh", "-c", "exit 7"], ["./workload.yaml"]])
def test_a_run_is_kept_where_nobody_reads_what_is_said_of_it(
    tmp_path: Path, what: list[str], reads: int
) -> None:
    """``pyrometer run … 2>&1 | head -1``, or a terminal that has hung up."""
    (tmp_path / "workload.yaml").write_text(NAP)
    words = command("run", "--profile", "off", "-o", "run", *what)
    process = subprocess.Popen(
        words, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    assert process.stderr is not None
    if reads:
        process.stderr.readline()
    process.stderr.close()
    assert process.wait(120) == (7 if "--" in what else 0)
    assert read_manifest(tmp_path / "run").exit.code == (7 if "--" in what else 0)
    assert (tmp_path / "run" / "report.html").is_file()


NONSENSE = """
cd "$PYROMETER_RUN_DIR/raw"
printf '%s\\n' \
  '{"k":"process","pid":[1],"app_id":{},"mono_ns":"soon","role":"driver"}' \
  '{"k":"process","pid":7,"app_id":"a","mono_ns":null,"role":"driver","ship_to":5,"heap":[]}' \
  '{"k":"overlay","key":[],"how":{},"value":[],"reason":{}}' \
  '{"k":"profiler","error":[],"version":{}}' \
  '{"k":"bye","written":"all","dropped":[],"own_cpu_ns":{}}' > plugin-driver-driver-7.ndjson
mkdir gc-7.log profile-driver-7.jfr plugin-x.ndjson
echo '{"k":"end","iteration":0,"rows":"all","parts":5,"status":[]}' > iterations.ndjson
exit 7
"""


def test_what_an_application_writes_into_its_run_changes_nothing_of_how_it_ended(
    tmp_path: Path,
) -> None:
    trial = Trial(command=("sh", "-c", NONSENSE), profile="light", run_dir=tmp_path / "run")
    outcome = orchestrator.run(trial)
    kept = read_manifest(tmp_path / "run")
    assert outcome.ending.exit_code == kept.exit.code == 7
    assert kept.state == "failed"
    assert "analysis_failed" in {doubt.code for doubt in kept.doubts}
