"""Files that were cut into pieces of which few hold rows: a row group is read by one task."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans
from pyrometer.explain.evidence.saying import data
from pyrometer.explain.facts import Facts, once
from pyrometer.simulation.measured import Stage

_IN_GROUPS = re.compile(r"^Scan (?:parquet|orc)\b", re.IGNORECASE)
_PUSHED = re.compile(r"\bPushedFilters: \[(?!\])(?!IsNotNull\([^()]*\)\])")
"""A filter by which groups are left out; one null check leaves out hardly any."""
SMALLER_GROUPS = data(
    "write smaller row groups, or more files",
    "df.coalesce(1).write.parquet(path)",
    'df.write.option("parquet.block.size", 16 * 1024 * 1024).parquet(path)',
)


@dataclass(frozen=True)
class Undivided:
    """A scan of fewer row groups than pieces.

    Attributes
    ----------
    stage : Stage
        That scans, and reads nothing else.
    files : int
        That were read.
    size : int
        Of these files, in bytes.
    with_rows, tasks : int
        Tasks that read a row, and all of them.
    """

    plan: Plan
    node: Node
    stage: Stage
    files: int
    size: int
    with_rows: int
    tasks: int


@once
def undivided(facts: Facts) -> tuple[Undivided, ...]:
    """Find scans of which at most half of the tasks read a row, and filters are not why."""
    return tuple(
        one
        for plan in plans(facts)
        for node in plan.sql.nodes
        if _IN_GROUPS.match(node.name) and not _PUSHED.search(node.simple_string or "")
        for one in _of(facts, plan, node)
    )


def _of(facts: Facts, plan: Plan, node: Node) -> Iterator[Undivided]:
    files, size = metric(node, "number of files read"), metric(node, "size of files read")
    for number in facts.stages_of(node, plan.sql):
        tasks = facts.tasks_of(number)
        if not files or not tasks.known("input_records_count"):
            continue
        rows = np.nan_to_num(tasks["input_records_count"])
        with_rows = int(np.count_nonzero(rows))
        # Of more files than tasks with rows, some are empty: that is not for their groups.
        if 0 < with_rows <= rows.size // 2 and files <= with_rows:
            stage = facts.stages[number]
            yield Undivided(plan, node, stage, files, size or 0, with_rows, int(rows.size))
