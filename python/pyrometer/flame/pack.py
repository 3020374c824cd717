"""Stacks for the page: a prefix tree in pre-order, and the samples' weights on it by dimension.

The tree is of runs: frames without a branch between them. ``frame`` (index into a string table) and
``kind`` hold the frames of all runs end to end, ``run`` how many each has, ``depth`` where it
begins. Runs are in pre-order and siblings by name, so a parent precedes its children, a subtree is
a contiguous range and sums are one pass over typed arrays. Every distinct stack occurs once;
facts carry the weights: one row per (run, event, stage, iteration, role, category, ...), ordered by
run, so that filters, grouping and colours are chosen in the viewer without folding again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.flame.facts import (
    CRITICAL,
    DIMENSIONS,
    EVENTS,
    FOLDED,
    MOST_TAKEN,
    build_times,
    facts_of,
)
from pyrometer.flame.names import RUNNERS, runners, stable_name
from pyrometer.flame.tree import KINDS, Ints, Paths, Tree, build_tree
from pyrometer.pages.axis import Axis
from pyrometer.pages.columns import Pack, integers, smallest_uint, texts
from pyrometer.store.tables import Tables

REST = "[lightest stacks, left out]"
NO_STACK = "[no stack]"
MISSING = "[frame missing]"
# Above this number of frames, those of runs with less than this share of every event's samples,
# too light to be drawn at first, are packed separately.
MANY_FRAMES = 2_000_000
LIGHT = 1 / 20_000
# Stacks whose frames are fetched at a time.
_BATCH = 50_000
# A report holds much else, so its limits are lower.
_MORE = "pyrometer flame RUN writes a page with room for more."


def build_flame(
    tables: Tables, pack: Pack, axis: Axis | None = None, most: int | None = None
) -> dict[str, Any]:
    """Fold the samples of a run into ``pack``.

    Parameters
    ----------
    tables : Tables
        The run's tables.
    pack : Pack
        Gets the columns.
    axis : Axis, optional
        The run's time axis, if a time can be selected on it.
    most : int, optional
        Most facts of an event (see `pyrometer.flame.facts.facts_of`).

    Returns
    -------
    dict
        Names of columns, values of dimensions and units per event for the viewer;
        ``{"reason": ...}`` where there is nothing to show.
    """
    if not tables.has("samples"):
        return {"reason": "The run has no profiler samples."}
    folded = fold(tables, most)
    if folded is None:
        return {"reason": "The profiler delivered no samples."}
    flame = pack_flame(tables, folded, pack, axis)
    return flame | {"note": flame["note"] and f"{flame['note']} {_MORE}"}


@dataclass(frozen=True)
class Folded:
    """Samples folded on a tree of stacks.

    Attributes
    ----------
    facts : dict
        The result of `pyrometer.flame.facts.facts_of`.
    tree : Tree
        Tree of the stacks.
    leaf : int64 array
        The run of the tree that each fact ends with.
    strings : list of str
        Names; the frames of the tree are indices into them.
    """

    facts: dict[str, Any]
    tree: Tree
    leaf: Ints
    strings: list[str]


def fold(tables: Tables, most: int | None = None) -> Folded | None:
    """Fold the samples of a run; None where there are none.

    Parameters
    ----------
    tables : Tables
        The run's tables.
    most : int, optional
        Most facts of an event (see `pyrometer.flame.facts.facts_of`).
    """
    facts = facts_of(tables, most)
    if not facts["stack"].size:
        return None
    paths, path_of_fact, strings = _paths(tables, facts)
    tree = build_tree(paths)
    return Folded(facts, tree, tree.leaf[path_of_fact], strings)


def pack_flame(
    tables: Tables,
    folded: Folded,
    pack: Pack,
    axis: Axis | None = None,
    deep: Pack | None = None,
) -> dict[str, Any]:
    """Put folded samples into ``pack``; parameters and result are those of `build_flame`.

    Of a large tree, frames of runs too light to be seen at first go into ``deep``, if given: the
    page opens without them and has them a moment later.
    """
    hosts = int(tables.scalar("SELECT count(DISTINCT host) FROM spans"))
    _pack_frames(folded, pack, deep)
    return _pack(pack, folded, tables, axis) | {
        # Tasks that run at once are counted on one clock.
        "critical": list(CRITICAL) if hosts == 1 else None,
    }


def _paths(tables: Tables, facts: dict[str, Any]) -> tuple[Paths, Ints, list[str]]:
    """Distinct paths of the facts, the path of each fact, and the names that paths hold.

    The class name of an allocation or a lock is the last frame of its path.
    """
    names, rank_of, kind_of = _frames(tables)
    frames = _Frames(tables, rank_of, kind_of)
    tops = facts["values"]["top_class"]
    extra = [REST, NO_STACK, *(top for top in tops if top)]
    rank_of_extra = {name: len(names) + i for i, name in enumerate(extra)}
    rank_of_top = np.array([rank_of_extra.get(top, 0) for top in tops], np.uint32)
    key = (facts["stack"] + 2) * len(tops) + facts["top_class"]
    keys, path_of_fact = np.unique(key, return_inverse=True)
    path_of_fact = path_of_fact.reshape(-1)
    stack, top = keys // len(tops) - 2, keys % len(tops)
    ranks, kinds, lengths = [], [], []
    no_kind = np.zeros(1, np.uint8)
    for one, of_top in zip(stack.tolist(), top.tolist(), strict=True):
        rank, kind = frames.of(one)
        if not rank.size:
            label = REST if one == -2 else NO_STACK
            rank, kind = np.array([rank_of_extra[label]], np.uint32), no_kind
        ranks.append(rank)
        kinds.append(kind)
        lengths.append(rank.size)
        if tops[of_top]:
            ranks.append(rank_of_top[of_top : of_top + 1])
            kinds.append(no_kind)
            lengths[-1] += 1
    paths = Paths(
        np.concatenate(ranks),
        np.concatenate(kinds),
        np.array(lengths, np.int64),
        np.bincount(path_of_fact, weights=facts["n"]).astype(np.float64),
    )
    return paths, path_of_fact, names + extra


def _frames(tables: Tables) -> tuple[list[str], npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
    """Names in order, and per frame id its name's rank and its kind.

    Frames that differ only in line, tier or in what the run handed out share a name and so a node.
    """
    found = tables.columns(f"SELECT frame_id, {stable_name()} AS name, kind FROM frames")
    ids = integers(found["frame_id"])
    named = texts(found["name"])
    names = sorted({MISSING, *named})
    rank = {name: place for place, name in enumerate(names)}
    size = int(ids.max(initial=-1)) + 1
    # One entry more, for frames that the table lacks.
    rank_of = np.full(size + 1, rank[MISSING], np.uint32)
    kind_of = np.zeros(size + 1, np.uint8)
    rank_of[ids] = [rank[name] for name in named]
    kind_of[ids] = [KINDS.index(k) if k in KINDS else 0 for k in texts(found["kind"])]
    return names, rank_of, kind_of


class _Frames:
    """Ranks and kinds of the used stacks' frames, root first, end to end."""

    def __init__(
        self, tables: Tables, rank_of: npt.NDArray[np.uint32], kind_of: npt.NDArray[np.uint8]
    ) -> None:
        ids: list[Ints] = []
        sizes: list[Ints] = []
        ranks: list[npt.NDArray[np.uint32]] = [np.empty(0, np.uint32)]
        kinds: list[npt.NDArray[np.uint8]] = [np.empty(0, np.uint8)]
        used = f"SELECT kept FROM {FOLDED}"
        last = int(tables.scalar("SELECT max(stack_id) FROM stacks") or 0)
        for low in range(0, last + 1, _BATCH):
            # A stack of no frames has no row here.
            found = tables.columns(
                f"""
                SELECT stack_id AS stack, unnest(frame_ids) AS frame,
                       generate_subscripts(frame_ids, 1) AS place
                FROM stacks WHERE stack_id >= {low} AND stack_id < {low + _BATCH}
                    AND stack_id IN ({used})
                """
            )
            stack, frame, place = _in_order(*(integers(found[name]) for name in found))
            frame[(frame < 0) | (frame >= rank_of.size)] = rank_of.size - 1
            begins = np.flatnonzero(place == 1)
            ids.append(stack[begins])
            sizes.append(np.diff(begins, append=stack.size))
            ranks.append(rank_of[frame])
            kinds.append(kind_of[frame])
        self.rank, self.kind = np.concatenate(ranks), np.concatenate(kinds)
        all_ids, all_sizes = np.concatenate(ids), np.concatenate(sizes)
        self._end = np.zeros(int(all_ids.max(initial=-1)) + 1, np.int64)
        self._size = np.zeros_like(self._end)
        self._end[all_ids], self._size[all_ids] = np.cumsum(all_sizes), all_sizes

    def of(self, stack: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint8]]:
        """Ranks and kinds of a stack; empty if it is missing."""
        if not 0 <= stack < self._end.size:
            return self.rank[:0], self.kind[:0]
        end = int(self._end[stack])
        start = end - int(self._size[stack])
        return self.rank[start:end], self.kind[start:end]


def _in_order(stack: Ints, frame: Ints, place: Ints) -> tuple[Ints, Ints, Ints]:
    """Keep frames of a stack together and in order, which the database does not guarantee."""
    goes_on = (stack[1:] == stack[:-1]) & (place[1:] == place[:-1] + 1)
    if not (goes_on | (place[1:] == 1)).all():
        order = np.lexsort((place, stack))
        return stack[order], frame[order], place[order]
    return stack, frame, place


def _pack(pack: Pack, folded: Folded, tables: Tables, axis: Axis | None) -> dict[str, Any]:
    facts, tree, leaf, strings = folded.facts, folded.tree, folded.leaf, folded.strings
    values = facts["values"]
    present = values["event"]
    events = [e for e in EVENTS if e in present] + sorted(set(present) - set(EVENTS))
    event = np.array([events.index(e) for e in present], np.int64)[facts["event"]]
    order, rows = _sum_rows([leaf, event, *(facts[name] for name in DIMENSIONS)])

    def summed(name: str) -> npt.NDArray[np.float64]:
        return np.bincount(rows, weights=facts[name]).astype(np.float64)

    pack.add("flame.run", smallest_uint(tree.run))
    pack.add("flame.depth", smallest_uint(tree.depth))
    pack.add_text("flame.strings", strings)
    pack.add("flame.runner", runners(strings))
    pack.add("flame.node", smallest_uint(leaf[order]))
    pack.add("flame.event", event[order].astype(np.uint8))
    pack.add("flame.weight", summed("weight"))
    pack.add("flame.critical", summed("critical"))
    pack.add("flame.n", smallest_uint(np.minimum(summed("n"), MOST_TAKEN).astype(np.int64)))
    for name in DIMENSIONS:
        pack.add(f"flame.{name}", smallest_uint(facts[name][order]))
    flame = {
        "nodes_count": int(tree.frame.size),
        "stacks_count": int(np.unique(facts["stack"]).size),
        "samples_count": int(facts["n"].sum()),
        "events": {
            event: {"unit": facts["units"].get(event) or "ns", "step": facts["steps"].get(event)}
            for event in events
        },
        "event_names": events,
        "kinds": list(KINDS),
        "runners": [name for name, _ in RUNNERS],
        "dimensions": {name: values[name] for name in DIMENSIONS},
        "note": _note(facts),
    }
    return flame | {"times": build_times(tables, axis, rows, pack)}


def _pack_frames(folded: Folded, pack: Pack, deep: Pack | None) -> None:
    tree = folded.tree
    frame = smallest_uint(tree.frame)
    if deep is None or frame.size <= MANY_FRAMES:
        pack.add("flame.frame", frame)
        pack.add("flame.kind", tree.kind)
        return
    light = np.ones(tree.run.size, np.bool_)
    for event in range(len(folded.facts["values"]["event"])):
        of_event = folded.facts["event"] == event
        n = folded.facts["n"][of_event]
        seen = tree.under(np.bincount(folded.leaf[of_event], n, tree.run.size))
        light &= seen < n.sum() * LIGHT
    lies_deep = np.repeat(light, tree.run)
    pack.add("flame.deep", light.astype(np.uint8))
    pack.add("flame.frame", frame[~lies_deep])
    pack.add("flame.kind", tree.kind[~lies_deep])
    deep.add("deep.frame", frame[lies_deep])
    deep.add("deep.kind", tree.kind[lies_deep])


def _note(facts: dict[str, Any]) -> str | None:
    """Describe what the limit of facts dropped, if anything."""
    sentences = []
    if facts["given_up"]:
        sentences.append(
            f"There are too many samples to distinguish by {', '.join(facts['given_up'])}, too."
        )
    if (facts["stack"] == -2).any():
        sentences.append(
            f"Only the {facts['bound']:,} heaviest stacks of each event are drawn; the others are "
            f"summed as “{REST}”."
        )
    return " ".join(sentences) or None


def _sum_rows(columns: list[Ints]) -> tuple[Ints, Ints]:
    """Group rows that are equal in all columns: the first row of each group, the group of each row.

    Stacks with the same leaf of the tree are one row.
    """
    key, distinct = np.zeros(columns[0].size, np.int64), 1
    for column in columns:
        size = int(column.max(initial=0)) + 1
        if distinct * size > np.iinfo(np.int64).max:
            kept, key = np.unique(key, return_inverse=True)
            key, distinct = key.reshape(-1), kept.size
        key, distinct = key * size + column, distinct * size
    _, first, rows = np.unique(key, return_index=True, return_inverse=True)
    return first, rows.reshape(-1)
