"""What a run has seen of the clocks of its hosts: messages with the driver, and wall clocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyrometer.hosts.messages import Messages
from pyrometer.hosts.wall import WallClock


@dataclass(frozen=True)
class Seen:
    """Clocks of a run's hosts.

    Attributes
    ----------
    driver_host : str or None
        The host whose clock is the common one; ``None`` where no driver was recorded, or drivers
        on several hosts (`pyrometer.hosts.drivers` chooses one of these).
    hosts : tuple of str
        Every host with records on its monotonic clock, in order.
    messages : dict of str to Messages
        Of every host but the driver's that exchanged any with it.
    walls : dict of str to WallClock
        Of every host with pairs of readings.
    unreadable_count : int
        Records of round trips that could not be read.
    of_drivers : dict
        Of drivers on several hosts: by the host of each, its messages with others.
    """

    driver_host: str | None
    hosts: tuple[str, ...]
    messages: dict[str, Messages]
    walls: dict[str, WallClock]
    unreadable_count: int = 0
    of_drivers: Mapping[str, Mapping[str, Messages]] = field(default_factory=dict)
