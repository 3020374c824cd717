"""Laws of scaling, each linear in its coefficients, in time or in throughput.

Written for one unit of work, with p workers:

=========  ==================================================  ==============================
Amdahl     time = s + w/p                                      serial part s, parallel part w
Gustafson  throughput = a + b p                                the parallel part grows with p
USL        time = s + w/p + c (p - 1)                          c: each pays for every other
Ernest     time = a + b/p + c log p + d p  (all four >= 0)     communication in trees and lists
Roofline   time = max(w/p, ceiling)                            ceiling: bytes over bandwidth
=========  ==================================================  ==============================

The universal scalability law is usually written X(p) = γ p / (1 + α (p-1) + β p (p-1)); then
γ = 1/(s+w), α = s/(s+w), β = c/(s+w). A negative s is allowed there (super-linear), as is none
of the others; Amdahl's law is that with c = 0 and s >= 0.

Sources: Amdahl 1967; Gustafson 1988; Gunther, Guerrilla Capacity Planning, 2007; Venkataraman et
al., Ernest, NSDI 2016; Williams et al., Roofline, CACM 2009. Each is fitted as its source fits it:
Ernest by least squares in time, the others in throughput.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Space = Literal["time", "rate"]


@dataclass(frozen=True)
class Law:
    """A law.

    Attributes
    ----------
    design : callable
        Rows for workers and work; rows times coefficients are the time (or rate) of one unit.
    linear, loss : {"time", "rate"}
        In what it is linear, and in what squares are summed: time of a run, or throughput.
    signed : tuple of bool
        By coefficient: whether it may be negative.
    parameters : callable
        The law's own parameters, of coefficients along the last axis.
    """

    name: str
    design: Callable[[Array, Array], Array]
    linear: Space
    loss: Space
    signed: tuple[bool, ...]
    parameters: Callable[[Array], dict[str, Array]]

    @property
    def size(self) -> int:
        """Coefficients: it takes as many levels to fit them."""
        return len(self.signed)


def _columns(*columns: Array) -> Array:
    return np.column_stack(columns)


def _time_parts(c: Array) -> dict[str, Array]:
    whole = c[..., 0] + c[..., 1]
    return {"serial": c[..., 0] / whole, "gamma": 1 / whole}


def _rate_parts(c: Array) -> dict[str, Array]:
    whole = c[..., 0] + c[..., 1]
    return {"serial": c[..., 0] / whole, "gamma": whole}


def _usl(c: Array) -> dict[str, Array]:
    whole = c[..., 0] + c[..., 1]
    return {"alpha": c[..., 0] / whole, "beta": c[..., 2] / whole, "gamma": 1 / whole}


def _ernest(c: Array) -> dict[str, Array]:
    return {name: c[..., at] for at, name in enumerate(("constant", "parallel", "log", "linear"))}


AMDAHL = Law(
    "amdahl", lambda p, work: _columns(np.ones_like(p), 1 / p), "time", "rate", (False, False),
    _time_parts,
)  # fmt: skip
GUSTAFSON = Law(
    "gustafson", lambda p, work: _columns(np.ones_like(p), p), "rate", "rate", (False, False),
    _rate_parts,
)  # fmt: skip
USL = Law(
    "usl", lambda p, work: _columns(np.ones_like(p), 1 / p, p - 1), "time", "rate",
    (True, True, False), _usl,
)  # fmt: skip
ERNEST = Law(
    "ernest", lambda p, work: _columns(1 / work, 1 / p, np.log(p) / work, p / work), "time", "time",
    (False,) * 4, _ernest,
)  # fmt: skip
PROPORTIONAL = Law(
    "roofline", lambda p, work: _columns(1 / p), "time", "rate", (False,),
    lambda c: {"gamma": 1 / c[..., 0]},
)  # fmt: skip

BOUNDS = {
    "serial": (0.0, 1.0),
    **dict.fromkeys(("beta", "gamma", "constant", "parallel", "log", "linear"), (0.0, np.inf)),
}
"""Least and largest value that a parameter can have."""

LAWS = (AMDAHL, GUSTAFSON, USL, ERNEST)
