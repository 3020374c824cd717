"""What trials print goes to files of their own; the terminal has how far they are."""

from __future__ import annotations

from pathlib import Path

from tests.support import experiments

from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.screen import ExperimentScreen
from pyrometer.experiments.run import attempt
from pyrometer.experiments.run.trials import trials_of
from pyrometer.store.manifest import write_manifest
from pyrometer.trial.trial import Trial


def test_of_a_command_that_failed_the_reason_names_its_output(tmp_path: Path) -> None:
    manifest = new_manifest(Trial(command=("app.sh",)), this_host(), [], [])
    manifest.state, manifest.exit.code = "failed", 3
    (tmp_path / "raw").mkdir()
    write_manifest(tmp_path, manifest)
    assert attempt.read(tmp_path).reason == "exit code 3"
    (tmp_path / "raw" / "stderr").write_text("no such table")
    assert attempt.read(tmp_path).reason == f"exit code 3; its output: {tmp_path}/raw/stderr"


def test_the_streams_of_a_trial_go_to_its_own_files(tmp_path: Path) -> None:
    plan = experiments.plan(("a", "b"), 2, 1)
    (trial,) = trials_of(plan, plan.trials[:1], [tmp_path / "one"])
    assert trial.captured


def test_until_a_trial_has_ended_its_expected_length_gives_the_time_left() -> None:
    screen = ExperimentScreen(90.0)
    plan = experiments.plan(("a", "b"), 2, 1)
    screen.planned(plan, Entries())
    assert "6 min 00 s left" in screen._left()
    assert ExperimentScreen()._left() == ""
