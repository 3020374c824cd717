"""A job in a few numbers: operators of its plans, where its slots' time goes, how much it moves.

They say how alike two jobs are in what makes a setting good for them; times of another machine or
another size are left out of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.characterise.features import plan_features
from pyrometer.store import Run
from pyrometer.store.locate import locate
from pyrometer.summary.kept import summary_of
from pyrometer.summary.schema import Summary

SIZES = ("input_bytes", "shuffle_written_bytes", "disk_spilled_bytes", "tasks_count")
"""Of a run; iterations are not told apart, as their number says little beside powers of ten."""

PARTS = ("task", "idle")
"""Rows of the slot view whose parts are compared."""
ON_CPU = "task/on_cpu"

POWERS = 3.0
"""Powers of ten by which two sizes differ that are as far apart as can be."""

_WEIGHTS = {"operators": 2.0, "shares": 2.0, "sizes": 1.0}


Count = Annotated[int, Field(ge=0, le=10**12)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Portrait(BaseModel):
    """A job in a few numbers.

    Attributes
    ----------
    operators : dict of str to int
        How often the final plans have each operator; empty without SQL.
    shares : dict of str to float
        Of the slots' time in tasks and idle, by the rows of the slot view right below; empty where
        CPU time is not known.
    sizes : dict of str to float
        Of :data:`SIZES` those that are known.
    """

    model_config = ConfigDict(extra="allow")

    operators: dict[str, Count] = Field(default_factory=dict)
    shares: dict[str, Amount] = Field(default_factory=dict)
    sizes: dict[str, Amount] = Field(default_factory=dict)


def portrait_of(run_dir: Path) -> Portrait:
    """Read the portrait of a run.

    Raises
    ------
    UsageError
        If it is no run, or its tables cannot be read.
    """
    return portrait(summary_of(run_dir), _operators(run_dir))


def portrait(summary: Summary, operators: Mapping[str, int]) -> Portrait:
    """Take the portrait from a summary and the operators of all plans."""
    rows = summary.ledger.slot_view.rows
    whole = sum(one.value_ns or 0 for one in rows if one.path in PARTS)
    known = any(one.path == ON_CPU and one.value_ns is not None for one in rows)
    shares = {}
    # Where nobody knows what was on a CPU, the rest would make all jobs alike.
    if whole and known:
        shares = {
            one.path: one.value_ns / whole
            for one in rows
            if one.parent in PARTS and one.value_ns is not None
        }
    sizes = {
        name: float(value) for name in SIZES if (value := summary.totals.get(name)) is not None
    }
    return Portrait(operators={k: v for k, v in operators.items() if v}, shares=shares, sizes=sizes)


def distance(one: Portrait, other: Portrait) -> float | None:
    """Say how far two jobs are apart: 0, the same; 1, as far as can be; ``None``: nobody knows.

    What only one of them has is left out; operators or shares have to be known of both.

    Examples
    --------
    >>> join = Portrait(operators={"hash_joins": 3, "loads": 4}, shares={"on_cpu": 0.9})
    >>> scan = Portrait(operators={"loads": 1}, shares={"on_cpu": 0.3, "block_io": 0.6})
    >>> distance(join, join), round(distance(join, scan), 2), distance(join, Portrait())
    (0.0, 0.42, None)
    """
    parts: dict[str, float] = {}
    if any(one.operators.values()) and any(other.operators.values()):
        parts["operators"] = _angle(one.operators, other.operators)
    if one.shares and other.shares:
        names = one.shares.keys() | other.shares.keys()
        apart = sum(abs(one.shares.get(name, 0.0) - other.shares.get(name, 0.0)) for name in names)
        parts["shares"] = min(apart / 2, 1.0)
    if not parts:
        return None
    if both := one.sizes.keys() & other.sizes.keys():
        powers = [abs(math.log10((one.sizes[n] + 1) / (other.sizes[n] + 1))) for n in both]
        parts["sizes"] = min(sum(powers) / len(powers) / POWERS, 1.0)
    weight = sum(_WEIGHTS[name] for name in parts)
    return sum(_WEIGHTS[name] * value for name, value in parts.items()) / weight


def _angle(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    """One less the cosine between the logarithms of counts."""
    names = sorted(one.keys() | other.keys())
    mine = [math.log1p(one.get(name, 0)) for name in names]
    theirs = [math.log1p(other.get(name, 0)) for name in names]
    length = math.hypot(*mine) * math.hypot(*theirs)
    return max(0.0, 1 - sum(a * b for a, b in zip(mine, theirs, strict=True)) / length)


def _operators(run_dir: Path) -> dict[str, int]:
    with Run.opened(locate(run_dir)) as run:
        if not run.tables.has("plan_nodes"):
            return {}
        rows: list[dict[str, Any]] = run.tables.records(
            "SELECT app_index, sql_id, node_id, parent_node_id, trim(name) AS name, simple_string"
            " FROM plan_nodes WHERE is_final ORDER BY ALL"
        )
    plans: dict[tuple[int, int], list[Any]] = {}
    for row in rows:
        plans.setdefault((row["app_index"], row["sql_id"]), []).append(row)
    found: dict[str, int] = {}
    for nodes in plans.values():
        for name, count in plan_features(nodes).items():
            found[name] = found.get(name, 0) + count
    return found
