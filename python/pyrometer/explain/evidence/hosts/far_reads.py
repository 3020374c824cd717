"""How much longer tasks take that run far from their data: not because their host is slow.

Logarithms of times are a level of the stage, one of the host, and one of being far, by least
squares. Hosts that are slow are so near their data as well: what is left of them is no distance.
Where a host ran tasks at one level alone, and shares no other stage with the others, nobody knows.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyrometer.core.estimate import Estimate
from pyrometer.explain.evidence.hosts.data_places import FAR, amount_of
from pyrometer.explain.facts import Facts
from pyrometer.simulation.measured import Floats
from pyrometer.statistics.shares import Z
from pyrometer.statistics.strata import ratio_of_marked

FEWEST_TASKS = 5
"""At either distance: of fewer the interval would say nothing."""


def far_ratio(facts: Facts) -> Estimate | None:
    """Give the time of tasks far from their data over that of others, for as much of it."""
    measured, tasks = facts.measured, facts.tasks
    if measured is None or not tasks.count:
        return None
    far = measured.tasks.level >= FAR
    use = _warm(facts) & (tasks.duration_ns > 0) & ~np.asarray(tasks["wasted"], dtype=bool)
    if min(int((far & use).sum()), int((~far & use).sum())) < FEWEST_TASKS:
        return None
    stage = np.zeros(tasks.count, dtype=np.int64)
    amount = np.ones(tasks.count)
    for one in facts.stages:
        own = facts.place_of(one.number)
        stage[own] = one.number
        amount[own] = amount_of(facts.tasks_of(one.number))
    host = np.unique(tasks.codes("host"), return_inverse=True)[1].astype(np.int64)
    cells = np.unique(np.stack([stage, host, far])[:, use], axis=1, return_inverse=True)
    (stages, hosts, marks), place = cells[0], cells[1].reshape(-1)
    log = np.log(np.maximum(tasks.duration_ns[use], 1.0))
    log = log - _by_work(log, np.log(np.maximum(amount[use], 1.0)), place)
    count, total, squares = (
        np.bincount(place, each).astype(np.float64) for each in (np.ones(log.size), log, log**2)
    )
    return ratio_of_marked(stages, hosts, marks > 0, count, total, squares)


def _warm(facts: Facts) -> Any:
    """Whether each task is none of the first in the slots of its executor, which load code."""
    tasks = facts.tasks
    executors = facts.measured.executors if facts.measured else ()
    slots = {one.executor_id: one.slots for one in executors}
    codes, launched = tasks.codes("executor_id"), tasks["launch_wall_ns"]
    warm = np.zeros(tasks.count, dtype=bool)
    for code in np.unique(codes):
        mine = np.flatnonzero(codes == code)
        first = slots.get(str(tasks.names["executor_id"][code]), 1)
        warm[mine[np.argsort(launched[mine], kind="stable")][first:]] = True
    return warm


def _by_work(log: Floats, work: Floats, cell: Any) -> Floats:
    """Give the part of the times that goes with work: by the upper end of the slope within cells.

    Times are taken to be in proportion where all tasks of a cell read the same.
    """
    count = np.bincount(cell)
    x = work - (np.bincount(cell, work) / count)[cell]
    y = log - (np.bincount(cell, log) / count)[cell]
    spread, free = float(x @ x), log.size - count.size - 1
    slope = 1.0
    if spread > 1e-9 and free > 0:
        middle = float(x @ y) / spread
        left = y - middle * x
        slope = middle + Z * (float(left @ left) / free / spread) ** 0.5
    found: Floats = min(max(slope, 0.0), 1.0) * work
    return found
