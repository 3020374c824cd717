"""Pieces that rows of the ledger are made of."""

from __future__ import annotations

from pyrometer.analyse.ledger.closure import SHARE_OF_PARENT
from pyrometer.analyse.ledger.samples import Parts, by_name
from pyrometer.analyse.model import Row
from pyrometer.analyse.shares import part_by_weight, part_of
from pyrometer.analyse.waits import Weighed

NO_OPERATOR = "no_operator"
CPU_SAMPLES = "CPU samples of task threads"
WALL_SAMPLES = "wall samples of task threads"


def row(path: str, value: int | None, n: int, source: str) -> Row:
    """Make an exact row below its parent; one that says why where there is no value."""
    parent = path.rsplit("/", 1)[0] if "/" in path else None
    if value is None:
        why = f"{source}: this log has none"
        return Row(path=path, parent=parent, method="unavailable", source=why)
    return Row(path=path, parent=parent, value_ns=int(value), n=n, source=source)


def sampled(path: str, whole_ns: int, hits: int, total: int, what: str) -> Row:
    """Make a share of a time by counted samples, with its interval (Wilson)."""
    time = part_of(whole_ns, hits, total)
    return Row(
        path=path,
        parent=path.rsplit("/", 1)[0] if "/" in path else None,
        value_ns=round(time.value or 0),
        low_ns=round(time.low or 0),
        high_ns=round(time.high or 0),
        n=hits,
        method="sampled",
        source=f"{SHARE_OF_PARENT}: {hits} of {total} {what}",
    )


def weighed(path: str, whole_ns: int, part: Weighed, total: Weighed, what: str) -> Row:
    """Make a share of a time by weighed observations, with its interval."""
    time = part_by_weight(whole_ns, part.ns, total.ns, total.effective, part.n)
    return Row(
        path=path,
        parent=path.rsplit("/", 1)[0] if "/" in path else None,
        value_ns=round(time.value or 0),
        low_ns=round(time.low or 0),
        high_ns=round(time.high or 0),
        n=part.n,
        method="sampled",
        source=f"{SHARE_OF_PARENT}: {part.n} of {total.n} {what}",
    )


def split(parent: str, whole_ns: int, parts: Parts, total: int, what: str) -> list[Row]:
    """Split a time by name, and each name by operator where stacks tell any.

    Parameters
    ----------
    parent : str
        Path of the row that is split.
    whole_ns : int
        The time that ``total`` samples stand for.
    parts : dict
        Hits by (name, operator).
    total : int
        Samples of the whole.
    what : str
        What was counted, in words.
    """
    rows = []
    for name, operators in by_name(parts).items():
        hits = sum(operators.values())
        if not hits:
            continue
        path = f"{parent}/{slug(name)}"
        rows.append(sampled(path, whole_ns, hits, total, what))
        if set(operators) == {None}:
            continue
        for operator, n in sorted(operators.items(), key=lambda o: (-o[1], o[0] or "")):
            if n:
                deeper = f"{path}/{slug(operator or NO_OPERATOR)}"
                rows.append(sampled(deeper, whole_ns, n, total, what))
    return rows


def slug(name: str) -> str:
    """Make a name fit to be a part of a path."""
    return name.replace("/", "_").strip()


def left_open(made: Row, low: int, high: int, grid: str) -> Row:
    """Say what a coarse grid leaves open at the ends of tasks."""
    if high - low > 1:
        made.low_ns, made.high_ns, made.method = low, high, "apportioned"
        made.source += f"; the interval is what {grid} leave open at the ends of tasks"
    return made
