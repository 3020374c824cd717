"""The experiments of a study: planned, calibrated, run or gone on with, and judged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, Field

from pyrometer.collect.host.memory import missed, reached_ratio
from pyrometer.core.errors import CapabilityError, PyrometerError, UsageError
from pyrometer.core.replacing import replacing
from pyrometer.core.user_files import user_text
from pyrometer.experiments.folder import Ended, ExperimentPaths, is_experiment, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.judge.machines import notes_of
from pyrometer.experiments.judge.page import write_experiment
from pyrometer.experiments.judge.schema import ExperimentReport
from pyrometer.experiments.plan.source import read_source
from pyrometer.experiments.run.calibrate import Knob, calibrated, percent
from pyrometer.experiments.run.environment import Actions
from pyrometer.experiments.run.loop import carry_out
from pyrometer.experiments.run.planned import checked, plan_of
from pyrometer.experiments.studies.effects import EMULATED, compared, withheld_of
from pyrometer.experiments.studies.evidence import EvidenceReport, ReadTrial, evidence_of
from pyrometer.experiments.studies.keep import keep_plan
from pyrometer.experiments.studies.plan import Study, StudyExperiment
from pyrometer.experiments.studies.schema import ConditionFacts, StudyExperimentFacts
from pyrometer.guests import emulator
from pyrometer.guests.cache import cache_root
from pyrometer.guests.machine import is_machine
from pyrometer.store.manifest import read_manifest
from pyrometer.store.private import FILE_MODE
from pyrometer.trial.yaml_file import parse
from pyrometer.workloads import registry
from pyrometer.workloads.contract import parse_scale


@dataclass
class Experiments:
    """Experiments of a study that were run, or not.

    Attributes
    ----------
    facts : list of StudyExperimentFacts
        What became of each.
    judged : dict of str to ExperimentReport
        Reports of those that ran.
    evidence : list of EvidenceReport
        What their trials show beside times.
    """

    facts: list[StudyExperimentFacts] = field(default_factory=list)
    judged: dict[str, ExperimentReport] = field(default_factory=dict)
    evidence: list[EvidenceReport] = field(default_factory=list)


Settings = Mapping[str, Mapping[str, str]]
"""Levels by factor, for an experiment by name: shared by its treatments, instead of the file's."""

Calibrate = Callable[[Path, Path], list[Knob]]
"""Finds the knobs of an experiment file, with pilots in a folder."""


def check_experiments(
    study: Study,
    file: Path,
    *,
    only: tuple[str, ...] = (),
    scale: str | None = None,
    levels: Settings | None = None,
) -> None:
    """Read the experiments' files before anything runs.

    Raises
    ------
    UsageError
        If one is wrong, or its workload does not have that scale; if a level cannot be set.
    """
    for name, declared in _wanted(study, only):
        try:
            source, _ = checked(file.parent / declared.file, levels=(levels or {}).get(name))
            if scale is not None:
                parse_scale(registry.get(source.experiment.workload), scale)
        except UsageError as error:
            raise UsageError(f"experiment {name}: {error.message}", error.remedy) from error


def run_experiments(
    study: Study,
    file: Path,
    folder: Path,
    *,
    only: tuple[str, ...] = (),
    scale: str | None = None,
    blocks: int | None = None,
    levels: Settings | None = None,
    stopped: bool = False,
    screen: Callable[[], AbstractContextManager[Any]],
    find_knobs: Calibrate,
    actions: Actions | None = None,
    read: ReadTrial | None = None,
) -> Experiments:
    """Run the experiments of a study, or go on with them, and judge what there is.

    Parameters
    ----------
    study : Study
        What is to be run.
    file : Path
        File of the study: experiment files are relative to it.
    folder : Path
        Each experiment has a folder of its name in it.
    only : tuple of str
        Runs and experiments to run; empty: all.
    scale, blocks, levels
        Instead of those of the experiments.
    stopped : bool
        The user has stopped the study: nothing more runs, what there is is judged.
    screen : callable
        Gives the screen that shows the progress of an experiment.
    find_knobs : callable
        Runs the pilots of experiments that want them.
    actions, read : optional
        What touches the machine, and reads a run; simulations pass others.
    """
    made = Experiments()
    for name, declared in _wanted(study, only):
        fact, root = StudyExperimentFacts(name=name, file=declared.file), folder / name
        if stopped:
            fact.reason = "not run: the study was interrupted"
        else:
            try:
                wanted, shared = file.parent / declared.file, (levels or {}).get(name, {})
                if declared.calibrate and not is_experiment(root):
                    wanted = calibrated_file(wanted, folder, name, scale, find_knobs, shared)
                keep_plan(wanted, root, scale, blocks, shared, knobs=not declared.calibrate)
                with screen() as shown:
                    carry_out(root, screen=shown, actions=actions)
            except KeyboardInterrupt:
                stopped, fact.reason = True, "interrupted"
            except PyrometerError as error:
                fact.reason = reason_of(error)
        if is_experiment(root):
            plan, entries = read_plan(root), read_journal(root)
            report = made.judged[name] = experiment_report(plan, entries)
            write_experiment(root)
            fact = _judged(fact, root, report)
            fact.withheld = withheld_of(study, {name: report}).get(name)
            fact.conditions = conditions_of(root, list(entries.ended.values()))
            made.evidence += evidence_of(
                name, declared.evidence, root, plan, list(entries.ended.values()),
                compared(study, name, report), read,
            )  # fmt: skip
        made.facts.append(fact)
    return made


def calibrated_file(
    file: Path,
    folder: Path,
    name: str,
    scale: str | None,
    find_knobs: Calibrate,
    levels: Mapping[str, str] | None = None,
) -> Path:
    """Write, into the folder of a study, the experiment with its knobs.

    One that is there is kept, unless its pilots had data of another scale, or other levels.

    Raises
    ------
    UsageError, CapabilityError
        If a condition cannot be brought about here.
    """
    target = folder / f"{name}-calibrated.yaml"
    scaled = folder / f"{name}-pilot.yaml"
    more = {**({"scale": scale} if scale else {}), **({"set": dict(levels)} if levels else {})}
    if target.is_file() and _asked_in(scaled) == more:
        return target
    folder.mkdir(parents=True, exist_ok=True)
    # Before the file that says the scale: they would not be told apart once this is interrupted.
    target.unlink(missing_ok=True)
    # Pilots have the data of the trials: knobs of other data would be wrong.
    asked = {"extends": str(file.resolve()), **more}
    with replacing(scaled, FILE_MODE) as out:
        out.write(yaml.safe_dump(asked, sort_keys=False).encode())
    knobs = find_knobs(scaled, folder / f"{name}-pilots")
    far = [knob for knob in knobs if not knob.near]
    if far:
        raise CapabilityError(
            f"{far[0].level} of memory.condition was not reached: {percent(far[0].ratio)} instead"
            f" of {percent(far[0].share)}" + (f"; {far[0].why}" if far[0].why else ""),
            "choose another machine.memory, heap or scale; the pilots are in"
            f" {folder}/{name}-pilots",
        )
    text = calibrated(scaled, read_source(scaled).experiment, knobs)
    with replacing(target, FILE_MODE) as out:
        out.write(text.encode())
    return target


def _asked_in(pilot: Path) -> dict[str, Any]:
    """Scale and levels that the file of pilots has instead of the experiment's."""
    try:
        found = parse(user_text(pilot), str(pilot)).value
    except UsageError:
        return {}
    found = found if isinstance(found, dict) else {}
    return {key: one for key, one in found.items() if key != "extends"}


def free_folder(first: Path) -> Path:
    """Name a folder that is not there yet: pilots that were interrupted stay."""
    number = 2
    place = first
    while place.exists():
        place, number = first.with_name(f"{first.name}-{number}"), number + 1
    return place


def conditions_of(root: Path, ended: Sequence[Ended]) -> list[ConditionFacts]:
    """Say how short memory was in the trials of each treatment that wants it short."""
    found: dict[str, ConditionFacts] = {}
    for one in ended:
        place = ExperimentPaths(root).trials / one.folder
        if one.status != "finished" or not (place / "manifest.json").is_file():
            continue
        memory = read_manifest(place).memory
        if not memory:
            continue
        facts = found.setdefault(
            one.treatment,
            ConditionFacts(
                treatment=one.treatment, condition=memory["condition"],
                wanted_ratio=memory["wanted_ratio"], ratios=[], reached_count=0, trials_count=0,
            ),
        )  # fmt: skip
        ratio = reached_ratio(memory)
        facts.trials_count += 1
        facts.reached_count += missed(memory) is None
        facts.ratios += [] if ratio is None else [ratio]
    return list(found.values())


class PlannedExperiment(BaseModel):
    """An experiment of a study, as it would be run here.

    Attributes
    ----------
    machines : bool
        Whether trials have machines of their own.
    notes : list of str
        What is done before it, and what will not be claimed.
    """

    name: str
    workload: str
    scale: str
    treatments: list[str]
    blocks: int
    trials_count: int
    machines: bool
    left_out: dict[str, str] = Field(default_factory=dict)
    notes: list[str] = Field(default_factory=list)


def planned_experiments(
    study: Study,
    file: Path,
    folder: Path,
    *,
    only: tuple[str, ...] = (),
    scale: str | None = None,
    blocks: int | None = None,
    levels: Settings | None = None,
) -> list[PlannedExperiment]:
    """Plan the experiments of a study without running anything.

    Raises
    ------
    UsageError
        If a file is wrong.
    """
    found = []
    for name, declared in _wanted(study, only):
        try:
            plan = plan_of(
                file.parent / declared.file, folder / name, blocks=blocks,
                levels=(levels or {}).get(name),
            )  # fmt: skip
        except CapabilityError as error:
            found.append(
                PlannedExperiment(
                    name=name, workload="", scale="", treatments=[], blocks=0, trials_count=0,
                    machines=False, notes=[reason_of(error)],
                )
            )  # fmt: skip
            continue
        machines = any(is_machine(level) for one in plan.treatments for level in one.levels)
        notes = []
        if declared.calibrate:
            notes.append(
                "before it, pilots find the knob of each memory.condition (at most 8 each)"
            )
        if declared.untimed is not None:
            notes.append(f"no claim is made about its times: {declared.untimed}")
        else:
            notes += notes_of(plan, emulation=False)
        how, why = emulator.accelerator(cache=cache_root()) if machines else ("kvm", None)
        if how == "tcg":
            notes.append(f"machines are emulated here ({why}), 10 to 50 times slower")
            if declared.untimed is None:
                notes[-1] += f": no claim is made about times: {declared.emulated or EMULATED}"
        found.append(
            PlannedExperiment(
                name=name, workload=plan.workload, scale=scale or plan.scale,
                treatments=[one.name for one in plan.treatments], blocks=plan.blocks,
                trials_count=len(plan.trials), machines=machines,
                left_out={one.name: one.reason for one in plan.left_out}, notes=notes,
            )
        )  # fmt: skip
    return found


def reason_of(error: PyrometerError) -> str:
    """Write an error as the reason why something was not run, with what to do about it."""
    return f"{error.message}: {error.remedy}" if error.remedy else error.message


def _wanted(study: Study, only: tuple[str, ...]) -> Iterator[tuple[str, StudyExperiment]]:
    return ((n, one) for n, one in study.experiments.items() if not only or n in only)


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
