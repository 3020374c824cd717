"""What trials of a curve measured: nothing is not the same as not known."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tests.support import experiments
from tests.support.tables import StageSpec, World

from pyrometer.experiments.folder import Ended
from pyrometer.experiments.journal import opened_journal, read_journal
from pyrometer.experiments.run.loop import begin
from pyrometer.scaling.curve import CurveReport, curve_report, measured
from pyrometer.scaling.processors import cpus_of_trials
from pyrometer.scaling.schema import LawReport
from pyrometer.scaling.terminal import show
from pyrometer.scaling.verdict import verdict
from pyrometer.statistics.scaling.knee import knee
from pyrometer.statistics.scaling.levels import Observation, levels_of
from pyrometer.store import Run


def test_a_wait_of_no_time_is_measured(tmp_path: Path) -> None:
    world = World([StageSpec([40, 40])], run_queue=0.0)
    with Run.open(world.write(tmp_path)) as run:
        found = measured(run, 0.1)
    assert found.measures["run_queue_s"] == 0
    assert "run_queue_s" not in found.missing
    assert found.missing["gc_s"] == "no GC log: light or full profile"


SHARED = {"layout.executors": {"layout.cores_per_executor": "4"}}
"""Levels that all trials of a curve share."""


def curve_of(
    root: Path,
    read: str,
    factor: str = "layout.tasks",
    doubted: Sequence[str] = (),
    **machine: int,
) -> CurveReport:
    """Report on two levels of a trial each, one of which can be read."""
    plan = experiments.plan(["one", "two"], 1, 0)
    plan.machine = {**machine}
    for at, treatment in enumerate(plan.treatments, 1):
        treatment.varied = {factor: str(at)}
        treatment.levels = {**treatment.varied, **SHARED.get(factor, {})}
    begin(root, plan)
    with opened_journal(root) as journal:
        for trial in plan.trials:
            if trial.treatment == read:
                World([StageSpec([40, 40])]).write(root / "trials" / trial.folder)
            journal.append(
                Ended(
                    trial=trial.number, attempt=1, block=trial.block, treatment=trial.treatment,
                    status="finished", folder=trial.folder, wall_ns=1,
                    seconds=1.0 if trial.treatment == "one" else 0.6, doubted=list(doubted),
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


@pytest.mark.parametrize("factor", ["machine.cpus", "layout.tasks"])
def test_no_law_is_claimed_of_emulated_machines_whose_cpus_take_turns(
    factor: str, tmp_path: Path
) -> None:
    report = curve_of(tmp_path / "curve", "two", factor, doubted=["emulated"])
    assert report.fit is None
    assert "take turns on one thread" in (report.reason or "")
    assert {"emulated", "emulated_in_turn"} <= {one.code for one in report.doubts}
    assert [one.elapsed_s.value for one in report.levels] == [1.0, 0.6]


def test_executors_are_idle_in_all_of_their_slots(tmp_path: Path) -> None:
    fit = curve_of(tmp_path / "curve", "two", "layout.executors", cpus_count=4).fit
    assert fit is not None
    two = fit.levels[1].worker_time
    assert two.total == pytest.approx(2 * 4 * 0.6)
    assert two.idle is not None
    assert 0 < two.idle < two.total
    (crowded,) = (one.message for one in fit.doubts if one.code == "scaling_workers_over_cpus")
    assert crowded.startswith("up to 8 task slots on 4 CPUs")
    out = StringIO()
    show(Console(width=200, file=out), fit)
    assert "parts of workers × their task slots × time" in out.getvalue()


@pytest.mark.parametrize(("slots", "idle"), [(1, "workers"), (4, "task slots")])
def test_the_verdict_names_what_has_no_task(slots: int, idle: str) -> None:
    flat = [Observation(p, 10.0, facts={"run_time": 8.0}, slots=slots) for p in (1, 2, 3)]
    levels = levels_of(flat, "elapsed")
    said = verdict(levels, knee(levels), 1.0, LawReport(name="usl", reason="not fitted"))
    lost = f"From 1 to 3, 100 % of the efficiency lost is {idle} without a task"
    assert any(one.startswith(lost) for one in said)


@pytest.mark.parametrize(
    ("factor", "fixed", "expected"),
    [
        ("layout.tasks", {"host.cpus": "0,2-3"}, 3.0),
        ("layout.tasks", {"host.cpus": "4", "cpu.quota": "1.5"}, 1.5),
        ("host.cpus", {"cpu.quota": "16"}, 8.0),
        ("layout.tasks", {"numa.nodes": "0"}, None),
    ],
)
def test_the_cpus_of_a_curve_are_those_that_its_trials_may_use(
    factor: str, fixed: dict[str, str], expected: float | None
) -> None:
    plan = experiments.plan(["one", "two"], 1, 0)
    plan.machine = {"cpus_count": 8}
    for at, treatment in enumerate(plan.treatments, 1):
        treatment.varied = {factor: str(at)}
        treatment.levels = {**fixed, **treatment.varied}
    assert cpus_of_trials(plan, factor) == expected
