"""Stacks for the page: a prefix tree in pre-order, and the samples' weights on it by dimension.

The tree is two parallel columns, ``frame`` (index into a string table) and ``depth``. Nodes stand
in pre-order and siblings by name, so a parent precedes its children, a subtree is a contiguous
range and a layout is one forward pass over typed arrays. Every distinct stack is there once;
``facts`` carry the weights: one row per (node, event, stage, iteration, role, category, ...), so
that filters, grouping and colours are chosen in the viewer without folding again.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.report.columns import floats, integers, texts
from pyrometer.report.flame_facts import CRITICAL, DIMENSIONS, EVENTS, MAX_FACTS, NUMBERS, facts_of
from pyrometer.report.flame_tree import KINDS, Ints, build_tree
from pyrometer.report.pack import Pack, smallest_uint
from pyrometer.store.tables import Tables

REST = "[lightest stacks, left out]"


def build_flame(tables: Tables, pack: Pack) -> dict[str, Any]:
    """Fold the samples of a run into ``pack``.

    Returns
    -------
    dict
        Names of columns, values of dimensions and units per event for the viewer;
        ``{"reason": ...}`` where there is nothing to show.
    """
    if not tables.has("samples"):
        return {"reason": "The run has no profiler samples."}
    facts = facts_of(tables)
    if not facts["stack"].size:
        return {"reason": "The profiler delivered no samples."}
    stacks = _stacks(tables, facts["stack"])
    names, ranks, kinds = _frames(tables, stacks["frame"])
    hosts = int(tables.scalar("SELECT count(DISTINCT host) FROM spans"))
    return _pack(pack, facts, stacks, names, ranks, kinds) | {
        # Tasks that run at once are counted on one clock.
        "critical": list(CRITICAL) if hosts == 1 else None
    }


def _stacks(tables: Tables, used: Ints) -> dict[str, Ints]:
    """Frames of the used stacks, flat: ``stack`` (ascending, repeated) and ``frame`` root first."""
    sql = """
        SELECT stack_id AS stack, unnest(frame_ids) AS frame,
               generate_subscripts(frame_ids, 1) AS place
        FROM stacks ORDER BY stack, place
    """
    found = tables.columns(sql) if tables.has("stacks") else {}
    if not found:
        return {"stack": np.empty(0, np.int64), "frame": np.empty(0, np.int64)}
    stack, frame = integers(found["stack"]), integers(found["frame"])
    keep = np.isin(stack, used)
    return {"stack": stack[keep], "frame": frame[keep]}


def _frames(tables: Tables, used: Ints) -> tuple[list[str], dict[int, int], dict[int, int]]:
    """Names in order, and per frame id its name's rank and its kind.

    Frames that differ only in line or tier share a name and so a node.
    """
    known = np.unique(used)
    found = (
        tables.columns("SELECT frame_id, class_name, method, kind FROM frames")
        if tables.has("frames")
        else {}
    )
    name_of: dict[int, str] = {int(i): "[frame missing]" for i in known}
    kind_of: dict[int, int] = {int(i): 0 for i in known}
    if found:
        ids = integers(found["frame_id"])
        classes, methods = texts(found["class_name"]), texts(found["method"])
        kinds = texts(found["kind"])
        for i, cls, method, kind in zip(ids.tolist(), classes, methods, kinds, strict=True):
            if i in name_of:
                name_of[i] = f"{cls}.{method}" if cls else method
                kind_of[i] = KINDS.index(kind) if kind in KINDS else 0
    names = sorted(set(name_of.values()))
    rank = {name: place for place, name in enumerate(names)}
    return names, {i: rank[name] for i, name in name_of.items()}, kind_of


def _pack(
    pack: Pack,
    facts: dict[str, Any],
    stacks: dict[str, Ints],
    names: list[str],
    ranks: dict[int, int],
    kinds: dict[int, int],
) -> dict[str, Any]:
    paths, leaf_kinds, strings = _paths(facts, stacks, names, ranks, kinds)
    weight = floats(facts["weight"])
    tree = build_tree(paths, leaf_kinds, weight)
    rows = _sum_facts(tree["leaf"], facts, weight)
    pack.add("flame.frame", smallest_uint(tree["frame"]))
    pack.add("flame.depth", smallest_uint(tree["depth"]))
    pack.add("flame.kind", tree["kind"].astype(np.uint8))
    pack.add_text("flame.strings", strings)
    pack.add("flame.node", smallest_uint(rows["node"]))
    pack.add("flame.event", rows["event"].astype(np.uint8))
    pack.add("flame.weight", rows["weight"].astype(np.float64))
    pack.add("flame.critical", rows["critical"].astype(np.float64))
    pack.add("flame.n", smallest_uint(rows["n"]))
    dimensions = {}
    for name in DIMENSIONS:
        values, index = rows[name]
        pack.add(f"flame.{name}", smallest_uint(index))
        dimensions[name] = values
    cut = int((facts["stack"] == -2).sum())
    return {
        "nodes_count": int(tree["frame"].size),
        "stacks_count": int(np.unique(facts["stack"]).size),
        "samples_count": int(integers(facts["n"]).sum()),
        "events": {event: {"unit": rows["units"].get(event, "ns")} for event in rows["events"]},
        "event_names": rows["events"],
        "kinds": list(KINDS),
        "dimensions": dimensions,
        "note": (
            f"Only the {MAX_FACTS:,} heaviest stacks of each event are drawn; the others are "
            f"summed as “{REST}”."
            if cut
            else None
        ),
    }


def _paths(
    facts: dict[str, Any],
    stacks: dict[str, Ints],
    names: list[str],
    ranks: dict[int, int],
    kinds: dict[int, int],
) -> tuple[list[npt.NDArray[np.uint32]], list[npt.NDArray[np.uint8]], list[str]]:
    """Per fact its path of name ranks, root first; class names of alloc and lock become leaves."""
    strings = list(names)
    extra: dict[str, int] = {}

    def string(text: str) -> int:
        if text not in extra:
            extra[text] = len(strings)
            strings.append(text)
        return extra[text]

    rank_at = np.zeros(max(ranks, default=0) + 1, np.uint32)
    kind_at = np.zeros(rank_at.size, np.uint8)
    for frame, place in ranks.items():
        rank_at[frame] = place
        kind_at[frame] = kinds[frame]
    flat_rank = rank_at[stacks["frame"]] if stacks["frame"].size else np.empty(0, np.uint32)
    flat_kind = kind_at[stacks["frame"]] if stacks["frame"].size else np.empty(0, np.uint8)
    ids, starts = np.unique(stacks["stack"], return_index=True)
    ends = np.append(starts, stacks["stack"].size)[1:]
    where = {int(i): (int(s), int(e)) for i, s, e in zip(ids, starts, ends, strict=True)}
    paths, leaf_kinds = [], []
    for stack, top in zip(facts["stack"].tolist(), texts(facts["top_class"]), strict=True):
        start, end = where.get(stack, (0, 0))
        path, kind = flat_rank[start:end], flat_kind[start:end]
        if start == end:
            label = REST if stack == -2 else "[no stack]"
            path, kind = np.array([string(label)], np.uint32), np.zeros(1, np.uint8)
        if top:
            path = np.append(path, np.uint32(string(top)))
            kind = np.append(kind, np.uint8(0))
        paths.append(path)
        leaf_kinds.append(kind)
    return paths, leaf_kinds, strings


def _sum_facts(
    leaf: Ints, facts: dict[str, Any], weight: npt.NDArray[np.float64]
) -> dict[str, Any]:
    """One row per (node, dimensions): stacks that fell together in the tree are summed."""
    present = set(texts(facts["event"]))
    events = [e for e in EVENTS if e in present] + sorted(present - set(EVENTS))
    units = dict(zip(texts(facts["event"]), texts(facts["unit"]), strict=True))
    columns: dict[str, tuple[list[Any], Ints]] = {}
    for name in DIMENSIONS:
        columns[name] = _values(facts[name], numbers=name in NUMBERS)
    event = np.array([events.index(e) for e in texts(facts["event"])], np.int64)
    key = np.stack([leaf, event, *(index for _, index in columns.values())])
    unique, inverse = np.unique(key, axis=1, return_inverse=True)
    inverse = inverse.reshape(-1)
    rows: dict[str, Any] = {
        "events": events,
        "units": units,
        "node": unique[0],
        "event": unique[1],
        "weight": np.bincount(inverse, weights=weight),
        "critical": np.bincount(inverse, weights=floats(facts["critical"])),
        "n": np.bincount(inverse, weights=floats(facts["n"])).astype(np.int64),
    }
    for place, (name, (values, _)) in enumerate(columns.items()):
        rows[name] = (values, unique[2 + place])
    return rows


def _values(column: npt.NDArray[Any], numbers: bool) -> tuple[list[Any], Ints]:
    """Distinct values (None first where there are nulls) and the index of each row's value."""
    if numbers:
        raw: list[Any] = [None if v < 0 else v for v in integers(column).tolist()]
    else:
        raw = [text or None for text in texts(column)]
    distinct = sorted({v for v in raw if v is not None})
    values: list[Any] = [*([None] if None in raw else []), *distinct]
    index = {value: place for place, value in enumerate(values)}
    return values, np.array([index[v] for v in raw], np.int64)
