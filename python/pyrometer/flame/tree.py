"""A prefix tree of stacks, in columns, frames without a branch between them joined to runs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
KINDS = ("unknown", "interpreted", "c1", "c2", "inlined", "native", "cpp", "kernel", "python")


@dataclass(frozen=True)
class Paths:
    """Stacks from the root on, end to end.

    Attributes
    ----------
    frame : uint32 array
        Names of frames as ranks, of all paths.
    kind : uint8 array
        Kind of each frame, an index into `KINDS`.
    length : int64 array
        Frames of each path, none of them 0.
    votes : float64 array
        Weight of each path; a node takes the kind with the largest sum.
    """

    frame: npt.NDArray[np.uint32]
    kind: npt.NDArray[np.uint8]
    length: Ints
    votes: npt.NDArray[np.float64]


@dataclass(frozen=True)
class Tree:
    """A tree of runs in pre-order: however deep, at most two runs a path.

    Attributes
    ----------
    frame, kind : arrays
        Name and kind of each node: the runs' frames end to end, which is pre-order, too.
    run : int64 array
        Frames of each run.
    depth : int64 array
        Depth of the first frame of each run.
    leaf : int64 array
        The run that each path ends with.
    """

    frame: npt.NDArray[np.uint32]
    kind: npt.NDArray[np.uint8]
    run: Ints
    depth: Ints
    leaf: Ints

    @cached_property
    def ends(self) -> Ints:
        """For each run, the first one that is not below it."""
        depths = self.depth.tolist()
        ends = [len(depths)] * len(depths)
        above: list[int] = []
        for run, level in enumerate(depths):
            while above and depths[above[-1]] >= level:
                ends[above.pop()] = run
            above.append(run)
        return np.array(ends, np.int64)

    def under(self, own: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Sum the values in each run and below it."""
        before = np.concatenate(([0.0], np.cumsum(own.astype(np.float64))))
        return before[self.ends] - before[:-1]


def build_tree(paths: Paths) -> Tree:
    """Build a prefix tree of paths; siblings are in the order of their ranks.

    Paths are sorted; a path adds the nodes beyond the prefix that it shares with the one before. A
    run ends where a path ends, and where a later path branches off.
    """
    order = _order(paths)
    start = (np.cumsum(paths.length) - paths.length)[order]
    length = paths.length[order]
    shared = _shared_prefixes(paths.frame, start, length)
    added = length - shared
    first = np.cumsum(added) - added  # the first node that a path adds
    owner = _owners(shared)

    ends = np.zeros(int(added.sum()), np.bool_)
    adds = np.flatnonzero(added)
    last = first + added - 1
    ends[last[adds]] = True
    parts = np.flatnonzero(shared)
    parted = first[owner[parts]] + shared[parts] - 1 - shared[owner[parts]]
    ends[parted] = True
    # A path that adds nothing equals the one before: it ends where it would branch off.
    last[parts] = np.where(added[parts] > 0, last[parts], parted)

    end = np.flatnonzero(ends)
    begin = np.concatenate(([0], end[:-1] + 1))
    adder = adds[np.searchsorted(first[adds], begin, "right") - 1]
    leaf = np.empty_like(last)
    leaf[order] = np.searchsorted(end, last)
    kind = _gather(paths.kind, start + shared, start + length)
    _vote(kind, paths, order, start, shared, first)
    return Tree(
        frame=_gather(paths.frame, start + shared, start + length),
        kind=kind,
        run=end - begin + 1,
        depth=shared[adder] + begin - first[adder],
        leaf=leaf,
    )


def _order(paths: Paths) -> Ints:
    # Big-endian bytes compare like the sequences of numbers that they hold.
    narrow = not paths.frame.size or int(paths.frame.max()) < 1 << 16
    data = paths.frame.astype(">u2" if narrow else ">u4")
    raw, width = data.tobytes(), data.itemsize
    ends = np.cumsum(paths.length) * width
    begins = ends - paths.length * width
    keys = [raw[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)


def _shared_prefixes(flat: npt.NDArray[np.uint32], starts: Ints, lengths: Ints) -> Ints:
    """Length of the prefix that each sorted path shares with the one before."""
    shared = np.zeros(lengths.size, np.int64)
    rows = np.arange(1, lengths.size)
    level = 0
    while rows.size:
        both = (lengths[rows] > level) & (lengths[rows - 1] > level)
        rows = rows[both]
        same = flat[starts[rows] + level] == flat[starts[rows - 1] + level]
        rows = rows[same]
        level += 1
        shared[rows] = level
    return shared


def _owners(shared: Ints) -> Ints:
    """For each path the latest earlier one that shares less: it added the last shared node."""
    levels = shared.tolist()
    owners = [0] * len(levels)
    waiting: list[int] = []
    for path, level in enumerate(levels):
        while waiting and levels[waiting[-1]] >= level:
            waiting.pop()
        owners[path] = waiting[-1] if waiting else 0
        waiting.append(path)
    return np.array(owners, np.int64)


def _gather(flat: npt.NDArray[Any], begins: Ints, ends: Ints) -> npt.NDArray[Any]:
    pieces = [flat[a:b] for a, b in zip(begins.tolist(), ends.tolist(), strict=True)]
    return np.concatenate(pieces) if pieces else flat[:0]


def _vote(
    kind: npt.NDArray[np.uint8], paths: Paths, order: Ints, start: Ints, shared: Ints, first: Ints
) -> None:
    """Give nodes of several paths the kind with the most votes."""
    votes = paths.votes[order]
    common = np.maximum(shared, np.append(shared[1:], 0))
    rows = np.flatnonzero(common)
    level = 0
    while rows.size:
        opens = shared[rows] <= level  # the first path that goes through the node
        node = np.cumsum(opens) - 1
        seen = node * len(KINDS) + paths.kind[start[rows] + level]
        adder = rows[opens]
        counted = np.bincount(seen, votes[rows], adder.size * len(KINDS))
        kind[first[adder] + level - shared[adder]] = counted.reshape(-1, len(KINDS)).argmax(axis=1)
        level += 1
        rows = rows[common[rows] > level]
