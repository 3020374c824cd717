"""The experiments of a study: planned here, run or resumed, judged; what cannot be is told."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pyrometer.analyse.experiment import experiment_report
from pyrometer.analyse.experiment_model import ExperimentReport
from pyrometer.analyse.study import StudyExperimentFacts
from pyrometer.errors import PyrometerError
from pyrometer.experiment.loop import begin, carry_out
from pyrometer.experiment.planned import plan_of
from pyrometer.plan.study import Study
from pyrometer.report.experiment import write_experiment
from pyrometer.store.experiment import is_experiment, read_plan
from pyrometer.store.journal import read_journal

Made = tuple[list[StudyExperimentFacts], dict[str, ExperimentReport]]


def make_experiments(
    study: Study,
    beside: Path,
    folder: Path,
    *,
    only: tuple[str, ...] = (),
    scale: str | None = None,
    blocks: int | None = None,
    screen: Callable[[], AbstractContextManager[Any]],
) -> Made:
    """Run the experiments of a study, or go on with them, and judge what there is.

    Parameters
    ----------
    study : Study
        What is to be made.
    beside : Path
        File of the study: experiment files are relative to it.
    folder : Path
        Each experiment has a folder of its name in it.
    only : tuple of str
        Runs and experiments to make; empty: all.
    scale, blocks
        Instead of the experiments' own.
    screen : callable
        Gives what shows how far an experiment is.
    """
    facts: list[StudyExperimentFacts] = []
    judged: dict[str, ExperimentReport] = {}
    stopped = False
    for name, declared in study.experiments.items():
        if only and name not in only:
            continue
        fact, root = StudyExperimentFacts(name=name, file=declared.file), folder / name
        if stopped:
            fact.reason = "not made: the study was interrupted"
        else:
            try:
                _make_plan(beside.parent / declared.file, root, scale, blocks)
                with screen() as shown:
                    carry_out(root, screen=shown)
            except KeyboardInterrupt:
                stopped, fact.reason = True, "interrupted"
            except PyrometerError as error:
                fact.reason = error.message
        if is_experiment(root):
            report = judged[name] = experiment_report(read_plan(root), read_journal(root))
            write_experiment(root)
            fact = _told(fact, root, report)
        facts.append(fact)
    return facts, judged


def _make_plan(file: Path, root: Path, scale: str | None, blocks: int | None) -> None:
    """Keep a new plan, unless there is one."""
    if is_experiment(root):
        return
    plan = plan_of(file, root, blocks=blocks)
    plan.scale = scale or plan.scale
    begin(root, plan)


def _told(fact: StudyExperimentFacts, root: Path, report: ExperimentReport) -> StudyExperimentFacts:
    return fact.model_copy(
        update={
            "folder": str(root),
            "workload": report.workload,
            "scale": report.scale,
            "trials_count": report.trials_count,
            "done_count": report.done_count,
            "left_out": {one.name: one.reason for one in report.left_out},
            "doubts": [doubt.message for doubt in report.doubts],
        }
    )
