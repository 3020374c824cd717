"""The clock of a host against that of a machine on it: the machine's is a run's common clock."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyrometer.hosts.clock import HostClock
from pyrometer.hosts.messages import Messages

MOST = 100_000
MOST_WAITING = 120
"""Questions that an answer is still waited for."""
SHORTEST_NS = 5 * 10**9
"""Round trips of a shorter time say nothing of a clock's rate: one of them may be late."""
RATE_OFF = 0.01
"""Rates of sound clocks differ by less than a thousandth."""


def off(clock: dict[str, Any]) -> str | None:
    """Say that a machine's clock did not keep time, as a sentence; ``None`` if it did.

    Examples
    --------
    >>> off({"rate": 1.00002}), off({"rate": None})
    (None, None)
    >>> off({"rate": 35.2})
    'In a second of the host the clock of the machine gained 35.2 s.'
    """
    rate = clock.get("rate")
    if rate is None or abs(rate - 1) <= RATE_OFF:
        return None
    return f"In a second of the host the clock of the machine gained {rate:.3g} s."


@dataclass
class Pings:
    """Round trips: when the host asked, what the machine's clock showed, when the host heard it."""

    trips: list[tuple[int, int, int]] = field(default_factory=list)
    _asked: dict[int, int] = field(default_factory=dict)
    _number: int = 0

    def ask(self, now_ns: int) -> dict[str, Any]:
        """Give what the host asks now."""
        self._number += 1
        # An emulated machine on a busy host may answer after the next question.
        self._asked.pop(self._number - MOST_WAITING, None)
        self._asked[self._number] = now_ns
        return {"ask": "time", "number": self._number}

    def heard(self, message: dict[str, Any], now_ns: int) -> None:
        """Take an answer; one that answers nothing, or is no time, is left out."""
        number, shown = message.get("number"), message.get("mono_ns")
        sent = self._asked.pop(number, None) if isinstance(number, int) else None
        whole = isinstance(shown, int) and not isinstance(shown, bool) and 0 <= shown < 1 << 62
        if sent is not None and whole and len(self.trips) < MOST:
            assert isinstance(shown, int)
            self.trips.append((sent, shown, now_ns))

    @property
    def rate(self) -> float | None:
        """Seconds that its clock gained in one of the host; ``None``: too short to say."""
        if not self.trips:
            return None
        first, last = self.trips[0], self.trips[-1]
        length = (last[0] + last[2] - first[0] - first[2]) / 2
        return (last[1] - first[1]) / length if length >= SHORTEST_NS else None

    def clock(self) -> dict[str, Any]:
        """Say what is to be added to times of the host, and how well that is known.

        Examples
        --------
        >>> pings = Pings()
        >>> asked = pings.ask(1_000)
        >>> pings.heard({"number": asked["number"], "mono_ns": 500}, 1_400)
        >>> found = pings.clock()
        >>> found["host_to_machine_ns"], found["bound_ns"], found["round_trips_count"]
        (-700, 201, 1)
        """
        if not self.trips:
            return {"reason": "the machine never said what time it is", "round_trips_count": 0}
        times = np.array(self.trips, np.int64).T
        try:
            clock = HostClock(Messages.of_round_trips(*times))
        except ValueError as error:
            return {
                "reason": str(error),
                "round_trips_count": len(self.trips),
                "rate": self.rate,
            }
        last = clock.pieces[-1]
        return {
            "rate": self.rate,
            "host_to_machine_ns": last.offset_ns,
            "bound_ns": last.bound_ns,
            "reference_host_mono_ns": last.reference_host_ns,
            "drift_ppm": last.drift_ppm.model_dump(mode="json"),
            "round_trips_count": len(self.trips),
            "pieces_count": len(clock.pieces),
        }
