"""A process of ours beside the application, in a session of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class Detached:
    """Starts and stops one process that neither Ctrl-C nor our death reaches.

    Attributes
    ----------
    pid : int or None
        Of the process, once it was started.
    failure : str or None
        Why it did not start, or did not end when asked to.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.pid: int | None = None
        self.failure: str | None = None

    def start(self, command: Sequence[str | Path], log: Path) -> None:
        """Start `command`; what it complains about goes to `log`."""
        try:
            with log.open("wb") as file:
                self._process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=file,
                    start_new_session=True,
                )
        except OSError as error:
            self.failure = f"{command[0]}: {error}"
            return
        self.pid = self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def stop(self, seconds: float) -> None:
        """Ask it to end; it is killed if it does not within `seconds`."""
        process = self._process
        if process is None:
            return
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.failure = f"did not end within {seconds:g} s and was killed"
        self._process = None

    @property
    def pids(self) -> list[int]:
        """Pid of the process, if it was started."""
        return [] if self.pid is None else [self.pid]


def complaint(log: Path) -> str:
    """Read what a process complained about; an empty file is removed."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    if not text:
        log.unlink(missing_ok=True)
    return text


def read_object(path: Path) -> dict[str, Any] | None:
    """Read a JSON object; ``None`` if there is none that can be read."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
