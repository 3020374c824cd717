"""Two sides of the ledger, row by row."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from pyrometer.analyse.compare.two import welch
from pyrometer.analyse.model import Row, View
from pyrometer.analyse.model.ledger_parts import RowDifference
from pyrometer.analyse.shares import LEVEL
from pyrometer.estimate import Estimate


def differences(a: Sequence[View], b: Sequence[View]) -> list[RowDifference]:
    """Compare ledgers of two sides, one of each unit: B less A.

    The interval is Welch's over the units where both sides have two or more. Else it is that of the
    rows themselves, of samples and coarse grids, combined as independent errors; how much units
    differ among themselves is not in it then.

    Parameters
    ----------
    a, b : sequence of View
        One view a unit; a row that a unit lacks is zero there.
    """
    sides = [[{r.path: r for r in view.rows} for view in side] for side in (a, b)]
    paths: dict[str, str | None] = {}
    for unit in (*sides[0], *sides[1]):
        for path, row in unit.items():
            if row.value_ns is not None:
                paths.setdefault(path, row.parent)
    totals = [statistics.fmean(v.total_ns or 0 for v in side) if side else 0 for side in (a, b)]
    whole = totals[1] - totals[0]
    made = []
    for path, parent in paths.items():
        lists = [[float(_value(unit.get(path))) for unit in side] for side in sides]
        if not all(lists):
            continue
        rows = [[unit.get(path) for unit in side] for side in sides]
        found = _difference(lists[0], lists[1], rows)
        made.append(
            RowDifference(
                path=path,
                parent=parent if parent in paths else None,
                a_ns=statistics.fmean(lists[0]),
                b_ns=statistics.fmean(lists[1]),
                difference=found,
                share=(found.value or 0) / whole if whole else None,
            )
        )
    return made


def mean_view(views: Sequence[View]) -> View:
    """Give the mean of several windows, row by row; a row that one lacks is zero there."""
    found = View(window=views[0].window)
    found.total_ns = round(statistics.fmean(view.total_ns or 0 for view in views))
    units = [{row.path: row for row in view.rows} for view in views]
    for path, row in {row.path: row for view in views for row in view.rows}.items():
        mean = Row(path=path, parent=row.parent, method=row.method)
        if row.value_ns is not None:
            value = statistics.fmean(_value(unit.get(path)) for unit in units)
            half = math.hypot(*(_half(unit.get(path)) for unit in units)) / len(units)
            mean.value_ns = round(value)
            mean.low_ns, mean.high_ns = round(value - half), round(value + half)
        found.rows.append(mean)
    return found


def _value(row: Row | None) -> int:
    return 0 if row is None else row.value_ns or 0


def _difference(a: list[float], b: list[float], rows: list[list[Row | None]]) -> Estimate:
    tested = welch(a, b)
    if tested is not None:
        return tested.difference
    value = statistics.fmean(b) - statistics.fmean(a)
    # The error of a mean of n independent units is that of their sum over n.
    halves = [math.hypot(*(_half(row) for row in side)) / len(side) for side in rows]
    half = math.hypot(*halves)
    return Estimate(
        value=value,
        low=value - half,
        high=value + half,
        level=LEVEL,
        n=min(len(a), len(b)),
        method="intervals of the rows",
    )


def _half(row: Row | None) -> float:
    if row is None or row.low_ns is None or row.high_ns is None:
        return 0.0
    return (row.high_ns - row.low_ns) / 2
