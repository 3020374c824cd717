"""CPUs and NUMA memory of what is started here, by the kernel's own calls.

As a program it binds itself, then becomes the command; it needs Python's standard library only::

    python bound.py [--cpus 0-3] [--memory bind:0] [--with-parent PID] -- COMMAND…

The calls are those of ``numactl`` and ``taskset`` (set_mempolicy(2), sched_setaffinity(2)), so
neither program is needed.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import signal
import sys
from collections.abc import Iterator

MODES = {"bind": 2, "interleave": 3}
"""Of ``linux/mempolicy.h``."""

_CALLS = {
    "x86_64": (238, 239),
    "aarch64": (237, 236),
    "riscv64": (237, 236),
    "ppc64le": (261, 260),
    "s390x": (270, 269),
}
_MOST_NODES = 1024
_WORD = 8 * ctypes.sizeof(ctypes.c_ulong)
_Mask = ctypes.c_ulong * (_MOST_NODES // _WORD)
_PR_SET_PDEATHSIG = 1


def supported() -> bool:
    """Whether the calls of this machine are known."""
    return platform.machine() in _CALLS


def set_memory(mode: str, nodes: list[int]) -> None:
    """Have this thread, and what it starts, take memory so.

    Parameters
    ----------
    mode : str
        ``bind`` or ``interleave``.
    nodes : list of int
        NUMA nodes.

    Raises
    ------
    OSError
        If the kernel refuses.
    """
    mask = _Mask()
    for node in nodes:
        mask[node // _WORD] |= 1 << node % _WORD
    _call(0, ctypes.c_long(MODES[mode]), mask, ctypes.c_ulong(_MOST_NODES + 1))


@contextlib.contextmanager
def binding(
    cpus: frozenset[int] | None, memory: tuple[str, tuple[int, ...]] | None
) -> Iterator[None]:
    """Bind this thread for a moment: what it starts meanwhile inherits it."""
    before = os.sched_getaffinity(0)
    mode, mask = ctypes.c_int(), _Mask()
    if memory is not None:
        _call(
            1, ctypes.byref(mode), mask, ctypes.c_ulong(_MOST_NODES + 1),
            ctypes.c_void_p(), ctypes.c_ulong(0),
        )  # fmt: skip
    try:
        if memory is not None:
            set_memory(memory[0], list(memory[1]))
        if cpus is not None:
            os.sched_setaffinity(0, cpus)
        yield
    finally:
        os.sched_setaffinity(0, before)
        if memory is not None:
            _call(0, ctypes.c_long(mode.value), mask, ctypes.c_ulong(_MOST_NODES + 1))


def _call(which: int, *arguments: object) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    number = _CALLS[platform.machine()][which]
    if libc.syscall(ctypes.c_long(number), *arguments):
        error = ctypes.get_errno()
        raise OSError(error, f"{('set', 'get')[which]}_mempolicy: {os.strerror(error)}")


def _numbers(text: str) -> list[int]:
    ends = [part.partition("-") for part in text.split(",")]
    return [n for a, _, b in ends for n in range(int(a), int(b or a) + 1)]


def _end_with(parent: int) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        raise ProcessLookupError(f"process {parent} has ended")


def main(arguments: list[str]) -> None:
    """Bind this process, then become the command."""
    at = arguments.index("--")
    options, command = arguments[:at], arguments[at + 1 :]
    while options:
        option = options.pop(0)
        if option == "--with-parent":
            _end_with(int(options.pop(0)))
        elif option == "--cpus":
            os.sched_setaffinity(0, _numbers(options.pop(0)))
        elif option == "--memory":
            mode, _, nodes = options.pop(0).partition(":")
            set_memory(mode, _numbers(nodes))
        else:
            raise ValueError(f"unknown option {option}")
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
