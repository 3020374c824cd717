"""One time for the drivers of several applications: through the hosts that know both.

Executors of one application exchange messages with their own driver alone. Where a host has
executors of two, or a driver runs on a host of another's executors, the clocks of both drivers are
known against one third clock, or directly: what follows of one against the other is a message that
nobody sent, but that bounds the clock as one does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import reduce

import numpy as np

from pyrometer.hosts.clock import HostClock
from pyrometer.hosts.messages import Messages, Times
from pyrometer.hosts.seen import Seen

MOST_MOMENTS = 2048
"""Moments of a third clock at which two others are compared."""

OfDriver = Mapping[str, Messages]


def on_one_axis(seen: Seen, launch_host: str | None = None) -> Seen:
    """Choose one of several drivers, and give the messages that all hosts have with it, in effect.

    It is that of the launch, whose times are on its clock, or the driver with most messages, or
    else readings of its clocks. A driver that shares no host with it, nor with one that does, has
    none, and so have hosts that know that one alone.
    """
    if seen.driver_host is not None or not seen.of_drivers:
        return seen

    def known(driver: str) -> tuple[bool, int, int]:
        wall, of = seen.walls.get(driver), seen.of_drivers[driver]
        readings = 0 if wall is None else len(wall)
        return driver == launch_host, sum(map(len, of.values())), readings

    drivers = sorted(seen.of_drivers)
    axis = max(drivers, key=known)
    messages = dict(seen.of_drivers[axis])
    waiting = [driver for driver in drivers if driver != axis]
    while waiting:
        reached = [driver for driver in waiting if _reach(axis, driver, seen.of_drivers, messages)]
        if not reached:
            break
        waiting = [driver for driver in waiting if driver not in reached]
    return replace(seen, driver_host=axis, messages=messages)


def _reach(
    axis: str, driver: str, of_drivers: Mapping[str, OfDriver], messages: dict[str, Messages]
) -> bool:
    """Add the messages of a driver, and of the hosts that only it knows, to those of the axis."""
    own = of_drivers[driver]
    found = [messages[driver]] if driver in messages else []
    if axis in own:
        found.append(reversed_messages(own[axis]))
    for host in sorted(set(own) & set(messages) - {axis, driver}):
        with suppress(ValueError):
            found.append(through(HostClock(messages[host]), HostClock(own[host])))
    if not any(map(len, found)):
        return False
    every = reduce(lambda one, other: one + other, found)
    try:
        clock = HostClock(every)
    except ValueError:
        return False
    if all(piece.bound_ns is None for piece in clock.pieces):
        return False
    messages[driver] = every
    for host in sorted(set(own) - set(messages) - {axis}):
        with suppress(ValueError):
            messages[host] = behind(clock, HostClock(own[host]))
    return True


def reversed_messages(messages: Messages) -> Messages:
    """Give the same messages as the driver's host has them with the other host as its driver."""
    return Messages(
        messages.sent_host_ns, messages.received_driver_ns,
        messages.sent_driver_ns, messages.received_host_ns,
    )  # fmt: skip


def through(on_axis: HostClock, on_other: HostClock) -> Messages:
    """Give messages between two drivers by a host whose clock is known against both.

    At a moment of that host the axis shows no less than the low end, and the other no more than the
    high end: so the one was before the other.

    Parameters
    ----------
    on_axis, on_other : HostClock
        The host's clock against the driver whose clock is the axis, and against the other.

    Returns
    -------
    Messages
        Of the other driver, with the axis as its driver.

    Examples
    --------
    >>> import numpy as np
    >>> asked = np.array([0, 10_000_000])
    >>> def ahead(ns):
    ...     return HostClock(Messages.of_round_trips(asked, asked + ns + 100, asked + 200))
    >>> found = HostClock(through(ahead(7_000), ahead(3_000)))
    >>> aligned = found.to_driver([3_000])
    >>> bool(abs(aligned.driver_ns[0] - 7_000) <= aligned.bound_ns[0] <= 500)
    True
    """
    moments = _moments(on_axis.messages_at + on_axis.start_ns, on_other.messages_at
                       + on_other.start_ns)  # fmt: skip
    axis, other = _ends(on_axis, moments), _ends(on_other, moments)
    return _at_once(axis, other)


def behind(driver: HostClock, host: HostClock) -> Messages:
    """Give messages of a host with the axis, by the driver that it knows.

    Parameters
    ----------
    driver : HostClock
        The driver's clock against the axis.
    host : HostClock
        The host's against the driver.
    """
    moments = _moments(host.messages_at + host.start_ns)
    low, high, known = _ends(host, moments)
    first, _, from_low = _ends(driver, low)
    _, last, from_high = _ends(driver, high)
    return _at_once((first, last, known & from_low & from_high), (moments, moments, known))


Ends = tuple[Times, Times, Times]


def _at_once(axis: Ends, other: Ends) -> Messages:
    """Give moments, each between two times of both clocks, as messages both ways."""
    known = axis[2] & other[2]
    first, last, low, high = (one[known] for one in (*axis[:2], *other[:2]))
    return Messages(first, high, low, last)


def _ends(clock: HostClock, times: Times) -> Ends:
    """Give the earliest and latest time of the driver at times of the host, and which are known."""
    aligned = clock.to_driver(times)
    known = ~(np.ma.getmaskarray(aligned.driver_ns) | np.ma.getmaskarray(aligned.bound_ns))
    middle, bound = np.ma.getdata(aligned.driver_ns), np.ma.getdata(aligned.bound_ns)
    return middle - bound, middle + bound, known


def _moments(*times: Times) -> Times:
    """Choose moments at which clocks are compared: those of messages, evenly from very many."""
    every: Times = np.unique(np.concatenate(times))
    if len(every) <= MOST_MOMENTS:
        return every
    chosen: Times = every[np.linspace(0, len(every) - 1, MOST_MOMENTS).astype(np.int64)]
    return chosen


def on_hosts(
    of_drivers: Mapping[str, OfDriver], host_of: Callable[[str], str]
) -> dict[str, OfDriver]:
    """Put what pods have seen down to the hosts that they are on: these have one clock."""
    found: dict[str, dict[str, Messages]] = {}
    for name, of in of_drivers.items():
        driver = host_of(name)
        own = found.setdefault(driver, {})
        for each, messages in of.items():
            host = host_of(each)
            if host != driver:
                own[host] = own.get(host, Messages.none()) + messages
    return dict(found)
