"""The clock of a host against the driver's: offset, drift, and times of one on the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.core.estimate import Estimate
from pyrometer.hosts.bounds import Floats
from pyrometer.hosts.envelope import Envelope, envelope
from pyrometer.hosts.limits import PPM, SLEWED, Limits
from pyrometer.hosts.messages import LONGEST_NS, Messages, Times
from pyrometer.hosts.pieces import pieces
from pyrometer.hosts.rates import rates

Masked = np.ma.MaskedArray[Any, np.dtype[np.int64]]


@dataclass(frozen=True)
class Aligned:
    """Times of the driver's clock; masked where they are not known.

    Attributes
    ----------
    driver_ns : masked array of int64
        The middle of what is possible.
    bound_ns : masked array of int64
        The true time is not further from it. Masked where nothing bounds it.
    """

    driver_ns: Masked
    bound_ns: Masked


@dataclass(frozen=True)
class Piece:
    """A stretch of time in which the clock kept within its limits.

    Attributes
    ----------
    first_host_ns, last_host_ns : int
        Times of the messages that surely belong to it. Between two pieces, either may hold.
    messages_count : int
        How many these are.
    reference_host_ns : int
        The middle of this time.
    offset_ns : int or None
        What is to be added to the host's time to have the driver's, at that reference; ``None``
        where messages of only one direction leave one side open.
    bound_ns : int or None
        The true offset there is not further from it.
    drift_ppm : Estimate
        What the offset gains in the mean of this time; its interval is sure.
    """

    first_host_ns: int
    last_host_ns: int
    messages_count: int
    reference_host_ns: int
    offset_ns: int | None
    bound_ns: int | None
    drift_ppm: Estimate


class HostClock:
    """A host's CLOCK_MONOTONIC against that of the driver, from messages.

    Bounds are sure as long as nothing is received before it is sent, both clocks keep within
    `limits`, and, where these contradict the messages, as long as something else happened no more
    often than it must have (`pieces`).

    Parameters
    ----------
    messages : Messages
        All messages of the host, in any order.
    limits : Limits
        What is assumed of both clocks.

    Attributes
    ----------
    limits : Limits
        The same.
    messages_count : int
        How many messages there are.
    pieces : tuple of Piece
        In the order of time; more than one where the clock broke its limits.
    start_ns, origin_ns : int
        Time and offset near the messages: from there floats hold nanoseconds exactly.
    messages_at : array of int64
        Times of all messages, ns after `start_ns`, in order.

    Raises
    ------
    ValueError
        If there is no message, times are damaged, or the messages contradict each other so often
        that they say nothing.

    Examples
    --------
    >>> import numpy as np
    >>> asked, driver = np.array([0, 10_000_000]), np.array([5_000_200, 15_000_300])
    >>> clock = HostClock(Messages.of_round_trips(asked, driver, asked + 400))
    >>> aligned = clock.to_driver([400, 10_000_000])
    >>> aligned.driver_ns.tolist(), aligned.bound_ns.tolist()
    ([5000400, 15000100], [201, 201])
    """

    def __init__(self, messages: Messages, limits: Limits = SLEWED) -> None:
        bounds, self.start_ns, self.origin_ns = messages.bounds()
        self.messages_at = np.unique(bounds.at.astype(np.int64))
        found = pieces(bounds, limits)
        if found is None:
            raise ValueError("messages contradict each other everywhere")
        self.limits = limits
        self.messages_count = len(messages)
        self._envelopes: list[tuple[float, float, Envelope]] = []
        for piece in found:
            laid = envelope(piece, rates(piece, limits))
            assert laid is not None
            self._envelopes.append((float(piece.at[0]), float(piece.at[-1]), laid))
        self.pieces: tuple[Piece, ...] = tuple(
            self._piece(len(piece), *laid)
            for piece, laid in zip(found, self._envelopes, strict=True)
        )

    def to_driver(self, host_ns: Times | Sequence[int]) -> Aligned:
        """Give times of the host on the driver's clock, with their bound.

        Raises
        ------
        ValueError
            If a time is further than 104 days from the messages.
        """
        times = np.asarray(host_ns, np.int64)
        middle, half, known = _whole(*self._range(times))
        return Aligned(
            np.ma.MaskedArray(times + self.origin_ns + middle, ~known),
            np.ma.MaskedArray(half, ~known),
        )

    def offsets(self, since_start_ns: Times) -> tuple[Floats, Floats]:
        """Lowest and highest offset from `origin_ns` at times after `start_ns`."""
        return self._range(since_start_ns + self.start_ns)

    def _range(self, times: Times) -> tuple[Floats, Floats]:
        """Lowest and highest offset from the origin at times of the host."""
        if len(times) and (
            int(times.max()) - self.start_ns > LONGEST_NS
            or self.start_ns - int(times.min()) > LONGEST_NS
        ):
            raise ValueError("a time is more than 104 days from the messages of its host")
        order = np.argsort(times, kind="stable")
        when = (times[order] - self.start_ns).astype(float)
        low, high = np.full(len(when), np.inf), np.full(len(when), -np.inf)
        for number, (_, _, laid) in enumerate(self._envelopes):
            part = self._possible(number, when)
            low[part] = np.minimum(low[part], laid.low(when[part]))
            high[part] = np.maximum(high[part], laid.high(when[part]))
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return low[back], high[back]

    def _possible(self, number: int, when: Floats) -> slice:
        """Which of the times, in order, may be in a piece."""
        first, last, _ = self._envelopes[number]
        begin, end = 0, len(when)
        if number:
            before = self._envelopes[number - 1][1]
            begin = min(
                int(np.searchsorted(when, before, "right")), int(np.searchsorted(when, first))
            )
        if number + 1 < len(self._envelopes):
            after = self._envelopes[number + 1][0]
            end = max(int(np.searchsorted(when, after)), int(np.searchsorted(when, last, "right")))
        return slice(begin, end)

    def _piece(self, count: int, first: float, last: float, laid: Envelope) -> Piece:
        ends = np.array([first, last, (first + last) // 2])
        low, high = laid.low(ends), laid.high(ends)
        slowest, fastest = laid.rates.low, laid.rates.high
        if last > first:
            slowest = max(slowest, float(low[1] - high[0]) / (last - first))
            fastest = min(fastest, float(high[1] - low[0]) / (last - first))
        # Contradictions of less than a nanosecond are none.
        slowest, fastest = min(slowest, fastest), max(slowest, fastest)
        (middle,), (half,), (known,) = _whole(low[2:], high[2:])
        return Piece(
            first_host_ns=self.start_ns + int(first),
            last_host_ns=self.start_ns + int(last),
            messages_count=count,
            reference_host_ns=self.start_ns + int(ends[2]),
            offset_ns=self.origin_ns + int(middle) if known else None,
            bound_ns=int(half) if known else None,
            drift_ppm=Estimate(
                value=(slowest + fastest) / 2 / PPM,
                low=slowest / PPM,
                high=fastest / PPM,
                level=1.0,
                n=count,
                method="inequalities",
            ),
        )


def _whole(low: Floats, high: Floats) -> tuple[Times, Times, NDArray[np.bool_]]:
    """Give the middle of each interval and its half width in whole ns, and whether it has ends."""
    known = np.isfinite(low) & np.isfinite(high)
    # Outwards, and by the rounding of what both were reckoned from.
    bottom = np.floor(np.where(known, low, 0) - 0.01).astype(np.int64)
    top = np.ceil(np.where(known, high, 0) + 0.01).astype(np.int64)
    middle = bottom + (top - bottom) // 2
    return middle, np.maximum(top - middle, 0), known
