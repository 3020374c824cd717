"""Samples the stacks of this process from a separate thread, with the CPU time of each.

A sample weighs the CPU time that its thread used since the sample before (the kernel's clock of
that thread), so a worker's samples add up to what it used, also where the interpreter lock was
held for long by native code: one sample then weighs all of it. Which task a worker runs is what
pyspark's own ``TaskContext`` says at that moment.

Only the standard library, of any Python that Spark 3.5 and 4 run on. Written are lines of JSON,
several samples each (docs/reference/python.md).
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import json
import os
import random
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType


PERIOD_NS = 20_000_000
# An idle process is looked at less and less often, down to this many times.
IDLE_GAPS = 4
# Of the time to the next look, what a look took of the CPU. Many new stacks, as while modules are
# imported, or a busy CPU make one several times as dear as others.
MOST_SHARE = 0.02
LONGEST_GAP = 0.25
# How much longer, or shorter, a gap may be than is wanted.
UNEVEN = 1.5
# Numbers that stand for stacks: threads without Python frames, the daemon that forks workers.
NATIVE_STACK = -1
DAEMON_STACK = -3
FLUSH_NS = 250_000_000
MAX_DEPTH = 256
# Code that unpickled functions bring comes under ever new names: forget, rather than grow.
MAX_STACKS = 20_000
# Of all these stacks together: 20 MB at most, names apart.
MAX_FRAMES = 100_000
# Below this nothing but the clock itself ran.
QUIET_NS = 50_000
ERRORS = 3
# These pass when there is room again. Until then so many characters wait to be written.
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
MAX_KEPT = 1 << 20


class Sampler:
    """State of one process's sampler; used by its thread alone.

    Parameters
    ----------
    folder : str
        Where the file goes.
    kind : str
        ``worker`` or ``driver``.
    jvm : int, optional
        Process id of the JVM that the worker works for.
    """

    def __init__(self, folder: str, kind: str, jvm: int | None) -> None:
        self.pid = os.getpid()
        self.main = threading.main_thread().ident
        self.period_ns = int(os.environ.get("PYROMETER_PYTHON_PERIOD_NS") or PERIOD_NS)
        # Workers of a JVM share a file: there may be a process per task.
        self.path = os.path.join(folder, f"python-{kind}-{jvm or self.pid}.ndjson")
        self.since = time.monotonic_ns()
        self.header = {"k": "process", "kind": kind, "jvm": jvm, "period_ns": self.period_ns}
        self.file = -1
        # Not the module's own generator: its numbers are the application's.
        self.random = random.Random()  # noqa: S311 - no secret
        self.used: dict[int, int] = {}
        self.stacks: dict[tuple[Any, ...], int] = {}
        self.stacks_count = 0
        # Each by itself: stacks share equal ones.
        self.frames: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        self.frames_count = 0
        # Each with the number of samples that are lost with it.
        self.lines: list[tuple[str, int]] = []
        self.samples: list[tuple[int, int, int, int, int, int | None]] = []
        self.flushed_ns = self.looked_ns = self.since
        self.process_ns = 0
        self.own_ns = 0
        self.reported_own_ns = 0
        self.introduced = False
        self.dropped = 0
        self.errors = 0

    def run(self) -> None:
        """Sample until the process ends, or until too much went wrong."""
        period = gap = self.period_ns / 1e9
        while True:
            # Uneven gaps: even ones could keep step with what the program does.
            time.sleep(gap * self.random.uniform(2 - UNEVEN, UNEVEN))
            own = time.thread_time()
            try:
                gap = period if self.look() else min(2 * gap, IDLE_GAPS * period)
                self._flush_before(max(gap, self._rest(own)))
                gap = max(gap, self._rest(own))
            except Exception as error:
                self.errors += 1
                if self.errors == ERRORS:
                    # Where it cannot be written either, the thread ends without a word.
                    with contextlib.suppress(Exception):
                        self.give_up(f"{type(error).__name__}: {error}")
                    return

    def _rest(self, own: float) -> float:
        """Give the gap that keeps to the budget after what began at so much of its CPU time."""
        # A process may end with its first task: while it is young its gaps are short.
        longest = min(LONGEST_GAP, (time.monotonic_ns() - self.since) / 2e9)
        return min((time.thread_time() - own) / MOST_SHARE, longest)

    def _flush_before(self, gap: float) -> None:
        """Write what would be kept for too long by the next look: the process may end before it."""
        now = time.monotonic_ns()
        # Early at first: where workers are not kept, one ends with its first task.
        early = self.period_ns + self.flushed_ns - self.since
        next_look = now + int(UNEVEN * gap * 1e9)
        due, by = (FLUSH_NS, now) if self.errors else (min(FLUSH_NS, early), next_look)
        if (self.samples or self.lines) and by - self.flushed_ns > due:
            self._flush(now)

    def take_over(self, daemon_ns: int) -> None:
        """Count CPU time of the daemon that forked this worker as the worker's."""
        self.samples.append((self.since, 0, daemon_ns, 0, DAEMON_STACK, None))

    def give_up(self, message: str) -> None:
        """Say why there are no more samples."""
        self._say({"k": "error", "message": message})
        self._flush(time.monotonic_ns())

    def look(self) -> bool:
        """Take a sample of each thread that ran; whether any did."""
        now = time.monotonic_ns()
        process = time.process_time_ns()
        own = time.thread_time_ns()
        ran = (process - self.process_ns) - (own - self.own_ns)
        task = _task()
        if ran < QUIET_NS and task is None:
            # CPU time goes on to the next sample; being idle without a task is no one's.
            self.looked_ns = now
            if self.samples or (self.lines and now - self.flushed_ns > FLUSH_NS):
                self._flush(now)
            return False
        here = _thread.get_ident()
        wall = now - self.looked_ns
        known = 0
        for ident, frame in sys._current_frames().items():
            if ident == here:
                continue
            tid, cpu = self._cpu(ident)
            if tid and (cpu or (task is not None and tid == self.pid)):
                stack = self._stack(frame)
                self.samples.append((now, tid, cpu, max(wall - cpu, 0), stack, task))
            known += cpu
        # Threads of native libraries have no Python frames; their CPU time is the process's.
        if ran - known >= QUIET_NS:
            self.samples.append((now, 0, ran - known, 0, NATIVE_STACK, task))
        self.process_ns, self.own_ns, self.looked_ns = process, own, now
        return ran >= QUIET_NS

    def _cpu(self, ident: int) -> tuple[int, int]:
        """Kernel's id of a thread and the CPU time it used since it was last seen here."""
        if ident == self.main:
            tid = self.pid  # threading may still have the number of before a fork
        else:
            thread = getattr(threading, "_active", {}).get(ident)
            tid = getattr(thread, "native_id", None) or 0
        if not tid:
            return 0, 0
        try:
            # The CPU clock of a thread of this process, built as the kernel does (clock_getres(2)):
            # unlike pthread_getcpuclockid it may be asked of a thread that has just ended.
            used = time.clock_gettime_ns(((~tid) << 3) | 6)
        except OSError:
            return 0, 0
        before = self.used.get(tid, 0)
        self.used[tid] = used
        if len(self.used) > MAX_STACKS:
            self.used = {tid: used}
        return tid, max(used - before, 0)

    def _stack(self, frame: FrameType | None) -> int:
        """Give a stack its number; a new one is written first."""
        frames: list[tuple[str, str, str, int]] = []
        while frame is not None and len(frames) < MAX_DEPTH:
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)
            module = frame.f_globals.get("__name__")
            frames.append((str(module), name, code.co_filename, frame.f_lineno))
            frame = frame.f_back
        key = tuple(frames)
        number = self.stacks.get(key)
        if number is None:
            if len(self.stacks) >= MAX_STACKS or self.frames_count + len(key) > MAX_FRAMES:
                self._forget_stacks()
            number = self.stacks_count
            self.stacks_count += 1
            self.frames_count += len(key)
            self.stacks[tuple(self.frames.setdefault(one, one) for one in key)] = number
            described = [{"m": m, "f": f, "s": s, "l": n} for m, f, s, n in reversed(frames)]
            self._say({"k": "stack", "id": number, "cut": frame is not None, "frames": described})
        return number

    def _forget_stacks(self) -> None:
        self.stacks.clear()
        self.frames.clear()
        self.frames_count = 0

    def _say(self, record: dict[str, Any], samples: int = 0) -> None:
        # A process id may come again: with its start it does not.
        record.update(pid=self.pid, since=self.since)
        self.lines.append((json.dumps(record, separators=(",", ":")), samples))

    def _flush(self, now: int) -> None:
        """Write all that is new; what there is no room for is kept until there is."""
        self._say_samples(now)
        self.flushed_ns = now
        try:
            self._append(now)
        except Exception as error:
            if sum(len(line) for line, _ in self.lines) > MAX_KEPT:
                self._drop()
            if getattr(error, "errno", None) not in NO_ROOM:
                raise
        else:
            self.errors = 0

    def _say_samples(self, now: int) -> None:
        if not self.samples:
            return
        own = time.thread_time_ns()
        names = ("t", "tid", "cpu", "off", "stack", "task")
        columns = dict(zip(names, map(list, zip(*self.samples))))  # noqa: B905 - Python 3.8
        used = own - self.reported_own_ns
        record: dict[str, Any] = {"k": "samples", "own": used, "at": now, **columns}
        if self.dropped:
            record["dropped"] = self.dropped
        self._say(record, len(self.samples) + self.dropped)
        self.reported_own_ns = own
        self.dropped = 0
        self.samples = []

    def _append(self, now: int) -> None:
        """Append what is kept in one call, so that a line is whole or missing."""
        if self.file < 0:
            flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
            self.file = os.open(self.path, flags, 0o644)
        if not self.introduced:
            version = ".".join(map(str, sys.version_info[:3]))
            self._say({**self.header, "python": version, "at": now})
            self.introduced = True
        if not self.lines:
            return
        # A full disk may have cut a line, of this worker or of another: it ends here.
        start = "" if self._ends_with_a_line() else "\n"
        text = start + "\n".join(line for line, _ in self.lines) + "\n"
        data = text.encode("utf-8", "replace")
        written = os.write(self.file, data)
        # A line that lacks nothing but its end is whole, and does not come again.
        del self.lines[: data.count(b"\n", 0, written + 1) - len(start)]
        if self.lines:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), self.path)

    def _ends_with_a_line(self) -> bool:
        size = os.fstat(self.file).st_size
        return not size or os.pread(self.file, 1, size - 1) == b"\n"

    def _drop(self) -> None:
        """Forget what is kept; what comes next is introduced again, and so is each stack."""
        self.dropped += sum(samples for _, samples in self.lines)
        self.lines.clear()
        self._forget_stacks()
        self.introduced = False


def _task() -> int | None:
    """Task that this process works for at this moment, as pyspark knows it."""
    module = sys.modules.get("pyspark.taskcontext")
    context = getattr(getattr(module, "TaskContext", None), "_taskContext", None)
    found = getattr(context, "_taskAttemptId", None)
    return found if isinstance(found, int) else None
