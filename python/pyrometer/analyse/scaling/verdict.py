"""The verdict in words: the knee, what came of the efficiency lost there, and what is not known."""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.analyse.compare.two import MARGIN
from pyrometer.analyse.scaling.knee import Knee, flat_from
from pyrometer.analyse.scaling.levels import Level
from pyrometer.analyse.scaling.losses import cpu_of_work, cpus_used, nearest_below, worker_time
from pyrometer.analyse.scaling.model import LawReport
from pyrometer.analyse.scaling.pitfalls import different_work
from pyrometer.estimate import Estimate

NEAR_LIMIT = 0.8
"""Share of attainable bandwidth from which on latency rises (a loaded memory system)."""

WORDS = {
    "cpu": "CPU time of tasks: a unit of work takes more of it. Hardware threads that share a core,"
    " shared caches and memory, or a lower frequency do that",
    "gc": "garbage collection",
    "wait": "tasks that wait, for a CPU, for input or output, or for locks",
    "idle": "workers without a task: skew, stages with few tasks, or the driver",
}


def verdict(
    levels: Sequence[Level],
    found: Knee,
    plateau: float | None,
    usl: LawReport,
    *,
    limit: float | None = None,
) -> list[str]:
    """Say what the curve shows, a sentence each.

    Parameters
    ----------
    limit : float, optional
        Attainable memory bandwidth, in the unit of the levels'.
    """
    told = [_knee(found)]
    last = levels[-1]
    end = last if plateau is None else next(one for one in levels if one.p >= plateau)
    if found.at.value is not None:
        start = nearest_below(levels, found.at.value)
        told += _lost(start, end if end.p > start.p else last)
    if plateau is not None:
        told.append(
            f"From {plateau:g} to {last.p:g} throughput stays within {100 * MARGIN:g} % of its"
            " largest: more workers bring nothing."
        )
        told += _lost(end, last)
    if found.at.value is not None or plateau is not None:
        told += _cause(levels, found, limit)
    return [*told, _peak(usl, levels[0].p), *_super_linear(levels, usl)]


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
    return [
        f"From {before.p:g} to {after.p:g}, {100 * min(share, 1):.0f} % of the efficiency lost is"
        f" {WORDS[name]}."
    ]


def _cause(levels: Sequence[Level], found: Knee, limit: float | None) -> list[str]:
    used = [(one.p, busy) for one in levels if (busy := cpus_used(one)) is not None]
    known = cpu_of_work(levels)
    if not known:
        return ["Its cause is not told: there is no column of CPU time."]
    flat = flat_from(used)
    start = nearest_below([one for one, _ in known], found.at.value or levels[0].p)
    last, most = known[-1]
    dear = most / next(cpu for one, cpu in known if one is start)
    told = []
    if flat is not None and flat < levels[-1].p:
        busy = max(value for _, value in used)
        told.append(f"{busy:.3g} CPUs are busy from {flat:g} workers on, not more")
    if dear > 1 + MARGIN:
        told.append(
            f"a unit of work takes {dear:.2f} times the CPU time at {last.p:g} workers that"
            f" it takes at {start.p:g}"
        )
    if not told:
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
    return [f"{_capital('; '.join(told))}: {', and '.join(names)}; {memory}."]


def _memory(levels: Sequence[Level], found: Knee, limit: float | None) -> str:
    """Say whether memory bandwidth can be told from the other causes."""
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
        return "Whether there is a peak cannot be told: USL has as many parameters as levels."
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
