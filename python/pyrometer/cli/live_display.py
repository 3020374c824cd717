"""A part of the terminal (stderr) that is drawn anew; nothing where that is no terminal."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pyrometer.cli import common

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

WORDS = {
    "prepare": "getting ready",
    "run": "running",
    "close": "closing files",
    "ingest": "making tables",
    "summary": "adding up",
    "report": "writing the report",
}
"""Phases of a trial, for people."""


class LiveDisplay:
    """Shows something from its beginning to its end, and then takes it away."""

    def __init__(self) -> None:
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.live import Live

            self._live = Live(console=common.err(), transient=True, auto_refresh=False)
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    @property
    def shows(self) -> bool:
        """Whether anything that is drawn is seen."""
        return self._live is not None and self._live.is_started

    def draw(self, what: RenderableType) -> None:
        """Draw it."""
        if self._live is not None and self._live.is_started:
            self._live.update(what, refresh=True)


def made_so_far(what: str, done: int, total: int) -> str:
    """Tell how far the making of data is.

    Examples
    --------
    >>> made_so_far("web_sales", 3, 12), made_so_far("web_sales", 3, 0)
    ('web_sales: 25 %', 'web_sales: 3')
    """
    return f"{what}: {100 * done / total:.0f} %" if total else f"{what}: {done}"
