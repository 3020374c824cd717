"""Work that goes on beside other work, on a thread of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Beside(Generic[T]):
    """One piece of work, begun at once; at the end of the ``with`` it is over.

    It gains time where the work does not hold Python's lock: native readers and DuckDB do not.
    Where no thread can be started, the work is done when its outcome is asked for.

    Parameters
    ----------
    work : callable
        What is done; what it raises is raised where its outcome is asked for.

    Examples
    --------
    >>> with Beside(lambda: 6 * 7) as answer:
    ...     print(answer.outcome())
    42
    """

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._future: Future[T] = Future()
        self._thread: Thread | None = Thread(target=self._run, name="pyrometer-beside", daemon=True)
        try:
            self._thread.start()
        except RuntimeError:
            self._thread = None

    def _run(self) -> None:
        try:
            self._future.set_result(self._work())
        except BaseException as error:
            self._future.set_exception(error)

    def outcome(self) -> T:
        """Wait for the end of the work and give what came of it."""
        if self._thread is None and not self._future.done():
            self._run()
        return self._future.result()

    def __enter__(self) -> Beside[T]:
        return self

    def __exit__(self, *_: Any) -> None:
        if self._thread is not None:
            self._thread.join()
