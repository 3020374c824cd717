"""What a workload loses in a co-run, by the ledger, as far as its rows distinguish causes.

What a trial spent: slot-seconds of one iteration, by resource.

Together, each on its own CPUs, or one after the other: which way finishes all iterations first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyrometer.accounts.cpu import cpu
from pyrometer.accounts.hardware.hardware import hardware
from pyrometer.accounts.ledger.schema import Row, View
from pyrometer.accounts.ledger.slot_view import slot_view
from pyrometer.accounts.spark import window_totals
from pyrometer.accounts.window import open_scope
from pyrometer.core.estimate import Estimate
from pyrometer.corun.schema import Advice, Contention, Growth, RoleGrowth, Way, WayReport
from pyrometer.statistics.power import ALPHA
from pyrometer.statistics.treatments import PairReport, Trial, analyse
from pyrometer.statistics.two import geometric_mean_of, student
from pyrometer.store import Run

RESOURCES = {
    "cpus": ("tasks ready, waiting for a CPU", ("task/run_queue",)),
    "cpu_time": ("CPU time of tasks", ("task/on_cpu",)),
    "gc": ("tasks standing still for collections", ("task/gc_pause",)),
    "disk": ("tasks waiting for a disk", ("task/waiting/block_io",)),
    "memory": ("tasks waiting for memory", ("task/waiting/swap_in", "task/waiting/reclaim")),
    "steal": ("time the hypervisor took from tasks", ("task/steal",)),
    "waits": ("tasks waiting for something else", ("task/waiting", "task/off_cpu")),
    "driver": ("slots without a stage: the driver works or waits", ("idle/driver",)),
    "idle": ("other slots without a task", ("idle",)),
    "around": ("launch, deserialisation and results of tasks", ("",)),
}
"""What slots spend time on: a description, and prefixes of the ledger's rows; the first match
counts. Together they are slots × time."""

TAKEN_APART = ("task", "idle", "task/waiting")
"""Rows that are split into their parts."""


@dataclass(frozen=True)
class Spent:
    """What the slots of one trial spent in one iteration.

    Attributes
    ----------
    seconds : dict of str to float
        By resource; empty where it is not known, and `reason` says why.
    queues : dict of str to float
        Seconds that threads were ready and waited for a CPU, by their role.
    ipc : float or None
        Instructions per cycle.
    """

    seconds: dict[str, float] = field(default_factory=dict)
    queues: dict[str, float] = field(default_factory=dict)
    ipc: float | None = None
    ipc_reason: str | None = None
    reason: str | None = None


def spent(run: Run, seconds: float) -> Spent:
    """Read what a run spent.

    Parameters
    ----------
    seconds : float
        Time of one of its iterations, as the experiment counts it.
    """
    scope = open_scope(run, None)
    view, counted = slot_view(scope), hardware(scope).ipc
    length = scope.window.length_ns / 1e9
    each = seconds / length if length else 0.0
    found = by_resource(view, each) if view.rows else {}
    # Without a probe what tasks lose is known as a whole only.
    probed = "cpus" in found
    return Spent(
        seconds=found if probed else {},
        queues={
            one.role: one.run_delay_ns * each / 1e9
            for one in cpu(scope, *window_totals(scope)).roles
            if one.run_delay_ns is not None
        },
        ipc=counted.ipc,
        ipc_reason=counted.reason,
        reason=None if probed else view.reason or "no probe: profile light or full",
    )


def by_resource(view: View, each: float) -> dict[str, float]:
    """Sum the rows of a slot view by resource, in seconds.

    Parameters
    ----------
    each : float
        One iteration as a share of the window: sums over the window are scaled to one iteration.
    """
    parts: dict[str | None, list[Row]] = {}
    for row in view.rows:
        if row.value_ns is not None:
            parts.setdefault(row.parent, []).append(row)
    seconds: dict[str, float] = {}

    def add(path: str, value_ns: float) -> None:
        below = parts.get(path, []) if path in TAKEN_APART else []
        for one in below:
            add(one.path, one.value_ns or 0)
        rest = value_ns - sum(one.value_ns or 0 for one in below)
        if not below or rest:
            name = resource_of(path)
            seconds[name] = seconds.get(name, 0.0) + rest * each / 1e9

    for row in parts.get(None, []):
        add(row.path, row.value_ns or 0)
    return seconds


def resource_of(path: str) -> str:
    """Name the resource that a row of the ledger is about.

    Examples
    --------
    >>> resource_of("task/waiting/block_io"), resource_of("task/waiting/lock"), resource_of("task")
    ('disk', 'waits', 'around')
    """
    return next(
        name
        for name, (_, starts) in RESOURCES.items()
        if any(not one or f"{path}/".startswith(f"{one}/") for one in starts)
    )


NAMED = 0.05
"""Least share of all growth for which the verdict names a row."""

Pairs = Sequence[tuple[Mapping[str, float], Mapping[str, float]]]
"""Alone and with others, by block."""


def contention(alone: Sequence[Spent], together: Sequence[Spent], slower: bool) -> Contention:
    """Say what grew in a co-run.

    Parameters
    ----------
    alone, together : sequence of Spent
        By block, the same blocks.
    slower : bool
        Whether the workload is significantly slower with the others.
    """
    pairs = list(zip(alone, together, strict=True))
    reason = next((one.reason for pair in pairs for one in pair if one.reason), None)
    if reason is not None or not pairs:
        return Contention(reason=reason or "no block has both")
    ratios = [two.ipc / one.ipc for one, two in pairs if one.ipc and two.ipc]
    result = Contention(
        grown=_grown([(one.seconds, two.seconds) for one, two in pairs]),
        roles=_roles([(one.queues, two.queues) for one, two in pairs]),
        ipc=geometric_mean_of(ratios) if len(ratios) == len(pairs) else None,
        ipc_reason=next((one.ipc_reason for pair in pairs for one in pair if not one.ipc), None),
    )
    result.told = _sentence(result) if slower else "not surely slower: there is nothing to explain"
    return result


def _grown(pairs: Pairs) -> list[Growth]:
    names = [one for one in RESOURCES if any(one in side for pair in pairs for side in pair)]
    growths = []
    for name in names:
        alone, more, sure = _more(pairs, name, len(names))
        what = RESOURCES[name][0]
        growths.append(
            Growth(name=name, what=what, alone_s=alone, more_s=more, share=None, sure=sure)
        )
    all_grown = sum(max(one.more_s.value or 0.0, 0.0) for one in growths)
    for growth in growths:
        growth.share = (growth.more_s.value or 0.0) / all_grown if all_grown else None
    return growths


def _roles(pairs: Pairs) -> list[RoleGrowth]:
    names = list(dict.fromkeys(name for pair in pairs for side in pair for name in side))
    roles = []
    for name in names:
        alone, more, sure = _more(pairs, name, len(names))
        roles.append(RoleGrowth(role=name, queue_alone_s=alone, queue_more_s=more, sure=sure))
    return roles


def _more(pairs: Pairs, name: str, asked: int) -> tuple[float, Estimate, bool]:
    """Give the value alone, the growth with others, and whether that is significant."""
    more = [two.get(name, 0.0) - one.get(name, 0.0) for one, two in pairs]
    # One-sided test for growth, corrected for the number of names (Bonferroni).
    careful = student(more, 1 - 2 * ALPHA / asked)
    alone = sum(one.get(name, 0.0) for one, _ in pairs) / len(pairs)
    return alone, student(more), careful.low is not None and careful.low > 0


def _sentence(found: Contention) -> str:
    sure = {one.name: one for one in found.grown if one.sure and (one.share or 0) >= NAMED}
    if not sure:
        return "what they contend for is unknown: no row of the ledger certainly grew"
    causes = [
        f"{one.what} ({one.share:.0%} of what grew)"
        for one in sorted(sure.values(), key=lambda one: -(one.share or 0))
    ]
    if "cpu_time" in sure:
        causes.append(_stalls(found))
    for name in ("gc", "driver"):
        if name in sure:
            causes.append(_waited(found, name))
    return "; ".join(causes)


def _waited(found: Contention, role: str) -> str:
    """Say whether threads of a role had more to do, or waited for a CPU."""
    one = next((one for one in found.roles if one.role == role), None)
    threads = {"gc": "collectors", "driver": "the driver's threads"}[role]
    if one is None or not one.sure:
        return f"whether {threads} did more or waited for something is not separable"
    return f"{threads} waited {one.queue_more_s.value:.2g} s more for a CPU"


def _stalls(found: Contention) -> str:
    if found.ipc is None:
        return (
            "what makes CPU time grow (caches, memory bandwidth, a core that is shared, frequency)"
            f" is not separable: {found.ipc_reason or 'no counters'}"
        )
    if found.ipc.high is not None and found.ipc.high < 1:
        return (
            f"instructions per cycle are {found.ipc.value:.2f} times those alone: caches, memory"
            " bandwidth, or a core that is shared"
        )
    return "instructions per cycle did not surely fall: more instructions, or a lower frequency"


WORDS: dict[Way, str] = {
    "in turn": "one after the other",
    "together": "together on the same CPUs",
    "own CPUs": "at once, each on CPUs of its own",
}

Times = Mapping[Way, Sequence[Sequence[float]]]
"""Times of an iteration: of each way, by block, of each member. ``in turn`` are those alone."""


def makespan(way: Way, alone: Sequence[float], times: Sequence[float]) -> float:
    """Time until all are done that begin at once, each with one iteration to do.

    In turn that is the sum. Together, the longer of two has done ``shorter / longer`` of its work
    when the shorter ends, and goes on as if alone: the rest takes that part of its time alone
    (progress at a constant rate, as in Jiang, Shen, Chen and Tripathi, "Analysis and approximation
    of optimal co-scheduling on chip multiprocessors", PACT 2008). Three and more, and those with
    CPUs of their own, are assumed to run under load to their end: an upper bound.

    Examples
    --------
    >>> makespan("in turn", [4.0, 10.0], [4.0, 10.0]), makespan("own CPUs", [4, 10], [6.0, 16.0])
    (14.0, 16.0)
    >>> makespan("together", [4.0, 10.0], [6.0, 12.0])
    11.0
    """
    if way == "in turn":
        return sum(alone)
    if way == "own CPUs" or len(times) > 2:
        return max(times)
    shorter, longer = sorted(range(2), key=lambda at: times[at])
    done = times[shorter] / times[longer]
    return times[shorter] + (1 - done) * alone[longer]


def advice(members: Sequence[str], times: Times, margin: float) -> Advice:
    """Compare the ways within blocks, and say which to take.

    Parameters
    ----------
    times : mapping
        All ways by the same blocks; ``in turn`` is among them.
    margin : float
        Relative difference that counts as none.
    """
    spans = {
        way: [makespan(way, alone, its) for alone, its in zip(times["in turn"], rows, strict=True)]
        for way, rows in times.items()
    }
    trials = [
        Trial(way, span, str(block))
        for block, found in enumerate(zip(*spans.values(), strict=True))
        for way, span in zip(spans, found, strict=True)
    ]
    pairs = analyse(trials, what="makespan", unit="s", margin=margin, names=list(spans)).pairs
    beaten = {pair.a if pair.verdict == "faster" else pair.b for pair in pairs if _sure(pair)}
    best = [way for way in spans if way not in beaten]
    return Advice(
        members=list(members),
        ways=[WayReport(way=way, makespan_s=geometric_mean_of(one)) for way, one in spans.items()],
        pairs=pairs,
        best=best,
        told=_described(best, pairs),
    )


def _sure(pair: PairReport) -> bool:
    return pair.verdict in ("faster", "slower")


def _described(best: Sequence[Way], pairs: Sequence[PairReport]) -> str:
    if len(best) == 1:
        (way,) = best
        with_best = [pair for pair in pairs if way in (pair.a, pair.b)]
        return f"{WORDS[way]}: {'; '.join(_longer(pair, way) for pair in with_best)}"
    either = " or ".join(WORDS[one] for one in best)
    among = [pair for pair in pairs if pair.a in best and pair.b in best]
    if all(pair.verdict == "same" for pair in among):
        return f"{either}: the same"
    needed = [pair.trials_needed for pair in among if pair.trials_needed is not None]
    more = f"; {max(needed)} blocks would resolve a difference of the margin" if needed else ""
    return f"cannot tell: {either}{more}"


def _longer(pair: PairReport, best: Way) -> str:
    """Say how much longer the other of a pair takes."""
    change = pair.change.value or 0.0
    other, more = (pair.b, change) if pair.a == best else (pair.a, -change / (1 + change))
    return f"{next(words for way, words in WORDS.items() if way == other)} takes {more:.0%} longer"
