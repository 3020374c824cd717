"""A curve of scaling in the terminal: verdict, levels, laws, predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyrometer import units

if TYPE_CHECKING:
    from pyrometer.analyse.scaling.model import FitReport, LawReport, LevelReport, Prediction
    from pyrometer.doubt import Doubt
    from pyrometer.estimate import Estimate

PARTS = {"cpu": "CPU", "gc": "GC", "wait": "wait", "idle": "idle"}
OTHERS = {"cpus_used": "CPUs", "bandwidth": "memory"}


def show(console: Any, made: FitReport) -> None:
    """Print the account of a curve."""
    for sentence in made.verdict:
        console.print(sentence, markup=False)
    console.print()
    _levels(console, made)
    _laws(console, made.laws)
    if made.ensemble:
        _predictions(console, made)
    doubts(console, made.doubts)


def doubts(console: Any, found: Sequence[Doubt]) -> None:
    """Print doubts with what to do about them."""
    for one in found:
        console.print(f"{one.severity}: {one.message} ({one.code})", markup=False)
        console.print(f"  → {one.remedy}", markup=False)


def _levels(console: Any, made: FitReport) -> None:
    parts = {
        name: title
        for name, title in {**PARTS, **OTHERS}.items()
        if any(_part(one, name) is not None for one in made.levels)
    }
    work = len({one.work for one in made.levels}) > 1
    named = "time" if made.kind == "elapsed" else "rate"
    grid = table(
        "workers", *(["work"] if work else []), "runs", named, "speed-up", "eff.",
        *parts.values(),
    )  # fmt: skip
    for one in made.levels:
        grid.add_row(
            f"{one.p:g}{'' if one.fitted else '*'}", *([f"{one.work:g}"] if work else []),
            str(one.value.n), spread(one.value), spread(one.speedup),
            _number(one.efficiency.value, 3), *(_number(_part(one, name), 3) for name in parts),
        )  # fmt: skip
    console.print(grid)
    notes = [
        f"workers: {made.workers}; {named}: {made.what}; ± to the further end of the 95 % interval"
    ]
    if not all(one.fitted for one in made.levels):
        notes.append("* not fitted")
    if own := [title for name, title in parts.items() if name in PARTS]:
        notes.append(f"{', '.join(own)}: parts of workers × time, for one unit of work")
    _notes(console, notes)


def _part(level: LevelReport, name: str) -> float | None:
    found: float | None = getattr(level if name in OTHERS else level.worker_time, name)
    return found


def _laws(console: Any, laws: Sequence[LawReport]) -> None:
    grid = table("law", "parameters", "residual", "left out", "from half")
    grid.columns[1].justify = "left"
    for one in laws:
        if one.reason is not None:
            continue
        worst = max(one.residuals, key=lambda r: abs(r.ratio))
        grid.add_row(
            one.name,
            "\n".join(f"{name} {_within(its)}" for name, its in one.parameters.items()),
            f"{100 * worst.ratio:+.1f} % at {worst.p:g}",
            _percent(one.left_out_ratio, ""), _percent(one.half_ratio, "+"),
        )  # fmt: skip
    console.print(grid)
    for one in laws:
        if one.reason is not None:
            console.print(f"{one.name}: {one.reason}", markup=False, style="dim")
    _notes(
        console,
        [
            "95 % intervals; residual: the largest; left out: median error for a level that was"
            " not fitted; from half: error at the largest level by those up to half of it"
        ],
    )


def _predictions(console: Any, made: FitReport) -> None:
    fitted = [one for one in made.laws if one.predictions]
    measured = any(one.measured is not None for one in made.ensemble)
    grid = table(
        "workers", *(["seen"] if measured else []), "all laws", *(one.name for one in fitted)
    )
    for at, one in enumerate(made.ensemble):
        grid.add_row(
            f"{one.p:g}{'!' if one.far else ''}",
            *([_number(one.measured.value if one.measured else None)] if measured else []),
            _prediction(one), *(_prediction(law.predictions[at]) for law in fitted),
        )  # fmt: skip
    console.print(grid)
    error = made.error_at_twice_ratio
    missed = (
        "too few levels tell what they miss"
        if error is None
        else f"with what they missed, {_percent(error, '')} at twice the levels of a smaller fit"
    )
    notes = [f"95 % intervals for a new level: of one law, if it holds; of all laws, {missed}"]
    if any(one.far for one in made.ensemble):
        notes.append("! beyond twice the largest fitted level")
    if measured:
        notes.append("seen: measured, not fitted; ≠ outside the interval")
    _notes(console, notes)


def _prediction(one: Prediction) -> str:
    return (
        _number(one.value.value)
        + (" ≠" if one.inside is False else "")
        + "\n"
        + _ends(one.value, "–")
    )


def _within(one: Estimate) -> str:
    if one.low is None and one.high is None:
        return _number(one.value)
    return f"{_number(one.value)} {_ends(one, ' … ')}"


def _ends(one: Estimate, between: str) -> str:
    if one.low is None and one.high is None:
        return "–"
    return between.join("∞" if end is None else _number(end, 3) for end in (one.low, one.high))


def spread(one: Estimate) -> str:
    """Write a value, and how far the further end of its interval lies."""
    if one.value is None or one.low is None or one.high is None:
        return _number(one.value)
    # A time's interval ends at 0, a ratio's is not even: the further end is the honest one.
    return (
        f"{_number(one.value)} ± {units.short(max(one.high - one.value, one.value - one.low), 2)}"
    )


def ratio(one: Estimate | None, unit: str = "×") -> str:
    """Write a ratio, or another positive value, with its interval."""
    if one is None or one.value is None:
        return "–"
    if one.low is None or one.high is None:
        return f"{units.short(one.value)}{unit}"
    low, high = units.short(one.low), units.short(one.high)
    return f"{units.short(one.value)}{unit} [{low}, {high}]"


def _percent(value: float | None, sign: str) -> str:
    return "–" if value is None else f"{100 * value:{sign}.1f} %"


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else units.short(value, digits)


def _notes(console: Any, notes: Sequence[str]) -> None:
    from rich.markup import escape

    console.print(f"[dim]{escape('; '.join(notes))}[/]\n")


def table(*titles: str) -> Any:
    """Make a table: numbers to the right; what has no room is folded, never cut off."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for at, title in enumerate(titles):
        made.add_column(title, justify="right" if at else "left")
    return made
