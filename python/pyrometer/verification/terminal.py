"""Verdicts in the terminal: what is tried, and what came of it beside what was predicted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.explain.schema import Finding, Proof
from pyrometer.explain.words import verdict
from pyrometer.terminal.console import from_here
from pyrometer.terminal.drawing import heading, put, safe
from pyrometer.verification.plan import AS_IT_WAS, REMEDY
from pyrometer.verification.verdict import Outcome

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from pyrometer.verification.run import Verification

MOST_TYPED = 100_000
"""Characters of a command that are printed: with fewer than all of it nobody can run it."""
STYLES = {"proven": "bold green", "refuted": "bold red", "not_testable": "bold yellow"}


def planned(console: Console, test: Verification) -> None:
    """Print what is going to run, why it is as large as it is, and what is there already."""
    put(console, _planned(test))


def _planned(test: Verification) -> Iterator[RenderableType]:
    finding, one = test.finding, test.proposal
    yield Text.from_markup(f"[bold]Trying {safe(finding.key)}[/]: {safe(finding.title)}")
    yield _indented(f"{AS_IT_WAS}, and {REMEDY}: {safe(one.words)}")
    yield _indented(
        f"{one.blocks} blocks of both, each about {units.duration(one.trial_s * 1e9)}: about"
        f" {units.duration(one.total_s * 1e9)} of {units.duration(one.budget_s * 1e9)}"
    )
    yield _indented(
        f"[dim]They find a change by {units.percent(one.detectable)} with a chance of 0.8, if"
        f" trials differ by {units.percent(one.sd)}; {units.percent(one.predicted_ratio)} is"
        " predicted.[/]"
    )
    if one.smaller:
        yield _indented(safe(one.smaller))
    if done := test.done_count:
        yield _indented(f"{done} trials are there already: {safe(from_here(test.root))}")
    if test.namesake is not None:
        place = safe(finding.place.words)
        yield _indented(
            f"Earlier trials of {place} do not count: nothing says whether they are of this place"
            f" or of another of that name. pyrometer experiment show"
            f" {safe(from_here(test.namesake))}"
        )


def show(console: Console, finding: Finding, one: Outcome, root: Path | None = None) -> None:
    """Print a verdict beside the prediction."""
    put(console, _verdict(finding, one, root))


def _verdict(finding: Finding, one: Outcome, root: Path | None) -> Iterator[RenderableType]:
    above = "" if one.bound_ratio is None else f" above {units.percent(one.bound_ratio)}"
    tried = Proof(verdict=one.verdict, reason=one.reason, experiment=str(root) if root else None)
    style = STYLES.get(one.verdict, "bold")
    yield heading(f"{safe(finding.key)}: [{style}]{verdict(tried)}[/]{above}")
    yield _indented(f"predicted  {_time(finding.saving.elapsed_ns)}, 90 % interval")
    if one.measured_ns is not None and one.measured_ratio is not None:
        level = units.percent(one.measured_ns.level)
        yield _indented(
            f"measured   {_time(one.measured_ns)}, {level} interval; {_share(one.measured_ratio)}"
            f" of the time; {one.blocks} blocks"
        )
    if one.reason:
        yield _indented(safe(one.reason))
    if one.by_hand:
        yield _to_paste(one.by_hand)
    for note in one.notes:
        if note in (one.reason or ""):
            continue
        yield _indented(f"[dim]{safe(note)}[/]")
    if root is not None:
        yield _indented(f"[dim]pyrometer experiment show {safe(from_here(root))}[/]")


def _time(one: Estimate) -> str:
    ends = f"({units.duration(one.low)} to {units.duration(one.high)})"
    return f"{units.duration(one.value)} {ends if one.low is not None else ''}".strip()


def _share(one: Estimate) -> str:
    ends = (
        f" ({units.percent(one.low)} to {units.percent(one.high)})" if one.low is not None else ""
    )
    return f"{units.percent(one.value)}{ends}"


def _to_paste(text: str) -> RenderableType:
    """Print commands in one line, whatever the terminal's width: a terminal's own break is none."""
    line = Text.from_markup(f"→ {safe(text, MOST_TYPED)}", overflow="ignore")
    line.no_wrap = True
    return Padding(line, (0, 0, 0, 2), expand=False)


def _indented(markup: str) -> RenderableType:
    return Padding(Text.from_markup(markup), (0, 0, 0, 2), expand=False)
