"""Samples of tasks that compute blocks of cached RDDs, and which of these were computed before.

Whoever reads a cached partition asks the block manager for it (``getOrElseUpdate``); what is not
there is computed inside of that call and put into memory (``doPutIterator``), and what no longer
fits is computed row by row as it is read (``PartiallyUnrolledIterator``).

Which RDD it is shows in the stack: over the call lie as many calls of ``RDD.iterator`` as RDDs
lie between it and the end of the stage. Where that is more than the RDDs that no earlier stage had
in its lineage, an earlier stage had it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from pyrometer.explain.evidence.memory.cached_plans import lineages, partitions
from pyrometer.explain.facts import Facts
from pyrometer.simulation.measured import Floats

_TASKS = """
x AS (
  SELECT task_attempt_id, stage_id, operator, java_stack, hits AS cpu, 0 AS alloc FROM w_samples
  WHERE event = 'cpu' AND role = 'task' AND coalesce(app_index, {app}) = {app}
  UNION ALL SELECT task_attempt_id, stage_id, operator, java_stack, 0, y.weight FROM samples y
    JOIN w ON y.t_ns >= CASE y.clock WHEN 'wall' THEN w.start_wall_ns ELSE w.start_mono_ns END
      AND y.t_ns < CASE y.clock WHEN 'wall' THEN w.end_wall_ns ELSE w.end_mono_ns END
  WHERE y.event = 'alloc' AND y.role = 'task' AND y.pid IN
    (SELECT pid FROM w_samples WHERE coalesce(app_index, {app}) = {app})),
a AS ({attempts})
"""
_MANAGER = "class_name = 'org.apache.spark.storage.BlockManager'"
_MAY_PUT = f"""
SELECT 1 FROM frames WHERE {_MANAGER} AND method = 'getOrElseUpdate'
  OR class_name = 'org.apache.spark.storage.memory.PartiallyUnrolledIterator' LIMIT 1
"""
_PUTS = f"""
WITH f AS (SELECT
    coalesce(list(frame_id) FILTER ({_MANAGER} AND method = 'getOrElseUpdate'), []) AS asked,
    coalesce(list(frame_id) FILTER ({_MANAGER} AND method LIKE '%doPutIterator%'), []) AS put,
    coalesce(list(frame_id) FILTER (
      class_name = 'org.apache.spark.storage.memory.PartiallyUnrolledIterator'), []) AS rest,
    coalesce(list(frame_id) FILTER (
      class_name = 'org.apache.spark.rdd.RDD' AND method = 'iterator'), []) AS up
  FROM frames),
k AS (SELECT stack_id, CASE WHEN list_has_any(frame_ids, put) AND list_has_any(frame_ids, asked)
    THEN len([one FOR one IN list_slice(frame_ids, 1, list_min(
      [list_position(frame_ids, one) FOR one IN asked IF list_contains(frame_ids, one)]))
      IF list_contains(up, one)]) - 1 END AS above
  FROM stacks, f
  WHERE list_has_any(frame_ids, rest)
    OR (list_has_any(frame_ids, put) AND list_has_any(frame_ids, asked))),
{_TASKS}
SELECT x.stage_id, coalesce(a.stage_attempt, 0), x.task_attempt_id, k.above,
  sum(x.cpu)::DOUBLE, sum(x.alloc)::DOUBLE
FROM x JOIN k ON k.stack_id = x.java_stack LEFT JOIN a USING (task_attempt_id)
WHERE x.stage_id IS NOT NULL AND x.task_attempt_id IS NOT NULL
GROUP BY ALL
"""
_SUMS = f"""
WITH {_TASKS}
SELECT x.stage_id, coalesce(a.stage_attempt, 0), sum(x.cpu)::DOUBLE, sum(x.alloc)::DOUBLE
FROM x LEFT JOIN a USING (task_attempt_id) WHERE x.stage_id IS NOT NULL AND ({{condition}})
GROUP BY ALL
"""


Row = tuple[int, int | None, float, float]
"""A task attempt, RDDs over what it puts (None: read row by row), its CPU samples, its bytes."""


@dataclass(frozen=True)
class Part:
    """Samples of a stage's tasks that are of some work: of CPU, and of allocations.

    Attributes
    ----------
    filled_by : int
        Number of the earlier stage that computed the same blocks first.
    computing : frozenset of int
        Task attempts that were seen to compute blocks.
    """

    cpu: float
    cpu_total: float
    alloc: float
    alloc_total: float
    filled_by: int = -1
    computing: frozenset[int] = frozenset()

    @property
    def cpu_share(self) -> float:
        """Share of the CPU."""
        return min(1.0, self.cpu / self.cpu_total) if self.cpu_total else 0.0

    @property
    def alloc_share(self) -> float:
        """Share of what was allocated; where that was not sampled, of the CPU."""
        return min(1.0, self.alloc / self.alloc_total) if self.alloc_total else self.cpu_share


def parts_of(facts: Facts, condition: str) -> dict[int, Part]:
    """Give the samples of tasks that a condition is true of, by stage."""
    found: dict[int, Part] = {}
    totals = _sums(facts)
    for number, (cpu, alloc) in _sums(facts, condition).items():
        found[number] = Part(cpu, totals[number][0], alloc, totals[number][1])
    return found


def put_again(facts: Facts) -> dict[int, Part]:
    """Give the samples of tasks that compute blocks which an earlier stage had put into memory."""
    if not facts.has("samples") or facts.measured is None or not facts.tables.query(_MAY_PUT):
        return {}
    rows: dict[int, list[Row]] = {}
    sql = _PUTS.format(app=_app(facts), attempts=facts.attempts)
    for stage, attempt, task, above, cpu, alloc in facts.tables.query(sql):
        number = facts.number(stage, attempt)
        if number is not None:
            rows.setdefault(number, []).append((task, above, cpu, alloc))
    if len(rows) < 2:
        return {}
    known, lineage, totals = _new_rdds(facts), lineages(facts), _sums(facts)
    of_task = partitions(facts)
    ids = np.asarray(facts.tasks["task_attempt_id"])
    found: dict[int, Part] = {}
    earlier: list[int] = []
    for number in sorted(rows, key=lambda one: facts.stages[one].submit_ns):
        stage_id = facts.stages[number].stage_id
        new_rdds = known.get(stage_id, 0)
        if any(row[1] is not None and row[1] >= new_rdds for row in rows[number]):
            own = lineage.get(stage_id, frozenset())
            filled = [one for one in earlier
                      if own & lineage.get(facts.stages[one].stage_id, frozenset())]  # fmt: skip
            again = _computed_before(facts, number, filled, of_task, ids) if filled else set()
            part = _put(rows[number], new_rdds, again, totals[number])
            if part is not None:
                found[number] = replace(part, filled_by=filled[0])
        earlier.append(number)
    return found


def _put(
    rows: list[Row], new_rdds: int, again: set[int], totals: tuple[float, float]
) -> Part | None:
    """Give a stage's samples of blocks that were put before; None where there are none."""
    old, new = _split(rows, new_rdds, again)
    if not old[0]:
        return None
    # What did not fit is read without the call: it is of the same blocks.
    mine = old[0] / (old[0] + new[0])
    cpu = old[0] + mine * sum(row[2] for row in rows if row[1] is None)
    alloc = old[1] + mine * sum(row[3] for row in rows if row[1] is None)
    computing = frozenset(row[0] for row in rows)
    return Part(cpu, totals[0], alloc, totals[1], computing=computing)


def _split(rows: list[Row], new_rdds: int, again: set[int]) -> tuple[list[float], list[float]]:
    """Give the samples of blocks that were put before, and of new ones: CPU and allocations."""
    old, new = [0.0, 0.0], [0.0, 0.0]
    for task, above, cpu, alloc in rows:
        if above is not None:
            side = old if above >= new_rdds and task in again else new
            side[0] += cpu
            side[1] += alloc
    return old, new


def _computed_before(
    facts: Facts, number: int, filled: list[int], of_task: Floats, ids: Floats
) -> set[int]:
    """Give the tasks of a stage whose partition had a task in one of the earlier stages."""
    place = facts.place_of(number)
    seen = np.concatenate([of_task[facts.place_of(one)] for one in filled])
    return {int(one) for one in ids[place][np.isin(of_task[place], seen)]}


def _new_rdds(facts: Facts) -> Mapping[int, int]:
    """Give how many RDDs of each stage no earlier stage had in its lineage."""
    seen: set[int] = set()
    found = {}
    for stage, rdds in lineages(facts).items():
        found[stage] = len(rdds - seen)
        seen |= rdds
    return found


def _sums(facts: Facts, condition: str = "true") -> dict[int, tuple[float, float]]:
    sql = _SUMS.format(app=_app(facts), attempts=facts.attempts, condition=condition)
    rows = [(facts.number(row[0], row[1]), row[2:]) for row in facts.tables.query(sql)]
    return {number: sums for number, sums in rows if number is not None}


def _app(facts: Facts) -> int:
    return 0 if facts.measured is None else facts.measured.app_index
