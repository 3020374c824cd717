"""Pair rows whose numbers are near, without comparing each with every other.

In rows that are equal every number is near its counterpart. So rows are sorted by one number, and
a row is compared with those alone whose number is within the tolerance.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence

Numbered = tuple[tuple[float, ...], int]
"""Numbers of a row, and its index."""


def paired(
    rows: Sequence[Numbered],
    others: Sequence[Numbered],
    equal: Callable[[int, int], bool],
    *,
    relative: float,
    absolute: float,
) -> Iterator[tuple[int, int | None]]:
    """Give each row an equal one of the others, or ``None``; each of those is given once.

    Parameters
    ----------
    rows, others : sequence of (numbers, index)
        The rows, one at least, and those of the other side: all have as many numbers, none of
        them NaN.
    equal : callable
        Whether a row is equal to one of the others, by their indices.
    relative, absolute : float
        How much numbers of equal rows differ at most, as in `math.isclose`.

    Examples
    --------
    >>> rows, others = [((1.0,), 0), ((2.0,), 1)], [((2.0,), 0), ((3.0,), 1)]
    >>> list(paired(rows, others, lambda one, other: True, relative=0, absolute=0))
    [(1, 0), (0, None)]
    """
    by = _most_diverse([numbers for numbers, _ in rows])

    def order(one: Numbered) -> tuple[float, ...]:
        return one[0][by:] + one[0][:by]

    # From the largest down: what is taken lies near the end of the list.
    left = sorted(others, key=order)
    for numbers, index in sorted(rows, key=order, reverse=True):
        low, high = _window(numbers[by], relative, absolute)
        at = bisect_right(left, high, key=lambda other: other[0][by]) - 1
        while at >= 0 and left[at][0][by] >= low and not equal(index, left[at][1]):
            at -= 1
        found = at >= 0 and left[at][0][by] >= low
        yield index, left.pop(at)[1] if found else None


def _most_diverse(rows: Sequence[tuple[float, ...]]) -> int:
    """Say which number differs most from row to row, its last digits aside."""
    return max(range(len(rows[0])), key=lambda at: len({f"{row[at]:.6g}" for row in rows}))


def _window(number: float, relative: float, absolute: float) -> tuple[float, float]:
    """Give bounds of what is near a number, wider than need be: they are rounded."""
    if math.isinf(number):
        return number, number
    room = 2 * max(absolute, relative * abs(number)) if relative <= 0.5 else math.inf
    return number - room, number + room
