"""The work of single tasks divided among slots that are idle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pyrometer.explain.change import MOST_RATIO, State
from pyrometer.simulation.measured import Floats


@dataclass(frozen=True)
class Divided:
    """Other slots would do a share of the work of tasks: none of it goes away.

    What is taken from a task, before or after, is taken from its work, so each part is shorter by
    its share of that. Of two that divide a task, the one that goes further counts.

    Attributes
    ----------
    shares : mapping of int to array or float
        By number of the stage: the share of each task's work that others do.
    """

    shares: Mapping[int, Floats | float]

    @property
    def stages(self) -> frozenset[int]:
        """Numbers of the stages whose tasks would be divided."""
        return frozenset(self.shares)

    def apply(self, state: State, factor: float) -> None:
        """Divide the tasks, ``factor`` of the way."""
        if state.left is None:
            state.left = np.ones_like(state.duration_ns)
        for stage, share in self.shares.items():
            place = state.tasks(stage)
            now, before = state.duration_ns[place], state.left[place]
            after = np.clip(1 - factor * share, 1 / MOST_RATIO, before)
            kept = now * (after / before)
            state.core_ns -= float((now - kept).sum())
            for one in state.taken.values():
                taken, at = one.of(place)
                taken[at] *= after / before
            state.duration_ns[place] = kept
            state.left[place] = after
