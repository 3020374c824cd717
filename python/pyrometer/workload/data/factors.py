"""SVD++ of generated ratings with NumPy: what GraphX must give.

Koren, "Factorization meets the neighborhood" (2008), trained as GraphX does: all ratings at once
in each iteration, from initial factors that are the same for every user and item.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.workload.contract import Progress
from pyrometer.workload.data.ratings import HIGHEST, LOWEST, Block, blocks, items_of

F64 = npt.NDArray[np.float64]
I64 = npt.NDArray[np.int64]


class JavaRandom:
    """``java.util.Random``: its algorithm is part of Java's specification."""

    def __init__(self, seed: int) -> None:
        self._state = (seed ^ 0x5DEECE66D) & (2**48 - 1)

    def _next(self, bits: int) -> int:
        self._state = (self._state * 0x5DEECE66D + 0xB) & (2**48 - 1)
        return self._state >> (48 - bits)

    def next_double(self) -> float:
        """Draw from [0, 1)."""
        return ((self._next(26) << 27) + self._next(27)) * 2.0**-53


class _Side:
    """State of all users, or of all items: factors, implicit part, bias, 1/√ratings."""

    def __init__(self, count: int, ratings: F64, total: F64, mean: float, start: F64) -> None:
        rank = len(start) // 2
        self.factors = np.tile(start[:rank], (count, 1))
        self.implicit = np.tile(start[rank:], (count, 1))
        self.bias = total / ratings - mean
        self.norm = 1.0 / np.sqrt(ratings)


def svd(
    progress: Progress, ratings: int, iterations: int, conf: Mapping[str, Any]
) -> dict[str, Any]:
    """Train, and sum up as the workload does.

    Parameters
    ----------
    progress : Progress
        Told about each iteration.
    ratings : int
        How many there are.
    iterations : int
        How often all are gone through.
    conf : Mapping
        ``rank``, ``rate``, ``regularisation`` (of biases and of factors), ``seed``.
    """
    drawn = JavaRandom(conf["seed"])
    start = np.array([drawn.next_double() for _ in range(2 * conf["rank"])])
    mean, known, users, items = _initial(ratings, start)
    for done in range(iterations):
        progress("training", done, iterations)
        _train(ratings, mean, users, items, conf)
    progress("training", iterations, iterations)
    error = sum(float((_error(block, mean, users, items) ** 2).sum()) for block in blocks(ratings))
    return {
        "vertices": len(users.bias) + int(known.sum()),
        "mean": mean,
        "squared_error": error,
        "squares": [
            float((users.bias**2).sum()),
            float((items.bias[known] ** 2).sum()),
            float((users.factors**2).sum()),
            float((items.factors[known] ** 2).sum()),
        ],
    }


def _initial(ratings: int, start: F64) -> tuple[float, npt.NDArray[np.bool_], _Side, _Side]:
    item_counts, item_totals = np.zeros(items_of(ratings)), np.zeros(items_of(ratings))
    user_counts: list[F64] = []
    user_totals: list[F64] = []
    for user, item, rating in blocks(ratings):
        item_counts += _sum_by(item, np.ones(len(item)), len(item_counts))
        item_totals += _sum_by(item, rating, len(item_counts))
        user_counts.append(_sum_by(user - user[0], np.ones(len(user))))
        user_totals.append(_sum_by(user - user[0], rating))
    mean = float(item_totals.sum()) / ratings
    counts, totals = np.concatenate(user_counts), np.concatenate(user_totals)
    users = _Side(len(counts), counts, totals, mean, start)
    known = item_counts > 0
    items = _Side(len(known), np.maximum(item_counts, 1), item_totals, mean, start)
    return mean, known, users, items


def _error(block: Block, mean: float, users: _Side, items: _Side) -> F64:
    user, item, rating = block
    found = mean + users.bias[user] + items.bias[item]
    found += (items.factors[item] * users.implicit[user]).sum(axis=1)
    return np.asarray(rating - np.clip(found, LOWEST, HIGHEST), dtype=np.float64)


def _train(ratings: int, mean: float, users: _Side, items: _Side, conf: Mapping[str, Any]) -> None:
    rate, (of_bias, of_factors) = conf["rate"], conf["regularisation"]
    factors, implicit, bias = (
        np.zeros_like(x) for x in (items.factors, items.implicit, items.bias)
    )
    for block in blocks(ratings):
        user, item, _ = block
        first = np.flatnonzero(np.diff(user, prepend=-1))
        who = user[first]
        gathered = np.add.reduceat(items.implicit[item], first)
        users.implicit[who] = users.factors[who] + users.norm[who, None] * gathered
        error = _error(block, mean, users, items)
        q, y = items.factors[item], items.implicit[item]
        update_p = rate * (error[:, None] * q - of_factors * users.factors[user])
        update_q = rate * (error[:, None] * users.implicit[user] - of_factors * q)
        update_y = rate * ((error * users.norm[user])[:, None] * q - of_factors * y)
        _add_by(factors, item, update_q)
        _add_by(implicit, item, update_y)
        bias += _sum_by(item, rate * (error - of_bias * items.bias[item]), len(bias))
        users.factors[who] += np.add.reduceat(update_p, first)
        users.implicit[who] += np.add.reduceat(update_y, first)
        users.bias[who] += np.add.reduceat(rate * (error - of_bias * users.bias[user]), first)
    items.factors += factors
    items.implicit += implicit
    items.bias += bias


def _add_by(sums: F64, group: I64, rows: F64) -> None:
    for column in range(sums.shape[1]):
        sums[:, column] += _sum_by(group, rows[:, column], len(sums))


def _sum_by(group: I64, values: F64 | I64, groups: int = 0) -> F64:
    sums: Any = np.bincount(group, weights=values, minlength=groups)
    return np.asarray(sums, dtype=np.float64)
