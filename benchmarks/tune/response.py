"""What a trial would show: an interface that tables and invented surfaces share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import numpy as np

from pyrometer.tune.space.space import Configuration, Space


class Shown(NamedTuple):
    """What a trial shows.

    Attributes
    ----------
    value : float or None
        In ns; ``None`` where it failed.
    cost : float
        Core-ns.
    failed : str or None
        Why.
    """

    value: float | None
    cost: float
    failed: str | None = None


class Response(Protocol):
    """A job that can be asked without running it."""

    name: str
    space: Space
    fidelities: Mapping[str, float]

    def truth(self, configuration: Configuration) -> float | None:
        """Give the value without noise; ``None`` where it fails."""
        ...

    def best_known(self) -> float:
        """Give the lowest value without noise that is known."""
        ...

    def show(
        self, configuration: Configuration, fidelity: str, block: float, rng: np.random.Generator
    ) -> Shown:
        """Run a trial; `block` is the effect of its block on the logarithm."""
        ...
