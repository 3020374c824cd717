"""A prefix tree of stacks, in columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
KINDS = ("unknown", "interpreted", "c1", "c2", "inlined", "native", "cpp", "kernel")


def build_tree(
    paths: list[npt.NDArray[np.uint32]],
    kinds: list[npt.NDArray[np.uint8]],
    weight: npt.NDArray[np.float64],
) -> dict[str, Any]:
    """Prefix tree of paths in pre-order, with one step of array work per level.

    Parameters
    ----------
    paths : list of uint32 arrays
        Frame names as ranks, root first; not empty.
    kinds : list of uint8 arrays
        Kind of each frame, parallel to ``paths``.
    weight : float64 array
        Weight of each path: a node takes the kind that has most weight in it.

    Returns
    -------
    dict
        ``frame``, ``depth``, ``kind`` per node, and ``leaf``: the node of each path.
    """
    # Big-endian bytes compare like the sequences of numbers that they hold.
    keys = [path.astype(">u4").tobytes() for path in paths]
    order = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.int64)
    lengths = np.array([paths[i].size for i in order], np.int64)
    flat = np.concatenate([paths[i] for i in order]).astype(np.int64)
    flat_kind = np.concatenate([kinds[i] for i in order]).astype(np.int64)
    starts = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    weights = weight[order]

    shared = _shared_prefixes(flat, starts, lengths)
    first = np.cumsum(lengths - shared) - (lengths - shared)  # id of the first node a path adds
    total = int((lengths - shared).sum())
    frame, depth = np.zeros(total, np.int64), np.zeros(total, np.int64)
    leaf_sorted = np.zeros(order.size, np.int64)
    votes = np.zeros(total * len(KINDS))
    for level in range(int(lengths.max())):
        present = lengths > level
        new = present & (shared <= level)
        node = np.maximum.accumulate(np.where(new, first + level - shared, -1))
        at = starts[present] + level
        made = node[new]
        frame[made], depth[made] = flat[starts[new] + level], level
        ballot = node[present] * len(KINDS) + flat_kind[at]
        np.add.at(votes, ballot, weights[present])
        ends = lengths == level + 1
        leaf_sorted[ends] = node[ends]
    leaf = np.empty_like(leaf_sorted)
    leaf[order] = leaf_sorted
    return {
        "frame": frame,
        "depth": depth,
        "kind": votes.reshape(total, -1).argmax(axis=1),
        "leaf": leaf,
    }


def _shared_prefixes(flat: Ints, starts: Ints, lengths: Ints) -> Ints:
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
