"""CPUs and NUMA memory of what is started here, by system calls.

As a program it binds itself, then becomes the command; it needs Python's standard library only::

    python bind.py [--cpus 0-3] [--memory bind:0] [--with-parent PID] -- COMMAND…

The calls are those of ``numactl`` and ``taskset`` (set_mempolicy(2), sched_setaffinity(2)), so
neither program is needed.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

MODES = {"bind": 2, "interleave": 3}
"""Of ``linux/mempolicy.h``."""

_CALLS = {"x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261, "s390x": 270}
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
    number = ctypes.c_long(_CALLS[platform.machine()])
    libc = ctypes.CDLL(None, use_errno=True)
    most = ctypes.c_ulong(_MOST_NODES + 1)
    if libc.syscall(number, ctypes.c_long(MODES[mode]), mask, most):
        error = ctypes.get_errno()
        raise OSError(error, f"set_mempolicy: {os.strerror(error)}")


def started(
    cpus: frozenset[int] | None, memory: tuple[str, tuple[int, ...]] | None, start: Callable[[], T]
) -> T:
    """Start a process that is pinned so; returns what `start` returns.

    `start` is called in a separate thread, which is pinned and then ends. To pin and unpin our own
    thread would not do: CPUs that ``os.smt`` has taken offline would be lost to us for good.

    Raises
    ------
    OSError
        If the kernel refuses.
    """
    from concurrent.futures import ThreadPoolExecutor

    def inside() -> T:
        if memory is not None:
            set_memory(memory[0], list(memory[1]))
        if cpus is not None:
            os.sched_setaffinity(0, cpus)
        return start()

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(inside).result()


def _numbers(text: str) -> list[int]:
    ends = [part.partition("-") for part in text.split(",")]
    return [n for a, _, b in ends for n in range(int(a), int(b or a) + 1)]


def end_with(parent: int, number: signal.Signals = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal once its parent has ended.

    Raises
    ------
    ProcessLookupError
        If it has ended already.
    """
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    if os.getppid() != parent:
        raise ProcessLookupError(f"process {parent} has ended")


def main(arguments: list[str]) -> None:
    """Bind this process, then become the command."""
    at = arguments.index("--")
    options, command = arguments[:at], arguments[at + 1 :]
    while options:
        option = options.pop(0)
        if option == "--with-parent":
            end_with(int(options.pop(0)))
        elif option == "--cpus":
            os.sched_setaffinity(0, _numbers(options.pop(0)))
        elif option == "--memory":
            mode, _, nodes = options.pop(0).partition(":")
            set_memory(mode, _numbers(nodes))
        else:
            raise ValueError(f"unknown option {option}")
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        # Python ignores them; what takes its place would, too.
        signal.signal(number, signal.SIG_DFL)
    os.execvp(command[0], command)  # noqa: S606


if __name__ == "__main__":
    main(sys.argv[1:])
