"""The clocks of all hosts of a run, each against the driver's, and what is doubtful about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pyrometer.core import schema
from pyrometer.core.doubt import Doubt
from pyrometer.core.units import counted, duration
from pyrometer.hosts.clock import Aligned, HostClock
from pyrometer.hosts.limits import SLEWED, Limits
from pyrometer.hosts.messages import Times
from pyrometer.hosts.seen import Seen
from pyrometer.hosts.wall import WallClock


@dataclass(frozen=True)
class HostClocks:
    """How to give times of every host on the driver's clock.

    Attributes
    ----------
    driver_host : str or None
        The host whose clock is the common one.
    clocks : dict of str to HostClock
        Hosts whose messages bound their clock.
    walls : dict of str to WallClock
        Hosts known by their wall clocks alone: what these differ is not known, nor any bound.
    driver_wall : WallClock or None
        The wall clock of the driver's host.
    doubts : list of Doubt
        What is not known of which host, and where clocks broke their limits.
    """

    driver_host: str | None
    clocks: dict[str, HostClock]
    walls: dict[str, WallClock]
    driver_wall: WallClock | None
    doubts: list[Doubt] = field(default_factory=list)

    @classmethod
    def of(cls, seen: Seen, limits: Limits = SLEWED) -> HostClocks:
        """Estimate the clock of each host."""
        driver_wall = seen.walls.get(seen.driver_host) if seen.driver_host else None
        found = cls(seen.driver_host, {}, {}, driver_wall)
        if seen.unreadable_count:
            text = f"{counted(seen.unreadable_count, 'round trip')} could not be read."
            found.doubts.append(schema.doubt("clock_ping_unreadable", text))
        for host in seen.hosts:
            if host != seen.driver_host:
                found._add(host, seen, limits)
        return found

    def to_driver(self, host: str, host_ns: Times | Sequence[int]) -> Aligned:
        """Give monotonic times of a host on the driver's clock; masked where they are not known."""
        times = np.asarray(host_ns, np.int64)
        if host == self.driver_host:
            return Aligned(np.ma.MaskedArray(times), np.ma.MaskedArray(np.zeros_like(times)))
        if host in self.clocks:
            return self.clocks[host].to_driver(times)
        if host in self.walls and self.driver_wall is not None:
            shown = self.walls[host].wall(times)
            earliest = self.driver_wall.earliest_mono(shown)
            middle = earliest + (self.driver_wall.latest_mono(shown) - earliest) // 2
            return Aligned(np.ma.MaskedArray(middle), _masked(times))
        return Aligned(_masked(times), _masked(times))

    def _add(self, host: str, seen: Seen, limits: Limits) -> None:
        why = "it exchanged no messages with the driver that have the time at both ends"
        if host in seen.messages:
            try:
                clock = HostClock(seen.messages[host], limits)
            except ValueError as error:
                why = str(error)
            else:
                if any(piece.bound_ns is not None for piece in clock.pieces):
                    self.clocks[host] = clock
                    self.doubts.extend(_breaks(host, clock))
                    return
                why = "all its messages with the driver go in one direction"
        if seen.driver_host is None:
            why = "no driver was recorded"
        if host in seen.walls and self.driver_wall is not None:
            self.walls[host] = seen.walls[host]
            text = f"{host}: its times are aligned by wall clocks, within no bound, as {why}."
            self.doubts.append(schema.doubt("clock_bound_unknown", text))
        else:
            text = f"{host}: its times cannot be aligned with the driver's, as {why}."
            self.doubts.append(schema.doubt("clock_unknown", text))


def _breaks(host: str, clock: HostClock) -> list[Doubt]:
    """Say where a clock broke its limits."""
    if len(clock.pieces) == 1:
        return []
    before, after = clock.pieces[0], clock.pieces[1]
    gap = duration(after.first_host_ns - before.last_host_ns)
    text = (
        f"{host}: its messages contradict a clock within {clock.limits.drift_ppm:g} ppm of the"
        f" driver's; it is cut at {counted(len(clock.pieces) - 1, 'place')}, the first within"
        f" {gap} after {before.last_host_ns} ns of its CLOCK_MONOTONIC."
    )
    return [schema.doubt("clock_broken", text)]


def _masked(times: Times) -> np.ma.MaskedArray:
    return np.ma.MaskedArray(np.zeros_like(times), np.ones(len(times), bool))
