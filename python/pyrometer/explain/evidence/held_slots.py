"""How many executors and slots were there at once, and how many of them tasks needed."""

from __future__ import annotations

import numpy as np

from pyrometer.explain.facts import Facts
from pyrometer.simulation.measured import Floats


def most_at_once(first: Floats, last: Floats, each: Floats | None = None) -> int:
    """Give how many intervals overlap at most; where one ends, another may begin.

    Examples
    --------
    >>> import numpy as np
    >>> most_at_once(np.array([0.0, 1.0, 2.0]), np.array([2.0, 3.0, 4.0]))
    2
    """
    weight = np.ones(first.size) if each is None else each
    times = np.concatenate([first, last])
    steps = np.concatenate([weight, -weight])
    order = np.lexsort((steps, times))
    return int(np.cumsum(steps[order]).max(initial=0))


def most_tasks(facts: Facts) -> int:
    """Give how many tasks ran at once at most; none where no time of theirs is known."""
    launch, finish = facts.tasks["launch_wall_ns"], facts.tasks["finish_wall_ns"]
    known = np.isfinite(launch) & np.isfinite(finish)
    return most_at_once(launch[known], finish[known])


def executors_for(facts: Facts, tasks: int) -> int:
    """Give how many executors run so many tasks at once; the smallest executors count."""
    assert facts.measured is not None
    return max(1, -(-tasks // min(one.slots for one in facts.measured.executors)))
