"""Co-runs in the terminal: slow-downs, throughput and fairness, losses, placement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrometer.corun.contention import NAMED
from pyrometer.corun.schema import PLACES, company
from pyrometer.experiments.judge.terminal import headline, left_out
from pyrometer.terminal.drawing import doubts, ratio, spread, table

if TYPE_CHECKING:
    from pyrometer.corun.schema import CorunReport, Encounter


MARKS = {"same": " =", "cannot tell": " ?"}


def show(console: Any, report: CorunReport) -> None:
    """Print slow-downs, speed-ups, losses and advice."""
    headline(console, ", ".join(report.members), report)
    if report.encounters:
        _matrix(console, report)
        _whole(console, report)
        _losses(console, report)
        _advice(console, report)
    for member, reason in report.reasons.items():
        console.print(f"{member}: {reason}", markup=False, soft_wrap=True)
    left_out(console, report.left_out)
    doubts(console, report.doubts)


def _matrix(console: Any, report: CorunReport) -> None:
    companies = list(dict.fromkeys(company(one) for one in report.encounters))
    cells = {(one.member, one.own_cpus, company(one)): one for one in report.encounters}
    grid = table("slowdown of", "CPUs", "alone, s", *(f"beside {one}" for one in companies))
    for member, own_cpus in dict.fromkeys((one.member, one.own_cpus) for one in report.encounters):
        found = [cells.get((member, own_cpus, one)) for one in companies]
        alone = next(one.alone_s for one in found if one)
        grid.add_row(
            member, PLACES[own_cpus], spread(alone),
            *("–" if one is None else _slowdown(one) for one in found),
        )  # fmt: skip
    console.print(grid)
    console.print(
        "[dim]time together over time alone on all CPUs, with its 95 % interval; = the same;"
        " ? cannot tell[/]\n"
    )


def _slowdown(one: Encounter) -> str:
    return ratio(one.slowdown) + MARKS.get(one.verdict, "")


def _whole(console: Any, report: CorunReport) -> None:
    if not report.parties:
        return
    grid = table("together", "CPUs", "weighted speed-up", "harmonic mean", "fairness")
    for one in report.parties:
        grid.add_row(
            ", ".join(one.members), PLACES[one.own_cpus], ratio(one.weighted_speedup),
            ratio(one.harmonic_speedup), ratio(one.fairness),
        )  # fmt: skip
    console.print(grid)
    console.print(
        "[dim]weighted speed-up: work done together over work done in sequence; fairness: smallest"
        " over largest slowdown[/]\n"
    )


def _losses(console: Any, report: CorunReport) -> None:
    grid = table("slots spend more", "beside", "CPUs", "s an iteration", "of growth", "on")
    slower = [one for one in report.encounters if one.verdict == "slower"]
    for one in slower:
        for growth in one.contention.grown:
            if (growth.share or 0) >= NAMED:
                grid.add_row(
                    one.member, company(one), PLACES[one.own_cpus], spread(growth.more_s),
                    f"{growth.share:.0%}", f"{growth.what}{'' if growth.sure else ' ?'}",
                )  # fmt: skip
    if grid.row_count:
        grid.columns[-1].justify = "left"
        console.print(grid)
        console.print("[dim]than alone; ? it did not grow for sure[/]")
    for one in slower:
        cause = one.contention.told or f"not known ({one.contention.reason})"
        console.print(f"{_where(one)}: {cause}", markup=False, soft_wrap=True)
    others = ", ".join(_where(one) for one in report.encounters if one.verdict != "slower")
    if others:
        line = f"not surely slower, so there is nothing to explain: {others}"
        console.print(line, markup=False, soft_wrap=True)
    console.print()


def _where(one: Encounter) -> str:
    return f"{one.member} beside {company(one)}{', own CPUs' if one.own_cpus else ''}"


def _advice(console: Any, report: CorunReport) -> None:
    for one in report.advice:
        ways = "; ".join(f"{way.way} {ratio(way.makespan_s, ' s')}" for way in one.ways)
        line = f"an iteration of {' and '.join(one.members)}: {ways}"
        console.print(line, markup=False, soft_wrap=True)
        console.print(f"  → {one.told}", markup=False, soft_wrap=True)
    console.print()
