"""Knobs as ``schema/conf.toml`` declares them, before anything is known of machine and job."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from pyrometer.core.schema import schema_folder

Kind = Literal["int", "float", "size", "choice"]


@dataclass(frozen=True)
class Declared:
    """A ``[[knob]]``; amounts are text in the language of constraints.

    Attributes
    ----------
    factor : str
        What it turns.
    spaces : tuple of str
        Named spaces that it belongs to.
    range : tuple of str
        Smallest and largest level that is ever tried.
    low, high : tuple of str
        Ends for a machine and a job: the first whose facts are known.
    default, default_if : str or None
        What holds where nobody sets it, and the condition for that; of Spark's settings,
        ``spark_defaults.toml`` says it.
    first : tuple of str
        Levels to try first.
    only_if, otherwise : str or None
        A condition on the machine, and why the knob is left out where it does not hold.
    """

    factor: str
    spaces: tuple[str, ...]
    kind: Kind
    unit: str | None = None
    range: tuple[str, ...] = ()
    low: tuple[str, ...] = ()
    high: tuple[str, ...] = ()
    levels: tuple[str, ...] = ()
    log: bool = False
    special: tuple[str, ...] = ()
    default: str | None = None
    default_if: str | None = None
    first: tuple[str, ...] = ()
    breaks: str | None = None
    only_if: str | None = None
    otherwise: str | None = None


@cache
def knobs() -> tuple[Declared, ...]:
    """Every knob, in the order of the file."""
    text = (schema_folder() / "conf.toml").read_text(encoding="utf-8")
    found: list[Declared] = []
    for body in tomllib.loads(text)["knob"]:
        values: dict[str, Any] = {
            name: tuple(one) if isinstance(one, list) else one for name, one in body.items()
        }
        found.append(Declared(**values))
    return tuple(found)


def spaces() -> tuple[str, ...]:
    """Names of the spaces, ``all`` last."""
    return (*dict.fromkeys(name for one in knobs() for name in one.spaces), "all")


def of_space(name: str) -> tuple[Declared, ...]:
    """Knobs of a named space.

    Examples
    --------
    >>> [one.factor for one in of_space("os")]
    ['os.thp', 'os.swappiness', 'os.lru_gen']
    """
    return tuple(one for one in knobs() if name in (*one.spaces, "all"))
