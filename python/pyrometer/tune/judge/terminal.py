"""A tuning on the terminal: what is planned, what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.markup import escape

from pyrometer.compare.terminal import percent, show_doubts
from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.core.units import digits
from pyrometer.tune.believe.verdict import FEWEST
from pyrometer.tune.judge.doubts import refuted
from pyrometer.tune.judge.schema import (
    Confirmed,
    Recommendation,
    StandInReport,
    TuningReport,
)
from pyrometer.tune.space.declared import meaning
from pyrometer.tune.space.levels import bounds, write_level
from pyrometer.tune.space.space import Knob
from pyrometer.tune.trials.folder import Objective, Tuning
from pyrometer.tune.trials.measured import words_of
from pyrometer.tune.trials.planned import in_brief, named
from pyrometer.tune.trials.refused import NOT_LAUNCHED

MINIMISED: Mapping[Objective, str] = {
    "elapsed": "time",
    "core-seconds": "CPU time",
    "cost": "cost",
    "p95": "the 95th percentile of the iterations' times",
    "memory": "peak memory",
}
MOST_TRIALS = 12
MOST_CAUSES = 6
MOST_LEVELS = 4


def planned(console: Any, tuning: Tuning, *, brief: bool = False) -> None:
    """Print what would be varied, at what price, and how it ends; `brief`: without the factors."""
    budget = tuning.budget
    job = " ".join(tuning.command) or f"{tuning.name}, scale {tuning.scale}"
    spark = "" if tuning.spark is None else f", Spark {tuning.spark}"
    factors = units.counted(len(tuning.space.knobs), "factor")
    console.print(
        f"[bold]{escape(job)}[/]{spark}: minimise {MINIMISED[tuning.objective]}; {factors} of the"
        f" space {escape(tuning.space.name)}",
        soft_wrap=True,
    )
    search = budget.words(budget.amount - tuning.reserved)
    console.print(
        f"budget: {budget.words(budget.amount)}, {search} to search and"
        f" {budget.words(tuning.reserved)} to confirm what is found",
        markup=False, soft_wrap=True,
    )  # fmt: skip
    for text in tuning.conditions:
        console.print(f"subject to: {text}", markup=False, soft_wrap=True)
    for prior in tuning.priors:
        saves = ""
        if prior.saving_ratio is not None:
            saves = f", predicted to save {units.percent(prior.saving_ratio)}"
        text = f"before any trial: {named(prior.levels)}{saves} ({prior.source})"
        console.print(text, markup=False, soft_wrap=True)
    if brief:
        switches = {k: why for k, why in tuning.space.left_out.items() if k.startswith("os.")}
        show_not_varied(console, switches)
        return
    _knobs(console, tuning.space.read().knobs)
    show_not_varied(console, tuning.space.left_out)
    for cheap in tuning.fidelities:
        console.print(f"may stand in: {cheap.summary}", markup=False, soft_wrap=True)


def show_not_varied(console: Any, left_out: Mapping[str, str]) -> None:
    """Name what stays as it is, once for each reason."""
    for why in dict.fromkeys(left_out.values()):
        names = ", ".join(factor for factor, other in left_out.items() if other == why)
        console.print(f"[dim]not varied: {escape(names)}: {escape(why)}[/]", soft_wrap=True)


def _knobs(console: Any, knobs: Sequence[Knob]) -> None:
    """Print each knob with what holds today, what may be tried, and what that may break."""
    for knob in knobs:
        today = "as Spark or the JVM decides" if knob.default is None else knob.default
        console.print(f"\n[bold]{escape(knob.factor)}[/]", soft_wrap=True)
        console.print(
            f"  today: {_with_meaning(knob, today)}; tried: {_levels(knob)}",
            markup=False, soft_wrap=True,
        )  # fmt: skip
        if knob.breaks:
            console.print(f"  [dim]{escape(knob.breaks)}[/]", soft_wrap=True)
    console.print()


def _levels(knob: Knob) -> str:
    """Write what may be tried of a knob, as it is typed."""
    if knob.kind == "choice":
        return ", ".join(one for one in knob.levels if one != knob.default)
    low, high = (write_level(knob, end) for end in bounds(knob))
    others = "".join(
        f", or {_with_meaning(knob, one)}" for one in knob.special if one != knob.default
    )
    return f"{low} to {high}{others}"


def _with_meaning(knob: Knob, level: str) -> str:
    means = meaning(knob.factor, level)
    return level if means is None else f"{level} ({means})"


def report(console: Any, found: TuningReport, folder: Path) -> None:
    """Print what came of a tuning: the verdict first."""
    console.print(f"[bold]{escape(found.told)}[/]", soft_wrap=True)
    best = found.best.configuration if found.best else {}
    if len(best) > MOST_LEVELS:
        console.print(f"  all of it: {named(best)}", style="dim", markup=False, soft_wrap=True)
    show_doubts(console, found.doubts)
    before(console, found.before, found.before_reason)
    _similar(console, found)
    _confirmed(console, found)
    _trials(console, found)
    _stand_ins(console, found)
    _dropped(console, found)
    _discarded(console, found)
    _influence(console, found)
    _shortest(console, found)
    _why(console, found)
    _cost(console, found)
    for line in next_steps(found, folder):
        console.print(line, markup=False, soft_wrap=True)


def before(console: Any, found: list[Recommendation], reason: str | None) -> None:
    """Print what could be recommended before any trial."""
    console.print("\n[bold]Before any trial[/] [dim](findings of the first run of the job)[/]")
    if not found:
        console.print(f"  {reason}", markup=False, soft_wrap=True)
    for one in found:
        tried = f", tried in trial {', '.join(map(str, one.trials))}" if one.trials else ""
        console.print(
            f"  {named(one.levels)}: predicted to save {_interval(one.saving_ratio)}"
            f" ({one.finding}{tried})",
            markup=False, soft_wrap=True,
        )  # fmt: skip


def _similar(console: Any, found: TuningReport) -> None:
    for one in found.similar:
        differs = f"; differs in {', '.join(one.differs)}" if one.differs else ""
        trials = units.counted(one.trials, "trial")
        console.print(
            f"  known from {one.job} ({one.of}): {trials}, distance {one.distance:.2f}{differs}",
            markup=False, soft_wrap=True,
        )  # fmt: skip


def _interval(one: Estimate) -> str:
    if one.value is None:
        return units.MISSING
    if one.low is None or one.high is None:
        return units.percent(one.value)
    return f"{units.percent(one.value)} [{units.percent(one.low)}, {units.percent(one.high)}]"


def _confirmed(console: Any, found: TuningReport) -> None:
    console.print("\n[bold]Confirmation[/] [dim](fresh blocks, which had no part in the search)[/]")
    one = found.confirmation
    if one is None:
        console.print("  nothing was confirmed yet" if found.state != "done" else "  none")
        return
    for part in (one, *found.elsewhere):
        where = "" if part is one else f"at scale {part.scale}: "
        console.print(f"  {where}{part.told}", markup=False, soft_wrap=True)
        for reason in part.failures:
            console.print(f"    {reason}", markup=False, soft_wrap=True)
    _spread(console, one)
    if found.elsewhere_reason is not None:
        console.print(f"  {found.elsewhere_reason}", markup=False, soft_wrap=True)


def _spread(console: Any, one: Confirmed) -> None:
    base, best, ratio = (
        one.verdict.baseline_spread, one.verdict.incumbent_spread, one.verdict.spread_ratio
    )  # fmt: skip
    if base.value is None or best.value is None:
        return
    times = ""
    if ratio.value is not None:
        ends = "" if ratio.low is None else f" [{digits(ratio.low)}, {digits(ratio.high or 0.0)}]"
        times = f"; ratio {digits(ratio.value)}{ends}"
    console.print(
        f"  spread from run to run: baseline {_interval(base)}, winner {_interval(best)}{times}",
        markup=False, soft_wrap=True,
    )  # fmt: skip


def _trials(console: Any, found: TuningReport) -> None:
    from rich.table import Table
    from rich.text import Text

    shown = sorted(
        (one for one in found.trials if one.status == "finished" and one.fidelity == "full"),
        key=lambda one: (one.value is None, one.value or 0.0),
    )[:MOST_TRIALS]
    if not shown:
        return
    console.print(f"\n[bold]Trials[/] [dim]({len(found.trials)}; the best first)[/]")
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("trial", found.objective, "change", "block", "configuration"):
        right = title not in ("configuration",)
        table.add_column(title, justify="right" if right else "left", overflow="fold")
    for one in shown:
        table.add_row(
            str(one.trial), words_of(found.objective, one.value, found.currency),
            percent(one.change), str(one.block), Text(in_brief(one.configuration, 4)),
        )  # fmt: skip
    console.print(table)


def _stand_ins(console: Any, found: TuningReport) -> None:
    if not found.stand_ins:
        return
    console.print("\n[bold]Stand-ins[/] [dim](rank correlation with the full run)[/]")
    for one in found.stand_ins:
        console.print(f"  {stand_in_words(one)}", markup=False, soft_wrap=True)


def _dropped(console: Any, found: TuningReport) -> None:
    dropped = [one for one in found.screened if one.dropped]
    if not dropped:
        return
    kept = len(found.screened) - len(dropped)
    console.print(
        f"\n[bold]Dropped by screening[/] [dim](effect of a level at a stand-in; {kept} of"
        f" {units.counted(len(found.screened), 'factor')} kept)[/]",
        soft_wrap=True,
    )
    for one in dropped:
        low, value, high = (
            units.percent(end, True) for end in (one.effect.low, one.effect.value, one.effect.high)
        )
        console.print(
            f"  {one.factor}={one.level}: {value} [{low}, {high}]", markup=False, soft_wrap=True
        )


def stand_in_words(one: StandInReport) -> str:
    """Say what a stand-in is, what it costs and how well it ranks."""
    line = f"{one.name}: {one.summary}"
    if one.share is not None:
        line += f"; {units.percent(one.share)} of a run"
    rank = one.correlation
    if rank.value is not None:
        ends = ""
        if rank.low is not None and rank.high is not None:
            ends = f" [{rank.low:.2f}, {rank.high:.2f}]"
        line += (
            f"; correlation {rank.value:.2f}{ends} of {units.counted(rank.n or 0, 'configuration')}"
        )
    elif one.trials:
        line += f"; correlation not known: {rank.n or 0} ran at both"
    return f"{line}; not used: {one.left_out}" if one.left_out else line


def _discarded(console: Any, found: TuningReport) -> None:
    for title, listed in (("Discarded", found.discarded), ("Not launched", found.not_launched)):
        if listed:
            console.print(f"\n[bold]{title}[/]")
        for one in listed:
            trials = ", ".join(map(str, one.trials))
            reason = one.reason.removeprefix(NOT_LAUNCHED)
            console.print(
                f"  trial {trials}: {named(one.configuration)}: {reason}",
                markup=False, soft_wrap=True,
            )  # fmt: skip
    show_not_varied(console, found.unapplied)


def _influence(console: Any, found: TuningReport) -> None:
    if not found.influence:
        return
    console.print(
        "\n[bold]What matters[/] [dim](share of the differences between configurations)[/]"
    )
    for one in found.influence[:MOST_CAUSES]:
        text = f": {one.text}" if one.text else ""
        console.print(f"  {' × '.join(one.factors)} {_interval(one.share)}{text}", markup=False,
                      soft_wrap=True)  # fmt: skip


def _shortest(console: Any, found: TuningReport) -> None:
    if found.shortest is not None:
        console.print(f"  {found.shortest.told}", markup=False, soft_wrap=True)


def _why(console: Any, found: TuningReport) -> None:
    why = found.why
    if why is None:
        return
    console.print("\n[bold]Why[/] [dim](runs of the confirmation compared)[/]")
    if why.reason is not None:
        console.print(f"  not known: {why.reason}", markup=False, soft_wrap=True)
        return
    for text in why.answer[:MOST_CAUSES]:
        console.print(f"  {text}", markup=False, soft_wrap=True)


def _cost(console: Any, found: TuningReport) -> None:
    budget, earned = found.budget, found.earned_back
    console.print("\n[bold]Cost[/]")
    spent = units.duration(budget.core_s * 1e9)
    line = f"  {spent} of core time in all trials"
    if earned.runs is not None and earned.runs.value is not None:
        low, high = earned.runs.low, earned.runs.high
        ends = f" [{digits(low)}, {digits(high)}]" if low is not None and high is not None else ""
        line += f", earned back after {digits(earned.runs.value)}{ends} runs of the job"
    else:
        line += f"; not earned back: {earned.reason}"
    console.print(line, markup=False, soft_wrap=True)


def next_steps(found: TuningReport, folder: Path) -> list[str]:
    """Say what to type next."""
    to_do = to_confirm(found, folder)
    if found.state != "done":
        return [f"\nnext: {to_do or f'pyrometer tune resume {folder}'}"]
    one = found.confirmation
    if one is not None and one.verdict.outcome == "confirmed" and not refuted(found.elsewhere):
        return [f"\nnext: pyrometer tune apply {folder}", f"page: pyrometer report {folder}"]
    page = f"page: pyrometer report {folder}"
    return [f"\n{page}"] if to_do is None else [f"\nnext: {to_do}", page]


def to_confirm(found: TuningReport, folder: Path) -> str | None:
    """Give the command that may confirm the winner; ``None``: more trials would not."""
    resume, one = f"pyrometer tune resume {folder}", found.confirmation
    if found.state == "searching":
        return resume
    if one is None:
        return f"{resume} --blocks {FEWEST}" if found.best and found.best.configuration else None
    if one.verdict.outcome != "cannot tell":
        return None
    # What was planned comes first; then blocks beyond the budget.
    more = f" --blocks {one.verdict.more_blocks or FEWEST}" if found.state == "done" else ""
    return f"{resume}{more}"
