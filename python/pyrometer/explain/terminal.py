"""Findings in the terminal: what to do first, and what each saves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.text import Text

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.explain.findings import saved
from pyrometer.explain.schema import Evidence, Finding, Findings, Remedy, Unjudged
from pyrometer.terminal.drawing import doubt_lines, heading, note, put, safe, window_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

MOST_UNJUDGED = 8
_FORMATS = {"ns": units.duration, "bytes": units.size, "ratio": units.percent}


def show(console: Console, found: Findings, everything: bool = False) -> None:
    """Print findings.

    Parameters
    ----------
    console : Console
        Where to print.
    found : Findings
        Of one window.
    everything : bool
        Also those below the noise, muted ones, evidence, and all that could not be judged.
    """
    put(console, _parts(found, everything))


def _parts(found: Findings, everything: bool) -> Iterator[RenderableType]:
    yield Text.from_markup(f"[bold]{safe(found.conclusion)}[/]")
    yield window_line(found.window.name, found.window.iterations, found.window.length_ns)
    shown = [one for one in found.findings if everything or (one.shown and one.muted is None)]
    for number, one in enumerate(shown, 1):
        yield from _finding(number, one, everything)
    yield from _sum(found, len(shown))
    yield from _unjudged(found.unjudged, everything)
    if everything:
        yield from doubt_lines(found.doubts)


def _finding(number: int, one: Finding, everything: bool) -> Iterator[RenderableType]:
    yield heading(f"{number}  {safe(one.title)}: {saved(one.saving)}")
    yield _indented(f"[bold]{safe(one.place.words)}[/] [dim]({safe(one.key)})[/]")
    yield _indented(safe(one.mechanism))
    for remedy in one.remedies:
        yield from _remedy(remedy)
    if one.symptoms:
        names = ", ".join(f"{safe(s.title)} ({safe(s.code)})" for s in one.symptoms)
        yield _indented(f"[dim]explains also:[/] {names}")
    if one.proof is not None:
        measured = one.proof.measured
        of = "" if measured is None else f": measured {_bounds(measured, 'ns')}"
        yield _indented(f"[dim]tried:[/] {one.proof.verdict.replace('_', ' ')}{of}")
    if one.muted is not None:
        yield _indented(f"[dim]muted: {safe(one.muted)}[/]")
    elif not one.shown:
        yield _indented("[dim]not above the noise of the run[/]")
    if everything:
        for each in one.evidence:
            yield _indented(f"[dim]evidence:[/] {_evidence(each)}")
        yield _indented(f"[dim]refute it:[/] {safe(one.refute)}")


def _remedy(one: Remedy) -> Iterator[RenderableType]:
    yield _indented(f"→ {safe(one.text)}")
    levels = {**({one.factor: one.level} if one.factor and one.level else {}), **one.levels}
    for name, level in levels.items():
        option = f"--conf {name}={level}" if name.startswith("spark.") else f"--set {name}={level}"
        yield _indented(safe(option), 6)
    for sign, text in (("-", one.before), ("+", one.after)):
        for line in (text or "").splitlines():
            yield _indented(f"[dim]{sign}[/] {safe(line)}", 6)


def _evidence(one: Evidence) -> str:
    source = f" [dim]({safe(one.table)})[/]"
    return f"{safe(one.what)} {_bounds(one.estimate, one.unit)}{source}"


def _bounds(one: Estimate, unit: str) -> str:
    def text(value: float | None) -> str:
        return _FORMATS[unit](value) if unit in _FORMATS else units.short(value or 0.0)

    if one.value is None:
        return "not known"
    exact = one.low is None or one.low == one.value == one.high
    return text(one.value) + ("" if exact else f" ({text(one.low)} to {text(one.high)})")


def _sum(found: Findings, shown_count: int) -> Iterator[RenderableType]:
    yield heading("Together")
    if found.joint_saving is not None:
        yield _indented(
            f"All of them save {saved(found.joint_saving)} of"
            f" {units.duration(found.baseline.elapsed_ns)}: they were simulated at once."
        )
    yield _indented(
        f"[dim]Noise of this run: {units.percent(found.noise_ratio)} ({safe(found.noise.method)});"
        " a finding is shown if all of its interval lies above.[/]"
    )
    hidden = len(found.findings) - shown_count + found.hidden_count
    if hidden:
        yield note(f"{hidden} more that save less, or are muted: --all")


def _unjudged(found: Sequence[Unjudged], everything: bool) -> Iterator[RenderableType]:
    if not found:
        return
    yield heading(f"Not judged: {len(found)} rules lack what they look at")
    by_lack: dict[tuple[str, str], list[str]] = {}
    for one in found:
        by_lack.setdefault((one.missing, one.remedy), []).append(one.code)
    lacks = sorted(by_lack.items(), key=lambda item: -len(item[1]))
    for (missing, remedy), codes in lacks if everything else lacks[:MOST_UNJUDGED]:
        names = ", ".join(codes) if everything else f"{len(codes)} rules"
        yield _indented(f"{safe(missing)}: [dim]{safe(names)}[/]")
        yield _indented(f"[dim]→ {safe(remedy)}[/]", 4)


def _indented(markup: str, columns: int = 2) -> RenderableType:
    return Padding(Text.from_markup(markup), (0, 0, 0, columns), expand=False)
