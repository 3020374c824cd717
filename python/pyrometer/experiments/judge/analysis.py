"""Judging an experiment: its treatments compared within blocks, and doubts about the comparison.

Doubts are about trials that are missing, disturbed, different in result or plan, or not warm.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise

from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.schema import doubt
from pyrometer.experiments.folder import Ended, Plan
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.machines import doubts_of_machines, doubts_of_nodes
from pyrometer.experiments.judge.schema import (
    ESTIMANDS,
    AdjustedPair,
    CanaryReport,
    ExperimentReport,
    SeriesReport,
    TreatmentReport,
)
from pyrometer.experiments.slow_hosts import hosts_differ, judged_again
from pyrometer.statistics.factorial import Cell, Factorial, factorial
from pyrometer.statistics.regression import Observed, adjust
from pyrometer.statistics.treatments import CompareReport, Trial, analyse
from pyrometer.statistics.two import mean_of

CENSORED = {
    "failed": "failed",
    "wrong_result": "gave a wrong result",
    "timeout": "ran out of time",
    "out_of_memory": "ran out of memory",
}
CARRIED_OVER = 0.01
"""p below which a carry-over between treatments that take turns is reported."""


WAIT_S = 5.0
"""A wait for the first executor that is no more than the start of a JVM."""


def disturbances_of(one: Ended) -> list[str]:
    """Return what was beyond the guard's limits before and during a trial."""
    return [text for seen in (one.before, one.during) if seen for text in seen.disturbed]


def doubts_of(
    report: ExperimentReport, ended: Sequence[Ended], lacking: int, *, detected: bool
) -> list[Doubt]:
    """Collect the doubts about a report.

    Parameters
    ----------
    report : ExperimentReport
        With its treatments and tests.
    ended : sequence of Ended
        All trials that ended.
    lacking : int
        Blocks that are not compared.
    detected : bool
        Whether iterations count from where their times are steady.
    """
    found = []
    for one in report.treatments:
        ends = [f"{n} {CENSORED[how]}" for how, n in one.ends.items() if how in CENSORED]
        if ends:
            of = sum(one.ends.values())
            out = "" if one.compared else ", it is not compared"
            after = _after(one.censored_s) + _beside(one.name, ended)
            message = f"{one.name}: of {of} trials {', '.join(ends)}{after}{out}"
            found.append(doubt("trials_censored", message))
    if lacking:
        found.append(
            doubt("blocks_incomplete", f"{lacking} of {report.blocks} blocks are not compared")
        )
    found += differing(ended)
    if detected:
        found += _unsettled(report)
    if report.carry_over_p is not None and report.carry_over_p < CARRIED_OVER:
        message = f"it matters which treatment came before (F test, p = {report.carry_over_p:.2g})"
        found.append(doubt("carry_over", message))
    found += doubts_of_machines(ended) + _waits(ended)
    return [*found, *disturbed(ended)]


def disturbed(ended: Sequence[Ended]) -> list[Doubt]:
    """Doubt trials that something else on the machine disturbed."""
    seen = [(one.trial, text) for one in ended for text in disturbances_of(one)]
    if not seen:
        return []
    number, text = seen[-1]
    count = len({trial for trial, _ in seen})
    message = f"{count} of {len(ended)} trials; in trial {number} {text}"
    return [doubt("trials_disturbed", message)]


def _waits(ended: Sequence[Ended]) -> list[Doubt]:
    """Say how long applications waited for their first executor, where that is worth a word."""
    waits = [(one.waited_s, one.trial) for one in ended if one.waited_s is not None]
    long = [wait for wait, _ in waits if wait > WAIT_S]
    if not long:
        return []
    longest, trial = max(waits)
    median = statistics.median(wait for wait, _ in waits)
    message = (
        f"{len(long)} of {len(waits)} trials waited more than {WAIT_S:g} s for their first"
        f" executor, {median:.1f} s in the median, {longest:.1f} s in trial {trial}"
    )
    return [doubt("executors_waited_for", message)]


def _after(censored_s: Sequence[float]) -> str:
    """Say how long censored trials had run: they would have taken longer."""
    if not censored_s:
        return ""
    ends = dict.fromkeys(f"{one:.4g}" for one in (min(censored_s), max(censored_s)))
    return f" after {' to '.join(ends)} s"


def _beside(treatment: str, ended: Sequence[Ended]) -> str:
    """Say how long trials that ran out of time waited for executors: none of it is their work."""
    late = [one for one in ended if one.treatment == treatment and one.status == "timeout"]
    longest = max((one.waited_s or 0.0 for one in late), default=0.0)
    return f" and up to {longest:.4g} s of waiting for executors" if longest else ""


def _unsettled(report: ExperimentReport) -> list[Doubt]:
    """Doubt treatments most of whose series never settle, or are too short to show it."""
    unsettled = []
    for one in report.treatments:
        for shape in ("not steady", "too short"):
            count = sum(series.shape == shape for series in one.series)
            if 2 * count > len(one.series):
                unsettled.append(f"{one.name}: {shape} in {count} of {len(one.series)} trials")
    return [doubt("not_settled", "; ".join(unsettled))] if unsettled else []


def differing(ended: Sequence[Ended]) -> list[Doubt]:
    """Doubt treatments whose results or plans differ."""
    results: dict[tuple[int | None, str | None], list[str]] = {}
    plans: dict[str, list[str]] = {}
    for one in ended:
        if one.status != "finished":
            continue
        if one.checksum is not None:
            results.setdefault((one.rows, one.checksum), []).append(one.treatment)
        if one.plan is not None:
            plans.setdefault(one.plan, []).append(one.treatment)
    found = []
    if len(results) > 1:
        message = "; ".join(
            f"{rows} rows, checksum {checksum}: {_names(names)}"
            for (rows, checksum), names in results.items()
        )
        found.append(doubt("results_differ", message))
    if len(plans) > 1:
        message = "; ".join(
            f"plan {digest[:8]}: {_names(names)}" for digest, names in plans.items()
        )
        found.append(doubt("plan_changed", message))
    return found


def _names(names: Sequence[str]) -> str:
    counts: Mapping[str, int] = Counter(names)
    shown = [f"{name} ({n} trials)" for name, n in counts.items()]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


COVARIATES = ("alu_ns", "latency_ns", "copy_bytes_per_s")


def experiment_report(
    plan: Plan, entries: Entries, *, control: str | None = None, margin: float | None = None
) -> ExperimentReport:
    """Compare the treatments of an experiment by the trials that have ended.

    Parameters
    ----------
    plan, entries : Plan, Entries
        As its folder holds them.
    control : str, optional
        Treatment that others are compared with, instead of the plan's baseline.
    margin : float, optional
        Instead of the plan's.

    Raises
    ------
    UsageError
        If there is no such treatment, or it is of workloads that run together, or a bisection.
    """
    if plan.kind == "corun":
        raise UsageError(
            f"{plan.name} is of workloads that run together", "pyrometer corun DIR reports them"
        )
    if plan.kind == "bisect":
        raise UsageError(
            f"{plan.name} is a search for the first slower level", "pyrometer experiment show DIR"
        )
    entries = judged_again(plan, entries)
    ended = entries.ends_of(plan.trials)
    treatments = [treatment_report(one.name, one.levels, ended) for one in plan.treatments]
    kept = {one.name for one in treatments if one.compared and one.values}
    control = _known(plan, control)
    whole, lacking = _whole_blocks(ended, kept)
    report = ExperimentReport(
        name=plan.name,
        workload=plan.workload,
        scale=plan.scale,
        kind=plan.kind,
        estimand=ESTIMANDS.get(plan.kind),
        carry_over_p=carry_over(plan, ended) if plan.kind == "toggle" else None,
        seed=plan.seed,
        blocks=plan.blocks,
        margin=plan.margin if margin is None else margin,
        baseline=control,
        trials_count=len(plan.trials),
        done_count=len(ended),
        repeated_count=len(entries.disturbed),
        disturbed_count=sum(bool(disturbances_of(one)) for one in ended),
        treatments=treatments,
        left_out=plan.left_out,
    )
    if len(kept) < 2:
        report.reason = "two treatments with a finished trial are needed to compare"
    elif control is not None and control not in kept:
        report.reason = f"the baseline {control} has too few finished trials"
    elif not whole:
        report.reason = "no block has a finished trial of each treatment yet"
    else:
        report.comparison = analyse(
            [Trial(one.treatment, _seconds(one), _block(plan, one)) for one in whole],
            what="time of an iteration, mean of a trial",
            unit="s", margin=report.margin, control=control,
            names=[one.name for one in plan.treatments if one.name in kept],
            sides=_sides(plan) if plan.kind == "duet" else None, pooling=not _split(plan),
            drawn=plan.kind != "fixed-order",
        )  # fmt: skip
        report.canaries = _canaries(plan, whole, report.comparison)
        report.factors = _factors(plan, whole)
    report.doubts = [
        *doubts_of(report, ended, lacking, detected=plan.warmup == "auto"),
        *doubts_of_nodes(plan),
        *hosts_differ(plan, entries),
        *(report.comparison.doubts if report.comparison else ()),
    ]
    return report


def _sides(plan: Plan) -> dict[str, float]:
    """Side of the first treatment in each block of a duet."""
    first = plan.treatments[0].name
    cpus = sorted({one.cpus or "" for one in plan.trials})
    mine = [one for one in plan.trials if one.treatment == first]
    return {str(one.block): 1.0 if one.cpus == cpus[0] else -1.0 for one in mine}


def carry_over(plan: Plan, ended: Sequence[Ended]) -> float | None:
    """Test whether an iteration's time depends on which treatment came before it in the JVM.

    By the F test of the previous treatment, in a model with treatments and JVMs; ``None`` where
    there are too few iterations.
    """
    places = {one.number: one.iterations for one in plan.trials}
    cells = []
    for block in dict.fromkeys(one.block for one in ended):
        turns = sorted(
            (position, one.treatment, seconds, at >= (one.counted_from or 0))
            for one in ended
            if one.block == block and one.status == "finished"
            for at, (position, seconds) in enumerate(
                zip(places[one.trial], one.series_s, strict=False)
            )
        )
        cells += [
            Cell({"treatment": name, "before": before}, seconds, str(block))
            for (_, before, _, _), (_, name, seconds, counts) in pairwise(turns)
            if counts
        ]
    effects = factorial(cells).effects
    return next((one.p for one in effects if one.factors == ["before"]), None)


def _known(plan: Plan, control: str | None) -> str | None:
    if control is None:
        return plan.baseline
    names = [one.name for one in plan.treatments]
    if control in names:
        return control
    numbers = {str(number): name for number, name in enumerate(names, 1)}
    if control in numbers:
        return numbers[control]
    raise UsageError(
        f"no treatment is called {control}",
        f"give its name or its number; there are: {'; '.join(names)}",
    )


def _seconds(one: Ended) -> float:
    assert one.seconds is not None
    return one.seconds


def _block(plan: Plan, one: Ended) -> str | None:
    # In a fixed order, trials of one block number are far apart in time: they are no block.
    return None if plan.kind == "fixed-order" else str(one.block)


def treatment_report(name: str, levels: dict[str, str], ended: Sequence[Ended]) -> TreatmentReport:
    """Report on a treatment: its times, and how its trials among `ended` ended."""
    mine = [one for one in ended if one.treatment == name]
    values = [_seconds(one) for one in mine if one.status == "finished"]
    return TreatmentReport(
        name=name,
        levels=levels,
        mean=mean_of(values),
        values=values,
        ends=dict(Counter(one.status for one in mine)),
        censored_s=[one.worked_s for one in mine if one.worked_s is not None],
        reasons=list(
            dict.fromkeys(one.reason for one in mine if one.reason and one.status != "finished")
        ),
        compared=not mine or 2 * len(values) > len(mine),
        series=[
            SeriesReport(
                trial=one.trial, shape=one.shape, series_s=one.series_s,
                counted_from=one.counted_from,
            )
            for one in mine
            if one.status == "finished" and one.series_s
        ],
    )  # fmt: skip


def _whole_blocks(ended: Sequence[Ended], kept: set[str]) -> tuple[list[Ended], int]:
    """Trials of blocks in which every compared treatment finished; how many blocks are missing."""
    finished: dict[int, set[str]] = {}
    for one in ended:
        if one.status == "finished" and one.treatment in kept:
            finished.setdefault(one.block, set()).add(one.treatment)
    whole = {block for block, names in finished.items() if names == kept}
    trials = [
        one
        for one in ended
        if one.block in whole and one.treatment in kept and one.status == "finished"
    ]
    return trials, len({one.block for one in ended} - whole)


def _canaries(
    plan: Plan, trials: Sequence[Ended], comparison: CompareReport
) -> CanaryReport | None:
    if plan.canaries == "none":
        return None
    if split := _split(plan):
        # Simulated, 5 blocks of 2 plots of 3 trials: 18 % of such 95 % intervals missed.
        return CanaryReport(
            before=plan.canaries,
            reason=f"trials of the same {', '.join(split)} ran together: with one noise for all,"
            " intervals would be too short",
        )
    observed = []
    for one in trials:
        facts = one.canaries.model_dump() if one.canaries else {}
        known = {name: facts[name] for name in COVARIATES if facts.get(name)}
        observed.append(Observed(one.treatment, str(one.block), _seconds(one), known))
    found = adjust(observed, [(pair.a, pair.b) for pair in comparison.pairs])
    if isinstance(found, str):
        why = next((c.reason for one in trials if (c := one.canaries) and c.reason), None)
        return CanaryReport(before=plan.canaries, reason=f"{found}{f' ({why})' if why else ''}")
    return CanaryReport(
        before=plan.canaries,
        covariates=list(found.names),
        moved=list(found.moved),
        variance_ratio=found.variance_ratio,
        log_ratio_sd=found.plain_sd,
        adjusted_log_ratio_sd=found.sd,
        slopes=found.slopes,
        pairs=[AdjustedPair(a=a, b=b, change=one) for (a, b), one in found.changes.items()],
    )


def _split(plan: Plan) -> list[str]:
    """Factors of whole plots, where there are several plots of several trials each."""
    plots = {tuple(one.varied.get(name) for name in plan.split) for one in plan.treatments}
    return plan.split if 1 < len(plots) < len(plan.treatments) else []


def _factors(plan: Plan, trials: Sequence[Ended]) -> Factorial:
    varied = {one.name: one.varied for one in plan.treatments}
    cells = [Cell(varied[one.treatment], _seconds(one), str(one.block)) for one in trials]
    return factorial(cells, varied.get(plan.baseline or ""), split=plan.split)
