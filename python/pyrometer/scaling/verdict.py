"""The verdict in words: the knee, where the lost efficiency went, and what is not known.

Doubts: what can make a scaling curve misleading.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.core.schema import doubt
from pyrometer.scaling.schema import LawReport
from pyrometer.statistics.power import ALPHA
from pyrometer.statistics.scaling.knee import Knee, flat_from
from pyrometer.statistics.scaling.levels import (
    Level,
    cpu_of_work,
    cpus_used,
    nearest_below,
    worker_time,
)
from pyrometer.statistics.two import MARGIN
from pyrometer.statistics.welch import welch

DEARER = 1.05
"""More workers share caches and memory: CPU time of a unit of work can only rise. A level that
took this much more than a later one did other work (warm-up, cold files, another plan)."""

JUMP = 2.0
"""Least factor between adjacent levels that counts as a jump of garbage collection."""

JUMP_SHARE = 0.01
"""Least share of the workers' time for which a jump matters."""

FEW_LEVELS = 5


def doubts_of(
    levels: Sequence[Level], *, cpus: float | None = None, cores: float | None = None
) -> list[Doubt]:
    """Find what makes the curve misleading.

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
    costs = ", ".join(
        f"{one.p:g}: {cpu:.4g} (+{100 * (cpu / least - 1):.0f} %)"
        for one, cpu in known
        if one in found
    )
    message = f"CPU time of a unit of work at {costs}; the least of later levels is {least:.4g}"
    return [doubt("scaling_first_levels_differ", message)]


def _gc_jumps(levels: Sequence[Level]) -> list[Doubt]:
    jumps = []
    for a, b in pairwise(levels):
        before, after = a.per_work("gc"), b.per_work("gc")
        if before is None or after is None:
            continue
        low, high = sorted((before, after))
        matters = high - low > JUMP_SHARE * b.p * b.slots * b.unit_time
        if high >= JUMP * low and matters and _certain(a, b, "gc"):
            jumps.append(f"from {a.p:g} to {b.p:g}: {before:.3g} → {after:.3g}")
    if not jumps:
        return []
    return [doubt("scaling_gc_jump", f"GC time of a unit of work, {'; '.join(jumps)}")]


def _certain(a: Level, b: Level, fact: str) -> bool:
    """Whether two levels differ significantly in a fact; single runs count as certain."""
    tested = welch(a.facts[fact], b.facts[fact])
    return tested is None or tested.p < ALPHA


def _crowded(levels: Sequence[Level], cpus: float | None, cores: float | None) -> list[Doubt]:
    found = []
    most = levels[-1].p
    tasks = max(one.p * one.slots for one in levels)
    what = "workers" if tasks == most else "task slots"
    if cpus is not None and tasks > cpus:
        message = f"up to {tasks:g} {what} on {cpus:g} CPUs: beyond {cpus:g} they take turns"
        found.append(doubt("scaling_workers_over_cpus", message))
    elif cpus is None:
        used = [(one.p, busy) for one in levels if (busy := cpus_used(one)) is not None]
        flat = flat_from(used)
        if flat is not None and flat < most:
            busy = max(value for _, value in used)
            message = f"from {flat:g} workers on {busy:.3g} CPUs are busy, up to {most:g} workers"
            found.append(doubt("scaling_workers_over_cpus", message))
    if cores is not None and tasks > cores and (cpus is None or cores < cpus):
        message = f"{cores:g} cores, up to {tasks:g} {what}: beyond {cores:g} they share cores"
        found.append(doubt("scaling_shared_cores", message))
    return found


def _list(numbers: Sequence[float]) -> str:
    return ", ".join(f"{one:g}" for one in numbers)


NEAR_LIMIT = 0.8
"""Share of attainable bandwidth above which latency rises (a loaded memory system)."""

WORDS = {
    "cpu": "CPU time of tasks: a unit of work takes more of it. Hardware threads that share a core,"
    " shared caches and memory, or a lower frequency do that",
    "gc": "garbage collection",
    "wait": "tasks that wait, for a CPU, for input or output, or for locks",
    "idle": "{workers} without a task: skew, stages with few tasks, or the driver",
}
"""What a part of the workers' time is; ``{workers}`` are task slots where each has several."""


def verdict(
    levels: Sequence[Level],
    found: Knee,
    plateau: float | None,
    usl: LawReport,
    *,
    limit: float | None = None,
) -> list[str]:
    """Describe what the curve shows, in sentences.

    Parameters
    ----------
    limit : float, optional
        Attainable memory bandwidth, in the unit of the levels.
    """
    sentences = [_knee(found)]
    last = levels[-1]
    end = last if plateau is None else next(one for one in levels if one.p >= plateau)
    if found.at.value is not None:
        start = nearest_below(levels, found.at.value)
        sentences += _lost(start, end if end.p > start.p else last)
    if plateau is not None:
        sentences.append(
            f"From {plateau:g} to {last.p:g} throughput stays within {100 * MARGIN:g} % of its"
            " largest: more workers bring nothing."
        )
        sentences += _lost(end, last)
    if found.at.value is not None or plateau is not None:
        sentences += _cause(levels, found, limit)
    return [*sentences, _peak(usl, levels[0].p), *_super_linear(levels, usl)]


def _knee(found: Knee) -> str:
    if found.at.value is None or found.before is None or found.after is None:
        return f"No knee within these levels: {found.reason}."
    gains = [2 ** (one.value or 0.0) for one in (found.before, found.after)]
    return (
        f"The knee is at {_within(found.at)} workers: up to it, twice the workers do"
        f" {gains[0]:.2f} times as much, beyond it {gains[1]:.2f} times."
    )


def _lost(before: Level, after: Level) -> list[str]:
    lost = worker_time(after).minus(worker_time(before))
    largest = lost.largest()
    if largest is None:
        return []
    name, share = largest
    what = WORDS[name].format(workers="task slots" if after.slots > 1 else "workers")
    return [
        f"From {before.p:g} to {after.p:g}, {100 * min(share, 1):.0f} % of the efficiency lost is"
        f" {what}."
    ]


def _cause(levels: Sequence[Level], found: Knee, limit: float | None) -> list[str]:
    used = [(one.p, busy) for one in levels if (busy := cpus_used(one)) is not None]
    known = cpu_of_work(levels)
    if not known:
        return ["Its cause is unknown: there is no column of CPU time."]
    flat = flat_from(used)
    start = nearest_below([one for one, _ in known], found.at.value or levels[0].p)
    last, most = known[-1]
    dear = most / next(cpu for one, cpu in known if one is start)
    facts = []
    if flat is not None and flat < levels[-1].p:
        busy = max(value for _, value in used)
        facts.append(f"{busy:.3g} CPUs are busy from {flat:g} workers on, not more")
    if dear > 1 + MARGIN:
        facts.append(
            f"a unit of work takes {dear:.2f} times the CPU time at {last.p:g} workers that"
            f" it takes at {start.p:g}"
        )
    if not facts:
        return ["Neither CPU time nor a limit of CPUs explains it."]
    names = [
        name
        for name, seen in (
            ("SMT or shared memory", dear > 1 + MARGIN),
            ("a limit of logical CPUs or a quota", flat is not None),
        )
        if seen
    ]
    memory = _memory(levels, found, limit)
    return [f"{_capital('; '.join(facts))}: {', and '.join(names)}; {memory}."]


def _memory(levels: Sequence[Level], found: Knee, limit: float | None) -> str:
    """Say whether memory bandwidth can be separated from the other causes."""
    since = found.at.value or levels[0].p
    known = [
        (one, its)
        for one in levels
        if (its := one.mean("bandwidth")) is not None and one.p >= since
    ]
    if len(known) < 2:
        return "memory bandwidth is not separable (it is not known beyond the knee)"
    (first, low), (last, high) = known[0], known[-1]
    work = first.unit_time / last.unit_time - 1
    rise = high / low - 1
    seen = (
        f"memory throughput goes from {low:.4g} at {first.p:g} to {high:.4g} at {last.p:g} workers"
        f" ({100 * rise:+.0f} %; work done {100 * work:+.0f} %)"
    )
    if limit is not None and max(its for _, its in known) < NEAR_LIMIT * limit:
        return f"{seen}, below {100 * NEAR_LIMIT:.0f} % of {limit:g}: bandwidth is not the limit"
    if rise <= MARGIN:
        return f"{seen}: it rises no more, bandwidth may be the limit and is not separable"
    return f"{seen}: it was not exhausted at the knee; beyond, bandwidth is not separable"


def _peak(usl: LawReport, fewest: float) -> str:
    if usl.reason is not None:
        return f"USL: {usl.reason}."
    if usl.parameters["beta"].low is None:
        return "Whether there is a peak is unknown: USL has as many parameters as levels."
    if usl.peak is None:
        return "No evidence of a peak (USL: β may be 0)."
    if (usl.peak.value or 0.0) < fewest:
        return f"USL: throughput is largest with the fewest workers ({fewest:g})."
    return f"USL: throughput is largest at {_within(usl.peak)} workers."


def _super_linear(levels: Sequence[Level], usl: LawReport) -> list[str]:
    alpha = usl.parameters.get("alpha")
    if alpha is None or alpha.high is None or alpha.high >= 0:
        return []
    other = different_work(levels)
    if other:
        names = ", ".join(f"{one.p:g}" for one in other)
        return [f"Super-linear (α < 0): the first levels ({names}) did more work."]
    return [
        "Super-linear (α < 0): the first level did more work (cold files, compilation), or caches"
        " and memory grow with the workers."
    ]


def _within(one: Estimate) -> str:
    ends = [f"{end:.3g}" if end is not None else "?" for end in (one.low, one.high)]
    return f"{one.value:.3g} [{ends[0]}, {ends[1]}]"


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
