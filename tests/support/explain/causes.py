"""Runs with one planted cause, and what one rule says of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.explain.planted import judged
from tests.support.simulation.simulated import Log
from tests.support.tables import MONO0, MS, PID, StageSpec, World

from pyrometer.explain.rule import Rule
from pyrometer.explain.schema import Finding


def shown(folder: Path, rule: Rule) -> list[Finding]:
    """Findings of one rule that are told."""
    return [one for one in judged(folder, rule).findings if one.shown]


def holds(finding: Finding, seconds: float) -> bool:
    """Whether the saving's interval holds so many seconds."""
    one = finding.saving.elapsed_ns
    assert one.low is not None
    assert one.high is not None
    return one.low <= seconds * 1e9 <= one.high


def log(tasks: list[dict[str, Any]], cores: int = 2, name: str = "stage 0", **conf: str) -> Log:
    """One stage, of tasks of ``ms`` each and any columns, on one executor."""
    free = [100] * cores
    made = Log(0, **conf)
    made.executor("1", cores)
    rows = []
    for columns in tasks:
        slot = free.index(min(free))
        ms = columns.pop("ms")
        rows.append((free[slot], ms, columns))
        free[slot] += ms
    end = max(free)
    made.rows["apps"][0]["end_wall_ns"] += (end + 20) * MS
    made.job(0, 50, end + 10, [0])
    made.stage(0, 80, end, [])
    made.rows["stages"][0].update(name=name, job_id=0)
    for start, ms, columns in rows:
        made.task(0, start, ms, **{"has_metrics": True, **columns})
    return made


def paused(kind: str, cause: str, pauses: int = 5, ms: int = 200, **sizes: Any) -> World:
    """Two slots with 8 tasks of 1 s, and pauses 400 ms after each other from 500 ms on."""
    world = World([StageSpec([1000] * 8)])
    for number in range(pauses):
        pause(world, kind, cause, 500 + 400 * number, ms, gc_id=number, **sizes)
    return world


def pause(world: World, kind: str, cause: str, at_ms: int, ms: int, **columns: Any) -> None:
    """Add a pause of the collector."""
    world.add(
        "gc_pauses", pid=PID, start_mono_ns=MONO0 + at_ms * MS, duration_ns=ms * MS,
        collector="G1", kind=kind, cause=cause, **columns,
    )  # fmt: skip
