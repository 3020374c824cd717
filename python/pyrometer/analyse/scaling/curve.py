"""The curve that an experiment over one factor measured: laws, and what each level spent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from pyrometer.analyse.compare.two import mean_of
from pyrometer.analyse.experiment import experiment_report
from pyrometer.analyse.scaling.account import Question, account
from pyrometer.analyse.scaling.levels import Observation
from pyrometer.analyse.scaling.measured import MEASURES, Measured, measured
from pyrometer.analyse.scaling.model import FitReport
from pyrometer.analyse.scaling.simulated import simulated, sized
from pyrometer.analyse.simulation.doubts import of_runs
from pyrometer.analyse.simulation.left_out import Sized
from pyrometer.analyse.trials import TrialsReport, in_none
from pyrometer.doubt import Doubt
from pyrometer.errors import UsageError
from pyrometer.estimate import Estimate
from pyrometer.plan.scaling import SLOTS, WORKERS, level_number
from pyrometer.store import Run
from pyrometer.store.experiment import Ended, ExperimentPaths, Plan
from pyrometer.store.journal import Entries


class CurveLevel(BaseModel):
    """One level of the factor.

    Attributes
    ----------
    level : float
        As a number.
    elapsed_s : Estimate
        Time of an iteration, mean over trials.
    measures : dict of str to Estimate
        See :data:`pyrometer.analyse.scaling.measured.MEASURES`.
    ledger_s : dict of str to Estimate
        Seconds of slots in an iteration, by row of the ledger; the rows are apart.
    lost_s : dict of str to float
        What each row has more than at the level whose slots spent least: there efficiency went.
    """

    name: str
    level: float
    elapsed_s: Estimate
    measures: dict[str, Estimate] = Field(default_factory=dict)
    ledger_s: dict[str, Estimate] = Field(default_factory=dict)
    lost_s: dict[str, float] = Field(default_factory=dict)


class CurveReport(TrialsReport):
    """Structure of ``scale --json`` (``pyrometer/scale/1``).

    Attributes
    ----------
    fit : FitReport or None
        Laws, where the factor counts workers; `reason` says why not.
    missing : dict of str to str
        Measures that no trial has, and why.
    """

    schema_name: Literal["pyrometer/scale/1"] = Field("pyrometer/scale/1", alias="schema")
    workload: str
    factor: str
    levels: list[CurveLevel]
    missing: dict[str, str] = Field(default_factory=dict)
    fit: FitReport | None = None
    reason: str | None = None
    doubts: list[Doubt] = Field(default_factory=list)


def factor_of(plan: Plan) -> str:
    """Name the one factor with numbers that an experiment varies.

    Raises
    ------
    UsageError
        If it varies several, or one whose levels are no numbers.
    """
    names = {name for one in plan.treatments for name in one.varied}
    if len(names) != 1:
        raise UsageError(
            f"{plan.name} varies {len(names)} factors: {', '.join(sorted(names))}; a curve has one",
            "pyrometer experiment show DIR",
        )
    (factor,) = names
    for one in plan.treatments:
        level_number(factor, one.varied[factor])
    return factor


def curve_report(
    root: Path,
    plan: Plan,
    entries: Entries,
    *,
    predict: Sequence[float] = (),
    cores: float | None = None,
    reading: Callable[[int, int], None] = lambda done, of: None,
) -> CurveReport:
    """Tell the curve of an experiment, finished or not.

    Parameters
    ----------
    predict : sequence of float
        Workers to predict.
    cores : float, optional
        Cores of this machine.
    reading : callable
        Told how many trials have been read, of how many.
    """
    factor = factor_of(plan)
    varied = {one.name: one.varied[factor] for one in plan.treatments}
    ended = [
        one
        for planned in plan.trials
        if (one := entries.ended.get(planned.number)) is not None and one.status == "finished"
    ]
    trials: list[tuple[Ended, Measured]] = []
    ready: dict[float, Sized | str] = {}
    for at, one in enumerate(ended):
        reading(at, len(ended))
        assert one.seconds is not None
        level = level_number(factor, varied[one.treatment])
        with Run.open(ExperimentPaths(root).trials / one.folder) as run:
            trials.append((one, measured(run, one.seconds)))
            # Of each level one run is simulated.
            if factor in WORKERS and level not in ready:
                ready[level] = sized(run)
    levels = _levels(factor, varied, trials)
    made = CurveReport(
        experiment=plan.name, folder=str(root), workload=plan.workload, scale=plan.scale,
        factor=factor, trials_count=len(plan.trials), done_count=len(ended), levels=levels,
        missing=in_none(MEASURES, [its for _, its in trials]), doubts=_doubts(plan, entries),
    )  # fmt: skip
    if factor not in WORKERS:
        made.reason = f"{factor} counts no workers: laws of scaling do not speak of it"
    elif len(levels) < 2:
        made.reason = "fewer than two levels have a finished trial"
    else:
        rows = [_observation(factor, varied[one.treatment], one, its) for one, its in trials]
        simulator = simulated(ready, factor, predict)
        made.fit = account(
            rows, "elapsed", _question(plan, trials, predict, cores),
            source=plan.name, workers=factor, what="s",
            beside={"simulator": simulator},
        )  # fmt: skip
        if not isinstance(simulator, str):
            made.doubts += of_runs([one.doubts for one in ready.values() if isinstance(one, Sized)])
    return made


def _doubts(plan: Plan, entries: Entries) -> list[Doubt]:
    """Give what the experiment doubts of its trials; whether levels differ is not asked here."""
    asked = experiment_report(plan, entries)
    return [one for one in asked.doubts if one.code != "few_trials"]


def _observation(factor: str, level: str, one: Ended, its: Measured) -> Observation:
    found = its.measures
    facts = {"cpu": found.get("cpu_time_s"), "bandwidth": found.get("memory_bytes_per_s")}
    if factor in SLOTS:
        # Only there a worker is a slot, whose time is the tasks' run time, or without a task.
        facts |= {"run_time": found.get("run_time_s"), "gc": found.get("gc_s")}
    assert one.seconds is not None
    known = {name: value for name, value in facts.items() if value is not None}
    return Observation(level_number(factor, level), one.seconds, 1.0, known)


def _question(
    plan: Plan, trials: Sequence[tuple[Ended, Measured]], predict: Sequence[float],
    cores: float | None,
) -> Question:  # fmt: skip
    best = next((its.attainable for _, its in trials if its.attainable is not None), None)
    counted = any("memory_bytes_per_s" in its.measures for _, its in trials)
    cpus = plan.machine.get("cpus_count")
    spread = 0.0
    if best is not None and best.low is not None and best.high is not None:
        spread = (best.high - best.low) / 4
    return Question(
        predict=predict,
        cpus=float(cpus) if isinstance(cpus, int) else None,
        cores=cores,
        limit=best.value if best is not None and counted else None,
        limit_sd=spread,
    )


def _levels(
    factor: str, varied: Mapping[str, str], trials: Sequence[tuple[Ended, Measured]]
) -> list[CurveLevel]:
    made = []
    for name, text in varied.items():
        mine = [(one, its) for one, its in trials if one.treatment == name]
        if not mine:
            continue
        made.append(
            CurveLevel(
                name=text,
                level=level_number(factor, text),
                elapsed_s=mean_of([one.seconds for one, _ in mine if one.seconds is not None]),
                measures=_means([its.measures for _, its in mine], None),
                ledger_s=_means([its.ledger for _, its in mine], 0.0),
            )
        )
    made.sort(key=lambda one: one.level)
    rows = list(dict.fromkeys(row for one in made for row in one.ledger_s))
    spent = [{row: _value(one.ledger_s.get(row)) for row in rows} for one in made]
    least = min(
        (one for one in spent if any(one.values())), key=lambda one: sum(one.values()), default=None
    )
    if least is not None:
        for one, its in zip(made, spent, strict=True):
            one.lost_s = {row: its[row] - least[row] for row in rows} if one.ledger_s else {}
    return made


def _value(one: Estimate | None) -> float:
    return 0.0 if one is None or one.value is None else one.value


def _means(rows: Sequence[Mapping[str, float]], lacking: float | None) -> dict[str, Estimate]:
    """Mean of each name over the trials; where one lacks it, it has `lacking`, or is left out."""
    made = {}
    for name in dict.fromkeys(name for row in rows for name in row):
        found = [row.get(name, lacking) for row in rows if row]
        made[name] = mean_of([one for one in found if one is not None])
    return made
