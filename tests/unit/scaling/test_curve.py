"""What trials of a curve measured: nothing is not the same as not known."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import experiments
from tests.support.tables import StageSpec, World

from pyrometer.experiments.folder import Ended
from pyrometer.experiments.journal import opened_journal, read_journal
from pyrometer.experiments.run.loop import begin
from pyrometer.scaling.curve import CurveReport, curve_report, measured
from pyrometer.store import Run


def test_a_wait_of_no_time_is_measured(tmp_path: Path) -> None:
    world = World([StageSpec([40, 40])], run_queue=0.0)
    with Run.open(world.write(tmp_path)) as run:
        found = measured(run, 0.1)
    assert found.measures["run_queue_s"] == 0
    assert "run_queue_s" not in found.missing
    assert found.missing["gc_s"] == "no GC log: light or full profile"


def curve_of(root: Path, read: str) -> CurveReport:
    """Report on two levels of a trial each, one of which can be read."""
    plan = experiments.plan(["one", "two"], 1, 0)
    for at, treatment in enumerate(plan.treatments, 1):
        treatment.varied = {"layout.tasks": str(at)}
    begin(root, plan)
    with opened_journal(root) as journal:
        for trial in plan.trials:
            if trial.treatment == read:
                World([StageSpec([40, 40])]).write(root / "trials" / trial.folder)
            journal.append(
                Ended(
                    trial=trial.number, attempt=1, block=trial.block, treatment=trial.treatment,
                    status="finished", folder=trial.folder, wall_ns=1,
                    seconds=1.0 if trial.treatment == "one" else 0.6,
                )
            )  # fmt: skip
    return curve_report(root, plan, read_journal(root))


def test_a_trial_that_cannot_be_read_lacks_its_measures_alone(tmp_path: Path) -> None:
    root = tmp_path / "curve"
    report = curve_of(root, "two")
    one, two = report.levels
    assert (one.elapsed_s.value, two.elapsed_s.value) == (1.0, 0.6)
    assert one.measures == {}
    assert two.measures["run_time_s"].n == 1
    assert report.fit is not None
    (simulator,) = (law for law in report.fit.laws if law.name == "simulator")
    assert str(root / "trials") in (simulator.reason or "")


@pytest.mark.parametrize("read", ["one", "two"])
def test_a_doubt_names_trials_that_cannot_be_read_and_the_others_say_what_is_missing(
    tmp_path: Path, read: str
) -> None:
    root = tmp_path / "curve"
    report = curve_of(root, read)
    (unread,) = (one.message for one in report.doubts if one.code == "trials_unread")
    assert unread.startswith("1 of 2 trials: trial ")
    assert str(root / "trials") in unread
    assert report.missing["gc_s"] == "no GC log: light or full profile"
