"""Two processes at once, each on a CPU of its own, to their end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyrometer.collect.host.bind import started
from pyrometer.workloads.barrier import Barrier

LOOK_S = 0.1
TERMINATE_S = 10.0


class DuetError(Exception):
    """A side has failed, so that the pair counts for nothing."""


@dataclass(frozen=True)
class Side:
    """What one side runs.

    Attributes
    ----------
    role : str
        Name of its files, and of the side in errors.
    cpu : int
        The only one that it, and all that it starts, may use.
    command : sequence of str
        Argument list.
    environment : mapping
        All of its environment.
    """

    role: str
    cpu: int
    command: Sequence[str]
    environment: Mapping[str, str]


def play(sides: Sequence[Side], folder: Path, timeout_s: float) -> None:
    """Start the sides in their order, and wait until all have ended.

    Parameters
    ----------
    sides : sequence of Side
        Their barrier is in the same folder.
    folder : Path
        For what they print.
    timeout_s : float
        Limit of the pair.

    Raises
    ------
    DuetError
        If one fails or takes too long; the others are ended then.
    """
    with _all_ended() as running:
        until = time.monotonic() + timeout_s
        for side in sides:
            running[side.role] = _start(side, folder)
        while any(process.poll() is None for process in running.values()):
            if time.monotonic() > until:
                raise DuetError(f"not at its end after {timeout_s:g} s")
            _raise_if_failed(running, folder)
            time.sleep(LOOK_S)
        _raise_if_failed(running, folder)


def _start(side: Side, folder: Path) -> subprocess.Popen[bytes]:
    def start() -> subprocess.Popen[bytes]:
        with _said(folder, side.role).open("wb") as said:
            return subprocess.Popen(
                side.command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                env=dict(side.environment),
                start_new_session=True,
            )

    return started(frozenset({side.cpu}), None, start)


def _said(folder: Path, role: str) -> Path:
    return folder / f"{role}.log"


def _raise_if_failed(running: Mapping[str, subprocess.Popen[bytes]], folder: Path) -> None:
    for role, process in running.items():
        if code := process.poll():
            # The other may be waiting for it.
            Barrier(folder, 0).leave()
            last = _said(folder, role).read_text(errors="replace").strip()[-1000:]
            raise DuetError(f"side {role}: exit code {code}: {last}")


@contextmanager
def _all_ended() -> Iterator[dict[str, subprocess.Popen[bytes]]]:
    running: dict[str, subprocess.Popen[bytes]] = {}
    try:
        yield running
    finally:
        for word in (signal.SIGTERM, signal.SIGKILL):
            alive = [process for process in running.values() if process.poll() is None]
            for process in alive:
                os.killpg(process.pid, word)
            until = time.monotonic() + TERMINATE_S
            while any(one.poll() is None for one in alive) and time.monotonic() < until:
                time.sleep(LOOK_S)
