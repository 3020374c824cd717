"""A measured curve in the terminal: its laws, what each level measured, what slots did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrometer import units
from pyrometer.cli.render_experiment import headline
from pyrometer.cli.render_fit import doubts, table
from pyrometer.cli.render_fit import show as show_fit

if TYPE_CHECKING:
    from pyrometer.analyse.scaling.curve import CurveLevel, CurveReport

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


def show(console: Any, made: CurveReport) -> None:
    """Print a curve."""
    headline(console, made.workload, made, f" over {made.factor}")
    if made.fit is not None:
        show_fit(console, made.fit)
        console.print()
    elif made.reason is not None:
        console.print(made.reason, markup=False)
    if made.levels:
        _measures(console, made)
        _ledger(console, made)
    doubts(console, made.doubts)


def _measures(console: Any, made: CurveReport) -> None:
    known = [name for name in COLUMNS if any(name in one.measures for one in made.levels)]
    grid = table(made.factor, "time, s", *(COLUMNS[name] for name in known))
    for one in made.levels:
        grid.add_row(
            one.name, f"{one.elapsed_s.value:.4g}", *(_measure(one, name) for name in known)
        )
    console.print(grid)
    console.print(f"[dim]{LEGEND}[/]")
    for reason in dict.fromkeys(made.missing.values()):
        names = ", ".join(COLUMNS[name] for name, why in made.missing.items() if why == reason)
        console.print(f"{names}: not known ({reason})", markup=False, style="dim", soft_wrap=True)
    console.print()


def _measure(level: CurveLevel, name: str) -> str:
    one = level.measures.get(name)
    if one is None or one.value is None:
        return "–"
    if "bytes" in name:
        return units.size(one.value)
    return units.short(one.value)


def _ledger(console: Any, made: CurveReport) -> None:
    """Rows of the ledger by level; beside them what each has more than where least was spent."""
    rows = list(dict.fromkeys(row for one in made.levels for row in one.ledger_s))
    if not rows:
        return
    grid = table("slots, s", *(one.name for one in made.levels))
    for row in rows:
        grid.add_row(
            row,
            *(
                "–" if (its := one.ledger_s.get(row)) is None or its.value is None
                else units.short(its.value) + _lost(one.lost_s[row])
                for one in made.levels
            ),
        )  # fmt: skip
    sums = [sum(its.value or 0 for its in one.ledger_s.values()) for one in made.levels]
    grid.add_row("all", *(units.short(one) for one in sums))
    console.print(grid)
    console.print(
        f"[dim]slots × time of an iteration, by the ledger's rows, at each {made.factor}; the"
        " second number: more than where slots spent least in all[/]"
    )


def _lost(seconds: float) -> str:
    return f" {units.short(seconds, 2, signed=True)}" if seconds else ""
