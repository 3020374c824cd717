"""Frames by what was spent in them, over a tree of stacks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pyrometer.report.flame import Folded
from pyrometer.report.flame_tree import Ints

# Frames of the tree that are looked at together: bounds memory.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class HotFrame:
    """A frame by name: weight in itself, and with what it called; a recursive call counts once."""

    frame: str
    own: float
    total: float
    n: int


def hottest(folded: Folded, chosen: npt.NDArray[np.bool_], most: int) -> list[HotFrame]:
    """Give the frames that lead by what was spent in themselves, and those that lead by total.

    Parameters
    ----------
    folded : Folded
        Samples on a tree.
    chosen : bool array
        Which facts count.
    most : int
        Frames of either kind.
    """
    tree, facts, names = folded.tree, folded.facts, len(folded.strings)
    size, leaf = tree.run.size, folded.leaf[chosen]
    weight, n = facts["weight"][chosen], facts["n"][chosen]
    own = np.bincount(leaf, weight, size)
    under, samples = (tree.under(np.bincount(leaf, column, size)) for column in (weight, n))
    last = tree.frame[np.cumsum(tree.run) - 1]
    self_of = np.bincount(last, own, names)
    total_of, n_of = np.zeros(names), np.zeros(names)
    for frame, run in _outermost(tree.frame, tree.run, tree.ends, under > 0, names):
        total_of += np.bincount(frame, under[run], names)
        n_of += np.bincount(frame, samples[run], names)
    leading = {
        int(place)
        for column in (self_of, total_of)
        for place in np.argsort(-column, kind="stable")[:most]
        if column[place] > 0
    }
    found = [
        HotFrame(folded.strings[i], float(self_of[i]), float(total_of[i]), int(n_of[i]))
        for i in leading
    ]
    return sorted(found, key=lambda row: (-row.own, -row.total, row.frame))


def _outermost(
    frame: npt.NDArray[np.uint32],
    run: Ints,
    ends: Ints,
    weighs: npt.NDArray[np.bool_],
    names: int,
) -> Iterator[tuple[npt.NDArray[np.uint32], Ints]]:
    """Frames that are in no other of their name, with their runs, names by blocks.

    Of frames of one name in pre-order one is inside another where it begins before the furthest
    end so far.
    """
    runs = np.repeat(np.arange(run.size, dtype=np.int32), run)
    counts = np.cumsum(np.bincount(frame, minlength=names))
    low = 0
    while low < names:
        done = counts[low - 1] if low else 0
        high = max(low + 1, int(np.searchsorted(counts, done + _BLOCK, "right")))
        place = np.flatnonzero((frame >= low) & (frame < high))
        place = place[weighs[runs[place]]]
        place = place[np.argsort(frame[place], kind="stable")]
        name, inside = frame[place], runs[place].astype(np.int64)
        # Names apart by more than any run, so that an end reaches no other name.
        apart = name.astype(np.int64) * (run.size + 1)
        reach = np.maximum.accumulate(ends[inside] + apart)
        nested = np.zeros(place.size, np.bool_)
        nested[1:] = inside[1:] + apart[1:] < reach[:-1]
        yield name[~nested], inside[~nested]
        low = high
