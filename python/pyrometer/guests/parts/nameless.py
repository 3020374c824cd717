"""Files without a name: they are gone when the last process that has them open ends, however."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.core.errors import CapabilityError


@dataclass(frozen=True)
class Maker:
    """A program that makes an empty file system, and the package that it is in."""

    command: tuple[str, ...]
    package: str


MAKERS = {
    "ext4": Maker(
        ("mke2fs", "-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=1,lazy_journal_init=1"),
        "e2fsprogs",
    ),
    "xfs": Maker(("mkfs.xfs", "-q", "-f", "-K"), "xfsprogs"),
    "btrfs": Maker(("mkfs.btrfs", "-q", "-f", "-K"), "btrfs-progs"),
}
"""By file system. Nothing is discarded beforehand: what is written to has holes for content."""


def nameless(folder: Path, size: int = 0) -> int:
    """Open a file that has no name, with holes for content; gives its descriptor.

    Raises
    ------
    CapabilityError
        If the file system has no such files.
    """
    try:
        descriptor = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CapabilityError(
            f"{folder}: its file system has no files without a name: {error.strerror}",
            "PYROMETER_CACHE=/var/tmp/pyrometer pyrometer run …, or another folder on ext4, xfs,"
            " btrfs or tmpfs",
        ) from error
    os.truncate(descriptor, size)
    return descriptor


def path_of(descriptor: int) -> str:
    """Path by which a process that has inherited a descriptor opens its file again."""
    return f"/proc/self/fd/{descriptor}"


def with_content(folder: Path, content: bytes) -> int:
    """Open a file without a name that holds bytes.

    Raises
    ------
    CapabilityError
        As :func:`nameless`.
    """
    descriptor = nameless(folder)
    left = memoryview(content)
    while left:
        left = left[os.write(descriptor, left) :]
    return descriptor


def format_ext4(target: str, size: int, folder: Path | None = None, pass_fd: int = -1) -> None:
    """Make an ext4 file system in a file, with what is in a folder; no root needed.

    Raises
    ------
    CapabilityError
        If mke2fs is missing, or refuses.
    """
    command = [
        "mke2fs", "-q", "-F", "-t", "ext4", "-m", "0", "-O", "^has_journal,^resize_inode",
        "-E", "lazy_itable_init=1,root_owner=0:0", *(("-d", str(folder)) if folder else ()),
        target, f"{size // 1024}k",
    ]  # fmt: skip
    _make(command, pass_fd)


def format_as(filesystem: str, descriptor: int) -> None:
    """Make an empty file system in an open file, with the defaults of its kind; no root needed.

    Raises
    ------
    CapabilityError
        If the program that makes it is missing, or refuses.
    """
    command = MAKERS[filesystem].command
    _make([*command, path_of(descriptor)], descriptor)


def require_maker(filesystem: str) -> None:
    """Look for the program that makes a file system.

    Raises
    ------
    CapabilityError
        If it is missing, with the command that installs it.
    """
    program = MAKERS[filesystem].command[0]
    if shutil.which(program, path=_path()) is None:
        raise _missing(program)


def _missing(program: str, why: str = "is missing") -> CapabilityError:
    package = next(one.package for one in MAKERS.values() if one.command[0] == program)
    return CapabilityError(
        f"{program}, which makes disks of virtual machines, {why}",
        f"sudo apt-get install {package}",
    )


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _make(command: Sequence[str], pass_fd: int) -> None:
    environment = {**os.environ, "PATH": _path()}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL, pass_fds=() if pass_fd < 0 else (pass_fd,),
        )  # fmt: skip
    except OSError as error:
        raise _missing(command[0], f"does not start: {error.strerror}") from error
    if done.returncode:
        raise CapabilityError(
            f"{command[0]}: {done.stderr.strip()[-300:]}", "look whether the disk is full: df -h"
        )


def direct(folder: Path) -> bool:
    """Whether files of a folder can be read and written past the page cache (O_DIRECT)."""
    flags = os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC | os.O_DIRECT
    try:
        os.close(os.open(folder, flags, 0o600))
    except OSError:
        return False
    return True
