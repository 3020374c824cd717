"""A simulation as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyrometer.accounts.stage_names import at_file
from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.simulation.schema import LeftOut, LeftOutReport, Level, SimulationReport
from pyrometer.terminal.drawing import (
    Justify,
    Look,
    doubt_lines,
    grid,
    heading,
    indented,
    note,
    put,
    safe,
    window_line,
)

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


MOST_STAGES = 10
Columns = list[tuple[str, Justify]]
WORDS = {
    "useful": "tasks",
    "driver": "driver: no stage runs",
    "too_few_tasks": "too few tasks: stages wait for others",
    "stage_tail": "stage tail: skew",
    "waiting_to_launch": "waiting to launch: locality",
    "scheduling_delay": "scheduling delay in tasks",
    "retries": "retries",
}


def simulation(console: Console, report: SimulationReport) -> None:
    """Print a whole simulation."""
    put(console, _parts(report, Look.of(console)))


def left_out(console: Console, report: LeftOutReport) -> None:
    """Print each level of a scaling experiment with its prediction by the others."""
    put(console, _left_out(report, Look.of(console)))


def _left_out(report: LeftOutReport, look: Look) -> Iterator[RenderableType]:
    columns: Columns = [
        ("slots", "right"), ("CPUs", "right"), ("runs", "right"), ("measured", "right"),
        ("predicted", "right"), ("90 %", "left"), ("error", "right"), ("from slots", "left"),
    ]  # fmt: skip
    yield grid(look, columns, [_left_out_row(one) for one in report.levels], elastic=7)
    yield note(
        f"error: {units.percent(report.error_ratio)} in the median,"
        f" {units.percent(report.worst_error_ratio)} at most"
    )
    covered = report.coverage
    if covered.value is not None:
        yield note(f"90 % intervals hold for {units.percent(covered.value)} of {covered.n} levels")
    yield from doubt_lines(report.doubts)


def _left_out_row(one: LeftOut) -> list[str]:
    predicted, cpus = one.predicted_s, one.from_cpus
    whole = "" if cpus is None else f" on {cpus:g} CPUs"
    return [
        str(one.slots_count),
        units.MISSING if one.cpus is None else f"{one.cpus:g}",
        str(one.measured_s.n),
        units.duration(_ns(one.measured_s.value)),
        units.duration(_ns(predicted.value)),
        _interval(predicted),
        units.percent(one.error_ratio, signed=True),
        f"{one.from_slots_count}{whole}",
    ]


def _ns(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e9


def _parts(report: SimulationReport, look: Look) -> Iterator[RenderableType]:
    yield window_line(report.window.name, report.window.iterations, report.measured.elapsed_ns)
    yield from _error(report)
    yield heading("Bounds")
    bounds, elapsed = report.bounds, report.measured.elapsed_ns
    rows = [
        ("critical path", bounds.critical_path_ns, "with a slot for every task"),
        ("ideal", bounds.ideal_ns, "the driver alone, then all tasks spread evenly"),
        ("one core", bounds.one_core_ns, "all tasks one after another"),
    ]
    cells = [[name, units.duration(ns), _times(ns / elapsed), words] for name, ns, words in rows]
    yield indented(
        grid(look, [("", "left"), ("elapsed", "right"), ("of measured", "right"), ("", "left")],
             cells, elastic=3)
    )  # fmt: skip
    yield from _waste(report, look)
    yield heading("Other sizes")
    yield from _levels(report, look)
    yield from _stages(report, look)
    yield from doubt_lines(report.doubts)


def _error(report: SimulationReport) -> Iterator[RenderableType]:
    accuracy = report.accuracy
    error = units.percent(accuracy.error_ratio, signed=True)
    yield f"[bold]error at the measured size: {error}[/]"
    if accuracy.stage_error_ratio is not None:
        yield note(f"stages: {units.percent(accuracy.stage_error_ratio)} in the median")
    covered = accuracy.coverage
    if covered.value is None:
        yield note(accuracy.reason or "")
    else:
        yield note(
            f"90 % intervals hold for {units.percent(covered.value)} of {covered.n} stages"
            f" (95 %: {units.percent(covered.low)} … {units.percent(covered.high)})"
        )
    yield note(
        f"contention: {report.contention}"
        if report.contention
        else "contention: none, tasks take as long whatever else runs"
    )


def _waste(report: SimulationReport, look: Look) -> Iterator[RenderableType]:
    facts = report.measured
    yield heading(f"Where the time of {facts.slots_count} slots goes")
    rows = [
        [
            WORDS[row.cause],
            units.percent(row.share),
            units.duration(row.slot_ns),
            units.duration(row.without_ns),
        ]
        for row in report.waste
    ]
    columns: list[tuple[str, Justify]] = [
        ("cause", "left"),
        ("share", "right"),
        ("slot time", "right"),
        ("without", "right"),
    ]
    yield indented(grid(look, columns, rows))
    yield note("without: elapsed time if the cause were gone")


def _levels(report: SimulationReport, look: Look) -> Iterator[RenderableType]:
    priced = report.currency is not None
    levels = [*report.levels, *([report.asked] if report.asked else [])]
    columns: Columns = [
        ("size", "right"), ("slots", "right"), ("elapsed", "right"), ("90 %", "left"),
        ("speed-up", "right"), ("used", "right"), ("core h", "right"), ("GB h", "right"),
    ]  # fmt: skip
    if priced:
        columns.append((report.currency or "cost", "right"))
    rows = [_level(one, one is report.asked, priced) for one in levels]
    yield indented(grid(look, columns, rows, elastic=3))
    yield note(
        "90 %: by the errors of stages at the measured size; what another size does to the tasks"
        " themselves (caches, shuffles, spilling) is not in it"
    )


def _level(level: Level, asked: bool, priced: bool) -> list[str]:
    cells = [
        ("→ " if asked else "") + units.percent(level.percent / 100),
        str(level.slots_count),
        units.duration(level.elapsed_ns.value),
        _interval(level.elapsed_ns),
        _times(level.speedup),
        units.percent(level.used_ratio),
        units.digits(level.core_hours),
        units.digits(level.gb_hours),
    ]
    return [*cells, units.digits(level.cost or 0)] if priced else cells


def _stages(report: SimulationReport, look: Look) -> Iterator[RenderableType]:
    longest = sorted(report.stages, key=lambda stage: -stage.measured_ns)[:MOST_STAGES]
    yield heading(f"Longest stages ({len(longest)} of {len(report.stages)})")
    rows = [
        [
            f"{stage.stage_id}.{stage.stage_attempt}{' *' if stage.critical else ''}",
            safe(at_file(stage.called or "")),
            str(stage.tasks_count),
            units.duration(stage.measured_ns),
            units.duration(stage.simulated_ns.value),
            _interval(stage.simulated_ns),
        ]
        for stage in longest
    ]
    columns: Columns = [
        ("stage", "left"), ("name", "left"), ("tasks", "right"),
        ("measured", "right"), ("simulated", "right"), ("90 %", "left"),
    ]  # fmt: skip
    yield indented(grid(look, columns, rows, elastic=1))
    yield note("* on the critical path")


def _interval(one: Estimate) -> str:
    """Format an interval relative to its value, short enough for a column."""
    if one.low is None or one.high is None or not one.value:
        return units.MISSING
    ends = (100 * (end / one.value - 1) for end in (one.low, one.high))
    low, high = (units.short(end, 2, signed=True) for end in ends)
    return f"{low} … {high} %".replace("-", "−")


def _times(ratio: float) -> str:
    return f"{units.digits(ratio)}×"
