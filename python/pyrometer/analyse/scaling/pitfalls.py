"""What makes a curve of scaling say something else than it seems to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pyrometer.analyse.compare.two import ALPHA, welch
from pyrometer.analyse.scaling.knee import flat_from
from pyrometer.analyse.scaling.levels import Level
from pyrometer.analyse.scaling.losses import cpu_of_work, cpus_used
from pyrometer.doubt import Doubt
from pyrometer.schema import doubt

DEARER = 1.05
"""More workers share caches and memory: CPU time of a unit of work can only rise. A level that
took this much more than a later one did other work (warm-up, cold files, another plan)."""

JUMP = 2.0
"""Factor between neighbouring levels by which garbage collection jumps."""

JUMP_SHARE = 0.01
"""Share of the workers' time that a jump must make to matter."""

FEW_LEVELS = 5


def doubts_of(
    levels: Sequence[Level], *, cpus: float | None = None, cores: float | None = None
) -> list[Doubt]:
    """Find pitfalls.

    Parameters
    ----------
    cpus, cores : float, optional
        Logical CPUs, and cores, that the workers may use.
    """
    found = [
        *_other_work(levels),
        *_gc_jumps(levels),
        *_crowded(levels, cpus, cores),
    ]
    if len(levels) < FEW_LEVELS:
        found.append(
            doubt("scaling_few_levels", f"{len(levels)} levels, a knee takes {FEW_LEVELS}")
        )
    alone = [one.p for one in levels if one.n < 2]
    if alone:
        what = "no level" if len(alone) == len(levels) else f"{_list(alone)}: not"
        found.append(doubt("scaling_unreplicated", f"{what} measured more than once"))
    return found


def different_work(levels: Sequence[Level]) -> list[Level]:
    """Find first levels whose unit of work took more CPU time than at a later level."""
    known = cpu_of_work(levels)
    found = []
    for at, (one, cpu) in enumerate(known[:-1], 1):
        least, its = min(known[at:], key=lambda pair: pair[1])
        if cpu < DEARER * its or not _certain(one, least, "cpu"):
            break
        found.append(one)
    return found


def _other_work(levels: Sequence[Level]) -> list[Doubt]:
    found = different_work(levels)
    if not found:
        return []
    known = cpu_of_work(levels)
    least = min(cpu for one, cpu in known if one not in found)
    told = ", ".join(
        f"{one.p:g}: {cpu:.4g} (+{100 * (cpu / least - 1):.0f} %)"
        for one, cpu in known
        if one in found
    )
    message = f"CPU time of a unit of work at {told}; the least of later levels is {least:.4g}"
    return [doubt("scaling_first_levels_differ", message)]


def _gc_jumps(levels: Sequence[Level]) -> list[Doubt]:
    told = []
    for a, b in pairwise(levels):
        before, after = a.per_work("gc"), b.per_work("gc")
        if before is None or after is None:
            continue
        low, high = sorted((before, after))
        matters = high - low > JUMP_SHARE * b.p * b.unit_time
        if high >= JUMP * low and matters and _certain(a, b, "gc"):
            told.append(f"from {a.p:g} to {b.p:g}: {before:.3g} → {after:.3g}")
    if not told:
        return []
    return [doubt("scaling_gc_jump", f"GC time of a unit of work, {'; '.join(told)}")]


def _certain(a: Level, b: Level, fact: str) -> bool:
    """Whether two levels differ in a fact by more than their runs do; single runs are believed."""
    tested = welch(a.facts[fact], b.facts[fact])
    return tested is None or tested.p < ALPHA


def _crowded(levels: Sequence[Level], cpus: float | None, cores: float | None) -> list[Doubt]:
    found = []
    most = levels[-1].p
    if cpus is not None and most > cpus:
        message = f"up to {most:g} workers on {cpus:g} CPUs: beyond {cpus:g} they take turns"
        found.append(doubt("scaling_workers_over_cpus", message))
    elif cpus is None:
        used = [(one.p, busy) for one in levels if (busy := cpus_used(one)) is not None]
        flat = flat_from(used)
        if flat is not None and flat < most:
            busy = max(value for _, value in used)
            message = f"from {flat:g} workers on {busy:.3g} CPUs are busy, up to {most:g} workers"
            found.append(doubt("scaling_workers_over_cpus", message))
    if cores is not None and most > cores and (cpus is None or cores < cpus):
        message = f"{cores:g} cores, up to {most:g} workers: beyond {cores:g} they share cores"
        found.append(doubt("scaling_shared_cores", message))
    return found


def _list(numbers: Sequence[float]) -> str:
    return ", ".join(f"{one:g}" for one in numbers)
