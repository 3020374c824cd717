"""Checksum of a result without the last digits of its floating point.

They depend on the order of additions, which another number of partitions changes: what is compared
between trials leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyrometer.workloads.results import checksum

DIGITS = 6
"""Significant digits that are kept."""


def rounded_checksum(rows: Iterable[Sequence[Any]]) -> str:
    """Checksum of `rows` with floats rounded, those in an array, a struct or a map as well.

    Examples
    --------
    >>> rounded_checksum([(1, [0.1 + 0.2])]) == rounded_checksum([(1, [0.3])])
    True
    >>> rounded_checksum([(1, "a")]) == checksum([(1, "a")])
    True
    """
    return checksum(map(_rounded, rows))


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    if isinstance(value, Mapping):
        return {key: _rounded(one) for key, one in value.items()}
    return value
