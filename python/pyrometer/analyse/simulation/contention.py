"""Slow-downs of tasks that run beside one another on a host: the law a simulation is given.

A law is a function of load that gives a slow-down. It is tabulated at whole loads for the native
scheduler, which first finds how much work each task must have had under the law of the measured
run. So the measured size comes out as measured, whatever the law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pyrometer.analyse.simulation.measured import Measured
from pyrometer.analyse.simulation.turns import Turns

SlowDown = Callable[[float], float]
LOADS = 1024
_EACH, _STEP = 64, 0.03


@dataclass(frozen=True)
class Contention:
    """How tasks slow one another down.

    Attributes
    ----------
    measured, asked : callable
        Slow-down by load of the host that was measured, and of the one that is asked about.
    load : dict of (int, int) to float, or None
        What a task of a stage attempt adds to the load; ``None``: each adds 1.
    words : str
        What the law is.
    turns : Turns or None
        The law of the measured host, where it is by CPUs.
    """

    measured: SlowDown
    asked: SlowDown
    words: str
    load: dict[tuple[int, int], float] | None = None
    turns: Turns | None = None

    @property
    def cpus(self) -> float | None:
        """CPUs of the host that was measured, where the law is by them."""
        return None if self.turns is None else self.turns.cpus

    def on(self, cpus: float | None) -> Contention:
        """Give the same, asked about another number of CPUs, where the law is by them."""
        if self.turns is None or cpus is None:
            return self
        return replace(self, asked=replace(self.turns, cpus=cpus))

    def tables(self) -> tuple[list[float], list[float]]:
        """Give both laws at loads 0, 1, 2, …."""
        return tabulate(self.measured), tabulate(self.asked)

    @property
    def driver(self) -> float:
        """Slow-down of the driver, one thread, beside the measured host."""
        return self.asked(1.0) / self.measured(1.0)


def tabulate(law: SlowDown, loads: int = LOADS) -> list[float]:
    """Give a law's values at loads 0, 1, 2, …; beyond 64 in steps of 3 %, and linear between."""
    each = range(min(loads, _EACH) + 1)
    steps = np.geomspace(_EACH, loads, max(2, round(math.log(loads / _EACH) / _STEP)))[1:]
    at = [*map(float, each), *(steps if loads > _EACH else ())]
    return list(map(float, np.interp(np.arange(loads + 1), at, [law(load) for load in at])))


def universal(alpha: float, beta: float) -> SlowDown:
    """Make the slow-down of Gunther's universal law of scalability.

    Examples
    --------
    >>> law = universal(0.02, 0.001)
    >>> law(1), round(law(8), 3)
    (1.0, 1.196)
    """

    def law(load: float) -> float:
        beyond = max(load, 1.0) - 1
        return 1 + alpha * beyond + beta * max(load, 1.0) * beyond

    return law


def fitted(alpha: float, beta: float) -> Contention:
    """Give a fitted universal law, the same at any size."""
    law = universal(alpha, beta)
    return Contention(law, law, f"universal law, α = {alpha:g}, β = {beta:g} per task of a host")


def loads(measured: Measured, contention: Contention | None, nodes: int) -> list[float]:
    """Give the load of a task of each node; a stage that the ledger does not tell is all CPU."""
    if contention is None or contention.load is None:
        return [1.0] * nodes
    told: Sequence[float] = [
        contention.load.get((stage.stage_id, stage.attempt), 1.0) for stage in measured.stages
    ]
    return [*told, *([1.0] * (nodes - len(told)))]
