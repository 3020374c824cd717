"""Hosts whose clocks are planted, and the messages that they and the driver exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pyrometer.hosts.clock import HostClock
from pyrometer.hosts.messages import Messages, Times

S = 1_000_000_000
MS = 1_000_000
PPM = 1e-6


@dataclass
class PlantedClock:
    """A host's monotonic clock: what is to be added to it, a line from knot to knot.

    Knots are nanoseconds after `start_ns`; outside them the first and last line go on. `steps` are
    knots where the clock stood still while the driver's went on, and by how much.
    """

    start_ns: int
    offset_ns: int
    knots: list[float]
    rates: list[float]
    steps: tuple[tuple[float, float], ...] = ()

    def gained(self, host_ns: Times) -> Any:
        """What the offset has gained since the start, to a thousandth of a nanosecond."""
        when = (host_ns - self.start_ns).astype(float)
        gained = self.rates[0] * when
        for knot, before, after in zip(self.knots, self.rates[:-1], self.rates[1:], strict=True):
            gained = gained + (after - before) * np.maximum(0.0, when - knot)
        for knot, step in self.steps:
            gained = gained + step * (when > knot)
        return gained

    def received(self, host_ns: Times, delay_ns: Any, grain_ns: int = 1) -> tuple[Times, Times]:
        """Give messages that the host receives then: when the driver sent them, rounded down."""
        sent = np.floor(self.gained(host_ns) - delay_ns).astype(np.int64)
        driver = host_ns + self.offset_ns + sent
        return driver - driver % grain_ns, host_ns

    def sent(self, host_ns: Times, delay_ns: Any, grain_ns: int = 1) -> tuple[Times, Times]:
        """Give messages that the host sends then, and when the driver has them, rounded up."""
        received = np.ceil(self.gained(host_ns) + delay_ns).astype(np.int64)
        driver = host_ns + self.offset_ns + received
        return host_ns, driver + -driver % grain_ns

    def messages(
        self, to_host: tuple[Times, Any], to_driver: tuple[Times, Any], grain_ns: int = 1
    ) -> Messages:
        """Give messages by when the host receives and sends them, and how long each took."""
        return Messages(*self.received(*to_host, grain_ns), *self.sent(*to_driver, grain_ns))

    def excess(self, clock: HostClock, host_ns: Times) -> Any:
        """By how much the true time is beyond the bound, ns; below 0 where it is within."""
        aligned = clock.to_driver(host_ns)
        assert not np.ma.getmaskarray(aligned.driver_ns).any()
        off = (aligned.driver_ns.data - host_ns - self.offset_ns).astype(float)
        return np.abs(off - self.gained(host_ns)) - aligned.bound_ns.data


def delays(draw: np.random.Generator, count: int, least_ns: float, shape: float) -> Any:
    """Draw delays with a heavy tail, none below the least; with shape 1 they have no mean."""
    return np.minimum(least_ns * (1 + draw.pareto(shape, count)), 300.0 * S)


def times(draw: np.random.Generator, count: int, first_ns: int, last_ns: int) -> Times:
    """Draw times between two, in any order."""
    return draw.integers(first_ns, last_ns, count, endpoint=True)
