"""Ratings of items by users, one to five.

Users come one after the other. How many items one rates follows a power law (at least
`MIN_RATINGS`, exponent 3); an item is rated by about the same number of users as any other, never
twice by the same. A rating is what user and item tend to, what they share in taste, and noise,
rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pyrometer.workload.contract import Progress
from pyrometer.workload.data.lines import write_lines
from pyrometer.workload.data.random64 import stream

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
