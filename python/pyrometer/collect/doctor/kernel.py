"""What the kernel lets this user measure, and what it does by itself that disturbs."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from pyrometer.collect.doctor.finding import Finding
from pyrometer.collect.probes import os as os_probe
from pyrometer.collect.probes.stacks import perf_event_paranoid
from pyrometer.core.errors import PyrometerError

PERF_LEVEL = 1
"""Highest ``kernel.perf_event_paranoid`` at which users may measure what the kernel does."""
PERF_SYSCTL = f"as root: sysctl -w kernel.perf_event_paranoid={PERF_LEVEL} kernel.kptr_restrict=0"
PERF_CONTAINER = (
    "the kernel's setting would allow it; if this is a container, start it with --cap-add PERFMON"
    " and, where that is not enough, with a seccomp profile that allows perf_event_open"
    " (--security-opt seccomp=FILE)"
)
PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}


def kernel() -> Iterator[Finding]:
    """Open a software event with and without the kernel, and see if kernel symbols are shown."""
    allowed, why = perf_open(exclude_kernel=False)
    level = perf_event_paranoid()
    text = f"kernel.perf_event_paranoid is {level}"
    if allowed:
        yield Finding("kernel_frames", "perf_events", True, f"perf_event_open works; {text}")
    else:
        remedy = perf_remedy(level, os.geteuid())
        yield Finding("kernel_frames", None, False, f"perf_event_open: {why}; {text}", remedy)
    shown = _kernel_symbols_shown()
    yield Finding(
        "kernel_symbols",
        None,
        shown,
        "/proc/kallsyms shows addresses" if shown else "/proc/kallsyms hides addresses",
        None if shown else "as root: sysctl -w kernel.kptr_restrict=0",
    )


def perf_remedy(level: int | None, user: int) -> str:
    """Say what would allow perf events: the kernel's setting, or rights of the container.

    Parameters
    ----------
    level : int or None
        ``kernel.perf_event_paranoid``; ``None``: not known.
    user : int
        Number of the user; root (0) is not bound by the setting.
    """
    enough = user == 0 or (level is not None and level <= PERF_LEVEL)
    return PERF_CONTAINER if enough else PERF_SYSCTL


def page_cache(root: Path = Path("/sys")) -> Finding:
    """See whether the kernel drops pages by itself that nobody used for a while.

    By schemes of DAMON (Documentation/admin-guide/mm/damon/usage.rst), or by its module for
    reclaim: what was brought into memory does not stay there, however much is free.

    Parameters
    ----------
    root : Path
        Where sysfs is.
    """
    for state in sorted(root.glob("kernel/mm/damon/admin/kdamonds/*/state")):
        actions = state.parent.glob("contexts/*/schemes/*/action")
        if _word(state) == "on" and any(_word(action) == "pageout" for action in actions):
            return _pages_out(f"a scheme of DAMON ({state.parent.name})", f"echo off > {state}")
    module = root / "module/damon_reclaim/parameters/enabled"
    if _word(module) == "Y":
        return _pages_out("damon_reclaim", f"echo N > {module}")
    return Finding("page_cache", None, True, "no scheme of DAMON pages out memory")


def _pages_out(who: str, remedy: str) -> Finding:
    reason = (
        f"{who} pages out memory that has not been used for a while: warm files do not stay in"
        " memory"
    )
    return Finding("page_cache", None, False, reason, f"as root: {remedy}")


def _word(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def perf_open(exclude_kernel: bool) -> tuple[bool, str]:
    """Open the event ``cpu-clock`` on this thread; whether it worked and the error."""
    number = PERF_EVENT_OPEN.get(platform.machine())
    if number is None:
        return False, f"unknown on {platform.machine()}"
    attributes = bytearray(112)
    attributes[0:4] = (1).to_bytes(4, sys.byteorder)  # PERF_TYPE_SOFTWARE
    attributes[4:8] = len(attributes).to_bytes(4, sys.byteorder)
    # disabled, exclude_kernel, exclude_hv are bits 0, 5 and 6 of the flag word.
    flags = 1 | (exclude_kernel << 5) | (1 << 6)
    attributes[40:48] = flags.to_bytes(8, sys.byteorder)
    buffer = (ctypes.c_char * len(attributes)).from_buffer(attributes)
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = libc.syscall(number, buffer, 0, -1, -1, 0)
    if descriptor < 0:
        return False, errno.errorcode.get(ctypes.get_errno(), str(ctypes.get_errno()))
    os.close(descriptor)
    return True, ""


def operating_system() -> Iterator[Finding]:
    """Ask the probe binary what it can read."""
    try:
        for row in os_probe.capabilities():
            yield Finding(**asdict(row))
    except PyrometerError as error:
        yield Finding("os", None, False, error.message, error.remedy)


def _kernel_symbols_shown() -> bool:
    try:
        with Path("/proc/kallsyms").open() as lines:
            return any(int(line.split()[0], 16) for _, line in zip(range(50), lines, strict=False))
    except (OSError, ValueError, IndexError):
        return False
