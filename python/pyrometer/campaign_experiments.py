"""The experiments of a study: planned here, run or resumed, judged; what cannot be is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from pyrometer.analyse.experiment import experiment_report
from pyrometer.analyse.experiment_model import ExperimentReport
from pyrometer.analyse.study import StudyExperimentFacts
from pyrometer.errors import PyrometerError, UsageError
from pyrometer.experiment.loop import begin, carry_out
from pyrometer.experiment.planned import checked, plan_of
from pyrometer.plan.study import Study, StudyExperiment
from pyrometer.report.experiment import write_experiment
from pyrometer.store.experiment import is_experiment, read_plan
from pyrometer.store.journal import read_journal
from pyrometer.workload import registry
from pyrometer.workload.contract import parse_scale

Made = tuple[list[StudyExperimentFacts], dict[str, ExperimentReport]]


def check_experiments(
    study: Study, beside: Path, *, only: tuple[str, ...] = (), scale: str | None = None
) -> None:
    """Read the experiments' files before anything runs.

    Raises
    ------
    UsageError
        If one is wrong, or its workload does not have that scale.
    """
    for name, declared in _wanted(study, only):
        try:
            source, _ = checked(beside.parent / declared.file)
            if scale is not None:
                parse_scale(registry.get(source.experiment.workload), scale)
        except UsageError as error:
            raise UsageError(f"experiment {name}: {error.message}", error.remedy) from error


def make_experiments(
    study: Study,
    beside: Path,
    folder: Path,
    *,
    only: tuple[str, ...] = (),
    scale: str | None = None,
    blocks: int | None = None,
    stopped: bool = False,
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
    stopped : bool
        Somebody has ended the study: only what there is is judged.
    screen : callable
        Gives what shows how far an experiment is.
    """
    facts: list[StudyExperimentFacts] = []
    judged: dict[str, ExperimentReport] = {}
    for name, declared in _wanted(study, only):
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
                fact.reason = told(error)
        if is_experiment(root):
            report = judged[name] = experiment_report(read_plan(root), read_journal(root))
            write_experiment(root)
            fact = _judged(fact, root, report)
        facts.append(fact)
    return facts, judged


def told(error: PyrometerError) -> str:
    """Write an error as the reason why something was not made, with what to do about it."""
    return f"{error.message}: {error.remedy}" if error.remedy else error.message


def _wanted(study: Study, only: tuple[str, ...]) -> Iterator[tuple[str, StudyExperiment]]:
    return ((n, one) for n, one in study.experiments.items() if not only or n in only)


def _make_plan(file: Path, root: Path, scale: str | None, blocks: int | None) -> None:
    """Keep a new plan, unless there is one of what is asked for."""
    if is_experiment(root):
        kept = read_plan(root)
        for name, asked, has in (("scale", scale, kept.scale), ("blocks", blocks, kept.blocks)):
            if asked not in (None, has):
                raise UsageError(
                    f"{root} was planned with {name} {has}, not {asked}",
                    "give another folder with -o",
                )
        return
    plan = plan_of(file, root, blocks=blocks)
    plan.scale = scale or plan.scale
    begin(root, plan)


def _judged(
    fact: StudyExperimentFacts, root: Path, report: ExperimentReport
) -> StudyExperimentFacts:
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
