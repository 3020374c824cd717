"""Disks whose requests are held back: nbdkit stands between QEMU and their files.

QEMU can bound how many requests a disk takes in a second, and cannot delay any of them.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from pyrometer.core.errors import CapabilityError
from pyrometer.guests import emulator
from pyrometer.guests.qemu import Disk

PROGRAM = "nbdkit"


def program() -> str:
    """Find nbdkit.

    Raises
    ------
    CapabilityError
        If it is missing.
    """
    found = shutil.which(PROGRAM)
    if found is None:
        raise CapabilityError(
            f"{PROGRAM}, which holds back requests of disks (machine.disk=latency=…), is missing",
            "sudo apt-get install nbdkit",
        )
    return found


def arguments(latency_ms: int, writable: bool) -> list[str]:
    """Give the arguments of nbdkit, which talks to one client by standard input and output.

    It resolves the path of a file, and one without a name has none: so it serves the folder of
    its descriptors, and the client names one.
    """
    return [
        "--single", "--log=stderr", *(() if writable else ("--readonly",)), "--filter=delay",
        "file", "dir=/proc/self/fd", "cache=none", "fadvise=random",
        f"rdelay={latency_ms}ms", f"wdelay={latency_ms}ms",
    ]  # fmt: skip


@contextlib.contextmanager
def delayed(disks: Sequence[Disk], latency_ms: int | None, log: Path) -> Iterator[tuple[Disk, ...]]:
    """Give disks, the measured ones behind servers that run while the block lasts.

    Parameters
    ----------
    disks : sequence of Disk
        Whose files this process can open.
    latency_ms : int or None
        By how much each request is held back; ``None``: no server is started.
    log : Path
        What servers complain about.

    Raises
    ------
    CapabilityError
        If nbdkit is missing.
    """
    with contextlib.ExitStack() as stack:
        yield tuple(
            stack.enter_context(_behind_server(one, latency_ms, log))
            if one.measured and latency_ms is not None
            else one
            for one in disks
        )


@contextlib.contextmanager
def _behind_server(disk: Disk, latency_ms: int, log: Path) -> Iterator[Disk]:
    ours, theirs = socket.socketpair()
    with ours:
        with theirs:
            file = _opened_cold(disk)
            try:
                command = [program(), *arguments(latency_ms, disk.writable)]
                process = emulator.start(command, [file], log, talks_to=theirs)
            finally:
                os.close(file)
        try:
            yield replace(disk, file=str(file), server=ours.fileno())
        finally:
            ours.close()
            emulator.end(process)


def _opened_cold(disk: Disk) -> int:
    """Open a disk's file with nothing of it in the page cache, which nbdkit cannot go past."""
    flags = os.O_RDWR if disk.writable else os.O_RDONLY
    file = os.open(disk.file, flags | os.O_CLOEXEC)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    return file
