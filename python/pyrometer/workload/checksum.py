"""Order-insensitive checksum of a result, the same from every engine that gives the same rows.

Each row is written in a canonical form and hashed to 64 bits; the hashes are added modulo 2⁶⁴.
So the order of rows does not matter, a row that comes twice counts twice, and an empty result
has checksum 0. Whole numbers and decimals are equal if their values are; a float is taken to the
last bit, so results that depend on the order of additions need a tolerance instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any


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
