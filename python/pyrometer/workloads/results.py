"""Compare two results row by row, floating point with a tolerance.

A checksum says that two results differ; this says where. A column in which either side holds a
float is *approximate*: its numbers may differ by the tolerance, since the order of additions is
not guaranteed and engines differ in the type of an average. All other columns must be equal,
whole numbers and decimals by value; floats inside of an array, a struct or a map may differ by the
tolerance, too. A value of another type is compared by its attributes.

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
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from pyrometer.workloads.pairing import Numbered, paired
from pyrometer.workloads.values import Mismatch

RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""How much sums differ by the order of additions; the second where they are near zero."""
Row = Sequence[Any]
PLAIN = (bool, int, float, Decimal, str, bytes, bytearray, date, time, timedelta)
"""Types of values that can be compared."""


def differences(
    expected_rows: Sequence[Row],
    got_rows: Sequence[Row],
    *,
    ordered: bool = False,
    relative: float = RELATIVE,
    absolute: float = ABSOLUTE,
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
    expected, got = _plain_rows(expected_rows), _plain_rows(got_rows)
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


def same_rows(expected_rows: Sequence[Row], got_rows: Sequence[Row]) -> bool:
    """Whether `differences` finds none: looked for up to the first row without an equal.

    Examples
    --------
    >>> same_rows([(1, 0.1), (2, 0.3)], [(2, 0.1 + 0.2), (1, 0.1)])
    True
    """
    expected, got = _plain_rows(expected_rows), _plain_rows(got_rows)
    matches = _Equality(expected, got, RELATIVE, ABSOLUTE).matches()
    return len(expected) == len(got) and all(match is not None for _, match in matches)


def equal_rows(
    expected_rows: Sequence[Row], got_rows: Sequence[Row], *, relative: float, absolute: float
) -> set[int]:
    """Give the indices of the expected rows that are among the rows of the result.

    Examples
    --------
    >>> equal_rows([(1,), (2,), (2,)], [(2,), (3,)], relative=0, absolute=0)
    {1}
    """
    expected, got = _plain_rows(expected_rows), _plain_rows(got_rows)
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
            return self._near(a, b)
        return self._equal(a, b)

    def _equal(self, a: Any, b: Any) -> bool:
        """Whether two values are equal, with floats in them within the tolerance."""
        if isinstance(a, float) or isinstance(b, float):
            return _is_number(a) and _is_number(b) and self._near(a, b)
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            return len(a) == len(b) and all(map(self._equal, a, b))
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            x, y = ({_exact(key): value for key, value in one.items()} for one in (a, b))
            return x.keys() == y.keys() and all(self._equal(x[key], y[key]) for key in x)
        return bool(_exact(a) == _exact(b))

    def _near(self, a: Any, b: Any) -> bool:
        x, y = float(a), float(b)
        both_nan = math.isnan(x) and math.isnan(y)
        return both_nan or math.isclose(x, y, rel_tol=self._rel, abs_tol=self._abs)

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
        return {number: match for number, match in self.matches() if match is not None}

    def matches(self) -> Iterator[tuple[int, int | None]]:
        """Give each expected row an equal one of the other side, or ``None``."""
        others = self._alike(self._got)
        for key, rows in self._alike(self._expected).items():
            yield from paired(
                rows, others.get(key, []), self._rows, relative=self._rel, absolute=self._abs
            )

    def _alike(self, rows: Sequence[tuple[Any, ...]]) -> dict[Any, list[Numbered]]:
        """Numbers and indices of rows, by what must be the same in them."""
        found: dict[Any, list[Numbered]] = defaultdict(list)
        for index, row in enumerate(rows):
            found[self._key(row)].append((self._numbers(row) or (0.0,), index))
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

    def _rows(self, expected: int, got: int) -> bool:
        a, b = self._expected[expected], self._got[got]
        return len(a) == len(b) and all(
            self.values(c, x, y) for c, (x, y) in enumerate(zip(a, b, strict=True))
        )

    def _key(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            "number"
            if column in self._approximate and _is_number(value)
            else _exact(value, near=True)
            for column, value in enumerate(row)
        )

    def _numbers(self, row: tuple[Any, ...]) -> tuple[float, ...]:
        # NaN has no place in an order.
        return tuple(
            math.inf if math.isnan(number) else number
            for column, value in enumerate(row)
            for number in (
                [float(value)]
                if column in self._approximate and _is_number(value)
                else _floats_in(value)
            )
        )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _floats_in(value: Any) -> Iterator[float]:
    if isinstance(value, float):
        yield value
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from _floats_in(one)
    elif isinstance(value, Mapping):
        # Equal maps may hold their keys in another order.
        yield from _floats_in([value[key] for key in sorted(value, key=_canonical)])


def _exact(value: Any, *, near: bool = False) -> Any:
    """Give what is equal, and has the same hash, where values are equal; `near`: all floats are."""
    if near and isinstance(value, float):
        return "number"
    # The type's name keeps True from being 1, and a date from being a timestamp.
    if value is None or _is_number(value):
        return value
    if isinstance(value, (list, tuple)):
        return ("list", *(_exact(one, near=near) for one in value))
    if isinstance(value, Mapping):
        return ("map", frozenset((_exact(k), _exact(v, near=near)) for k, v in value.items()))
    if isinstance(value, datetime):
        return ("datetime", value.isoformat())
    if isinstance(value, date):
        return ("date", value.isoformat())
    if isinstance(value, (bool, str)):
        return (type(value).__name__, value)
    return ("canonical", _canonical(value))


def _plain_rows(rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    return [tuple(map(_plain, row)) for row in rows]


def _plain(value: Any) -> Any:
    """Give an array as a list, an object as its attributes, or by `repr` where it has none."""
    if value is None or isinstance(value, PLAIN):
        return value
    if isinstance(value, tuple):
        return tuple(map(_plain, value))
    if isinstance(value, list):
        return list(map(_plain, value))
    if isinstance(value, Mapping):
        return {key: _plain(one) for key, one in value.items()}
    if hasattr(value, "tolist"):
        return value.tolist()
    attributes = getattr(value, "__dict__", None)
    return _plain(dict(attributes)) if attributes else repr(value)


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
    if isinstance(value, time):
        return f"t{value.isoformat()}"
    if isinstance(value, timedelta):
        return f"i{value // timedelta(microseconds=1)}"
    if isinstance(value, Mapping):
        pairs = sorted((_canonical(k), _canonical(v)) for k, v in value.items())
        return "{" + ",".join(f"{k}={v}" for k, v in pairs) + "}"
    if isinstance(value, Iterable):
        return "(" + ",".join(map(_canonical, value)) + ")"
    return _canonical(_plain(value))


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


def holds_floats(rows: Iterable[Row]) -> bool:
    """Whether there is floating point in a result, in an array, a struct or a map as well.

    Examples
    --------
    >>> holds_floats([(1, [0.5])]), holds_floats([(1, "a")])
    (True, False)
    """
    return any(True for row in rows for _ in _floats_in(tuple(map(_plain, row))))


def unlike(first: Sequence[Row], rows: Sequence[Row]) -> Mismatch | None:
    """Find where a result differs from the first, if it does; rows may come in any order."""
    return None if checksum(rows) == checksum(first) else differences(first, rows)


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    return value is None or isinstance(value, PLAIN)
