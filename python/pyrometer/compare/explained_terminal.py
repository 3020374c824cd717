"""Why it changed, in the terminal: the answer, causes, what is not the same, plans, frames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.compare.cause_schema import Cause, Explanation, PlanChange, Unlike
from pyrometer.compare.cause_words import named, signed
from pyrometer.core import units
from pyrometer.summary.story import short
from pyrometer.terminal.drawing import Justify, Look, grid, heading, indented, note, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyrometer.flame.difference.difference import FrameChange

MOST_CAUSES = 8
MOST_UNLIKE = 8
MOST_PLANS = 2
MOST_NODES = 4
MOST_FRAMES = 5
_WORTH = 0.01
_INDENTED = (0, 0, 0, 2)


def answer_lines(found: Explanation) -> Iterator[RenderableType]:
    """Give the answer, the first line in bold."""
    for number, line in enumerate(found.answer):
        yield Text(_plain(line), style="" if number else "bold")


def _plain(text: str) -> str:
    return Text.from_markup(safe(text)).plain


def causes(found: Explanation, look: Look, whole: bool) -> Iterator[RenderableType]:
    """List causes with their seconds, shares and intervals; with `whole` their places, too."""
    if not found.causes:
        return
    yield heading("Causes of the change, along the critical path")
    least = _WORTH * max(abs(one.seconds) for one in found.causes)
    worth = [one for one in found.causes if whole or abs(one.seconds) >= least]
    shown = worth if whole else worth[:MOST_CAUSES]
    intervals = any(one.low is not None for one in shown)
    columns: list[tuple[str, Justify]] = [("", "left"), ("change", "right"), ("share", "right")]
    columns += [("95 %", "right")] if intervals else []
    columns += [("most of it", "left")]
    rows = []
    for one in shown:
        rows.append(_row(one, intervals))
        if whole and len(one.parts) > 1:
            rows += [
                [f"  {safe(short(named(part), 50))}", signed(part.seconds), "",
                 *([_ends(part.low, part.high)] if intervals else []), ""]
                for part in one.parts
            ]  # fmt: skip
    yield indented(grid(look, columns, rows, elastic=len(columns) - 1))
    left = [one for one in found.causes if one not in shown]
    if left:
        together = signed(sum(one.seconds for one in left))
        yield note(f"{len(left)} more, {together} together: --all")


def _row(one: Cause, intervals: bool) -> list[str]:
    what = one.what if one.explained else f"{one.what} (not explained)"
    share = "–" if one.share is None else units.percent(one.share).replace("-", "−")
    place = named(one.parts[0]) if one.parts[0].place not in ("driver", "application") else ""
    more = f" and {len(one.parts) - 1} more" if len(one.parts) > 1 else ""
    return [
        safe(short(what, 48)), signed(one.seconds), share,
        *([_ends(one.low, one.high)] if intervals else []), safe(f"{place}{more}"),
    ]  # fmt: skip


def _ends(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{signed(low)} … {signed(high)}"


def unlike(found: Sequence[Unlike], names: Sequence[str], look: Look, whole: bool) \
        -> Iterator[RenderableType]:  # fmt: skip
    """List what is not the same on both sides."""
    if not found:
        return
    yield heading("Not the same on both sides")
    shown = found if whole else found[:MOST_UNLIKE]
    columns: list[tuple[str, Justify]] = [("", "left")]
    columns += [(safe(short(name, 30)), "left") for name in names[:2]]
    room = 400 if whole else 40
    rows = [
        [safe(short(one.name, 60)), *(safe(short(side or "–", room)) for side in (one.a, one.b))]
        for one in shown
    ]
    yield indented(grid(look, columns, rows, elastic=2))
    if len(found) > len(shown):
        yield note(f"{len(found) - len(shown)} more: --all")


def plans(found: Sequence[PlanChange], whole: bool) -> Iterator[RenderableType]:
    """List executions whose plans differ, with what was added and lost."""
    if not found:
        return
    yield heading("Plans that are not the same")
    for plan in found if whole else found[:MOST_PLANS]:
        ids = " → ".join(
            "–" if one is None else f"SQL {one}" for one in (plan.a_sql_id, plan.b_sql_id)
        )
        times = " → ".join(
            "–" if one is None else units.duration(one * 1e9) for one in (plan.a_s, plan.b_s)
        )
        what = _plain(short(plan.description or "", 60))
        only = "" if plan.nodes else " (only on one side)"
        yield Padding(Text(f"{ids}, {times}: {what}{only}"), _INDENTED, expand=False)
        for node in plan.nodes if whole else plan.nodes[:MOST_NODES]:
            for mark, text in (("−", node.a), ("+", node.b)):
                if text is not None:
                    line = _plain(text if whole else short(text, 110))
                    style = "red" if mark == "−" else "green"
                    yield Padding(Text(f"{mark} {line}", style=style), (0, 0, 0, 4), expand=False)
        hidden = plan.nodes_count - (len(plan.nodes) if whole else min(MOST_NODES, len(plan.nodes)))
        if hidden > 0:
            yield note(f"  {hidden} more nodes" + ("" if whole else ": --all"))
    if not whole and len(found) > MOST_PLANS:
        yield note(f"{len(found) - MOST_PLANS} more plans: --all")


def frames(found: Sequence[FrameChange], command: str | None, look: Look) \
        -> Iterator[RenderableType]:  # fmt: skip
    """List the frames whose own CPU differs most, and where the whole difference is."""
    if command is None:
        return
    yield heading("Frames whose own CPU is not the same")
    columns: list[tuple[str, Justify]] = [("", "left"), ("change", "right")]
    rows = [
        [safe(one.name), signed((one.own.change.value or 0.0) / 1e9)] for one in found[:MOST_FRAMES]
    ]
    if rows:
        yield indented(grid(look, columns, rows))
    else:
        yield note("none significantly")
    yield note(f"the whole difference: {_plain(command)}")


def unknown(found: Explanation) -> Iterator[RenderableType]:
    """Say what is not known, and what would allow it."""
    for line in found.cannot_tell:
        yield note(f"Not known: {_plain(line)}")
