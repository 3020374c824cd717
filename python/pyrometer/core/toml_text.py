"""TOML that people write."""

from __future__ import annotations

import tomllib
from typing import Any

from pyrometer.core.errors import UsageError
from pyrometer.core.json_text import MAX_DEPTH, depth_exceeds


def parse_toml(text: str, name: str, remedy: str | None = None) -> dict[str, Any]:
    r"""Read the text of a TOML file.

    Parameters
    ----------
    name : str
        Of the file, for messages.
    remedy : str, optional
        What to do where it is none.

    Raises
    ------
    UsageError
        If it is no TOML, or nested deeper than `MAX_DEPTH`.

    Examples
    --------
    >>> parse_toml('a.b = "c"', "x.toml")
    {'a': {'b': 'c'}}
    """
    try:
        found = tomllib.loads(text)
        deep = depth_exceeds(found, MAX_DEPTH)
    except ValueError as error:
        raise UsageError(f"{name}: not TOML ({error})", remedy) from error
    except RecursionError:
        deep = True
    if deep:
        raise UsageError(f"{name}: nested more than {MAX_DEPTH} deep", remedy)
    return found
