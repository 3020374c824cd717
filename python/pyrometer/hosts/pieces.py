"""Pieces of time without a contradiction, and which bounds surely belong to each.

Where no clock within its limits satisfies all bounds, something else happened: a virtual machine
was suspended, a clock was slewed faster than the limits say. With the fewest changes that explain
the bounds, the longest pieces from the beginning give the latest time of each change, the longest
from the end the earliest (both are greedy, and greedy is ahead of every other division). Bounds
between belong to either side: they limit neither.
"""

from __future__ import annotations

from collections.abc import Callable

from pyrometer.hosts.bounds import Bounds
from pyrometer.hosts.envelope import envelope
from pyrometer.hosts.limits import Limits
from pyrometer.hosts.rates import rates

MOST = 1000
"""Pieces above which bounds say nothing that could be believed."""


def pieces(bounds: Bounds, limits: Limits) -> list[Bounds] | None:
    """Cut bounds into pieces, each with those that surely belong to it.

    Returns
    -------
    list of Bounds or None
        In the order of time, none of them empty; ``None`` if there are more than `MOST`.
    """

    def fits(first: int, last: int) -> bool:
        cut = bounds.cut(first, last)
        return envelope(cut, rates(cut, limits)) is not None

    count = len(bounds)
    if fits(0, count):
        return [bounds]

    def onwards(start: int) -> int:
        return start + _longest(lambda length: fits(start, start + length), count - start)

    def back(stop: int) -> int:
        return stop - _longest(lambda length: fits(stop - length, stop), stop)

    begin, end = [0], [count]
    while begin[-1] < count:
        if len(begin) > MOST:
            return None
        begin.append(onwards(begin[-1]))
    while end[-1] > 0:
        end.append(back(end[-1]))
    sure = list(zip(begin[:-1], end[-2::-1], strict=False))
    # Rounding at the very limit could make both divisions differ.
    if len(begin) != len(end) or any(first >= last for first, last in sure):
        return None
    return [bounds.cut(first, last) for first, last in sure]


def _longest(holds: Callable[[int], bool], most: int) -> int:
    """Largest length up to `most` that holds; each below one that holds does, and one does."""
    good, bad = 1, most + 1
    while good < most:
        longer = min(2 * good, most)
        if not holds(longer):
            bad = longer
            break
        good = longer
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if holds(middle) else (good, middle)
    return good
