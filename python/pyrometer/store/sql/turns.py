"""Queries of several threads on one database, whose limit of memory is one for all."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from threading import Condition


class Turns:
    """Queries go side by side; one that needs more memory than all have goes alone, with more.

    Side by side, one thread would take back the limit that another has just raised, or leave it
    not even the memory that raising it takes.

    Parameters
    ----------
    limit : callable
        Sets the limit of the database: ``None`` for the usual one. True if it could.
    """

    def __init__(self, limit: Callable[[str | None], bool]) -> None:
        self._limit = limit
        self._changed = Condition()
        self._running_count = 0
        self._is_alone = self._has_more = False

    @contextlib.contextmanager
    def beside(self) -> Iterator[None]:
        """Run a query beside others, within the usual limit once nothing else is running."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_alone)
            if self._has_more and not self._running_count:
                # Here, not after a query: its rows may still be fetched then.
                self._has_more = not self._limit(None)
            self._running_count += 1
        try:
            yield
        finally:
            with self._changed:
                self._running_count -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[Callable[[str], bool]]:
        """Run a query alone; what is given raises the limit."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_alone)
            self._is_alone = True
        try:
            with self._changed:
                self._changed.wait_for(lambda: not self._running_count)
                self._has_more = True
            yield self._limit
        finally:
            with self._changed:
                self._is_alone = False
                self._changed.notify_all()
