"""Network interfaces of hosts: what they moved each second, and which tasks ran behind them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyrometer.explain.evidence.python.work import work
from pyrometer.explain.evidence.scans.remote_scans import remote_scans, usual_waits, waits
from pyrometer.explain.facts import Facts
from pyrometer.simulation.measured import Floats, Stage
from pyrometer.statistics.shares import Z

WAITS = "task/waiting/network"
STEP_NS = 1e9
"""Rates are taken over a second: the probe reads four times in it."""
SPEEDS = (1e8, 1e9, 2.5e9, 5e9, 10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9)
"""Bits per second of Ethernet links (IEEE 802.3)."""
USED = (0.93, 1.0)
"""Of a link's speed that the kernel's counters can show: 1514 of the 1538 bytes that a full frame
takes are counted (0.984), and of streams that share a link a little is lost between them."""
NEAR = 0.9
"""From this part of the limit on a second counts as at the limit: readings of a quarter of a second
are cut to seconds, and streams take turns."""
_SERIES = """
SELECT host, scope, name, t_mono_ns::DOUBLE AS t, value::DOUBLE AS value FROM os_series
WHERE scope LIKE 'net/%' AND scope <> 'net/lo' AND name IN ('received_bytes', 'sent_bytes')
ORDER BY host, scope, name, t_mono_ns
"""


@dataclass(frozen=True)
class Link:
    """One direction of an interface.

    Attributes
    ----------
    name : str
        ``received`` or ``sent``.
    begin_ns : array
        Begin of each second, by the host's monotonic clock.
    rates : array
        Bytes per second.
    limit : float
        Rate that is exceeded in one second of a hundred.
    speed : float or None
        Bits per second of the usual link of which that is the limit.
    """

    host: str
    interface: str
    name: str
    begin_ns: Floats
    rates: Floats
    limit: float
    speed: float | None

    @property
    def at_limit(self) -> Any:
        """Whether each second is at the limit."""
        return self.rates >= NEAR * self.limit

    def seconds_of(self, facts: Facts, stage: Stage) -> slice:
        """Give the seconds of a stage, of a short one the second it lies in."""
        offset = facts.scope.offset_ns or 0
        first, last = (
            int((one - offset - self.begin_ns[0]) // STEP_NS)
            for one in (stage.submit_ns, stage.complete_ns)
        )
        first = min(max(first, 0), self.rates.size - 1)
        return slice(first, max(first + 1, last))


def links(facts: Facts) -> Iterator[Link]:
    """Give, of each host, what its busiest interface received and sent; never the loopback."""
    if facts.scope.offset_ns is None or not facts.has("os_series"):
        return
    rows = facts.tables.columns(_SERIES)
    keys = np.array(
        ["\t".join(one) for one in zip(*(rows[n] for n in ("host", "scope", "name")), strict=True)]
    )
    busiest: dict[tuple[str, str], tuple[float, Link]] = {}
    for key in np.unique(keys):
        mine = keys == key
        host, scope, name = str(key).split("\t")
        times, values = np.asarray(rows["t"])[mine], np.asarray(rows["value"])[mine]
        begin = np.arange(times[0], times[-1] - STEP_NS + 1, STEP_NS)
        if begin.size < 2:
            continue
        rates: Floats = np.maximum(
            np.diff(np.interp([*begin, begin[-1] + STEP_NS], times, values)), 0
        )
        limit = float(np.quantile(rates, 0.99))
        total = float(rates.sum())
        if total > busiest.get((host, name), (0.0,))[0]:
            link = Link(host, scope.removeprefix("net/"), name.removesuffix("_bytes"), begin,
                        rates, limit, usual_speed(limit))  # fmt: skip
            busiest[host, name] = total, link
    yield from (link for _, link in busiest.values())


def usual_speed(limit: float) -> float | None:
    """Give the speed of the usual link that so many bytes per second fill, in bits per second.

    Examples
    --------
    >>> usual_speed(118e6), usual_speed(100e6)
    (1000000000.0, None)
    """
    return next((one for one in SPEEDS if USED[0] <= limit * 8 / one <= USED[1]), None)


def behind(facts: Facts, host: str) -> Any:
    """Say of each task attempt whether it ran on a host of the series; None if that is not known.

    The event log may name a host otherwise than the probe: spans have both an executor and the
    probe's name.
    """
    tasks = facts.tasks
    pairs = (
        facts.tables.query("SELECT DISTINCT executor_id, host FROM spans")
        if facts.has("spans")
        else []
    )
    executors = {executor for executor, name in pairs if name == host}
    if pairs:
        return np.isin(tasks["executor_id"].astype(str), sorted(map(str, executors)))
    names = {str(one) for one in np.unique(tasks["host"].astype(str))}
    same = {one for one in names if one.partition(".")[0] == host.partition(".")[0]}
    if not same and len(names) == 1:
        hosts = facts.tables.query("SELECT count(DISTINCT host) FROM os_series")[0][0]
        same = names if hosts == 1 else set()
    return np.isin(tasks["host"].astype(str), sorted(same)) if same else None


def elasticity(facts: Facts, link: Link, mine: Any, stages: list[Stage]) -> float:
    """Give how the rate goes with the number of tasks: 0 not at all, 1 in proportion; upper end.

    A link at its limit moves as much for few tasks as for many; where each request takes its time,
    twice the tasks move twice as much. Where their number never changes it is not known: 1.
    """
    tasks, offset = facts.tasks, facts.scope.offset_ns or 0
    launched = np.sort(tasks["launch_wall_ns"][mine] - offset)
    ended = np.sort(tasks["finish_wall_ns"][mine] - offset)
    middle = link.begin_ns + STEP_NS / 2
    active = np.searchsorted(launched, middle) - np.searchsorted(ended, middle)
    used = np.zeros(middle.size, dtype=bool)
    for stage in stages:
        used[link.seconds_of(facts, stage)] = True
    used &= (active > 0) & (link.rates > 0)
    x, y = np.log(active[used]), np.log(link.rates[used])
    free = x.size - 2
    if free < 1 or np.ptp(x) == 0:
        return 1.0
    x, y = x - x.mean(), y - y.mean()
    spread = float(x @ x)
    slope = float(x @ y) / spread
    left = y - slope * x
    return min(1.0, max(0.0, slope + Z * math.sqrt(float(left @ left) / free / spread)))


def waits_for_store(facts: Facts) -> Floats:
    """Give what each task waits for remote storage or a database."""
    found: Floats = np.zeros(facts.tasks.count)
    python = work(facts)
    for number, ns in facts.ledger_ns(WAITS).items():
        own = facts.tasks_of(number).duration_ns
        if number not in python and own.sum() > 0:
            found[facts.place_of(number)] = own * (ns / own.sum())
    scans = remote_scans(facts)
    usual = usual_waits(facts, scans) if scans else 0.0
    for scan in scans:
        seen = waits(facts, scan, usual)
        for number, each in seen.ns.items() if seen else ():
            mine = facts.place_of(number)
            found[mine] = np.maximum(found[mine], each)
    return found
