"""Start one process that can outlive us, wait for it, and pass on what ends a run.

No pipe joins us to the application: it has our own streams (or files), so our death cannot break
it. It stays in our process group, as a terminal expects: Ctrl-C reaches it from the kernel.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from pyrometer.collect.host import bind
from pyrometer.collect.host.facts import descendants
from pyrometer.collect.launch.launch import Launch
from pyrometer.core.errors import CommandNotExecutableError, CommandNotFoundError
from pyrometer.core.liveness import runs
from pyrometer.store.manifest import clock_pair

Tick = Callable[[], None]
Note = Callable[[str], None]

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that our interpreter ignores: the application must not inherit that.

Whoever started us may have had them ignored (``trap '' PIPE``), and the application heeds them all
the same: the interpreter keeps no trace of what it found, nor does the kernel.
"""
TICK_S = 0.5
TIMEOUT = "time-out"
"""What stands for a signal in :attr:`Ending.interrupted_by` where time ran out."""
SI_KERNEL = 0x80
PR_SET_CHILD_SUBREAPER = 36
PR_GET_CHILD_SUBREAPER = 37


@dataclass(frozen=True)
class Ending:
    """How the application ended.

    Parameters
    ----------
    code : int or None
        Its exit code; ``None`` if a signal ended it.
    signal : str or None
        The signal that ended it.
    interrupted_by : str or None
        The signal by which we were asked to end the run, or ``TIMEOUT``.
    mono_ns, wall_ns : int
        When the end was seen.
    unreachable : tuple of int
        Processes of other users, which we may not send a signal to.
    """

    code: int | None
    signal: str | None
    interrupted_by: str | None
    mono_ns: int
    wall_ns: int
    unreachable: tuple[int, ...] = ()

    @property
    def exit_code(self) -> int:
        """Its exit code as a shell has it: 128 + n if signal n ended it.

        Examples
        --------
        >>> Ending(7, None, None, 0, 0).exit_code, Ending(None, "SIGKILL", None, 0, 0).exit_code
        (7, 137)
        """
        if self.signal is not None:
            return 128 + signal_number(self.signal)
        assert self.code is not None
        return self.code


@dataclass(frozen=True)
class Grace:
    """Seconds from a polite signal to the next, harder one."""

    interrupt_s: float = 15.0
    terminate_s: float = 10.0


def start(launch: Launch) -> int:
    """Start the process; returns its pid.

    Raises
    ------
    CommandNotFoundError, CommandNotExecutableError
        If the kernel refuses to execute it.
    """
    actions = []
    for descriptor, path in ((1, launch.stdout), (2, launch.stderr)):
        if path is not None:
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            actions.append((os.POSIX_SPAWN_OPEN, descriptor, str(path), flags, 0o644))
    place = launch.host.placement.application

    def spawn() -> int:
        return os.posix_spawn(
            launch.argv[0],
            list(launch.argv),
            dict(launch.env),
            file_actions=actions,
            setsigmask=[],
            setsigdef=[*_heeded(), *IGNORED_BY_PYTHON],
        )

    try:
        return bind.started(place.cpus, place.memory, spawn)
    except FileNotFoundError as error:
        raise CommandNotFoundError(
            f"{launch.argv[0]} cannot be started: {error.strerror}",
            "if it is a script, correct its first line: it names a program that is not there",
        ) from error
    except OSError as error:
        raise CommandNotExecutableError(
            f"{launch.argv[0]} cannot be executed: {error.strerror}",
            "give a script #! and its interpreter as the first line",
        ) from error


@contextlib.contextmanager
def held_signals() -> Iterator[list[signal.Signals]]:
    """Hold back signals that end a run, for `wait` to take them one by one with their sender.

    Yields a list, which at the end holds those that came after `wait`: whoever began the run says
    what becomes of them. Only the main thread can hold signals: elsewhere (a notebook's kernel)
    this does nothing. Signals that we were started with ignored (``nohup``) stay ignored.
    """
    late: list[signal.Signals] = []
    main = threading.main_thread()
    if threading.current_thread() is not main or main.ident is None:
        yield late
        return
    heeded = _heeded()
    watched = {*heeded, signal.SIGCHLD}
    here = main.ident

    def pass_on(number: int, _: object) -> None:
        # Another thread caught it, which some library started: it belongs to the main one.
        signal.pthread_kill(here, number)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    handlers = {number: signal.signal(number, pass_on) for number in heeded}
    try:
        yield late
    finally:
        late.extend(_pending())
        while signal.sigtimedwait({signal.SIGCHLD}, 0) is not None:
            pass
        for number, handler in handlers.items():
            signal.signal(number, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def wait(
    pid: int,
    tick: Tick,
    timeout_s: float | None = None,
    grace: Grace = Grace(),
    note: Note = lambda _: None,
) -> Ending:
    """Wait for the end of `pid`, inside :func:`held_signals`; calls `tick` every `TICK_S`.

    A signal that asks us to end is passed on unless the terminal has given it to the application
    already; an application that does not follow is terminated, then killed. So is one that has run
    for `timeout_s`. Where it goes on because we may not send it a signal, `note` is told once what
    is waited for.
    """
    asked: str | None = None
    noted = False
    ladder = _Ladder(pid, grace)
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            # What ended it may have been sent to us as well, and not been taken yet.
            for one in _pending():
                asked = asked or one.name
            break
        caught = signal.sigtimedwait({*STOPPING, signal.SIGCHLD}, TICK_S)
        if caught is not None and caught.si_signo in STOPPING:
            asked = asked or signal.Signals(caught.si_signo).name
            ladder.ask(caught.si_signo, from_terminal=caught.si_code == SI_KERNEL)
        # What ended in time is not late because we looked late.
        ended = caught is not None and caught.si_signo == signal.SIGCHLD
        if caught is None and ladder.unreachable and not noted:
            noted = True
            others = " ".join(map(str, sorted(ladder.unreachable)))
            note(f"waiting for other users' processes; to end them, as root: kill {others}")
        if time.monotonic() > deadline and asked is None and not ended:
            asked = TIMEOUT
            ladder.ask(signal.SIGTERM, from_terminal=False)
        ladder.climb()
        tick()
    pair = clock_pair()
    killed = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
    return Ending(
        code=None if killed else os.waitstatus_to_exitcode(status),
        signal=signal_name(killed) if killed else None,
        interrupted_by=asked,
        mono_ns=pair.mono_ns,
        wall_ns=pair.wall_ns,
        unreachable=tuple(sorted(ladder.unreachable)),
    )


def asked_to_end() -> list[str]:
    """Names of the signals by which we were asked to end and that nobody has taken yet.

    Inside :func:`held_signals`.
    """
    return [one.name for one in _pending()]


def signal_name(number: int) -> str:
    """Name a signal, those without a name of their own by their distance to SIGRTMIN.

    Examples
    --------
    >>> signal_name(9), signal_name(36), signal_number("SIGRTMIN+2")
    ('SIGKILL', 'SIGRTMIN+2', 36)
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIGRTMIN+{number - signal.SIGRTMIN}"


def signal_number(name: str) -> int:
    """Give the number of a signal that :func:`signal_name` named."""
    base, _, above = name.partition("+")
    return signal.Signals[base].value + int(above or 0)


def _heeded() -> list[signal.Signals]:
    """Signals that ask us to end, but for those that whoever started us has us ignore."""
    return [number for number in STOPPING if signal.getsignal(number) != signal.SIG_IGN]


def _pending() -> list[signal.Signals]:
    """Take the signals that ask us to end and that nobody has taken yet."""
    found = []
    while (caught := signal.sigtimedwait({*STOPPING}, 0)) is not None:
        found.append(signal.Signals(caught.si_signo))
    return found


@contextlib.contextmanager
def adopted_orphans() -> Iterator[None]:
    """Be the parent of the application's processes whose parent ends before them, for a while.

    So a JVM that outlives ``python app.py`` by a moment, closing its files, can be waited for.
    """
    before = ctypes.c_int(1)
    _prctl(PR_GET_CHILD_SUBREAPER, ctypes.byref(before))
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    try:
        yield
    finally:
        if not before.value:
            _prctl(PR_SET_CHILD_SUBREAPER, 0)


def _prctl(option: int, argument: Any) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0)


def drain(others: Collection[int], timeout_s: float) -> list[int]:
    """Wait for processes that outlive the application, and read their exit status.

    CPU time of a child counts as our children's only once it has been asked for: see
    :mod:`pyrometer.experiments.run.guard`.

    Parameters
    ----------
    others : collection of int
        Children of ours that are not the application's.
    timeout_s : float
        How long, in seconds.

    Returns
    -------
    list of int
        Those that still run.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        remaining = [
            pid for pid in descendants(os.getpid()) if pid not in others and not _is_over(pid)
        ]
        if not remaining or time.monotonic() > deadline:
            return remaining
        time.sleep(0.02)


def _is_over(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:
        # Another's child: if it has ended, and its parent does not ask for it, nothing is to come.
        return not runs(pid)


class _Ladder:
    """INT (or what we were sent), then TERM, then KILL; each further request skips a step."""

    def __init__(self, pid: int, grace: Grace) -> None:
        self._pid = pid
        self._grace = grace
        self._step = 0
        self._due = float("inf")
        self.unreachable: set[int] = set()

    def ask(self, number: int, from_terminal: bool) -> None:
        if self._step:
            self._due = 0.0
            return
        self._step = 1
        self._due = time.monotonic() + self._grace.interrupt_s
        if not from_terminal:
            self._send(signal.Signals(number))

    def climb(self) -> None:
        if time.monotonic() < self._due:
            return
        self._step += 1
        self._due = time.monotonic() + self._grace.terminate_s
        self._send(signal.SIGTERM if self._step == 2 else signal.SIGKILL)

    def _send(self, number: signal.Signals) -> None:
        # As a terminal does: to the whole group. A process that left the group chose not to get it.
        below = [pid for pid in descendants(self._pid) if _same_group(pid)]
        for target in [self._pid, *below]:
            try:
                os.kill(target, number)
            except ProcessLookupError:
                pass
            except PermissionError:
                self.unreachable.add(target)


def _same_group(pid: int) -> bool:
    try:
        return os.getpgid(pid) == os.getpgrp()
    except ProcessLookupError:
        return False
