"""Who is told how far a fetch is: one who waits, if there is one."""

from __future__ import annotations

from collections.abc import Callable

Told = Callable[[str, int, int], None]
"""``told(address, done, total)``: bytes of the files that are fetched whole; first of none."""
_TOLD: list[Told] = []


def tell(told: Told) -> None:
    """Have somebody told; who was told before is no more."""
    _TOLD[:] = [told]


class Came:
    """How much of what is fetched whole has come.

    Parameters
    ----------
    address : str
        Where it comes from.
    total_bytes : int
        All of it.
    """

    def __init__(self, address: str, total_bytes: int) -> None:
        self._address = address
        self._total_bytes = total_bytes
        self._done_bytes = 0
        self.more(0)

    def more(self, count: int) -> None:
        """Tell that so many bytes more have come."""
        self._done_bytes += count
        for told in _TOLD:
            told(self._address, self._done_bytes, self._total_bytes)
