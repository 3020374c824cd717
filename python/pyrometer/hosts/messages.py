"""Messages between the driver and one host, with the monotonic time at both ends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyrometer.hosts.bounds import Bounds

Times = NDArray[np.int64]

LONGEST_NS = 1 << 53
"""104 days: within this span floats hold nanoseconds exactly."""

FURTHEST_NS = 1 << 62
"""146 years: offsets within `LONGEST_NS` of one up to it are still int64."""


@dataclass(frozen=True)
class Messages:
    """When messages were sent and received, each by its own CLOCK_MONOTONIC, in ns.

    A time may be earlier than the message was sent, or later than it was received: what holds is
    only that nothing is received before it is sent.

    Attributes
    ----------
    sent_driver_ns, received_host_ns : array of int64
        Messages from the driver to the host.
    sent_host_ns, received_driver_ns : array of int64
        Messages from the host to the driver.

    Raises
    ------
    ValueError
        If times are no integers, or those of both ends are not equally many.
    """

    sent_driver_ns: Times
    received_host_ns: Times
    sent_host_ns: Times
    received_driver_ns: Times

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            times = np.asarray(getattr(self, name))
            if times.ndim != 1 or (times.size and not np.issubdtype(times.dtype, np.integer)):
                raise ValueError(f"{name} must be a list of whole nanoseconds")
            object.__setattr__(self, name, times.astype(np.int64))
        if len(self.sent_driver_ns) != len(self.received_host_ns):
            raise ValueError("a message to the host has two times")
        if len(self.sent_host_ns) != len(self.received_driver_ns):
            raise ValueError("a message to the driver has two times")

    @classmethod
    def none(cls) -> Messages:
        """No messages."""
        nothing = np.empty(0, np.int64)
        return cls(nothing, nothing, nothing, nothing)

    @classmethod
    def of_round_trips(
        cls, sent_host_ns: Times, driver_ns: Times, received_host_ns: Times
    ) -> Messages:
        """Messages of hosts that asked the driver for its time, and had an answer."""
        return cls(driver_ns, received_host_ns, sent_host_ns, driver_ns)

    def __add__(self, other: Messages) -> Messages:
        return Messages(
            *(
                np.concatenate([getattr(self, name), getattr(other, name)])
                for name in self.__dataclass_fields__
            )
        )

    def __len__(self) -> int:
        return len(self.sent_driver_ns) + len(self.sent_host_ns)

    def bounds(self) -> tuple[Bounds, int, int]:
        """Bounds of what is to be added to the host's time to have the driver's.

        Returns
        -------
        tuple
            The bounds; their origins: a time of the host, and an offset.

        Raises
        ------
        ValueError
            If there is no message, times are further apart than `LONGEST_NS`, or clocks further
            than `FURTHEST_NS`.
        """
        at = np.concatenate([self.received_host_ns, self.sent_host_ns])
        driver = np.concatenate([self.sent_driver_ns, self.received_driver_ns])
        if not len(at):
            raise ValueError("no messages")
        start, origin = int(at.min()), int(driver[0]) - int(at[0])
        if abs(origin) > FURTHEST_NS:
            raise ValueError("clocks of messages are more than 146 years apart")
        # What was damaged may not fit into integers: first about how far they are.
        off = driver.astype(float) - at.astype(float) - origin
        if int(at.max()) - start > LONGEST_NS or np.abs(off).max() > LONGEST_NS:
            raise ValueError("times of messages are more than 104 days apart")
        when, offset = (at - start).astype(float), (driver - at - origin).astype(float)
        split = len(self.received_host_ns)
        bounds = Bounds.sorted(when[:split], offset[:split], when[split:], offset[split:])
        return bounds, start, origin
