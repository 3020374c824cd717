"""Why it changed, in the terminal: the answer, causes, what is not the same, plans, frames."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.compare.cause_schema import Cause, Explanation, PlanChange, Unlike
from pyrometer.compare.cause_table import seconds_column, shares_column
from pyrometer.compare.cause_words import named, signed
from pyrometer.core import units
from pyrometer.summary.story import short
from pyrometer.terminal.drawing import Justify, Look, grid, heading, indented, note, safe

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pyrometer.flame.difference.difference import FrameChange

MOST_CAUSES = 6
MOST_PLANS = 2
MOST_NODES = 2
MOST_FRAMES = 5
_LINE = 76
_WORTH = 0.01
_WIDE = 110
_SAID_OF_EXECUTORS = (
    "spark.driver.memory", "spark.executor.memory", "spark.executor.cores", "cores in all",
)  # fmt: skip
"""What the memory and the cores of executors and driver say as well."""
_CANCELS = 0.2
"""Where the change is less than this part of its causes, regardless of sign, none has a share."""
_INDENTED = (0, 0, 0, 2)


def answer_lines(found: Explanation) -> Iterator[RenderableType]:
    """Give the answer, the first line in bold."""
    for number, line in enumerate(found.answer):
        yield Text(plain(line), style="" if number else "bold")


def plain(text: str) -> str:
    """Make a string from a log fit to print outside markup: no control characters."""
    return Text.from_markup(safe(text)).plain


def top_causes(found: Explanation, look: Look) -> Iterator[RenderableType]:
    """List the largest causes; seconds and shares add up to the change as they are printed."""
    if not found.causes:
        return
    yield heading("Causes, along the critical path")
    least = _WORTH * max(abs(one.seconds) for one in found.causes)
    shown = [one for one in found.causes if abs(one.seconds) >= least][:MOST_CAUSES]
    left = [one for one in found.causes if one not in shown]
    values = [one.seconds for one in shown]
    names = [safe(short(_title(one), 48)) for one in shown]
    places = [safe(_most(one)) for one in shown]
    ends = [_ends(one.low, one.high) for one in shown]
    if left:
        values.append(math.fsum(one.seconds for one in left))
        names.append(f"and {len(left)} more: --all")
        places.append("")
        ends.append("")
    whole = math.fsum(values)
    seconds, _ = seconds_column([*values, whole])
    columns: list[tuple[str, Justify]] = [("", "left"), ("change", "right")]
    cells = [[*names, "all"], seconds]
    if abs(whole) >= _CANCELS * math.fsum(abs(one.seconds) for one in found.causes) > 0:
        columns.append(("share", "right"))
        cells.append([*shares_column(values), "100.0 %"])
    # The interval of a cause is of use where the whole has one, too.
    intervals = found.low is not None
    if intervals:
        columns.append(("95 %", "right"))
        cells.append([*ends, _ends(found.low, found.high)])
    if not intervals or look.width >= _WIDE:
        columns.append(("most of it", "left"))
        cells.append([*places, ""])
    rows = [list(row) for row in zip(*cells, strict=True)]
    yield indented(grid(look, columns, rows, elastic=_elastic(columns)))


def _elastic(columns: Sequence[tuple[str, Justify]]) -> int:
    return len(columns) - 1 if columns[-1][0] == "most of it" else 0


def causes(found: Explanation, look: Look) -> Iterator[RenderableType]:
    """List all causes with their seconds, shares, intervals and places."""
    if not found.causes:
        return
    yield heading("Causes of the change, along the critical path")
    intervals = any(one.low is not None for one in found.causes)
    columns: list[tuple[str, Justify]] = [("", "left"), ("change", "right"), ("share", "right")]
    columns += [("95 %", "right")] if intervals else []
    columns += [("most of it", "left")]
    rows = []
    for one in found.causes:
        rows.append(_row(one, intervals))
        if len(one.parts) > 1:
            rows += [
                [f"  {safe(short(named(part), 50))}", signed(part.seconds), "",
                 *([_ends(part.low, part.high)] if intervals else []), ""]
                for part in one.parts
            ]  # fmt: skip
    yield indented(grid(look, columns, rows, elastic=len(columns) - 1))


def _row(one: Cause, intervals: bool) -> list[str]:
    share = "–" if one.share is None else units.percent(one.share).replace("-", "−")
    return [
        safe(short(_title(one), 48)), signed(one.seconds), share,
        *([_ends(one.low, one.high)] if intervals else []), safe(_most(one)),
    ]  # fmt: skip


def _title(one: Cause) -> str:
    return one.what if one.explained else f"{one.what} (not explained)"


def _most(one: Cause) -> str:
    """Name the place where most of a cause is, and how many others there are."""
    if not one.parts or one.parts[0].place in ("driver", "application"):
        return ""
    more = f" and {len(one.parts) - 1} more" if len(one.parts) > 1 else ""
    return f"{named(one.parts[0])}{more}"


def _ends(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{signed(low)} … {signed(high)}"


def unlike(found: Sequence[Unlike], names: Sequence[str], look: Look) \
        -> Iterator[RenderableType]:  # fmt: skip
    """List all that is not the same on both sides."""
    if found:
        yield heading("Not the same on both sides")
        yield _unlike_table(found, names, look, 400)


def top_unlike(found: Sequence[Unlike], names: Sequence[str], look: Look, most: int) \
        -> Iterator[RenderableType]:  # fmt: skip
    """List what is not the same on both sides, as many of each kind as there is room."""
    if not found:
        return
    yield heading("Not the same on both sides")
    shown = _of_each_kind(found, most)
    if not shown:
        shown = list(found[:most])
    yield _unlike_table(shown, names, look, 24)
    if len(found) > len(shown):
        yield note(f"and {len(found) - len(shown)} more: --all")


def _of_each_kind(found: Sequence[Unlike], most: int) -> list[Unlike]:
    """Take the first of each kind, then the second, until there is no room."""
    found = [one for one in found if one.name not in _SAID_OF_EXECUTORS]
    seen: Counter[str] = Counter()
    turns = []
    for one in found:
        turns.append(seen[one.of])
        seen[one.of] += 1
    taken = sorted(range(len(found)), key=lambda n: (turns[n], n))[:most]
    return [found[n] for n in sorted(taken)]


def _unlike_table(
    found: Sequence[Unlike], names: Sequence[str], look: Look, room: int
) -> RenderableType:
    columns: list[tuple[str, Justify]] = [("", "left")]
    columns += [(safe(short(name, min(room, 30))), "left") for name in names[:2]]
    rows = [
        [safe(short(one.name, 60)), *(safe(short(side or "–", room)) for side in (one.a, one.b))]
        for one in found
    ]
    return indented(grid(look, columns, rows, elastic=0 if room < 40 else 2))


def top_plans(found: Sequence[PlanChange], most: int = MOST_PLANS) -> Iterator[RenderableType]:
    """Name the executions whose plans differ most, each with its largest change."""
    if not found:
        return
    yield heading("Plans that are not the same")
    # Changed plans say more than executions that only one side has, which causes name.
    first = sorted(found, key=lambda plan: not plan.nodes)
    shown = first[:most]
    for plan in shown:
        yield note_of(short(_execution(plan), 78))
        for node in plan.nodes[:MOST_NODES]:
            if node.a is not None and node.b is not None:
                before, after = _where_they_part(node.a, node.b)
                yield from _signed_lines(before, after, 70)
            else:
                yield from _signed_lines(node.a, node.b, 70)
    left = len(found) - len(shown)
    nodes = sum(plan.nodes_count - min(MOST_NODES, len(plan.nodes)) for plan in shown)
    texts = [f"{left} plans" if left else "", f"{nodes} nodes" if nodes > 0 else ""]
    if left or nodes > 0:
        yield note(f"and {', '.join(text for text in texts if text)} more: --all")


def _where_they_part(a: str, b: str) -> tuple[str, str]:
    """Cut what two nodes say alike at their start, but for their name and a few words."""
    same = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0)
    name = len(a.split(" ", 1)[0])
    if same < name + 30 or a[:name] != b[:name]:
        return a, b
    return (f"{text[:name]} … {text[same - 20 :]}" for text in (a, b))  # type: ignore[return-value]


def _execution(plan: PlanChange) -> str:
    ids = " → ".join("–" if one is None else f"SQL {one}" for one in (plan.a_sql_id, plan.b_sql_id))
    times = " → ".join(
        "–" if one is None else units.duration(one * 1e9) for one in (plan.a_s, plan.b_s)
    )
    only = "" if plan.nodes else "only on one side, "
    return f"{ids}, {only}{times}: {plain(short(plan.description or '', 60))}"


def note_of(text: str) -> RenderableType:
    """Make an indented line."""
    return Padding(Text(text), _INDENTED, expand=False)


def _signed_lines(a: str | None, b: str | None, room: int) -> Iterator[RenderableType]:
    for mark, text in (("−", a), ("+", b)):
        if text is not None:
            style = "red" if mark == "−" else "green"
            line = Text(f"{mark} {plain(short(text, room))}", style=style)
            yield Padding(line, (0, 0, 0, 4), expand=False)


def plans(found: Sequence[PlanChange]) -> Iterator[RenderableType]:
    """List executions whose plans differ, with what was added and lost."""
    if not found:
        return
    yield heading("Plans that are not the same")
    for plan in found:
        yield note_of(_execution(plan))
        for node in plan.nodes:
            yield from _signed_lines(node.a, node.b, 1000)
        if plan.nodes_count > len(plan.nodes):
            yield note(f"  {plan.nodes_count - len(plan.nodes)} more nodes")


def frame_hint(found: Sequence[FrameChange], command: str | None) -> Iterator[RenderableType]:
    """Name the frame whose own CPU differs most, and the command that shows all."""
    if command is None:
        return
    yield Text("")
    if found:
        most = found[0]
        change = signed((most.own.change.value or 0.0) / 1e9)
        yield note_of(short(f"Own CPU changed most in {plain(most.name)}: {change}", 78))
    line = f"Flame graph of the difference: {plain(command)}"
    short_form = "Flame graph of the difference: pyrometer flame RUN_A --against RUN_B"
    yield note(line if len(line) <= _LINE else short_form)


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
    yield note(f"the whole difference: {plain(command)}")


def unknown(found: Explanation) -> Iterator[RenderableType]:
    """Say what is not known, and what would allow it."""
    for line in found.cannot_tell:
        yield note(f"Not known: {plain(line)}")
