"""Plans and results of experiments as text for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from pyrometer.compare.terminal import effect, listed, percent, show_comparison
from pyrometer.core import units
from pyrometer.experiments.judge.best import verdict
from pyrometer.experiments.judge.machines import notes_of
from pyrometer.experiments.judge.schema import ESTIMANDS

if TYPE_CHECKING:
    from pyrometer.core.estimate import Estimate
    from pyrometer.experiments.folder import LeftOutTreatment, Plan
    from pyrometer.experiments.judge.forecast import Forecast
    from pyrometer.experiments.judge.schema import ExperimentReport, TreatmentReport, TrialsReport


ORDERS = {
    "randomized-blocks": "randomised blocks",
    "fixed-order": "in a fixed order, which confounds",
    "toggle": "taking turns in one JVM a block, each round in random order",
    "duet": "two in parallel",
    "corun": "randomised blocks; workloads of a party run at once",
}

MANY = 40
"""Trials that are listed one by one; of more, the first ones."""


def plan(console: Any, planned: Plan, found: Forecast, brief: bool = False) -> None:
    """Print treatments, order, duration and detectable effect."""
    from rich.table import Table
    from rich.text import Text

    console.print(
        f"[bold]{escape(planned.name)}[/]: {escape(planned.workload)}, scale {planned.scale},"
        f" profile {escape(planned.profile)}; {len(planned.treatments)} treatments"
        f" × {planned.blocks} blocks = {len(planned.trials)} trials;"
        f" iterations of each: {planned.iterations}, and {planned.warmup} to warm up",
        soft_wrap=True,
    )
    left_out(console, planned.left_out)
    notes(console, planned)
    if not brief:
        names = list(dict.fromkeys(name for one in planned.treatments for name in one.varied))
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("treatment", *names):
            table.add_column(name)
        for number, treatment in enumerate(planned.treatments, 1):
            mark = " (baseline)" if treatment.name == planned.baseline else ""
            levels = (Text(treatment.varied.get(name, "–")) for name in names)
            table.add_row(f"{number}{mark}", *levels)
        console.print(table)
        console.print()
        _order(console, planned)
    how = ORDERS[planned.kind]
    split = f", split by {', '.join(planned.split)}" if planned.split else ""
    console.print(f"order: {how}{split}, seed {planned.seed}", soft_wrap=True)
    if planned.kind in ESTIMANDS:
        console.print(f"[bold]estimand:[/] {ESTIMANDS[planned.kind]}", soft_wrap=True)
    if planned.kind == "duet":
        sides = " and ".join(sorted({one.cpus or "" for one in planned.trials}))
        console.print(f"sides: CPUs {sides}, swapped from block to block")
    for name, seconds in _offsets(planned).items():
        console.print(f"{name} begins {seconds:g} s later", markup=False)
    if planned.canaries != "none":
        console.print(f"canaries before each {planned.canaries}")
    if found.total_s is not None:
        console.print(
            f"about {duration(found.total_s)}: {duration(found.trial_s.value or 0)} a trial"
            f" ({found.trial_s.n} of the past)"
        )
    console.print(_power(planned, found), soft_wrap=True, markup=False)


def notes(console: Any, planned: Plan) -> None:
    """Print what virtual machines will do to times."""
    for note in notes_of(planned):
        console.print(f"note: {note}", style="yellow", markup=False, soft_wrap=True)


def _offsets(planned: Plan) -> dict[str, float]:
    found = [one.company for one in planned.treatments if one.company]
    return {one.member: one.offset_s for one in found if one.offset_s}


def headline(console: Any, what: str, trials: TrialsReport, more: str = "") -> None:
    """Print what ran, and how many of its trials are reported."""
    console.print(
        f"{what} at scale {_scale(what, trials.scale)}{more}:"
        f" {trials.done_count} of {trials.trials_count} trials ({trials.folder})\n",
        markup=False, soft_wrap=True,
    )  # fmt: skip


def _scale(workload: str, scale: str) -> str:
    """Write a scale, with its unit where it is a number."""
    from pyrometer.core.errors import PyrometerError
    from pyrometer.workloads import registry

    try:
        known = registry.get(workload)
    except PyrometerError:
        # Several workloads, or one that is not here (any more).
        return scale
    return scale if scale in known.scales else f"{scale} ({known.scale_unit})"


def left_out(console: Any, those: Sequence[LeftOutTreatment]) -> None:
    """Print what is not run, by reason."""
    names: dict[str, list[str]] = {}
    for one in those:
        names.setdefault(one.reason, []).append(one.name)
    for reason, of in names.items():
        more = f" and {len(of) - 3} more" if len(of) > 3 else ""
        console.print(
            f"[yellow]left out[/] {escape('; '.join(of[:3]))}{more}: {escape(reason)}",
            soft_wrap=True,
        )


def _power(planned: Plan, found: Forecast) -> str:
    sd = found.noise_sd
    if sd.value is None:
        return f"what it can see is not known: {found.reason}"
    interval = (
        "" if sd.low is None or sd.high is None else f" [{100 * sd.low:.1f}, {100 * sd.high:.1f}]"
    )
    noise = f"{100 * sd.value:.1f} %{interval} noise ({found.noise_source})"
    many = found.comparisons_count
    each = f", in each of {many} comparisons," if many > 1 else ""
    if found.detectable is None:
        return f"{planned.blocks} blocks at {noise}{each} cannot show any effect of a likely size"
    text = f"{planned.blocks} blocks at {noise}{each} can only show ≥ {effect(found.detectable)}"
    if found.blocks_for_margin is not None:
        text += f"; {100 * planned.margin:g} % takes {found.blocks_for_margin} blocks"
    return text


def _order(console: Any, planned: Plan) -> None:
    numbers = {one.name: number for number, one in enumerate(planned.treatments, 1)}
    shown = planned.trials[:MANY]
    blocks: dict[int, list[str]] = {}
    for one in shown:
        blocks.setdefault(one.block, []).append(str(numbers[one.treatment]))
    for block, order in blocks.items():
        console.print(f"block {block}: treatments {' '.join(order)}")
    if len(planned.trials) > len(shown):
        console.print(f"… and {len(planned.trials) - len(shown)} trials more (all of them: --json)")


def report(console: Any, experiment: ExperimentReport, folder: Path, then: str = "") -> None:
    """Print the result of an experiment; what is not done goes on with `then`."""
    from rich.table import Table
    from rich.text import Text

    repeated = f", {experiment.repeated_count} repeated" if experiment.repeated_count else ""
    console.print(
        f"[bold]{escape(experiment.name)}[/]: {escape(experiment.workload)}, scale"
        f" {experiment.scale}: {experiment.done_count} of {experiment.trials_count} trials"
        f"{repeated}, seed {experiment.seed}",
        soft_wrap=True,
    )
    console.print(verdict(experiment), style="bold", markup=False)
    left_out(console, experiment.left_out)
    if experiment.estimand:
        console.print(f"[bold]estimand:[/] {experiment.estimand}", soft_wrap=True)
    if experiment.comparison is not None:
        show_comparison(console, experiment.comparison, "time of an iteration, mean of a trial")
        _settling(console, experiment)
        _factors(console, experiment)
        _canaries(console, experiment)
        _order_test(console, experiment)
    else:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for title in ("treatment", "trials", "mean", "95 %"):
            table.add_column(title)
        for treatment in experiment.treatments:
            mean = treatment.mean
            table.add_row(
                Text(treatment.name),
                str(mean.n),
                "–" if mean.value is None else f"{mean.value:.5g} s",
                _interval(mean),
            )
        console.print(table)
    for doubt in experiment.doubts:
        console.print(
            f"[yellow]{doubt.severity}[/] {escape(doubt.message)} ({doubt.code})", soft_wrap=True
        )
        if doubt.remedy:
            console.print(f"  → {escape(doubt.remedy)}", soft_wrap=True)
    if experiment.done_count < experiment.trials_count:
        then = then or f"pyrometer experiment resume {folder}"
        console.print(f"to go on: {then}", markup=False)


def _settling(console: Any, experiment: ExperimentReport) -> None:
    """Print which iterations count; once for all treatments that have the same."""
    alike: dict[str, list[TreatmentReport]] = {}
    for one in experiment.treatments:
        if any(series.shape for series in one.series):
            alike.setdefault(_counted(one), []).append(one)
    for counted, those in alike.items():
        counts = Counter(s.shape for one in those for s in one.series if s.shape)
        shapes = ", ".join(f"{n} {shape}" for shape, n in counts.most_common())
        names = "; ".join(one.name for one in those)
        who = f"all {len(those)} treatments" if len(alike) == 1 and len(those) > 1 else names
        console.print(f"[dim]{escape(who)}: {counted} ({shapes})[/]", soft_wrap=True)


def _counted(one: TreatmentReport) -> str:
    starts = sorted({series.counted_from or 0 for series in one.series})
    longest = max(len(series.series_s) for series in one.series)
    first = "–".join(str(at + 1) for at in dict.fromkeys((starts[0], starts[-1])))
    return f"iterations count from number {first} of {longest} on"


def _factors(console: Any, experiment: ExperimentReport) -> None:
    from rich.table import Table
    from rich.text import Text

    found = experiment.factors
    if found is None or not found.effects:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("factor", "p", "of the variance", "levels, mean over the others'"):
        table.add_column(title, overflow="fold")
    for one in found.effects:
        levels = "; ".join(
            f"{each.a} → {each.b} {percent(each.change.value)}"
            f" ({percent(each.change.low)} … {percent(each.change.high)})"
            for each in one.levels
        )
        name = " and ".join(one.factors)
        if one.error == "whole plots":
            name += " (against whole plots)"
        table.add_row(
            Text(name if one.levels else f"{name}, depending on each other"),
            f"{one.adjusted_p:.2g}",
            f"{100 * one.share:.0f} %",
            Text(levels),
        )
    console.print()
    console.print(table)
    if found.reason:
        console.print(f"[dim]{found.reason}[/]")


def _canaries(console: Any, experiment: ExperimentReport) -> None:
    found = experiment.canaries
    if found is None:
        return
    if found.variance_ratio is None:
        console.print(f"[dim]canaries explain nothing known: {found.reason}[/]")
        return
    assert experiment.comparison is not None
    plain = {(pair.a, pair.b): pair.change for pair in listed(experiment.comparison.pairs)}
    gone = 100 * (1 - found.variance_ratio)
    verb = f"explain {gone:.0f} % of" if gone > 0 else "explain nothing of"
    moved = f"; treatments move {', '.join(found.moved)}" if found.moved else ""
    console.print(
        f"canaries before each {found.before} ({', '.join(found.covariates)}) {verb} the variance"
        f" within blocks (sd of the log ratio {_sd(found.log_ratio_sd)}, with them"
        f" {_sd(found.adjusted_log_ratio_sd)}){moved}{'; with them held equal:' * bool(plain)}",
        soft_wrap=True, markup=False,
    )  # fmt: skip
    for pair in found.pairs:
        before = plain.get((pair.a, pair.b))
        if before is None:
            continue
        console.print(
            f"  {pair.a} → {pair.b}: {percent(pair.change.value)}"
            f" ({percent(pair.change.low)} … {percent(pair.change.high)};"
            f" without: {percent(before.value)})",
            markup=False, soft_wrap=True,
        )  # fmt: skip


def _order_test(console: Any, experiment: ExperimentReport) -> None:
    assert experiment.comparison is not None
    order = experiment.comparison.order
    if order.drift_p is not None:
        if experiment.carry_over_p is not None:
            p = experiment.carry_over_p
            console.print(f"[dim]carry-over from the treatment before: p = {p:.2g} (F test)[/]")
        line = f"drift over the order of trials: p = {order.drift_p:.2g} (Mann and Kendall)"
        if order.autocorrelation is not None:
            line += f"; correlation of neighbours {order.autocorrelation:+.2f}"
        console.print(f"[dim]{line}[/]")


def _sd(one: Estimate | None) -> str:
    if one is None or one.value is None:
        return "–"
    if one.low is None or one.high is None:
        return units.short(one.value)
    low, high = units.short(one.low, 2), units.short(one.high, 2)
    return f"{units.short(one.value)} [{low}, {high}]"


def _interval(one: Estimate) -> str:
    return "–" if one.low is None or one.high is None else f"{one.low:.5g} … {one.high:.5g}"


def duration(seconds: float) -> str:
    """Write a duration given in seconds.

    Examples
    --------
    >>> duration(70), duration(600), duration(9000)
    ('70.0 s', '10 min 00 s', '2 h 30 min')
    """
    return units.duration(seconds * 1e9)
