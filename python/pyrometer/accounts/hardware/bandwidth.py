"""Memory traffic of the window, against what this machine attains by its host card."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from pyrometer.accounts.hardware.counters import THREAD, Sums, ratio, scaled
from pyrometer.accounts.hardware.schema import Bandwidth, Energy, Traffic
from pyrometer.core.estimate import Estimate
from pyrometer.window.scope import Scope

MACHINE = "the whole machine"
FOLLOWED = "the followed processes"
LINE_BYTES = 64
MISSES = "LLC-load-misses"
NO_SOURCE = (
    "no memory controller, resctrl group or cache-miss counter was read in this window;"
    " pyrometer doctor shows which of them can be had"
)
NO_CARD = "what this machine can move is not known: pyrometer doctor --card measures it once"
AGAIN = "pyrometer doctor --card measures it again once more memory is free"
_ELSEWHERE = "part of this traffic was on hosts other than the launcher's"
NOT_OF_THE_CARD = (
    f"{_ELSEWHERE}; only the launcher's host card is known, so what those can move is not"
)
NO_CARDS = f"{_ELSEWHERE}, and there is no host card: what these hosts can move is not known"
STOOD_STILL = "the counter exists but never advances: the hypervisor does not feed it"
Scopes = dict[str, Sums]


def bandwidth(scope: Scope, sums: Sums) -> Bandwidth:
    """Account for bytes read from and written to memory, by the best source that was read.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_perf``.
    sums : dict
        Counters of threads in the window, by event.
    """
    by = _by_scope(scope)
    names = {event for counted in by.values() for event in counted}
    if names & {"memory_read_bytes", "memory_written_bytes", "memory_bytes"}:
        result = _of(by, "memory controllers", MACHINE)
    elif "mbm_total_bytes" in names:
        result = _of(by, "resctrl", FOLLOWED)
    elif MISSES in sums and (misses := scaled(*sums[MISSES])) is not None:
        result = Bandwidth(
            source="cache misses",
            of=FOLLOWED,
            lower_bound=True,
            read_bytes=round(misses * LINE_BYTES),
            total_bytes=round(misses * LINE_BYTES),
            reason=(
                f"estimated from {MISSES} × {LINE_BYTES} bytes, a lower bound: prefetches,"
                " stores and what devices move are not in it"
            ),
        )
    else:
        result = Bandwidth(reason=NO_SOURCE)
    _local(result, by, sums)
    result.links = [
        _traffic(which, counted, seconds(scope), sent=True)
        for which, counted in sorted(by.items())
        if "link_sent_bytes" in counted
    ]
    return _rates(result, scope, by)


def seconds(scope: Scope) -> float:
    """Length of the window."""
    return scope.window.length_ns / 1e9


def _by_scope(scope: Scope) -> Scopes:
    """Give counters by what they are of; of several hosts, those of each apart."""
    which = "scope || coalesce(' on ' || host, '')" if scope.tables.several_hosts else "scope"
    by: Scopes = defaultdict(dict)
    for name, event, value, enabled, running in scope.tables.query(
        f"SELECT {which}, event, sum(value)::DOUBLE, sum(enabled)::DOUBLE, sum(running)::DOUBLE"
        f" FROM w_perf WHERE scope <> '{THREAD}' GROUP BY ALL"
    ):
        by[name][event] = (value, enabled, running)
    return by


def _bytes(counted: Sums, *events: str) -> int | None:
    found = [scaled(*counted[event]) for event in events if event in counted]
    known = [value for value in found if value is not None]
    return round(sum(known)) if known else None


def _of(by: Scopes, source: str, of: str) -> Bandwidth:
    def total(*events: str) -> int | None:
        found = [_bytes(counted, *events) for counted in by.values()]
        known = [value for value in found if value is not None]
        return sum(known) if known else None

    if source == "resctrl":
        return Bandwidth(source=source, of=of, total_bytes=total("mbm_total_bytes"))
    read, written = total("memory_read_bytes"), total("memory_written_bytes")
    both = total("memory_read_bytes", "memory_written_bytes", "memory_bytes")
    reason = None
    if read is None or written is None:
        reason = "the controllers of this CPU do not distinguish reads from writes"
    return Bandwidth(
        source=source,
        of=of,
        read_bytes=read,
        written_bytes=written,
        total_bytes=both,
        reason=reason,
    )


_TRAFFIC = ("memory_read_bytes", "memory_written_bytes", "memory_bytes", "mbm_total_bytes")


def _traffic(which: str, counted: Sums, length_s: float, sent: bool = False) -> Traffic:
    events = ("link_sent_bytes",) if sent else _TRAFFIC
    total = _bytes(counted, *events)
    ratios = [ratio(*counted[event][1:]) for event in events if event in counted]
    return Traffic(
        scope=which,
        read_bytes=None if sent else _bytes(counted, "memory_read_bytes"),
        written_bytes=None if sent else _bytes(counted, "memory_written_bytes"),
        total_bytes=total,
        bytes_per_s=total / length_s if total is not None and length_s else None,
        running_ratio=min((r for r in ratios if r is not None), default=None),
    )


def _local(result: Bandwidth, by: Scopes, sums: Sums) -> None:
    """Set the part that was served by the local node's memory, by the best counter there is."""

    def total(event: str) -> int:
        return sum(_bytes(counted, event) or 0 for counted in by.values())

    loads, misses = (
        scaled(*sums[name]) if name in sums else None for name in ("node-loads", "node-load-misses")
    )
    remote = total("remote_read_bytes") + total("remote_written_bytes")
    here = total("memory_read_bytes") + total("memory_written_bytes")
    if total("mbm_total_bytes"):
        result.local_ratio = total("mbm_local_bytes") / total("mbm_total_bytes")
        result.local_by = "bytes, resctrl"
    elif any("remote_read_bytes" in counted for counted in by.values()) and here + remote:
        result.local_ratio = here / (here + remote)
        result.local_by = "bytes, memory controllers"
    elif loads and misses is not None:
        result.local_ratio = max(0.0, 1 - misses / loads)
        result.local_by = "reads that missed the cache, node-loads and node-load-misses"


def _rates(result: Bandwidth, scope: Scope, by: Scopes) -> Bandwidth:
    length = seconds(scope)
    result.nodes = [
        _traffic(which, counted, length)
        for which, counted in sorted(by.items())
        if any(event in counted for event in _TRAFFIC)
    ]
    if result.total_bytes is None or not length:
        return result
    result.bytes_per_s = result.total_bytes / length
    manifest = scope.run.manifest
    card = manifest.host.card if manifest else None
    best, by_what = attainable(card)
    if _elsewhere(scope, (MISSES,) if result.source == "cache misses" else _TRAFFIC):
        why = NOT_OF_THE_CARD if card else NO_CARDS
        result.reason = "; ".join(filter(None, (result.reason, why)))
        return result
    result.attainable_bytes_per_s, result.attainable_by = best, by_what
    if best is None:
        short = f"{fewer}: {AGAIN}" if (fewer := fewer_threads(card)) else None
        result.reason = "; ".join(filter(None, (result.reason, short))) or NO_CARD
    else:
        result.share_of_attainable = share(result.bytes_per_s, best)
    return result


def _elsewhere(scope: Scope, events: tuple[str, ...]) -> bool:
    """Whether counters of these events are of another host than the card is."""
    if not scope.tables.several_hosts:
        return False
    manifest = scope.run.manifest
    here = manifest.host.hostname if manifest else None
    named = ", ".join(f"'{event}'" for event in events)
    hosts = scope.tables.query(
        f"SELECT DISTINCT host FROM w_perf WHERE host IS NOT NULL AND event IN ({named})"
    )
    return any(host != here for (host,) in hosts)


def attainable(card: Mapping[str, Any] | None) -> tuple[Estimate | None, str | None]:
    """Give the highest rate that the host card measured on this machine, and how.

    Reads move each byte once; of a triad the lines that are fetched in order to be written are not
    in the card's figure, so it is second choice. What fewer threads than CPUs attained is less.
    """
    if not card or fewer_threads(card):
        return None, None
    reads = {
        threads: Estimate.model_validate(found)
        for threads, found in (card.get("read_bytes_per_s") or {}).items()
    }
    known = {threads: one for threads, one in reads.items() if one.value is not None}
    if known:
        threads = max(known, key=lambda number: known[number].value or 0)
        return known[threads], f"reading, {threads} threads"
    if card.get("triad_bytes_per_s"):
        return Estimate.model_validate(card["triad_bytes_per_s"]), "triad, all threads"
    return None, None


def fewer_threads(card: Mapping[str, Any] | None) -> str | None:
    """Say that fewer threads measured a host card than CPUs could; ``None`` where all did.

    Examples
    --------
    >>> fewer_threads({"threads_count": 1, "cpus_allowed_count": 4})
    'memory was short when the host card was measured, by 1 of 4 CPUs: what all move is not known'
    """
    threads, cpus = ((card or {}).get(name) for name in ("threads_count", "cpus_allowed_count"))
    if not threads or not cpus or threads >= cpus:
        return None
    return (
        f"memory was short when the host card was measured, by {threads} of {cpus} CPUs:"
        " what all move is not known"
    )


def share(value: float, of: Estimate) -> Estimate:
    """Give an exact value over an estimate.

    Examples
    --------
    >>> best = Estimate(value=10.0, low=8.0, high=12.5, level=0.95, n=9, method="median")
    >>> part = share(5.0, best)
    >>> part.value, part.low, part.high
    (0.5, 0.4, 0.625)
    """
    return Estimate(
        value=value / of.value if of.value else None,
        low=value / of.high if of.high else None,
        high=value / of.low if of.low else None,
        level=of.level,
        n=of.n,
        method=f"counted, over the host card's ({of.method})",
    )


def energy(scope: Scope) -> list[Energy]:
    """Energy by domain and package."""
    length, rows = seconds(scope), []
    for which, counted in sorted(_by_scope(scope).items()):
        for event in sorted(counted):
            if not event.startswith("energy_"):
                continue
            spent = _bytes(counted, event)
            still = not spent
            rows.append(
                Energy(
                    measure=event,
                    scope=which,
                    energy_nj=None if still else spent,
                    watts=spent / 1e9 / length if spent and length else None,
                    reason=STOOD_STILL if still else None,
                )
            )
    return rows
