"""Which task each thread of a running JVM runs: polled by thread names, as Spark sets them.

The kernel keeps 15 characters of a name, too few; a thread dump has all of it, and the thread's id.
A dump stops the JVM for as long as it takes, so dumps are so far apart that they cost 1 % at most.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from pyrometer.collect.attach.hotspot import Jvm
from pyrometer.collect.probes.base import Probe
from pyrometer.core.errors import CapabilityError
from pyrometer.core.replacing import replacing
from pyrometer.store.manifest import ProbeEntry
from pyrometer.store.paths import RunPaths

FASTEST_S = 0.1
COST = 100
"""A pause is so many times as long as the dump before it took."""
_LAST_DUMP_S = 5.0

# "task 12.0 in stage 3.1 (TID 45)": index, attempt, stage, its attempt, task id. The thread's id is
# hexadecimal up to Java 20, then decimal.
_THREAD = re.compile(
    r'^"Executor task launch worker for task (\d+)\.(\d+) in stage (\d+)\.(\d+) \(TID (\d+)\)"'
    r".*? nid=(0x[0-9a-f]+|\d+)\b"
)

# Partition, attempt, stage, attempt of the stage, task.
Words = tuple[int, int, int, int, int]


@dataclass
class Span:
    """A task on a thread: first and last dump that showed it, and their neighbours.

    Attributes
    ----------
    before_ns, first_ns, last_ns, after_ns : int or None
        Last dump without it, first and last with it, first without it again.
    """

    tid: int
    partition: int
    attempt: int
    stage: int
    stage_attempt: int
    task: int
    before_ns: int | None
    first_ns: int
    last_ns: int
    after_ns: int | None = None


def named_tasks(lines: Iterable[str]) -> Iterator[tuple[int, Words]]:
    """Give thread and (partition, attempt, stage, stage attempt, task) of each task in a dump.

    Examples
    --------
    >>> line = (
    ...     '"Executor task launch worker for task 1.0 in stage 3.0 (TID 45)" #99 daemon prio=5'
    ...     " cpu=12.1ms elapsed=1.0s tid=0x00007f nid=0x1b5f runnable [0x0000]"
    ... )
    >>> list(named_tasks([line, '"main" #1 nid=7']))
    [(7007, (1, 0, 3, 0, 45))]
    """
    for line in lines:
        found = _THREAD.match(line)
        if found:
            partition, attempt, stage, stage_attempt, task = map(int, found.groups()[:5])
            yield int(found[6], 0), (partition, attempt, stage, stage_attempt, task)


class PolledTasks(Probe):
    """Tasks by thread names, for a JVM that runs without our plugin.

    Parameters
    ----------
    jvm : Jvm
        The JVM.
    """

    name = "tasks"

    def __init__(self, jvm: Jvm) -> None:
        self.jvm = jvm
        self.spans: list[Span] = []
        self._open: dict[int, Span] = {}
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._dumps = 0
        self._took_ns = 0
        self._last_ns: int | None = None
        self._cpu_ns = 0
        self._failure: str | None = None

    def asked(self) -> str:
        """Say how often."""
        return f"thread names every {FASTEST_S:g} s or more, at {1 / COST:.0%} of the time at most"

    def start(self, paths: RunPaths, root_pid: int) -> None:
        """Poll from a separate thread until `stop`."""
        self._thread = threading.Thread(target=self._poll, name="polled-tasks", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Poll no more; what still runs ends with the last dump."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_LAST_DUMP_S)

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Say how many dumps found how many tasks."""
        mean = self._took_ns / self._dumps / 1e6 if self._dumps else 0
        return ProbeEntry(
            name=self.name,
            tier="polled thread names",
            asked=self.asked(),
            got=f"{len(self.spans)} task(s) in {self._dumps} thread dumps of {mean:.1f} ms"
            if self._dumps
            else None,
            dropped=0 if self._dumps else None,
            own_cpu_ns=self._cpu_ns,
            reason=self._failure,
        )

    def take(self, begun_ns: int, tasks: Iterable[tuple[int, Words]]) -> None:
        """Take what a dump of that moment showed."""
        now = dict(tasks)
        for tid, span in list(self._open.items()):
            if now.get(tid, (0, 0, 0, 0, -1))[4] != span.task:
                span.after_ns = begun_ns
                del self._open[tid]
        for tid, words in now.items():
            running = self._open.get(tid)
            if running is None:
                span = Span(tid, *words, self._last_ns, begun_ns, begun_ns)
                self._open[tid] = span
                self.spans.append(span)
            else:
                running.last_ns = begun_ns
        self._last_ns = begun_ns

    def _poll(self) -> None:
        try:
            self._poll_to_the_end()
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            if isinstance(error, CapabilityError):
                said = error.message
            self._failure = said if self.jvm.runs else None

    def _poll_to_the_end(self) -> None:
        pause = 0.0
        while not self._ended.wait(pause):
            begun = time.monotonic_ns()
            found = list(named_tasks(self.jvm.lines("threaddump")))
            took = time.monotonic_ns() - begun
            # The names are of a moment in between.
            self.take(begun + took // 2, self._outer(found))
            self._dumps += 1
            self._took_ns += took
            self._cpu_ns = time.thread_time_ns()
            pause = max(FASTEST_S, COST * took / 1e9)

    def _outer(self, found: list[tuple[int, Words]]) -> list[tuple[int, Words]]:
        """Thread ids as the host knows them, where the JVM runs in a container."""
        if self.jvm.inner_pid == self.jvm.pid:
            return found
        outer = {}
        for status in Path(f"/proc/{self.jvm.pid}/task").glob("*/status"):
            try:
                lines = status.read_text(errors="replace").splitlines()
            except OSError:
                continue  # this thread has ended
            for line in lines:
                if line.startswith("NSpid:"):
                    outer[int(line.split()[-1])] = int(status.parent.name)
        return [(outer[tid], words) for tid, words in found if tid in outer]


Exact = Callable[[Iterable[int]], dict[int, tuple[int, int | None]]]


def write_spans(file: Path, process: dict[str, object], spans: list[Span], exact: Exact) -> None:
    """Write the records of a JVM in the form of the plugin's.

    Parameters
    ----------
    file : Path
        ``raw/plugin-<role>-<executor>-<pid>.ndjson``.
    process : dict
        Its record of kind ``process``.
    spans : list of Span
        What was polled.
    exact : callable
        Gives start and end by task id, on the monotonic clock, of the tasks that an event log
        knows; of others a task began and ended half-way between two dumps.
    """
    known = exact([span.task for span in spans])
    with replacing(file) as out:
        out.write(_line("process", process))
        for span in spans:
            start, end = known.get(span.task, (_half(span.before_ns, span.first_ns), None))
            if end is None and span.after_ns is not None:
                end = _half(span.last_ns, span.after_ns)
            record = {
                name: value for name, value in asdict(span).items() if not name.endswith("_ns")
            }
            record |= {"start_ns": start, "sql": None, "iteration": None}
            if end is None:
                out.write(_line("task_start", record))
            else:
                out.write(_line("task", {**record, "end_ns": end, "ok": True}))


def _line(kind: str, record: Mapping[str, object]) -> bytes:
    return json.dumps({"k": kind, **record}).encode() + b"\n"


def _half(one: int | None, other: int) -> int:
    return other if one is None else (one + other) // 2
