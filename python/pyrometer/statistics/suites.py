"""Treatments compared across workloads: ratios by geometric mean, ranks within each.

Also a suite of queries as a whole: the geometric mean of their ratios, with its interval.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import UsageError
from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.statistics.distributions import f_tail, normal_quantile, t_quantile
from pyrometer.statistics.two import BATCH, Verdict, logs
from pyrometer.statistics.welch import constant

RESAMPLES = 10_000


def geometric_mean(
    a: Mapping[str, Sequence[float]],
    b: Mapping[str, Sequence[float]],
    *,
    level: float = LEVEL,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Estimate:
    """Geometric mean over queries of B over A, minus 1, by a hierarchical bootstrap.

    The queries are those of the suite, so they are not drawn again; within each query the trials of
    either side are (Kalibera and Jones 2013 resample each level that is random). As percentiles of
    few trials are too narrow, they are widened twice: by the variance that drawing loses, and from
    the normal's to Student's (expanded percentiles, Hesterberg 2015). Where the times of no query
    vary there is no interval.

    Parameters
    ----------
    a, b : mapping of str to sequence of float
        Times of each query, one per trial. Queries that only one of the two has are left out.

    Raises
    ------
    ValueError
        If no query is on both sides, or a value is not above zero.

    Examples
    --------
    >>> before, after = {"q1": [10, 10.2], "q2": [1, 1.02]}, {"q1": [5, 5.1], "q2": [2, 2.1]}
    >>> found = geometric_mean(before, after)
    >>> round(found.value, 2), found.n
    (0.01, 2)
    """
    names = [name for name in a if name in b]
    if not names:
        raise ValueError("no query is on both sides")
    sides = [{name: np.asarray(logs(one[name])) for name in names} for one in (a, b)]
    value = float(np.mean([sides[1][name].mean() - sides[0][name].mean() for name in names]))
    n = min(len(one[name]) for one in sides for name in names)
    low = high = None
    if n > 1 and not all(constant(sides[0][name], sides[1][name]) for name in names):
        draw = np.random.default_rng(seed)
        sums = np.zeros(resamples)
        errors = np.array([[o.var(ddof=1) / o.size, o.size - 1] for s in sides for o in s.values()])
        for sign, side in zip((-1, 1), sides, strict=True):
            for one in side.values():
                # Resampled means vary too little by (n - 1) / n: stretched about the mean.
                means = _resampled(draw, one, resamples)
                stretched = (means - one.mean()) * math.sqrt(one.size / (one.size - 1))
                sums += sign * (one.mean() + stretched)
        found = np.quantile(sums / len(names), [(1 - level) / 2, (1 + level) / 2])
        found = value + (found - value) * _expansion(errors, level)
        low, high = math.expm1(float(found[0])), math.expm1(float(found[1]))
    return Estimate(
        value=math.expm1(value),
        low=low,
        high=high,
        level=level,
        n=n,
        method="hierarchical bootstrap",
    )


def _resampled(
    draw: np.random.Generator, values: NDArray[np.float64], resamples: int
) -> NDArray[np.float64]:
    """Give means of resamples; in batches, which draw the same as all at once."""
    rows = max(1, BATCH // values.size)
    means = np.empty(resamples)
    for at in range(0, resamples, rows):
        size = min(rows, resamples - at), values.size
        means[at : at + rows] = values[draw.integers(0, values.size, size)].mean(axis=1)
    return means


def _expansion(errors: NDArray[np.float64], level: float) -> float:
    """Student's quantile over the normal's, by the degrees of freedom of a sum (Satterthwaite).

    Parameters
    ----------
    errors : array
        Squared error of each mean in the sum, and its degrees of freedom.
    """
    squares, freedoms = errors.T
    if not squares.any():
        return 1.0
    freedom = squares.sum() ** 2 / (squares**2 / freedoms).sum()
    at = (1 + level) / 2
    return float(t_quantile(at, freedom) / normal_quantile(at))


@dataclass(frozen=True)
class Measured:
    """One trial of one treatment on one workload, or query of a suite."""

    workload: str
    treatment: str
    value: float


class RankTest(BaseModel):
    """F test of ranks: whether any treatment differs from another, whatever the workload.

    ``f`` is ``None`` where every workload ranks them alike: it is infinite there, and ``p`` is the
    exact chance of that (Conover 1999).
    """

    f: float | None
    freedom: tuple[int, int]
    p: float


class AcrossPair(BaseModel):
    """B compared with A over all workloads; ``faster_count`` of them have a smaller mean with B.

    ``change_of_all`` holds for all pairs at once (Bonferroni); the verdict uses it.
    """

    a: str
    b: str
    change: Estimate
    change_of_all: Estimate
    faster_count: int
    verdict: Verdict


class AcrossReport(BaseModel):
    """Structure of ``compare --suite --json`` (``pyrometer/compare-suite/1``)."""

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/compare-suite/1"] = Field(
        "pyrometer/compare-suite/1", alias="schema"
    )
    what: str
    workloads_count: int
    left_out: list[str]
    mean_ranks: dict[str, float]
    pairs: list[AcrossPair]
    margin: float
    friedman: RankTest | None = None
    quade: RankTest | None = None
    reason: str | None = None
    doubts: list[Doubt] = Field(default_factory=list)


def across(
    trials: Sequence[Measured], *, what: str, margin: float, control: str | None = None
) -> AcrossReport:
    """Compare treatments over the workloads that all of them ran.

    Parameters
    ----------
    trials : sequence of Measured
        Times above zero.
    control : str, optional
        Compare the others with it, not all pairs.

    Raises
    ------
    UsageError
        If there are fewer than two treatments, no such control, no workload that all ran, or a
        value is not above zero.
    """
    from scipy import stats

    for one in trials:
        if not (math.isfinite(one.value) and one.value > 0):
            raise UsageError(
                f"{one.treatment}, {one.workload}: {one.value:g} is not a positive number",
                "leave such rows out",
            )
    cells: dict[str, dict[str, list[float]]] = {}
    for one in trials:
        cells.setdefault(one.treatment, {}).setdefault(one.workload, []).append(one.value)
    names = list(cells)
    if len(names) < 2 or (control is not None and control not in cells):
        raise UsageError(
            f"no treatment is called {control}" if len(names) > 1 else "two treatments are needed",
            f"choose from these, or add trials: {', '.join(names) or 'none'}",
        )
    all_of_them = list(dict.fromkeys(name for one in cells.values() for name in one))
    common = [name for name in all_of_them if all(name in one for one in cells.values())]
    if not common:
        raise UsageError("no workload was run with every treatment", "leave treatments out")
    cells = {name: {work: one[work] for work in common} for name, one in cells.items()}
    sides = (
        [(control, name) for name in names if name != control]
        if control is not None
        else list(combinations(names, 2))
    )
    table = np.array(
        [[float(np.mean(logs(cells[name][work]))) for name in names] for work in common]
    )
    reason = None
    if len(names) < 3 or len(common) < 2:
        reason = "tests of ranks need three treatments and two workloads"
    elif not np.ptp(table, axis=1).any():
        reason = "all treatments took the same time in each workload"
    return AcrossReport(
        what=what,
        workloads_count=len(common),
        left_out=[name for name in all_of_them if name not in common],
        mean_ranks=dict(
            zip(names, stats.rankdata(table, axis=1).mean(axis=0).tolist(), strict=True)
        ),
        pairs=[_pair(a, b, cells, margin, len(sides)) for a, b in sides],
        margin=margin,
        friedman=None if reason else friedman(table),
        quade=None if reason else quade(table),
        reason=reason,
    )


def friedman(table: np.ndarray) -> RankTest | None:
    """Friedman's test in the form of Iman and Davenport (1980); rows are workloads.

    Examples
    --------
    >>> found = friedman(np.array([[1.0, 2, 3], [1, 3, 2], [1, 2, 3], [1, 2, 3]]))
    >>> round(found.f, 2), found.freedom
    (13.0, (2, 6))
    """
    from scipy import stats

    rows, columns = table.shape
    if not np.ptp(table, axis=1).any():
        return None
    chi = float(stats.friedmanchisquare(*table.T).statistic)
    rest = rows * (columns - 1) - chi
    if rest <= 1e-9:
        return _all_alike(table)
    return _tested((rows - 1) * chi / rest, columns - 1, (columns - 1) * (rows - 1))


def quade(table: np.ndarray) -> RankTest | None:
    """Quade's test (1979): ranks weigh more where the treatments differ more."""
    from scipy import stats

    rows, columns = table.shape
    weights = stats.rankdata(np.ptp(table, axis=1))
    scores = weights[:, None] * (stats.rankdata(table, axis=1) - (columns + 1) / 2)
    whole, between = float((scores**2).sum()), float((scores.sum(axis=0) ** 2).sum()) / rows
    if not whole:
        return None
    if whole - between <= 1e-12 * whole:
        return _all_alike(table)
    return _tested(
        (rows - 1) * between / (whole - between), columns - 1, (columns - 1) * (rows - 1)
    )


def _all_alike(table: np.ndarray) -> RankTest:
    rows, columns = table.shape
    _, tied = np.unique(table[0], return_counts=True)
    orders = math.factorial(columns) / math.prod(math.factorial(int(one)) for one in tied)
    freedom = columns - 1, (columns - 1) * (rows - 1)
    return RankTest(f=None, freedom=freedom, p=float(orders ** (1 - rows)))


def _tested(f: float, above: int, below: int) -> RankTest:
    return RankTest(f=f, freedom=(above, below), p=float(f_tail(f, above, below)))


def _pair(
    a: str, b: str, cells: Mapping[str, Mapping[str, Sequence[float]]], margin: float, many: int
) -> AcrossPair:
    change = geometric_mean(cells[a], cells[b])
    of_all = change
    if many > 1:
        of_all = geometric_mean(cells[a], cells[b], level=1 - (1 - LEVEL) / many)
    faster = sum(np.mean(logs(cells[b][work])) < np.mean(logs(cells[a][work])) for work in cells[a])
    return AcrossPair(
        a=a, b=b, change=change, change_of_all=of_all, faster_count=int(faster),
        verdict=_verdict(of_all, margin),
    )  # fmt: skip


def _verdict(change: Estimate, margin: float) -> Verdict:
    if change.low is None or change.high is None:
        return "cannot tell"
    if -margin < change.low and change.high < margin:
        return "same"
    if change.low <= 0 <= change.high:
        return "cannot tell"
    return "faster" if change.high < 0 else "slower"
