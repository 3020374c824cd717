"""A scaling curve in the terminal: verdict, levels, laws, predictions.

A measured curve in the terminal: its laws, measurements by level, what slots did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyrometer.core import units
from pyrometer.experiments.judge.terminal import headline
from pyrometer.terminal.drawing import _ends, _number, doubts, spread, table
from pyrometer.trial.layout import EXECUTORS

if TYPE_CHECKING:
    from pyrometer.core.estimate import Estimate
    from pyrometer.scaling.curve import CurveLevel, CurveReport
    from pyrometer.scaling.schema import FitReport, LawReport, LevelReport, Prediction


PARTS = {"cpu": "CPU", "gc": "GC", "wait": "wait", "idle": "idle"}
OTHERS = {"cpus_used": "CPUs", "bandwidth": "memory"}


def show(console: Any, report: FitReport) -> None:
    """Print the analysis of a curve."""
    for sentence in report.verdict:
        console.print(sentence, markup=False)
    console.print()
    _levels(console, report)
    _laws(console, report.laws)
    if report.ensemble:
        _predictions(console, report)
    doubts(console, report.doubts)


def _levels(console: Any, report: FitReport) -> None:
    parts = {
        name: title
        for name, title in {**PARTS, **OTHERS}.items()
        if any(_part(one, name) is not None for one in report.levels)
    }
    work = len({one.work for one in report.levels}) > 1
    named = "time" if report.kind == "elapsed" else "rate"
    grid = table(
        "workers", *(["work"] if work else []), "runs", named, "speed-up", "eff.",
        *parts.values(),
    )  # fmt: skip
    for one in report.levels:
        grid.add_row(
            f"{one.p:g}{'' if one.fitted else '*'}", *([f"{one.work:g}"] if work else []),
            str(one.value.n), spread(one.value), spread(one.speedup),
            _number(one.efficiency.value, 3), *(_number(_part(one, name), 3) for name in parts),
        )  # fmt: skip
    console.print(grid)
    notes = [
        f"workers: {report.workers}; {named}: {report.what};"
        " ± to the further end of the 95 % interval"
    ]
    if not all(one.fitted for one in report.levels):
        notes.append("* not fitted")
    if own := [title for name, title in parts.items() if name in PARTS]:
        slots = " × their task slots" if report.workers == EXECUTORS else ""
        notes.append(f"{', '.join(own)}: parts of workers{slots} × time, for one unit of work")
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


def _predictions(console: Any, report: FitReport) -> None:
    fitted = [one for one in report.laws if one.predictions]
    measured = any(one.measured is not None for one in report.ensemble)
    grid = table(
        "workers", *(["seen"] if measured else []), "all laws", *(one.name for one in fitted)
    )
    for at, one in enumerate(report.ensemble):
        grid.add_row(
            f"{one.p:g}{'!' if one.far else ''}",
            *([_number(one.measured.value if one.measured else None)] if measured else []),
            _prediction(one), *(_prediction(law.predictions[at]) for law in fitted),
        )  # fmt: skip
    console.print(grid)
    error = report.error_at_twice_ratio
    missed = (
        "too few levels to predict the others"
        if error is None
        else f"with what they missed, {_percent(error, '')} at twice the levels of a smaller fit"
    )
    notes = [f"95 % intervals for a new level: of one law, if it holds; of all laws, {missed}"]
    if any(one.far for one in report.ensemble):
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


def _percent(value: float | None, sign: str) -> str:
    return "–" if value is None else f"{100 * value:{sign}.1f} %"


def _notes(console: Any, notes: Sequence[str]) -> None:
    from rich.markup import escape

    console.print(f"[dim]{escape('; '.join(notes))}[/]\n")


COLUMNS = {
    "run_time_s": "tasks",
    "cpu_time_s": "CPU",
    "process_cpu_s": "all CPU",
    "run_queue_s": "queue",
    "gc_s": "GC",
    "read_bytes": "read",
    "disk_bytes": "disk",
    "ipc": "IPC",
    "memory_bytes_per_s": "memory/s",
    "memory_share": "of card",
    "link_bytes_per_s": "links/s",
    "moved_ratio": "moved",
}
LEGEND = (
    "of one iteration, s and bytes: tasks: their run time; all CPU: of the whole application;"
    " queue: tasks wait for a CPU; read: by system calls; moved: memory traffic per byte of input"
)


def show_curve(console: Any, report: CurveReport) -> None:
    """Print a measured curve."""
    headline(console, report.workload, report, f" over {report.factor}")
    if report.fit is not None:
        show(console, report.fit)
        console.print()
    elif report.reason is not None:
        console.print(report.reason, markup=False)
    if report.levels:
        _measures(console, report)
        _ledger(console, report)
    doubts(console, report.doubts)


def _measures(console: Any, report: CurveReport) -> None:
    known = [name for name in COLUMNS if any(name in one.measures for one in report.levels)]
    grid = table(report.factor, "time, s", *(COLUMNS[name] for name in known))
    for one in report.levels:
        grid.add_row(
            one.name, f"{one.elapsed_s.value:.4g}", *(_measure(one, name) for name in known)
        )
    console.print(grid)
    console.print(f"[dim]{LEGEND}[/]")
    for reason in dict.fromkeys(report.missing.values()):
        names = ", ".join(COLUMNS[name] for name, why in report.missing.items() if why == reason)
        console.print(f"{names}: not known ({reason})", markup=False, style="dim", soft_wrap=True)
    console.print()


def _measure(level: CurveLevel, name: str) -> str:
    one = level.measures.get(name)
    if one is None or one.value is None:
        return "–"
    if "bytes" in name:
        return units.size(one.value)
    return units.short(one.value)


def _ledger(console: Any, report: CurveReport) -> None:
    """Print rows of the ledger by level, with the increase over the level that spent least."""
    rows = list(dict.fromkeys(row for one in report.levels for row in one.ledger_s))
    if not rows:
        return
    grid = table("slots, s", *(one.name for one in report.levels))
    for row in rows:
        grid.add_row(
            row,
            *(
                "–" if (its := one.ledger_s.get(row)) is None or its.value is None
                else units.short(its.value) + _lost(one.lost_s[row])
                for one in report.levels
            ),
        )  # fmt: skip
    sums = [sum(its.value or 0 for its in one.ledger_s.values()) for one in report.levels]
    grid.add_row("all", *(units.short(one) for one in sums))
    console.print(grid)
    console.print(
        f"[dim]slots × time of an iteration, by the ledger's rows, at each {report.factor}; the"
        " second number: increase over the level where slots spent least[/]"
    )


def _lost(seconds: float) -> str:
    return f" {units.short(seconds, 2, signed=True)}" if seconds else ""
