"""Numbers of processes and threads of several hosts: each host's are apart from all others'."""

from __future__ import annotations

from typing import overload

KEY = 1 << 32
"""Linux numbers processes and threads below it; what a host is given lies above."""


@overload
def own_number(number: int) -> int: ...


@overload
def own_number(number: int | None) -> int | None: ...


def own_number(number: int | None) -> int | None:
    """Give the number of a process or thread on its own host.

    Examples
    --------
    >>> own_number(4711), own_number(3 * KEY + 4711), own_number(-1), own_number(None)
    (4711, 4711, -1, None)
    """
    return number if number is None or number <= KEY else number % KEY
