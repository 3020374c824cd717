"""Knobs as ``schema/conf.toml`` declares them, before anything is known of machine and job."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from pyrometer.core.schema import release, schema_folder

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
    since : str or None
        First release of Spark that has the setting; ``None``: older than any that is known.
    means : mapping of str to str
        What special levels mean, in a word.
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
    since: str | None = None
    means: Mapping[str, str] = field(default_factory=dict, hash=False)


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


def unknown_to(factors: Iterable[str], spark_version: str | None) -> dict[str, str]:
    """Say which settings a release of Spark does not have yet, each with why.

    Of a release that is not known, none is.

    Examples
    --------
    >>> unknown_to(["spark.sql.files.minPartitionNum", "jvm.gc"], "3.0.3")
    {'spark.sql.files.minPartitionNum': 'new in Spark 3.1, and the job runs on 3.0.3'}
    """
    ours = release(spark_version)
    if ours is None:
        return {}
    wanted = set(factors)
    return {
        one.factor: f"new in Spark {one.since}, and the job runs on {spark_version}"
        for one in knobs()
        if one.factor in wanted and ours < (release(one.since) or ours)
    }


def meaning(factor: str, level: str) -> str | None:
    """Say what a level outside of the range of a knob means; ``None`` for any other.

    Examples
    --------
    >>> meaning("spark.sql.autoBroadcastJoinThreshold", "-1"), meaning("jvm.gc", "g1")
    ('never', None)
    """
    return next((one.means.get(level) for one in knobs() if one.factor == factor), None)


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
