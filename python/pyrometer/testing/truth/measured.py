"""The measured value of the quantity that a truth program declares.

A truth names its quantity by a path into ``pyrometer show --json``: names joined by dots, and a row
of a list selected by one of its fields in brackets.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyrometer.workloads.values import Truth

_STEP = re.compile(r"([a-z_0-9]+)(?:\[(\w+)=([^\]]*)\])?(?:\.|$)")


@dataclass(frozen=True)
class Measured:
    """A measured value in the truth's unit, or None and why.

    Parameters
    ----------
    value : float, optional
        The value.
    reason : str, optional
        Why there is none.
    """

    value: float | None
    reason: str | None = None


def measured(truth: Truth, shown: Mapping[str, Any]) -> Measured:
    """Look up the measured value of `truth`.

    Parameters
    ----------
    truth : Truth
        What its program declares.
    shown : Mapping
        The object that ``pyrometer show --json`` prints.

    Examples
    --------
    >>> truth = Truth("GC pauses", "the JVM", 3, "count", 0, "gc.pauses_count")
    >>> measured(truth, {"gc": {"pauses_count": 4}})
    Measured(value=4.0, reason=None)
    """
    if truth.measured_by is None:
        return Measured(None, truth.reason)
    part = look_up(shown, truth.measured_by)
    if truth.of is None or part.value is None:
        return part
    whole = look_up(shown, truth.of)
    if whole.value is None:
        return whole
    if whole.value <= 0:
        return Measured(None, f"{truth.of} is {whole.value:g}: it has no share")
    return Measured(part.value / whole.value)


def look_up(shown: Mapping[str, Any], path: str) -> Measured:
    """Find the number at `path`.

    A category or wait class without a row among sampled ones had no sample: it is 0. So is a
    metric of an operator that the plan does not have. Anything else that is absent is unknown.

    Raises
    ------
    ValueError
        If `path` cannot be read.
    """
    found: Any = shown
    for name, key, wanted in _steps(path):
        within = found
        found = found.get(name) if isinstance(found, Mapping) else None
        if key and isinstance(found, list):
            rows = found
            found = next((row for row in rows if str(row.get(key)) == wanted), None)
            if found is None and key == "path" and _unsampled(rows, str(wanted)):
                return Measured(0.0)
            if found is None and name == "nodes" and rows:
                return Measured(0.0)
            if found is None:
                why = None if rows else _why(within)
                return Measured(None, f"{path}: {why or f'no row of {name} has {key} {wanted!r}'}")
        if found is None:
            return Measured(None, f"{path}: {_why(within) or f'the run has no {name}'}")
    if isinstance(found, bool) or not isinstance(found, int | float):
        return Measured(None, f"{path} is not a number")
    return Measured(float(found))


def _steps(path: str) -> list[tuple[str, str | None, str | None]]:
    steps, at = [], 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise ValueError(f"{path!r} cannot be read at {path[at:]!r}")
        steps.append((step[1], step[2], step[3]))
        at = step.end()
    return steps


def _unsampled(rows: list[Any], path: str) -> bool:
    """Whether the parent of the row was sampled, but the row had no sample."""
    parent = path.rpartition("/")[0]
    if "/" not in parent:  # the children of a top row come from different sources
        return False
    return any(
        row.get("method") == "sampled"
        and (row.get("parent") == parent or (row["path"] == parent and row["value_ns"] == 0))
        for row in rows
    )


def _why(within: Any) -> str | None:
    if not isinstance(within, Mapping):
        return None
    why = within.get("reason") or (
        within.get("source") if within.get("method") == "unavailable" else None
    )
    return str(why) if why else None
