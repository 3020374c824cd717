"""Hosts that were slow before a trial began there, by their canaries, or in trials, by their tasks.

A canary is held against the same host's others over the experiment: what the job does to a host is
in none. A host that is slower than the others of its trials may always be; to repeat a trial would
not change that, so that it is doubted and disturbs nothing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from pyrometer.core.doubt import Doubt
from pyrometer.core.schema import doubt
from pyrometer.core.units import duration
from pyrometer.experiments.folder import Ended, HostCanary, HostSeen, Plan
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.plan.file import Guard

FEWEST_CANARIES = 5
"""Canaries of a host from which its median says what it is like."""
SLOWER = 1.3
"""From here on tasks of a host count as slower than those elsewhere."""

WORDS = {
    "alu_ns": "arithmetic",
    "latency_ns": "memory latency",
    "copy_bytes_per_s": "copying",
}
STEADY = ("alu_ns", "latency_ns")
"""Measures that hosts are compared by: copying differs by half from one canary to the next."""

NAMED = ": its canary, "
"""What follows the name of a host that was slow."""

_SPREADS = 3
"""Beyond so many standard deviations of a host's own canaries, too, one is slow."""
_SD_OF_MAD = 1.4826


def slow_hosts(hosts: Sequence[HostSeen], all_seen: Iterable[HostSeen], guard: Guard) -> list[str]:
    """Name hosts of a trial whose canary was slow.

    Parameters
    ----------
    hosts : sequence of HostSeen
        Those of the trial.
    all_seen : iterable of HostSeen
        Of all trials of the experiment, in any order; this one may be among them.
    guard : Guard
        With the limits.

    Examples
    --------
    >>> usual = [HostSeen(host="h2", canary=HostCanary(alu_ns=100, wall_ns=n)) for n in range(5)]
    >>> now = HostSeen(host="h2", canary=HostCanary(alu_ns=150, wall_ns=9, age_s=12))
    >>> slow_hosts([now], usual, Guard())
    ['h2: its canary, 12.0 s before, was 1.5 times as slow as its median of 6 (arithmetic)']
    """
    past = _by_host((*all_seen, *hosts))
    said = []
    for host, canary in _judged(hosts, guard).items():
        own = past.get(host, [])
        found = _worst({name: _beyond_own(canary, own, name, guard.canary) for name in WORDS})
        if found is not None:
            measure, times = found
            before = duration((canary.age_s or 0) * 1e9)
            said.append(
                f"{host}{NAMED}{before} before, was {times:.2g} times as slow as"
                f" its median of {len(own)} ({WORDS[measure]})"
            )
    return said


def hosts_differ(plan: Plan, entries: Entries) -> list[Doubt]:
    """Doubt hosts that were slower than the others of their trials, by their canaries or tasks.

    With `FEWEST_CANARIES` its median decides; with fewer one canary that was slow is told, as
    nobody knows whether all are. Of tasks it is the median over all trials, beyond `SLOWER`;
    ``guard.canary_hosts`` is the limit of canaries.
    """
    guard = Guard.model_validate(plan.guard)
    behind: dict[str, dict[int | None, dict[str, float]]] = defaultdict(dict)
    slower: dict[str, list[float]] = defaultdict(list)
    for one in (*entries.ended.values(), *entries.disturbed):
        for seen in one.during.hosts if one.during else ():
            if seen.slower_ratio is not None:
                slower[seen.host].append(seen.slower_ratio)
        judged = _judged(one.during.hosts if one.during else (), guard)
        for host, canary in judged.items():
            others = [other for name, other in judged.items() if name != host]
            found = {name: _behind_others(canary, others, name) for name in STEADY}
            # The same one may be the last before several trials.
            behind[host][canary.wall_ns] = {k: v for k, v in found.items() if v is not None}
    said = [
        text
        for host, canaries in sorted(behind.items())
        if (text := _differs(host, list(canaries.values()), math.log1p(guard.canary_hosts)))
    ]
    said += [text for host, ratios in sorted(slower.items()) if (text := _tasks(host, ratios))]
    return [doubt("hosts_differ", "; ".join(said))] if said else []


def _tasks(host: str, ratios: Sequence[float]) -> str | None:
    """Say how much slower than elsewhere the tasks of a host usually were, if it is too much."""
    usual, count = median(ratios), len(ratios)
    if usual <= SLOWER:
        return None
    trials = f"{count} trial{'' if count == 1 else 's'}"
    return f"tasks on {host} took {usual:.2g} times as long as elsewhere (median of {trials})"


def _differs(host: str, behind: Sequence[Mapping[str, float]], limit: float) -> str | None:
    """Say how many times as slow as others a host was, where that is too much."""
    known = {name: [one[name] for one in behind if name in one] for name in STEADY}
    few = {name: len(values) < FEWEST_CANARIES for name, values in known.items()}
    usual = {
        name: (max if few[name] else median)(values) for name, values in known.items() if values
    }
    found = _worst({name: _if_beyond(value, limit) for name, value in usual.items()})
    if found is None:
        return None
    measure, times = found
    count = len(known[measure])
    how = f"median of {count} canaries"
    if few[measure]:
        how = f"at worst of {count}, too few to tell whether it always is"
    return (
        f"{host} was {times:.2g} times as slow as the other hosts of its trials"
        f" ({WORDS[measure]}, {how})"
    )


def _judged(hosts: Sequence[HostSeen], guard: Guard) -> dict[str, HostCanary]:
    """Give the canaries of a trial that are not too old to say anything of it."""
    return {
        one.host: one.canary
        for one in hosts
        if one.canary is not None
        and one.canary.age_s is not None
        and one.canary.age_s <= guard.canary_age
    }


def hosts_seen(entries: Entries) -> list[HostSeen]:
    """Give what all attempts of an experiment so far saw of hosts."""
    ended = (*entries.ended.values(), *entries.disturbed)
    return [host for one in ended if one.during for host in one.during.hosts]


def medians_of_hosts(entries: Entries) -> dict[str, dict[str, float]]:
    """Give the medians of all canaries of each host of an experiment."""
    found = {}
    for host, canaries in _by_host(hosts_seen(entries)).items():
        lists = {name: [v for one in canaries if (v := getattr(one, name))] for name in WORDS}
        found[host] = {name: median(values) for name, values in lists.items() if values}
    return found


def _by_host(seen: Iterable[HostSeen]) -> dict[str, list[HostCanary]]:
    """Give the canaries of each host; the same one may be the last before several trials."""
    found: dict[str, dict[int | None, HostCanary]] = {}
    for one in seen:
        if one.canary is not None and one.canary.reason is None:
            found.setdefault(one.host, {})[one.canary.wall_ns] = one.canary
    return {host: list(canaries.values()) for host, canaries in found.items()}


def judged_again(plan: Plan, entries: Entries) -> Entries:
    """Name slow hosts by all canaries of an experiment.

    When a trial ended, the guard knew those until then only; what it named stays named.
    """
    seen = hosts_seen(entries)
    if not any(one.canary and one.canary.reason is None for one in seen):
        return entries
    guard = Guard.model_validate(plan.guard)
    return replace(
        entries,
        ended={number: _named(one, seen, guard) for number, one in entries.ended.items()},
        disturbed=[_named(one, seen, guard) for one in entries.disturbed],
    )


def _named(ended: Ended, seen: Sequence[HostSeen], guard: Guard) -> Ended:
    during = ended.during
    if during is None or not during.hosts:
        return ended
    known = {text.partition(NAMED)[0] for text in during.disturbed if NAMED in text}
    found = slow_hosts(during.hosts, seen, guard)
    new = [text for text in found if text.partition(NAMED)[0] not in known]
    both = during.model_copy(update={"disturbed": [*during.disturbed, *new]})
    return ended.model_copy(update={"during": both}) if new else ended


def _worst(found: dict[str, float | None]) -> tuple[str, float] | None:
    beyond = [(name, times) for name, times in found.items() if times is not None]
    return max(beyond, key=lambda one: one[1], default=None)


def _beyond_own(
    canary: HostCanary, own: Sequence[HostCanary], name: str, limit: float
) -> float | None:
    """Say how many times as slow a canary was as the host's median, where that is too much."""
    value, known = _slowness(canary, name), _all(own, name)
    if value is None or len(known) < FEWEST_CANARIES:
        return None
    middle = median(known)
    spread = _SD_OF_MAD * median(abs(one - middle) for one in known)
    return _if_beyond(value - middle, max(math.log1p(limit), _SPREADS * spread))


def _behind_others(canary: HostCanary, others: Sequence[HostCanary], name: str) -> float | None:
    """Give the logarithm of how many times as slow a canary was as the median of others."""
    value, known = _slowness(canary, name), _all(others, name)
    return value - median(known) if value is not None and known else None


def _if_beyond(log_ratio: float, limit: float) -> float | None:
    return math.exp(log_ratio) if log_ratio > limit else None


def _all(canaries: Sequence[HostCanary], name: str) -> list[float]:
    return [value for one in canaries if (value := _slowness(one, name)) is not None]


def _slowness(canary: HostCanary, name: str) -> float | None:
    """Give the logarithm of a measure, so that more is slower."""
    value: float | None = getattr(canary, name)
    if value is None or value <= 0:
        return None
    return -math.log(value) if name.endswith("_per_s") else math.log(value)
