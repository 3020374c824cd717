"""The report on a tuning, from its plan, its journal, and the experiments that confirm it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.experiments.folder import ExperimentPaths
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.analysis import disturbances_of
from pyrometer.statistics.two import mean_of
from pyrometer.tune.believe.verdict import FEWEST
from pyrometer.tune.confirm.blocks import Pairs, pairs_of, scales_of
from pyrometer.tune.confirm.run import scale_with_more
from pyrometer.tune.confirm.verdict import words_of
from pyrometer.tune.judge.before import recommendations
from pyrometer.tune.judge.doubts import doubts_of, elsewhere_words, refuted
from pyrometer.tune.judge.influence import influences
from pyrometer.tune.judge.schema import (
    BestReport,
    BudgetReport,
    Confirmed,
    Discarded,
    Earning,
    KnobReport,
    State,
    TrialReport,
    TrialStatus,
    TuningReport,
)
from pyrometer.tune.judge.screening import screened
from pyrometer.tune.judge.stand_ins import stand_ins
from pyrometer.tune.judge.why import why_faster
from pyrometer.tune.trials.folder import Tuning, read_tuning
from pyrometer.tune.trials.judged import Judge, Measure
from pyrometer.tune.trials.measured import NS, measured
from pyrometer.tune.trials.planned import in_brief, named
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.replay import History, Step, history_of
from pyrometer.tune.trials.results import agreed
from pyrometer.tune.trials.unapplied import without

FULL_COMPARISON = 3
"""Runs of each side of which it is said why the winner is faster."""


def tuning_report(root: Path, *, causes: bool = True, measure: Measure = measured) -> TuningReport:
    """Judge a tuning, finished or not.

    Parameters
    ----------
    root : Path
        Its folder.
    causes : bool
        Whether to say why the winner is faster, for which runs are compared.
    measure : callable
        Reads the metrics of a run.

    Raises
    ------
    UsageError
        If it is no tuning, is one of a recurring job, or its journal was edited.
    """
    tuning, entries = read_tuning(root), read_journal(root, KINDS)
    if tuning.online is not None:
        raise UsageError(
            f"{root} is of a recurring job: it has no end to report on",
            f"pyrometer tune show {root}",
        )
    history = history_of(entries)
    tuning = without(tuning, history.dropped)
    read = Judge(root, tuning, measure, check=lambda command, run: None)
    main, *others = (
        pairs_of(root, tuning, read, history, scale) for scale in (None, *scales_of(root))
    )
    confirmation = _confirmed(main, tuning)
    elsewhere = [made for one in others if (made := _confirmed(one, tuning)) is not None]
    baseline = _mean([one.told.value for one in history.baselines if one.told])
    before, before_reason = recommendations(root, history)
    found = influences(tuning, history)
    report = TuningReport(
        name=tuning.name,
        folder=str(root),
        workload=tuning.name if tuning.command else tuning.workload,
        command=tuning.command,
        scale=tuning.scale,
        objective=tuning.objective,
        currency=str((tuning.prices or {}).get("currency", "")),
        conditions=tuning.conditions,
        shared=tuning.shared,
        state=_state(history, main),
        told="",
        seed=tuning.seed,
        margin=tuning.margin,
        machine=tuning.machine,
        budget=_budget(tuning, history, [main, *others]),
        space=tuning.space.name,
        knobs=[_knob(knob) for knob in tuning.space.knobs],
        constraints=tuning.space.constraints,
        priors=[*tuning.priors, *(history.known.priors if history.known else [])],
        trials=_trials(root, history, baseline.value if baseline else None),
        stand_ins=stand_ins(tuning, history),
        screened=screened(tuning, history),
        baseline=baseline,
        best=_best(history),
        discarded=_named(history, refused=False),
        not_launched=_named(history, refused=True),
        unapplied=history.dropped,
        before=before,
        before_reason=before_reason,
        similar=history.known.similar if history.known else [],
        confirmation=confirmation,
        elsewhere=elsewhere,
        influence=found.factors,
        influence_reason=found.reason,
        dependence=found.dependence,
        shortest=found.shortest,
        fronts=found.fronts,
        doubts=doubts_of(tuning, history, [main, *others], confirmation, elsewhere),
    )
    if confirmation and confirmation.verdict.outcome == "confirmed" and not report.elsewhere:
        report.elsewhere_reason = _not_elsewhere(root, tuning)
    report.earned_back = earning(report, tuning, history, confirmation)
    if causes and confirmation is not None:
        report.why = why_faster(main.folders, FULL_COMPARISON)
    report.told = told(report)
    return report


def _state(history: History, main: Pairs) -> State:
    if history.settled is None:
        return "searching"
    if not history.settled.configuration:
        return "done"
    return "done" if main.folders and not main.left else "confirming"


def _budget(tuning: Tuning, history: History, confirmed: Sequence[Pairs]) -> BudgetReport:
    spent_s = sum(one.spent_s for one in confirmed)
    passed_s = spent_s + sum(one.waited_s for one in confirmed)
    runs = 2.0 * sum(len(one.pairs) for one in confirmed)
    unit = tuning.budget.unit
    of_unit = {"runs": runs, "seconds": passed_s, "core-seconds": spent_s * tuning.cpus}
    searched_core_s = sum(one.told.cost for one in history.steps if one.told) / NS
    return BudgetReport(
        text=tuning.budget.text, unit=unit, amount=tuning.budget.amount,
        reserved=tuning.reserved, searched=history.spent(tuning), confirmed=of_unit[unit],
        core_s=searched_core_s + spent_s * tuning.cpus,
    )  # fmt: skip


def _knob(knob: Mapping[str, Any]) -> KnobReport:
    kept = {name: knob[name] for name in KnobReport.model_fields if name in knob}
    return KnobReport.model_validate({**kept, "levels": list(kept.get("levels") or ())})


def _trials(root: Path, history: History, baseline: float | None) -> list[TrialReport]:
    found: list[TrialReport] = []
    best: float | None = None
    for step in history.steps:
        told, ended = step.told, step.ended
        value = told.value if told else None
        if step.counts and step.asked.fidelity == "full" and value is not None:
            best = value if best is None else min(best, value)
        # Over the mean of the job as it is; a stand-in's time says nothing beside it.
        known = value is not None and baseline and told is not None and told.failed is None
        known = known and step.asked.fidelity == "full"
        found.append(
            TrialReport(
                trial=step.asked.trial,
                configuration=step.asked.configuration,
                fidelity=step.asked.fidelity,
                block=step.asked.block,
                why=step.asked.why,
                status=status_of(step),
                value=value,
                change=value / baseline - 1 if known and value and baseline else None,
                best_so_far=best,
                failed=told.failed if told else None,
                limit_s=step.asked.limit_s,
                cost_core_s=told.cost / NS if told else 0.0,
                canary=told.canary if told else None,
                metrics=told.metrics if told else {},
                missing=told.missing if told else {},
                disturbed=disturbances_of(ended) if ended else [],
                folder=str(ExperimentPaths(root).trials / ended.folder) if ended else None,
            )
        )
    return found


def status_of(step: Step) -> TrialStatus:
    """Say in a word what became of a trial."""
    if step.told is None:
        return "under way"
    if step.told.refused:
        return "not launched"
    if step.told.failed is not None:
        return "failed"
    return "gave up" if step.told.censored else "finished"


def _best(history: History) -> BestReport | None:
    """Give what the search ended with; before that the best single trial."""
    settled = history.settled
    if settled is None:
        step = history.best
        if step is None:
            return None
        return BestReport(configuration=step.asked.configuration, trials=1, why="so far")
    change = None
    if settled.change is not None:
        value, low, high = settled.change
        change = Estimate(
            value=value, low=low, high=high, level=LEVEL, n=settled.trials,
            method="of the engine, from the trials that chose it",
        )  # fmt: skip
    return BestReport(
        configuration=settled.configuration, change=change, trials=settled.trials, why=settled.why
    )


def _named(history: History, *, refused: bool) -> list[Discarded]:
    """Name what counts for nothing; `refused`: what was never launched, and why."""
    found: dict[tuple[str, str], Discarded] = {}
    later = [
        one.asked.configuration
        for one in history.steps
        if one.told and not (one.told.void or one.told.unseen)
    ]
    repeats = agreed(one.ended for one in history.baselines if one.ended).checksum is not None
    for step in history.steps:
        told, configuration = step.told, step.asked.configuration
        if told is None or told.failed is None or not configuration or told.refused is not refused:
            continue
        if told.queued or (told.passes and configuration in later):
            continue  # It may be tried later, or was.
        if told.differs and told.void and not repeats:
            continue  # Nothing but the checksum differed, as it does each time.
        key = named(configuration), told.failed
        one = found.setdefault(
            key, Discarded(configuration=configuration, reason=told.failed, trials=[])
        )
        one.trials.append(step.asked.trial)
    return list(found.values())


def _mean(values: Sequence[float | None]) -> Estimate | None:
    known = [one for one in values if one is not None]
    return mean_of(known) if known else None


def _confirmed(found: Pairs, tuning: Tuning) -> Confirmed | None:
    verdict = found.verdict(tuning.margin)
    if verdict is None:
        return None
    told = words_of(verdict, tuning.objective)
    if verdict.outcome == "confirmed" and found.lacking is not None:
        told += f"; {found.lacking}"
    return Confirmed(
        scale=found.scale,
        told=told,
        verdict=verdict,
        pairs=list(found.pairs),
        runs=[(str(baseline), str(winner)) for baseline, winner in found.places],
        blocks_planned=found.planned,
        failures=list(found.failures),
        folders=[str(one) for one in found.folders],
    )


def _not_elsewhere(root: Path, tuning: Tuning) -> str:
    """Say why there is no confirmation with more data."""
    if tuning.command:
        return (
            "not confirmed with more data: a command itself decides what it reads; where its data"
            " grow, tune it with more of them, too"
        )
    scale = scale_with_more(tuning)
    if scale is None:
        return "not confirmed with more data: the workload has one scale"
    return (
        "not confirmed with a fifth more data: the budget had no room for that; to add it:"
        f" pyrometer tune resume {root} --blocks {FEWEST} --scale {scale}"
    )


def earning(
    report: TuningReport, tuning: Tuning, history: History, confirmed: Confirmed | None
) -> Earning:
    """Say after how many runs of the job the core time that was spent is earned back.

    A run of the job is what the baseline's trials measure: an iteration, or the whole command.
    """
    if confirmed is None or confirmed.verdict.outcome != "confirmed":
        return Earning(reason="no gain was confirmed")
    cores = [core_s for one in history.baselines if (core_s := _core_s(tuning, one))]
    if not cores:
        return Earning(reason="what is saved is neither the time nor the core time of a run")
    change = confirmed.verdict.change
    each = math.exp(sum(map(math.log, cores)) / len(cores))
    ends = [None if end is None else -end * each for end in (change.value, change.high, change.low)]
    saved = change.model_copy(update=dict(zip(("value", "low", "high"), ends, strict=True)))
    spent = report.budget.core_s
    over = [None if not end else spent / end for end in (ends[0], ends[2], ends[1])]
    runs = change.model_copy(update=dict(zip(("value", "low", "high"), over, strict=True)))
    return Earning(core_s_a_run=saved, runs=runs)


def _core_s(tuning: Tuning, step: Step) -> float | None:
    """Core time of a run, by what the objective is of; ``None`` where it is of something else."""
    told = step.told
    if told is None:
        return None
    if tuning.objective == "core-seconds":
        return None if told.value is None else told.value / NS
    if tuning.objective != "elapsed" or told.seconds is None:
        return None
    return tuning.cpus * told.seconds


def told(report: TuningReport) -> str:
    """Say what came of a tuning, in one sentence."""
    best, found = report.best, report.confirmation
    if best is None:
        return "No trial has finished."
    if report.state == "searching":
        ended = sum(one.status != "under way" for one in report.trials)
        return (
            f"The search is under way: best of {units.counted(ended, 'trial')} is"
            f" {in_brief(best.configuration)}."
        )
    if not best.configuration:
        trials = units.counted(len(report.trials), "trial")
        return f"Nothing better than the job as it is was found in {trials}."
    what = in_brief(best.configuration)
    if found is None:
        return f"{what} is not confirmed yet."
    bad = refuted(report.elsewhere) if found.verdict.outcome == "confirmed" else []
    return "; but ".join([f"{what}: {found.told}", *map(elsewhere_words, bad)]) + "."
