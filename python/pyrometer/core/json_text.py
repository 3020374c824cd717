"""JSON: reading what others may have written or damaged, and writing what can be read again."""

from __future__ import annotations

import json
import math
from typing import Any, Final

MAX_DEPTH: Final = 100
"""Brackets within brackets; nothing that we write has a tenth of it."""


def parse_json(text: str | bytes) -> Any:
    """Read one JSON value.

    Raises
    ------
    ValueError
        If it is no JSON or no UTF-8, is nested deeper than `MAX_DEPTH`, has a number of thousands
        of digits, or NaN or Infinity, which JSON does not know.

    Examples
    --------
    >>> parse_json('{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> parse_json("[" * 9000 + "]" * 9000)
    Traceback (most recent call last):
    ValueError: nested more than 100 deep
    """
    try:
        value = json.loads(text, parse_constant=_refuse)
    except RecursionError as error:
        raise ValueError(f"nested more than {MAX_DEPTH} deep") from error
    # Code that walks the value, or writes it again, may run out of stack.
    if len(text) > MAX_DEPTH and depth_exceeds(value, MAX_DEPTH):
        raise ValueError(f"nested more than {MAX_DEPTH} deep")
    return value


def to_json(value: Any, **how: Any) -> str:
    """Write plain data as JSON; a number beyond all numbers becomes null, as JSON has none.

    Sums of what somebody made up (seconds of 1e308) come to infinity.

    Parameters
    ----------
    **how
        As for :func:`json.dumps`.

    Examples
    --------
    >>> to_json({"a": [1.5, float("inf")], "b": float("nan")})
    '{"a": [1.5, null], "b": null}'
    """
    try:
        return json.dumps(value, allow_nan=False, **how)
    except ValueError:
        return json.dumps(_finite(value), allow_nan=False, **how)


def json_bytes(value: Any, **how: Any) -> bytes:
    r"""Write plain data as JSON in UTF-8.

    Bytes of an argument or of a file's name that are not UTF-8 are half surrogate pairs in Python,
    which UTF-8 does not have: where there is one, all letters beyond ASCII are escaped.

    Parameters
    ----------
    **how
        As for :func:`json.dumps`.

    Examples
    --------
    >>> json_bytes(["caf\u00e9"]) == '["caf\u00e9"]'.encode()
    True
    >>> json_bytes(["caf\udce9"])
    b'["caf\\udce9"]'
    """
    try:
        return json.dumps(value, ensure_ascii=False, **how).encode()
    except UnicodeEncodeError:
        return json.dumps(value, **how).encode()


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _refuse(name: str) -> float:
    raise ValueError(f"{name} is not a number in JSON")


def depth_exceeds(value: Any, most: int) -> bool:
    """Whether plain data has lists and mappings in more than so many others."""
    level = [value]
    for _ in range(most):
        level = [
            inner
            for one in level
            if isinstance(one, (dict, list))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return any(isinstance(one, (dict, list)) for one in level)
