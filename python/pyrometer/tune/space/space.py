"""A space: the knobs that may be turned for a job on this machine, and what must hold of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pyrometer.experiments.plan.constraints import Constraint

Configuration = Mapping[str, str]
"""Levels by factor, as an experiment file writes them. A factor that is missing is not set at all:
what the job's own command and Spark say holds."""


@dataclass(frozen=True)
class Knob:
    """One factor of ``schema/conf.toml`` with the range that is safe here.

    Attributes
    ----------
    factor : str
        Its name, as ``--set`` takes it.
    kind : {"int", "float", "size", "choice"}
        Of ``size`` the bounds are bytes, levels are written with a unit (``512m``).
    low, high : float or None
        Smallest and largest level that may be tried; ``None`` for choices.
    levels : tuple of str
        Levels of a choice in their order; empty else.
    log : bool
        Whether ratios of levels count rather than differences.
    default : str or None
        What holds where nobody sets it, as far as it is known: a level, for people and engines.
    first : tuple of str
        Levels that experience would try first, the best guess in front; may be empty.
    breaks : str or None
        What a level may break, in a sentence for people.
    dear : bool
        Whether a change costs as much as a trial.
    unit : str or None
        Of its levels, for people.
    special : tuple of str
        Levels outside of the range with a meaning of their own (``-1``: never).
    """

    factor: str
    kind: Literal["int", "float", "size", "choice"]
    low: float | None = None
    high: float | None = None
    levels: tuple[str, ...] = ()
    log: bool = False
    default: str | None = None
    first: tuple[str, ...] = ()
    breaks: str | None = None
    dear: bool = False
    unit: str | None = None
    special: tuple[str, ...] = ()


@dataclass(frozen=True)
class Space:
    """Knobs, in a fixed order, and constraints that every configuration must fulfil.

    Attributes
    ----------
    facts : mapping of str to float
        What constraints may use of the machine and the job (``mem_total`` in bytes, ``cpus``).
    left_out : mapping of str to str
        Why a factor of a named space is none of the knobs here.
    """

    name: str
    knobs: tuple[Knob, ...]
    constraints: tuple[Constraint, ...] = ()
    facts: Mapping[str, float] | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)

    def knob(self, factor: str) -> Knob:
        """Find a knob by its factor.

        Raises
        ------
        KeyError
            If the space has none of it.
        """
        for one in self.knobs:
            if one.factor == factor:
                return one
        raise KeyError(factor)
