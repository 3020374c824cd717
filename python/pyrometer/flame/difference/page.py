"""The page of a difference of profiles: one tree of both sides' stacks, tested node by node.

Nodes are tested separately, after the frames: where frames show no significant difference, no node
does. Nodes too light to be seen on either side are omitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.flame.difference.difference import (
    NO_DIFFERENCE,
    Compared,
    FrameDifference,
    SideFacts,
    compared,
    verdict_of,
)
from pyrometer.flame.difference.paths import EVENTS
from pyrometer.flame.difference.sides import Paths as StackPaths
from pyrometer.flame.difference.sides import Sampled, Sums, read_side, sides
from pyrometer.flame.tree import Paths, Tree, build_tree
from pyrometer.pages.columns import Pack, smallest_uint
from pyrometer.pages.page import ReportData, write_page
from pyrometer.statistics.profiles import MIN_SAMPLES, compare, significant

VERDICTS = (
    "no significant difference",
    "slower",
    "faster",
    "only in A",
    "only in B",
    "too few samples",
)
LIGHT = 1 / 20_000
"""Least share of a side for which a node is drawn: far below a pixel."""
MAX_FRAMES = 2_000
Ints = npt.NDArray[np.int64]


def write_difference(a: Sequence[Path], b: Sequence[Path], path: Path) -> FrameDifference:
    """Compare two sides and write the page of their difference.

    Parameters
    ----------
    a, b : sequence of Path
        Runs of each side.
    path : Path
        The file to write.

    Raises
    ------
    UsageError
        If a run cannot be read or has no samples, or the file cannot be written.
    """
    read = read_side(a, with_paths=True), read_side(b, with_paths=True)
    comparison = compared(*read)
    write_page(difference_page(comparison, *read), path)
    return comparison.result


def difference_page(comparison: Compared, a: Sequence[Sampled], b: Sequence[Sampled]) -> ReportData:
    """Collect what the page shows."""
    pack = Pack()
    content = comparison.result.model_dump(mode="json", by_alias=True)
    hidden = len(content["frames"]) - MAX_FRAMES
    content["frames"] = content["frames"][:MAX_FRAMES]
    flame = _pack(pack, comparison, (a, b))
    content["flame"] = flame | {"columns": pack.directory, "hidden_frames_count": max(0, hidden)}
    title = f"{_title(comparison.result.a)} against {_title(comparison.result.b)}"
    return ReportData(title, content, {"flame": pack.encoded()})


def _title(side: SideFacts) -> str:
    return ", ".join(dict.fromkeys(run.workload or run.run_dir for run in side.runs))


@dataclass(frozen=True)
class _Stacks:
    """Samples of one run on the tree: the node that each of its paths ends with."""

    side: int
    index: int
    node: Ints
    samples: dict[str, Any]

    def of(self, event: str) -> tuple[Ints, dict[str, Any]]:
        """Nodes and samples of an event."""
        which = self.samples["event"] == event
        return self.node[which], {name: column[which] for name, column in self.samples.items()}


def _pack(
    pack: Pack, comparison: Compared, read: tuple[Sequence[Sampled], Sequence[Sampled]]
) -> dict[str, Any]:
    names = sorted({name for side in read for run in side for name in _paths(run).names})
    tree, stacks = _tree(read, names)
    parent = links(tree.depth, tree.depth + tree.run)
    events = [event for event in EVENTS if event in comparison.spreads]
    kept = _heavy(stacks, parent, events)
    nearest = _nearest(kept, parent)
    above = nearest[np.maximum(parent, 0)][kept]
    above[parent[kept] < 0] = -1
    length = tree.run[kept]
    inside = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    which = np.repeat((np.cumsum(tree.run) - tree.run)[kept], length) + inside
    pack.add_text("difference.strings", names)
    pack.add("difference.frame", smallest_uint(tree.frame[which]))
    pack.add("difference.depth", smallest_uint(np.repeat(tree.depth[kept], length) + inside))
    for event in events:
        sums = (
            Sums(length.size, comparison.sums[0].columns),
            Sums(length.size, comparison.sums[1].columns),
        )
        for stack in stacks:
            node, samples = stack.of(event)
            node = nearest[node]
            there = node >= 0
            sums[stack.side].add(
                stack.index, node[there], {name: c[there] for name, c in samples.items()}
            )
        for side in sums:
            for values in (side.time, side.squares, side.n):
                _upwards(values, above)
        for name, column in _tested(comparison, event, sums).items():
            pack.add(f"difference.{event}.{name}", np.repeat(column, length))
    return {"events": events, "verdicts": list(VERDICTS), "nodes_count": int(which.size)}


def _paths(run: Sampled) -> StackPaths:
    if run.paths is None:
        raise ValueError("a picture needs sides that were read with their paths")
    return run.paths


def _tree(
    read: tuple[Sequence[Sampled], Sequence[Sampled]], names: Sequence[str]
) -> tuple[Tree, list[_Stacks]]:
    """Build one tree of all paths of both sides."""
    rank = {name: place for place, name in enumerate(names)}
    runs = [(side, index, run) for side in (0, 1) for index, run in enumerate(read[side])]
    frames, ids, lengths = [], [], []
    for _, _, run in runs:
        paths = _paths(run)
        frames.append(np.array([rank[name] for name in paths.names], np.uint32)[paths.frame])
        own, length = np.unique(paths.path, return_counts=True)
        ids.append(own)
        lengths.append(length.astype(np.int64))
    frame, length = np.concatenate(frames), np.concatenate(lengths)
    kind = np.zeros(frame.size, np.uint8)
    tree = build_tree(Paths(frame, kind, length, np.ones(length.size)))
    stacks, first = [], 0
    for (side, index, run), own in zip(runs, ids, strict=True):
        samples = _paths(run).samples
        at = np.searchsorted(own, samples["path"])
        stacks.append(_Stacks(side, index, tree.leaf[first : first + own.size][at], samples))
        first += own.size
    return tree, stacks


def links(begin: Ints, end: Ints) -> Ints:
    """Give the parent of each run of frames in pre-order; -1 for a root.

    Parameters
    ----------
    begin, end : array of int
        Depth of the first frame of each run, and of what follows its last.

    Examples
    --------
    >>> links(np.array([0, 2, 5, 2, 0]), np.array([2, 5, 6, 3, 1])).tolist()
    [-1, 0, 1, 0, -1]
    """
    parent = np.full(begin.size, -1, np.int64)
    open_: list[tuple[int, int]] = []
    for node, (first, last) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        while open_ and open_[-1][1] > first:
            open_.pop()
        if open_:
            parent[node] = open_[-1][0]
        open_.append((node, last))
    return parent


def _heavy(stacks: Sequence[_Stacks], parent: Ints, events: Sequence[str]) -> npt.NDArray[np.bool_]:
    """Select the nodes that are visible in a picture of either side."""
    kept = np.zeros(parent.size, bool)
    for event in events:
        for side in (0, 1):
            weight = np.zeros(parent.size)
            for stack in stacks:
                if stack.side == side:
                    node, samples = stack.of(event)
                    np.add.at(weight, node, samples["weight"].astype(float))
            whole = weight.sum()
            _upwards(weight, parent)
            kept |= (weight >= LIGHT * whole) & (weight > 0)
    return kept


def _nearest(kept: npt.NDArray[np.bool_], parent: Ints) -> Ints:
    """Index among the kept nodes of each node or its nearest kept ancestor; -1 without one."""
    place = (np.cumsum(kept) - 1).tolist()
    found: list[int] = []
    for node, (stays, above) in enumerate(zip(kept.tolist(), parent.tolist(), strict=True)):
        found.append(place[node] if stays else found[above] if above >= 0 else -1)
    return np.array(found, np.int64)


def _upwards(values: npt.NDArray[Any], parent: Ints) -> None:
    """Add to each node of a tree in pre-order what is below it, level by level."""
    level: list[int] = []
    for above in parent.tolist():
        level.append(0 if above < 0 else level[above] + 1)
    levels = np.array(level, np.int64)
    order = np.argsort(levels, kind="stable")
    ends = np.cumsum(np.bincount(levels)) if level else np.zeros(0, np.int64)
    for depth in range(ends.size - 1, 0, -1):
        nodes = order[ends[depth - 1] : ends[depth]]
        np.add.at(values, parent[nodes], values[nodes])


def _tested(
    comparison: Compared, event: str, sums: tuple[Sums, Sums]
) -> dict[str, npt.NDArray[Any]]:
    """Columns of the nodes: times, samples, interval of the change, verdict."""
    whole = (*comparison.sums, comparison.rows[("whole", event, "")])
    everything = np.arange(sums[0].n.size)
    c = compare(*sides(*sums, everything, whole), comparison.spreads[event])
    tested = sums[0].n + sums[1].n >= MIN_SAMPLES
    stands = np.zeros(tested.size, bool)
    if comparison.result.verdict != NO_DIFFERENCE:
        stands[tested] = significant(c.p[tested])
    verdicts = [
        VERDICTS.index(verdict_of(change, (in_a, in_b), sure, enough))
        for change, in_a, in_b, sure, enough in zip(
            c.change.tolist(), sums[0].n.tolist(), sums[1].n.tolist(),
            stands.tolist(), tested.tolist(), strict=True,
        )
    ]  # fmt: skip
    return {
        "a": c.a,
        "b": c.b,
        "low": c.low,
        "high": c.high,
        "a_n": smallest_uint(sums[0].n),
        "b_n": smallest_uint(sums[1].n),
        "verdict": np.array(verdicts, np.uint8),
    }
