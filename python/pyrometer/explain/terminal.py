"""Findings in the terminal: what to do first, and what each saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from rich.padding import Padding
from rich.text import Text

from pyrometer.core import units
from pyrometer.explain import words
from pyrometer.explain.schema import Finding, Findings, Note, Remedy
from pyrometer.terminal.drawing import Look, bar, doubt_lines, heading, put, safe, window_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

MOST_LACKS = 3
MOST_NOTES = 3
MOST_LINES = 4
"""Of an edit; the rest with ``--all``."""
MOST_PLACE = 200
BAR = 16
BAR_FROM = 100
"""Columns from which on a bar has room."""


@dataclass(frozen=True)
class _Head:
    """Numbers of a finding, as they stand on its first line."""

    name: str
    saves: str
    ends: str
    share: str
    ratio: float | None
    style: str = "bold"


def show(console: Console, found: Findings, everything: bool = False) -> None:
    """Print findings.

    Parameters
    ----------
    console : Console
        Where to print.
    found : Findings
        Of one window.
    everything : bool
        Also those below the noise, further remedies, evidence, and all that could not be judged.
    """
    put(console, _parts(found, Look.of(console), everything))


def _parts(found: Findings, look: Look, everything: bool) -> Iterator[RenderableType]:
    yield Text.from_markup(f"[bold]{safe(words.headline(found))}[/]")
    yield window_line(found.window.name, found.window.iterations, found.baseline.elapsed_ns)
    shown = words.listed(found.findings, everything)
    if shown:
        yield from _table(found, shown, look, everything)
    yield from _notes(found.notes, everything)
    yield from _without_gain(found)
    yield from _muted(found)
    yield from _unjudged(found, everything)
    if everything:
        yield from doubt_lines(found.doubts)
    yield from _foot(found, everything)


def _table(
    found: Findings, shown: Sequence[Finding], look: Look, everything: bool
) -> Iterator[RenderableType]:
    heads = [_head(one) for one in shown]
    count = len(words.counted(shown))
    if count > 1 and found.joint_saving is not None and found.joint_ratio is not None:
        joint, ratio = found.joint_saving.elapsed_ns, found.joint_ratio
        which = "together" if count == len(shown) else f"the first {count}"
        together = _Head(
            f"{which}, simulated at once", units.duration(joint.value),
            words.interval(joint, "ns"), units.percent(ratio.value), ratio.value, "",
        )  # fmt: skip
        heads.append(together)
    titles = _Head("", "saves", "90 % interval", "of elapsed", None, "dim")
    widths = [
        max(len(getattr(head, name)) for head in [titles, *heads])
        for name in ("saves", "ends", "share")
    ]
    yield Text("")
    yield _line(titles, "", widths, look)
    for number, (one, head) in enumerate(zip(shown, heads, strict=False), 1):
        if number > 1:
            yield Text("")
        yield _line(head, str(number), widths, look)
        yield from _finding(one, everything)
    if len(heads) > len(shown):
        yield Text("")
        yield _line(heads[-1], "", widths, look)


def _head(one: Finding) -> _Head:
    elapsed = one.saving.elapsed_ns
    return _Head(
        one.title, units.duration(elapsed.value), words.interval(elapsed, "ns"),
        units.percent(one.saving_ratio.value), one.saving_ratio.value,
        "bold" if one.shown else "",
    )  # fmt: skip


def _line(head: _Head, number: str, widths: Sequence[int], look: Look) -> Text:
    """Set a name on the left and its numbers on the right, each in its column."""
    numbers = "  ".join(
        f"{text:>{width}}"
        for text, width in zip((head.saves, head.ends, head.share), widths, strict=True)
    )
    room = max(8, look.width - len(numbers) - 6)
    drawn = ""
    if look.width >= BAR_FROM:
        room -= BAR + 2
        drawn = f"  {bar(head.ratio, look.plain):<{BAR}}"
    name = Text.from_markup(safe(head.name)).plain
    if cell_len(name) > room - 1:
        name = set_cell_size(name, room - 2) + ("." if look.plain else "…")
    leader = "" if not head.name else ("-" if look.plain else "─")
    line = Text(f"{number:>2}  ", style="dim", no_wrap=True)
    line.append(name, style=head.style)
    line.append(" " + (leader or " ") * max(0, room - cell_len(name) - 1), style="dim")
    line.append(drawn, style="cyan")
    line.append(f"  {numbers}", style=head.style)
    return line


def _finding(one: Finding, everything: bool) -> Iterator[RenderableType]:
    place = safe(_cut(words.where(one.place)))
    yield _indented(f"[bold]{place}[/] [dim]· {safe(one.key)}[/]")
    if one.proof is not None:
        yield _indented(f"[dim]tried:[/] {safe(words.tried(one.proof))}")
    yield _indented(safe(one.mechanism))
    for at, remedy in enumerate(one.remedies):
        if at == 0 or everything:
            yield from _remedy(remedy, everything, "→" if at == 0 else "or")
        else:
            yield _indented(f"[dim]or[/] {safe(remedy.text)}")
    if one.symptoms:
        yield from _symptoms(one)
    if not one.shown:
        yield _indented("[dim]not above the noise of the run[/]")
    if everything:
        yield from _more(one)


def _symptoms(one: Finding) -> Iterator[RenderableType]:
    """Name what it explains; what these could be tried with stands under them, once."""
    counts = Counter((s.title, s.code) for s in one.symptoms)
    names = ", ".join(
        f"{safe(title)} ({safe(code)}{f', {n} times' if n > 1 else ''})"
        for (title, code), n in counts.items()
    )
    yield _indented(f"[dim]explains also:[/] {names}")
    others = words.other_options(one)
    for code, options in others.items():
        name = f" [dim]({safe(code)})[/]" if len(counts) > 1 else ""
        for option in options:
            yield _indented(f"[dim]or:[/] {safe(option)}{name}", 8)


def _more(one: Finding) -> Iterator[RenderableType]:
    for each in one.evidence:
        value = words.bounds(each.estimate, each.unit)
        yield _indented(f"[dim]evidence:[/] {safe(each.what)} {value} [dim]({safe(each.table)})[/]")
    for doubt in one.doubts:
        yield _indented(f"[dim]doubt:[/] {safe(doubt.message)} [dim]({safe(doubt.code)})[/]")
    if earlier := words.earlier(one.record):
        yield _indented(f"[dim]findings of this rule:[/] {earlier}")
    yield _indented(f"[dim]refute it:[/] {safe(one.refute)}")


def _remedy(one: Remedy, everything: bool, sign: str) -> Iterator[RenderableType]:
    yield _indented(f"[green]{sign}[/] {safe(one.text)}")
    for option in words.options(one):
        yield _indented(safe(option), 8)
    if one.example:
        yield _indented("[dim]for example:[/]", 8)
    for mark, colour, text in (("-", "red", one.before), ("+", "green", one.after)):
        lines = (text or "").splitlines()
        kept = lines if everything else lines[:MOST_LINES]
        for line in kept:
            yield _indented(f"[{colour}]{mark}[/] {safe(line)}", 8)
        if len(lines) > len(kept):
            yield _indented(f"[dim]{mark} lines left out: {len(lines) - len(kept)}; --all[/]", 8)


def _notes(found: Sequence[Note], everything: bool) -> Iterator[RenderableType]:
    """Write one line for each note: of a few settings, the first is named."""
    for title, notes in words.by_title(found).items():
        yield heading(title)
        kept = notes if everything else notes[:MOST_NOTES]
        for one in kept:
            named = words.about(one, None if everything else 1)
            before = f"{safe(_cut(named))}: " if named else ""
            yield _indented(f"{before}[dim]{safe(one.mechanism)}[/]", 2)
            for remedy in one.remedies if everything else ():
                yield from _remedy(remedy, everything, "→")
        if len(notes) > len(kept):
            yield _indented(f"[dim]and {len(notes) - len(kept)} more: --all[/]", 2)


def _without_gain(found: Findings) -> Iterator[RenderableType]:
    """Name what trials refuted: nothing of it is advice."""
    those = words.without_gain(found.findings)
    if those:
        yield heading("Tried, without a gain")
    for one in those:
        predicted = units.duration(one.saving.elapsed_ns.value)
        tried = words.tried(one.proof) if one.proof else ""
        yield _indented(
            f"{safe(one.title)} [dim]· {safe(one.key)} ·[/] {predicted} predicted: {safe(tried)}", 2
        )


def _muted(found: Findings) -> Iterator[RenderableType]:
    muted = [one for one in found.findings if one.muted is not None]
    if not muted:
        return
    yield heading("Muted by the project")
    for one in muted:
        saves = units.duration(one.saving.elapsed_ns.value)
        yield _indented(
            f"{safe(one.title)} [dim]· {safe(one.key)} ·[/] {saves}: {safe(one.muted)}", 2
        )


def _unjudged(found: Findings, everything: bool) -> Iterator[RenderableType]:
    if not found.unjudged:
        return
    yield heading(f"Not judged: {words.lacking(found)}")
    lacks = words.by_lack(found.unjudged)
    for (missing, remedy), codes in lacks if everything else lacks[:MOST_LACKS]:
        rules = f"{len(codes)} rule{'s' * (len(codes) != 1)}"
        names = ", ".join(codes) if everything else rules
        yield _indented(f"{safe(missing)} [dim]({safe(names)})[/]", 2)
        yield _indented(f"[dim]→ {safe(remedy)}[/]", 4)
    rest = sum(len(codes) for _, codes in lacks[MOST_LACKS:])
    if rest and not everything:
        yield _indented(f"[dim]and {rest} more rule{'s' * (rest != 1)}: --all[/]", 2)


def _foot(found: Findings, everything: bool) -> Iterator[RenderableType]:
    if found.baseline.simulated_ns is None:
        return  # nothing was judged, nor is the noise known
    noise = words.noise_named(found.noise)
    yield Text("")
    if everything:
        yield Text.from_markup(
            f"[dim]{noise} ({safe(found.noise.method)}). A finding counts if the whole interval of"
            " its saving lies above.[/]"
        )
        return
    listed = words.listed(found.findings, everything=True)
    below = sum(not one.shown for one in listed) + found.hidden_count
    rest = [
        f"{count} {what}{'s' * (count != 1)}{more}"
        for count, what, more in (
            (below, "finding", " not above it"), (len(found.doubts), "doubt", ""),
        )
        if count
    ]  # fmt: skip
    also = f"; {', '.join(rest)}, evidence: --all" if rest else "; evidence: --all"
    yield Text.from_markup(f"[dim]{noise}{also}[/]")


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MOST_PLACE else f"{line[: MOST_PLACE - 1]}…"


def _indented(markup: str, columns: int = 4) -> RenderableType:
    return Padding(Text.from_markup(markup), (0, 0, 0, columns), expand=False)
