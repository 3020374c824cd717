"""Compare two results row by row, floating point with a tolerance.

A checksum says that two results differ; this says where. A column in which either side holds a
float is *approximate*: its numbers may differ by the tolerance, since the order of additions is
not guaranteed and engines differ in the type of an average. All other columns must be equal,
whole numbers and decimals by value.

Order-insensitive checksum of a result, the same from every engine that gives the same rows.

Each row is written in a canonical form and hashed to 64 bits; the hashes are added modulo 2⁶⁴.
So the order of rows does not matter, a row that comes twice counts twice, and an empty result
has checksum 0. Whole numbers and decimals are equal if their values are; a float is taken to the
last bit, so results that depend on the order of additions need a tolerance instead.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyrometer.workloads.values import Mismatch

Row = Sequence[Any]
PLAIN = (bool, int, float, Decimal, str, bytes, date)
"""Types of values that can be compared."""


def differences(
    expected_rows: Sequence[Row],
    got_rows: Sequence[Row],
    *,
    ordered: bool = False,
    relative: float = 1e-9,
    absolute: float = 1e-6,
) -> Mismatch | None:
    """Find the first difference between two results.

    Parameters
    ----------
    expected_rows, got_rows : sequence of rows
        A row is a sequence of values.
    ordered : bool
        Whether the order of rows matters; if not, the results are compared as multisets.
    relative, absolute : float
        Numbers of approximate columns are equal if they differ by at most `absolute`, or by
        `relative` times the larger magnitude (`math.isclose`).

    Returns
    -------
    Mismatch or None
        What differs, with row (numbered from 1, in the order of `expected_rows`) and column
        (from 1); ``None`` if nothing does.

    Examples
    --------
    >>> differences([(1, 0.1), (2, 0.3)], [(2, 0.1 + 0.2), (1, 0.1)])
    >>> print(differences([(1, "a")], [(1, "b")]))
    row 1, column 2: expected 'a', got 'b'
    """
    expected, got = [tuple(r) for r in expected_rows], [tuple(r) for r in got_rows]
    if len(expected) != len(got):
        return Mismatch("number of rows", str(len(expected)), str(len(got)))
    widths = {len(row) for row in expected}
    for number, row in enumerate(got, 1):
        if len(row) not in widths:
            wanted = ", ".join(map(str, sorted(widths)))
            return Mismatch(f"number of columns in row {number}", wanted, str(len(row)))
    equal = _Equality(expected, got, relative, absolute)
    pairs = zip(range(len(got)), range(len(got)), strict=True) if ordered else equal.pairs()
    for left, right in pairs:
        for column, (a, b) in enumerate(zip(expected[left], got[right], strict=True)):
            if not equal.values(column, a, b):
                return Mismatch(f"row {left + 1}, column {column + 1}", _show(a), _show(b))
    return None


def equal_rows(
    expected_rows: Sequence[Row], got_rows: Sequence[Row], *, relative: float, absolute: float
) -> set[int]:
    """Give the indices of the expected rows that are among the rows of the result.

    Examples
    --------
    >>> equal_rows([(1,), (2,), (2,)], [(2,), (3,)], relative=0, absolute=0)
    {1}
    """
    expected, got = [tuple(r) for r in expected_rows], [tuple(r) for r in got_rows]
    return set(_Equality(expected, got, relative, absolute).matched())


def unequal(what: str, expected: object, got: object) -> Mismatch | None:
    """Compare two values.

    Examples
    --------
    >>> print(unequal("rows", 3, 4))
    rows: expected 3, got 4
    """
    return None if got == expected else Mismatch(what, str(expected), str(got))


def unequal_rows(
    expected: Mapping[str, Row], got: Sequence[Row], *, relative: float, absolute: float = 0.0
) -> Mismatch | None:
    """Compare rows that have names, in order, numbers within a tolerance as in `differences`.

    Examples
    --------
    >>> print(unequal_rows({"cost": (1.0,)}, [(1.1,)], relative=1e-9))
    cost, column 1: expected 1.0, got 1.1
    """
    wrong = unequal("number of rows", len(expected), len(got))
    for name, known, row in zip(expected, expected.values(), got, strict=False):
        found = differences([known], [row], ordered=True, relative=relative, absolute=absolute)
        if found and not wrong:
            wrong = replace(found, what=found.what.replace("row 1", name))
    return wrong


class _Equality:
    """Which values are equal, and which rows belong together."""

    def __init__(
        self, expected: list[tuple[Any, ...]], got: list[tuple[Any, ...]], rel: float, abs_: float
    ) -> None:
        self._expected, self._got, self._rel, self._abs = expected, got, rel, abs_
        self._approximate = {
            column
            for row in (*expected, *got)
            for column, value in enumerate(row)
            if isinstance(value, float)
        }

    def values(self, column: int, a: Any, b: Any) -> bool:
        """Whether two values of a column are equal."""
        if column in self._approximate and _is_number(a) and _is_number(b):
            x, y = float(a), float(b)
            both_nan = math.isnan(x) and math.isnan(y)
            return both_nan or math.isclose(x, y, rel_tol=self._rel, abs_tol=self._abs)
        return bool(_exact(a) == _exact(b))

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Give each expected row a row of the other side: an equal one where there is one."""
        found = self.matched()
        yield from found.items()
        left = set(range(len(self._got))) - set(found.values())
        for number in range(len(self._expected)):
            if number not in found:
                yield number, self._nearest(number, left)

    def matched(self) -> dict[int, int]:
        """Find for expected rows equal ones of the other side, each of which is given once."""
        free: dict[Any, list[int]] = defaultdict(list)
        for number in sorted(range(len(self._got)), key=lambda n: self._numbers(self._got[n])):
            free[self._key(self._got[number])].append(number)
        found = {}
        for number in sorted(
            range(len(self._expected)), key=lambda n: self._numbers(self._expected[n])
        ):
            row = self._expected[number]
            candidates = free[self._key(row)]
            match = next((c for c in candidates if self._rows(row, self._got[c])), None)
            if match is not None:
                candidates.remove(match)
                found[number] = match
        return found

    def _nearest(self, number: int, left: set[int]) -> int:
        row = self._expected[number]
        best = max(
            sorted(left),
            key=lambda n: sum(
                self.values(c, a, b) for c, (a, b) in enumerate(zip(row, self._got[n], strict=True))
            ),
        )
        left.remove(best)
        return best

    def _rows(self, a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
        return len(a) == len(b) and all(
            self.values(c, x, y) for c, (x, y) in enumerate(zip(a, b, strict=True))
        )

    def _key(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            "number" if column in self._approximate and _is_number(value) else _exact(value)
            for column, value in enumerate(row)
        )

    def _numbers(self, row: tuple[Any, ...]) -> tuple[float, ...]:
        # NaN has no place in an order.
        return tuple(
            math.inf if math.isnan(float(row[c])) else float(row[c])
            for c in sorted(self._approximate)
            if c < len(row) and _is_number(row[c])
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _exact(value: Any) -> Any:
    # The type's name keeps True from being 1, and a date from being a timestamp.
    if value is None or _is_number(value):
        return value
    if isinstance(value, (list, tuple)):
        return ("list", *(_exact(one) for one in value))
    if isinstance(value, datetime):
        return ("datetime", value.isoformat())
    if isinstance(value, date):
        return ("date", value.isoformat())
    return (type(value).__name__, value)


def _show(value: Any) -> str:
    return str(value) if _is_number(value) or isinstance(value, date) else repr(value)


def checksum(rows: Iterable[Sequence[Any]]) -> str:
    """Checksum of `rows` as 16 hex digits.

    Examples
    --------
    >>> checksum([(1, "a"), (2, None)]) == checksum([(2, None), (1, "a")])
    True
    >>> checksum([])
    '0000000000000000'
    """
    total = 0
    for row in rows:
        digest = hashlib.blake2b(_canonical(tuple(row)).encode(), digest_size=8).digest()
        total += int.from_bytes(digest, "big")
    return f"{total % 2**64:016x}"


def _canonical(value: Any) -> str:
    if value is None:
        return "~"
    if isinstance(value, bool):
        return "T" if value else "F"
    if isinstance(value, (int, Decimal)):
        number = Decimal(value)
        if number.is_finite():
            # Not normalize(): it rounds to the context's 28 digits.
            sign, digits, exponent = number.as_tuple()
            assert isinstance(exponent, int)
            text = "".join(map(str, digits)).lstrip("0")
            kept = text.rstrip("0")
            if not kept:
                return "n0"
            return f"n{'-' if sign else ''}{kept}e{exponent + len(text) - len(kept)}"
        return f"n{number}"
    if isinstance(value, float):
        return f"f{value + 0.0!r}"  # + 0.0 makes -0.0 and 0.0 one
    if isinstance(value, str):
        return f"s{len(value)}:{value}"
    if isinstance(value, (bytes, bytearray)):
        return f"b{bytes(value).hex()}"
    if isinstance(value, date):  # datetime is a date, too
        return f"d{value.isoformat()}"
    if isinstance(value, Mapping):
        pairs = sorted((_canonical(k), _canonical(v)) for k, v in value.items())
        return "{" + ",".join(f"{k}={v}" for k, v in pairs) + "}"
    if isinstance(value, Iterable):
        return "(" + ",".join(map(_canonical, value)) + ")"
    raise TypeError(f"a {type(value).__name__} in a result has no canonical form")


def result_rows(value: object) -> list[tuple[Any, ...]] | None:
    """Rows that a result consists of; ``None`` if there is none, or none that can be compared.

    Examples
    --------
    >>> result_rows([("a", 1), ("b", 2)])
    [('a', 1), ('b', 2)]
    >>> result_rows(7)
    [(7,)]
    >>> result_rows(object())
    """
    many = value if isinstance(value, (list, tuple)) else [value]
    rows = [tuple(one) if isinstance(one, (list, tuple)) else (one,) for one in many]
    return rows if value is not None and all(map(_is_plain, rows)) else None


def unlike(first: Sequence[Row], rows: Sequence[Row]) -> Mismatch | None:
    """Find where a result differs from the first, if it does; rows may come in any order."""
    return None if checksum(rows) == checksum(first) else differences(first, rows)


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, PLAIN)
