"""Ratings of items by users, one to five.

Users come one after the other. How many items one rates follows a power law (at least
`MIN_RATINGS`, exponent 3); an item is rated by about the same number of users as any other, never
twice by the same. A rating is what user and item tend to, what they share in taste, and noise,
rounded.

SVD++ of generated ratings with NumPy: what GraphX must give.

Koren, "Factorization meets the neighborhood" (2008), trained as GraphX does: all ratings at once
in each iteration, from initial factors that are the same for every user and item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyrometer.workloads.data.files import stream, write_lines
from pyrometer.workloads.values import Progress

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Block = tuple[I64, I64, I64]
"""User, item and rating of each; a user's stand together, and in one block."""

GENERATOR = "ratings/1"
MIN_RATINGS = 20
MAX_RATINGS = 500
RATINGS_PER_ITEM = 100
BLOCK_USERS = 10_000
MIN_BLOCKS = 4
LOWEST, HIGHEST = 1, 5


def items_of(ratings: int) -> int:
    """Items there are: a prime, so that steps of any length reach all of them."""
    items = max(MAX_RATINGS + 3, ratings // RATINGS_PER_ITEM)
    while any(items % divisor == 0 for divisor in range(2, int(items**0.5) + 1)):
        items += 1
    return items


def recipe(ratings: int) -> dict[str, Any]:
    """Say what determines the bytes of the dataset."""
    return {"generator": GENERATOR, "ratings": ratings, "pyarrow": pa.__version__}


def blocks(ratings: int) -> Iterator[Block]:
    """Draw all ratings, those of `BLOCK_USERS` users (fewer if there are few) at a time."""
    items = items_of(ratings)
    users = max(1, min(BLOCK_USERS, ratings // (2 * MIN_RATINGS * MIN_BLOCKS)))
    first_user = done = 0
    while done < ratings:
        block = _draw(first_user, users, done, ratings - done, items)
        yield block
        first_user += users
        done += len(block[0])


def _draw(first_user: int, users: int, first: int, most: int, items: int) -> Block:
    counts = _counts(_uniform(61, users, first_user))
    ends = np.cumsum(counts)
    user = np.repeat(np.arange(users), counts)[:most]
    nth = np.arange(len(user)) - (ends - counts)[user]
    start = (stream(62, users, first_user) % np.uint64(items)).astype(np.int64)
    step = 1 + (stream(63, users, first_user) % np.uint64(items - 1)).astype(np.int64)
    item = (start[user] + step[user] * nth) % items
    value = (
        3.4
        + 0.7 * _tendency(64, users, first_user)[user]
        + 0.8 * _tendency(65, items)[item]
        + _tendency(66, users, first_user)[user] * _tendency(67, items)[item]
        + 0.7 * _tendency(68, len(user), first)
    )
    rating = np.clip(np.floor(value + 0.5), LOWEST, HIGHEST).astype(np.int64)
    return user + first_user, item, rating


def _counts(u: F64) -> I64:
    drawn = (MIN_RATINGS / np.sqrt(1.0 - u)).astype(np.int64)
    return np.minimum(drawn, MAX_RATINGS)


def _uniform(name: int, count: int, first: int = 0) -> F64:
    bits = (stream(name, count, first) >> np.uint64(11)).astype(np.float64)
    return bits * 2.0**-53


def _tendency(name: int, count: int, first: int = 0) -> F64:
    return 2.0 * _uniform(name, count, first) - 1.0


def write_dataset(folder: Path, progress: Progress, ratings: int) -> dict[str, Any]:
    """Write ``ratings``: text files, user, item and rating in a line."""
    drawn = ([pa.array(column) for column in block] for block in blocks(ratings))
    write_lines(folder / "ratings", progress, "ratings", drawn, ratings)
    return {"ratings": ratings}


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
        Called after each iteration.
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
