"""Which stages, queries or nodes of one side are those of the other: in order, by what they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import TypeVar

_LONGEST = 400
"""Longer lists are not aligned, which takes the square of their length: they match by number."""

T = TypeVar("T")
Pair = tuple[int | None, int | None]


def matched(a: Sequence[T], b: Sequence[T], *keys: Callable[[T], Hashable]) -> list[Pair]:
    """Match the members of two lists.

    Parameters
    ----------
    keys : functions
        What must be alike, the strictest first: what one leaves over is matched by the next.

    Returns
    -------
    list of (int or None, int or None)
        Positions in both lists, None for what only the other has; in order of `b`, then what only
        `a` has.

    Examples
    --------
    >>> matched("abcd", "acxd", lambda one: one)
    [(0, 0), (2, 1), (None, 2), (3, 3), (1, None)]
    >>> matched(["scan 1", "sort"], ["scan 2", "sort"], str, lambda one: one.split()[0])
    [(0, 0), (1, 1)]
    """
    found: dict[int, int] = {}
    left, right = list(range(len(a))), list(range(len(b)))
    for key in keys:
        pairs = list(_aligned([key(a[n]) for n in left], [key(b[n]) for n in right]))
        found |= {right[y]: left[x] for x, y in pairs}
        taken, given = {left[x] for x, _ in pairs}, {right[y] for _, y in pairs}
        left = [n for n in left if n not in taken]
        right = [n for n in right if n not in given]
    rows: list[Pair] = [(found.get(n), n) for n in range(len(b))]
    return [*rows, *((n, None) for n in left)]


def _aligned(a: Sequence[Hashable], b: Sequence[Hashable]) -> Iterator[tuple[int, int]]:
    """Match what is as often on both sides by number, the rest by the longest common runs."""
    places: tuple[dict[Hashable, list[int]], ...] = (defaultdict(list), defaultdict(list))
    for side, members in zip(places, (a, b), strict=True):
        for n, one in enumerate(members):
            side[one].append(n)
    first, second = places
    common = first.keys() & second.keys()
    uneven = {one for one in common if len(first[one]) != len(second[one])}
    for one in common - uneven:
        yield from zip(first[one], second[one], strict=True)
    if not uneven:
        return
    if max(len(a), len(b)) > _LONGEST:
        for one in uneven:
            yield from zip(first[one], second[one], strict=False)
        return
    # Those that are as often on both sides are landmarks for the others.
    done: tuple[set[int], set[int]] = (set(), set())
    for x, y, size in SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks():
        for n in range(size):
            if a[x + n] in uneven:
                done[0].add(x + n)
                done[1].add(y + n)
                yield x + n, y + n
    for one in uneven:
        rest = [n for n in first[one] if n not in done[0]]
        more = [n for n in second[one] if n not in done[1]]
        yield from zip(rest, more, strict=False)
