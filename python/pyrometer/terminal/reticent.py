"""A console that prints no secret, and ends nothing where nobody reads it."""

from __future__ import annotations

import errno
import os
from typing import Any

from rich.console import Console

from pyrometer.core.errors import ReaderGoneError
from pyrometer.core.redaction import redacted


class Reticent(Console):
    """Strikes secrets out of the texts that it is given to print.

    Tables and the like are made of data that is redacted where it is kept.
    """

    def print(self, *objects: Any, **how: Any) -> None:
        """Print, as :meth:`rich.console.Console.print` does."""
        shown = (redacted(one) if isinstance(one, str) else one for one in objects)
        super().print(*shown, **how)

    def on_broken_pipe(self) -> None:
        """Print nothing more: Rich would end the process.

        Raises
        ------
        ReaderGoneError
            If these are results. That nobody reads progress and messages ends no work.
        """
        self.quiet = True
        if not self.stderr:
            raise ReaderGoneError(errno.EPIPE, os.strerror(errno.EPIPE))
