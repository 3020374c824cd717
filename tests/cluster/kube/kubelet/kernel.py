"""System calls that Python 3.11 does not offer: namespaces, mounts, and the root of a file tree."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

NEWNS, NEWUTS, NEWIPC, NEWPID, NEWNET = 0x00020000, 0x04000000, 0x08000000, 0x20000000, 0x40000000
READ_ONLY, REMOUNT, BIND, RECURSIVE, PRIVATE = 0x1, 0x20, 0x1000, 0x4000, 0x40000
DETACH = 2
SUBREAPER = 36

_libc = ctypes.CDLL(None, use_errno=True)


def unshare(flags: int) -> None:
    """Give this process, or for `NEWPID` its children, namespaces of their own."""
    _checked(_libc.unshare(flags), "unshare")


def adopt_orphans() -> None:
    """Make this process the parent of whatever its descendants leave behind."""
    _checked(_libc.prctl(SUBREAPER, 1, 0, 0, 0), "prctl")


def mount(kind: str, target: Path, options: str = "") -> None:
    """Mount a file system of the kernel's."""
    name = kind.encode()
    _checked(
        _libc.mount(name, os.fsencode(target), name, ctypes.c_ulong(0), options.encode()), target
    )


def bind(source: Path, target: Path, read_only: bool = False) -> None:
    """Have a folder or file, with all that is mounted below, in another place."""
    flags = ctypes.c_ulong(BIND | RECURSIVE)
    _checked(_libc.mount(os.fsencode(source), os.fsencode(target), None, flags, None), target)
    if read_only:
        flags = ctypes.c_ulong(BIND | REMOUNT | READ_ONLY)
        _checked(_libc.mount(None, os.fsencode(target), None, flags, None), target)


def keep_mounts_to_ourselves() -> None:
    """Let no mount of this namespace reach another one."""
    flags = ctypes.c_ulong(PRIVATE | RECURSIVE)
    _checked(_libc.mount(None, b"/", None, flags, None), "/")


def unmount(target: Path) -> None:
    """Take a mount away, now or when nobody uses it any more."""
    _checked(_libc.umount2(os.fsencode(target), DETACH), target)


def pivot(root: Path) -> None:
    """Make a mounted folder the root of this namespace, and let go of the former one."""
    os.chdir(root)
    _checked(_libc.pivot_root(b".", b"."), root)
    _checked(_libc.umount2(b".", DETACH), "the former root")
    os.chdir("/")


def _checked(result: int, what: object) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(what))
