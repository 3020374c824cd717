"""Processes of ours beside the application: they end with it, and die with us."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pyrometer.errors import CapabilityError
from pyrometer.run import bound
from pyrometer.run.placing import ANYWHERE, Place

END_S = 10.0


class Companions:
    """Those that were started, in their order."""

    def __init__(self) -> None:
        self._started: list[tuple[str, subprocess.Popen[bytes]]] = []

    @property
    def pids(self) -> list[int]:
        """Of all."""
        return [process.pid for _, process in self._started]

    @property
    def gone(self) -> list[str]:
        """Those that have ended by themselves, in words."""
        ended = ((name, process.poll()) for name, process in self._started)
        return [f"{name} ended with code {code}" for name, code in ended if code is not None]

    def start(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        env: Mapping[str, str] | None = None,
        place: Place = ANYWHERE,
    ) -> None:
        """Start one at its place; what it writes goes to `log`.

        Raises
        ------
        CapabilityError
            If it cannot be started.
        """
        words = [sys.executable, "-I", "-S", bound.__file__, "--with-parent", str(os.getpid())]
        words += place.options
        try:
            with log.open("ab") as file:
                process = subprocess.Popen(
                    [*words, "--", *command],
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else dict(env),
                    start_new_session=True,
                )
        except OSError as error:
            raise CapabilityError(f"{name}: {error}") from error
        self._started.append((name, process))

    def hold(self, name: str, command: Sequence[str], log: Path, ready: str) -> None:
        """Start one, and wait until it writes that it is ready.

        Raises
        ------
        CapabilityError
            If it ends before, with what it wrote last.
        """
        self.start(name, command, log)
        while ready not in log.read_text(encoding="utf-8", errors="replace"):
            if self.gone:
                text = log.read_text(encoding="utf-8", errors="replace")
                last = text.strip().rpartition("\n")[2] or "it wrote nothing"
                raise CapabilityError(f"{self.gone[-1]}: {last}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End all, the last first."""
        for _, process in reversed(self._started):
            process.terminate()
        deadline = time.monotonic() + END_S
        for _, process in reversed(self._started):
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._started.clear()


@contextlib.contextmanager
def ended_after() -> Iterator[Companions]:
    """Have companions while the block lasts."""
    companions = Companions()
    try:
        yield companions
    finally:
        companions.stop()
