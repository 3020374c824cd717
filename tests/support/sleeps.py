"""Threads that sleep and run at known times, as OS probe and profiler would see them.

A thread's life is a list of sleeps and runs. Passes of the probe and signals of the profiler come
at times of their own; a signal wakes a sleeping thread, which runs `SIGNAL_NS`, sleeps on, and has
one switch more.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from tests.support.tables import HOST, MONO0, MS, PID, Rows, write_tables

SIGNAL_NS = 30_000
TICK_NS = 47 * MS
TID = 501
PROFILER, WAKER = 9, 11


@dataclass(frozen=True)
class Part:
    """A part of a thread's life: asleep with stack ``stack``, or on a CPU (``None``)."""

    length_ns: int
    stack: int | None
    kernel: int = 0
    state: str = "sleeping"
    task: int | None = 7


@dataclass
class Seen:
    """Tables of one thread, and what was true of each pass."""

    rows: Rows = field(default_factory=dict)
    stack_at: dict[tuple[int, int], int | None] = field(default_factory=dict)

    def add(self, table: str, **row: Any) -> None:
        self.rows.setdefault(table, []).append(row)

    def write(self, folder: Path) -> Path:
        return write_tables(folder, self.rows)


KERNEL = (
    "do_syscall_64;do_futex;futex_wait",
    "do_syscall_64;vfs_read;filemap_read;folio_wait_bit_common;io_schedule",
)
CLASSES = ("lock", "timed_sleep", "block_io")
"""What the frames of `JAVA` say."""
JAVA = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.lang.Thread", "sleep"),
    ("java.io.FileInputStream", "readBytes"),
)


def observe(
    life: list[Part],
    seed: int,
    *,
    switches: bool = True,
    places: bool = True,
    signals: bool = True,
    period_ns: int = 50 * MS,
    tid: int = TID,
    into: Seen | None = None,
    batched: bool = False,
    traced: bool = False,
) -> Seen:
    """Let a thread live through `life` and write down what the instruments see.

    With `batched` the profiler signals a sleep once, and tells with one more sample for how many
    of its later ticks the thread slept on; with `traced` the scheduler's
    events are recorded.
    """
    random = Random(seed)
    seen = Seen() if into is None else into
    begins, at = [], MONO0
    for part in life:
        begins.append(at)
        at += part.length_ns
    end = at
    ticks = _times(random, MONO0 + random.randrange(TICK_NS), end, TICK_NS) if signals else []
    passes = _times(random, MONO0 + random.randrange(period_ns), end, period_ns)
    events = sorted([(t, 0) for t in passes] + [(t, 1) for t in ticks])
    at_part, run_ns, count = 0, 0, 0
    now, raw = MONO0, []
    signalled: list[tuple[int, int]] = []
    for t, kind in events:
        while at_part + 1 < len(life) and begins[at_part + 1] <= t:
            nxt = begins[at_part + 1]
            run_ns += 0 if life[at_part].stack is not None else nxt - now
            now = nxt
            at_part += 1
            count += int(life[at_part].stack is not None)
        part = life[at_part]
        run_ns += 0 if part.stack is not None else t - now
        now = t
        if kind == 1 and batched and signalled and signalled[-1][0] == at_part:
            _sleeps_on(seen, t, part, tid, signalled[-1][1])
        elif kind == 1:
            if part.stack is not None:
                count += 1
                run_ns += SIGNAL_NS
                signalled.append((at_part, t))
            _sample(seen, t, part, tid)
        else:
            raw.append((t, part, at_part, count, run_ns))
            seen.stack_at[tid, t] = part.stack
    _states(seen, raw, switches, places, tid)
    if traced:
        _events(seen, life, begins, signalled, tid)
    if into is None or "stacks" not in seen.rows:
        _dictionaries(seen)
    _spans(seen, life, begins, end, tid)
    return seen


def _times(random: Random, first: int, end: int, period: int) -> list[int]:
    found, t = [], first
    while t < end:
        found.append(t)
        t += random.randrange(period * 8 // 10, period * 12 // 10)
    return found


def _sample(seen: Seen, t: int, part: Part, tid: int) -> None:
    asleep = part.stack is not None
    seen.add(
        "samples",
        host=HOST,
        pid=PID,
        tid=tid,
        t_ns=t,
        clock="mono",
        source="async-profiler",
        event="wall",
        weight=TICK_NS,
        unit="ns",
        state="sleeping" if asleep else "running",
        role="task",
        thread_name="Executor task launch worker",
        task_attempt_id=part.task,
        stage_id=3,
        wait_class=CLASSES[part.stack] if part.stack is not None else None,
        java_stack=part.stack if asleep else 99,
    )


def _sleeps_on(seen: Seen, t: int, part: Part, tid: int, signalled_ns: int) -> None:
    """Count a tick without a signal: in the batch of this sleep, which the first one begins."""
    last = next(row for row in reversed(seen.rows["samples"]) if row["tid"] == tid)
    if last["t_ns"] == signalled_ns:
        _sample(seen, t, part, tid)
    else:
        last["weight"] += TICK_NS


def _events(
    seen: Seen, life: list[Part], begins: list[int], signalled: list[tuple[int, int]], tid: int
) -> None:
    """Write intervals off the CPU: a sleep is as many as signals cut it into."""
    for place, part in enumerate(life):
        if part.stack is None:
            continue
        begin, end = begins[place], begins[place] + part.length_ns
        for at in [t for number, t in signalled if number == place]:
            _interval(seen, begin, at, part, tid, waker_tid=PROFILER)
            begin = at + SIGNAL_NS
        _interval(seen, begin, end, part, tid, waker_tid=WAKER)


def _interval(seen: Seen, begin: int, end: int, part: Part, tid: int, waker_tid: int) -> None:
    if end - begin >= MS:
        seen.add(
            "off_cpu",
            host=HOST,
            pid=PID,
            tid=tid,
            begin_mono_ns=begin,
            end_mono_ns=end,
            count=1,
            off_ns=end - begin,
            run_queue_ns=0,
            kind="disk" if part.state == "disk" else "sleeping",
            waker_pid=PID,
            waker_tid=waker_tid,
            waker_comm="java",
            waker_interrupt=False,
        )


def _states(seen: Seen, raw: list[Any], switches: bool, places: bool, tid: int) -> None:
    weights = [0] * len(raw)
    for i, (a, b) in enumerate(pairwise(raw)):
        gap = b[0] - a[0]
        weights[i] += gap // 2
        weights[i + 1] += gap - gap // 2
    rows: list[tuple[Any, dict[str, Any]]] = []
    for (t, part, place, count, run_ns), weight in zip(raw, weights, strict=True):
        seen.add(
            "thread_counters",
            host=HOST,
            pid=PID,
            tid=tid,
            t_mono_ns=t + 1000,
            comm="Executor task l",
            run_ns=run_ns,
            run_delay_ns=0,
            timeslices_count=count,
            first=False,
            last=False,
        )
        asleep = part.stack is not None
        key = (place, count, asleep)
        if rows and rows[-1][0] == key and asleep:
            row = rows[-1][1]
            row["end_mono_ns"], row["passes_count"] = t, row["passes_count"] + 1
            row["weight_ns"] += weight
            continue
        row = {
            "host": HOST,
            "pid": PID,
            "tid": tid,
            "begin_mono_ns": t,
            "end_mono_ns": t,
            "passes_count": 1,
            "weight_ns": weight,
            "state": part.state if asleep else "on_cpu",
            "io_wait": part.state == "disk" if asleep else False,
            "switches_count": count if switches else None,
            "syscall": "futex" if asleep and part.kernel == 0 else None,
            "user_sp": 4096 + (part.stack or 0) if asleep and places else None,
            "user_pc": 77 if asleep and places else None,
            "kernel_stack": part.kernel if asleep else None,
        }
        rows.append((key, row))
    for _, row in rows:
        seen.add("thread_states", **row)


def _dictionaries(seen: Seen) -> None:
    for stack_id, symbols in enumerate(KERNEL):
        seen.add("kernel_stacks", host=HOST, stack_id=stack_id, symbols=symbols)
    for frame_id, (name, method) in enumerate(JAVA):
        seen.add("frames", frame_id=frame_id, class_name=name, method=method, kind="c2")
        seen.add("stacks", stack_id=frame_id, frame_ids=[frame_id], truncated=False)
    seen.add("stacks", stack_id=99, frame_ids=[0], truncated=False)


def _spans(seen: Seen, life: list[Part], begins: list[int], end: int, tid: int) -> None:
    spans: list[tuple[int, int, int]] = []
    for part, begin in zip(life, begins, strict=True):
        if part.task is None:
            continue
        if spans and spans[-1][0] == part.task:
            spans[-1] = (part.task, spans[-1][1], begin + part.length_ns)
        else:
            spans.append((part.task, begin, begin + part.length_ns))
    for task, start, stop in spans:
        seen.add(
            "spans",
            host=HOST,
            pid=PID,
            tid=tid,
            executor_id="driver",
            start_mono_ns=start,
            end_mono_ns=min(stop, end),
            stage_id=3,
            stage_attempt=0,
            task_attempt_id=task,
            partition=0,
            sql_id=1,
            job_id=2,
            iteration=1,
            status="success",
        )
