"""What processes said they did (annotations), with what the kernel says they did meanwhile.

The account of plain processes: threads times wall.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from typing import Any

from pydantic import Field

from pyrometer.accounts.ledger.schema import View
from pyrometer.core.estimate import Estimate
from pyrometer.core.model import Model
from pyrometer.statistics.warmup import LEVEL
from pyrometer.window.scope import Scope


class ProcessAccount(Model):
    """A process: where its threads' time went."""

    pid: int
    comm: str
    threads_count: int
    followed_ns: int
    on_cpu_ns: int
    run_queue_ns: int
    asleep_ns: int | None = None


class WaitTime(Model):
    """Time asleep of one class, and the system call it was in."""

    wait_class: str
    syscall: str | None
    time_ns: int
    share: float


class ProgramWait(Model):
    """Time asleep of a program's threads in a system call; ``?`` where none is known."""

    name: str
    time_ns: int
    share: float


class Program(Model):
    """Threads of one name: where their time went, and in which system calls they were asleep."""

    name: str
    threads_count: int
    followed_ns: int
    on_cpu_ns: int
    run_queue_ns: int
    waits: list[ProgramWait] = Field(default_factory=list)


class Word(Model):
    """A word of the application for what it does, and what the kernel says it did meanwhile.

    Attributes
    ----------
    idle : bool
        It means that there was nothing to do.
    waits : bool
        It means waiting.
    """

    word: str
    idle: bool
    waits: bool
    time_ns: int
    on_cpu_ns: int
    run_queue_ns: int
    asleep_ns: int
    share: Estimate


class Session(Model):
    """The busiest annotated process of an interval; ratios are of the time it was not idle.

    Attributes
    ----------
    cpu_ratio : float
        CPU time by the scheduler's counter.
    wait_ratio : float
        Time in words that mean waiting, as a sampler of such words counts it.
    cpu_and_wait_ratio : float
        Their sum: above 1 where time on a CPU is counted as waiting, too.
    cpu_in_wait_ratio, asleep_in_wait_ratio : float
        What the waiting was: on a CPU, and off it.
    closure_ratio : float
        CPU, run queue and time asleep, less the elapsed time, over the elapsed time.
    """

    iteration: int | None
    pid: int
    followed_ns: int
    active_ns: int
    cpu_ratio: float
    wait_ratio: float
    cpu_and_wait_ratio: float
    no_wait_ratio: float
    cpu_in_wait_ratio: float
    asleep_in_wait_ratio: float
    run_queue_ratio: float
    closure_ratio: float


class Annotated(Model):
    """A process whose main thread reported what it does."""

    pid: int
    comm: str
    passes_count: int
    words: list[Word] = Field(default_factory=list)


class Account(Model):
    """Plain processes over a window: every thread's time once."""

    view: View
    processes: list[ProcessAccount] = Field(default_factory=list)
    programs: list[Program] = Field(default_factory=list)
    waits: list[WaitTime] = Field(default_factory=list)
    annotated: list[Annotated] = Field(default_factory=list)
    sessions: list[Session] = Field(default_factory=list)
    reason: str | None = None


Z = 1.959963984540054
# Events by which a server's process waits for work; the others are waits of a session
# (PostgreSQL 15, 28.2.3: Activity is "waiting for activity in its main processing loop").
IDLE = re.compile(r"Activity:|Client:ClientRead$")
_EVENT = re.compile(
    r"(LWLock|Lock|BufferPin|Activity|Client|Extension|IPC|Timeout|IO|InjectionPoint|class \d+):"
)


def annotated(scope: Scope) -> list[Annotated]:
    """Give the processes whose main thread reported what it does; the busiest first."""
    names = dict(scope.tables.query("SELECT pid, any_value(comm) FROM a_threads GROUP BY pid"))
    processes = [
        Annotated(
            pid=pid,
            comm=names.get(pid, ""),
            passes_count=round(sum(row["passes"] for row in seen)),
            words=_words(seen),
        )
        for pid, seen in _seen(scope, "pid").items()
    ]
    return sorted(processes, key=_busy, reverse=True)


def sessions(scope: Scope) -> list[Session]:
    """Give for each iteration the busiest process that reported what it waited for."""
    whole = scope.tables.records(
        "SELECT n, pid, followed_ns, on_cpu_ns, run_queue_ns FROM a_threads WHERE tid = pid"
    )
    used = {(row["n"], row["pid"]): row for row in whole}
    numbers = scope.window.iterations
    busiest = []
    for place, seen in sorted(_seen(scope, "n").items()):
        number = numbers[place] if place < len(numbers) else None
        found = [
            _session(number, used[place, pid], [row for row in seen if row["pid"] == pid])
            for pid in {row["pid"] for row in seen}
            if (place, pid) in used
        ]
        known = [session for session in found if session is not None]
        if known:
            busiest.append(max(known, key=lambda session: session.active_ns))
    return busiest


def _seen(scope: Scope, by: str) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in scope.tables.records(
        "SELECT s.n, s.pid, s.annotation AS word, s.state, sum(s.weight_ns) AS time_ns,"
        " sum(s.variance) AS variance, sum(s.passes_count) AS passes FROM a_states s"
        " WHERE s.annotation IS NOT NULL AND s.tid = s.pid GROUP BY ALL"
    ):
        found[row[by]].append(row)
    return found


def _busy(process: Annotated) -> int:
    """Time at work, or waiting to go on: sleep outside a wait means that there is nothing to do."""
    at_work = (word for word in process.words if not word.idle)
    return sum(word.time_ns - (0 if word.waits else word.asleep_ns) for word in at_work)


def _words(seen: list[dict[str, Any]]) -> list[Word]:
    times: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    total = sum(row["time_ns"] for row in seen)
    for row in seen:
        one = times[row["word"]]
        one["time"] += row["time_ns"]
        one[row["state"]] += row["time_ns"]
        one["variance"] += row["variance"]
        one["passes"] += row["passes"]
    words = [_word(name, one, total) for name, one in times.items()]
    return sorted(words, key=lambda word: word.time_ns, reverse=True)


def _word(name: str, times: dict[str, float], total: float) -> Word:
    share, half = times["time"] / total, Z * math.sqrt(times["variance"]) / total
    return Word(
        word=name,
        idle=bool(IDLE.match(name)),
        waits=bool(_EVENT.match(name)),
        time_ns=round(times["time"]),
        on_cpu_ns=round(times["on_cpu"]),
        run_queue_ns=round(times["run_queue"]),
        asleep_ns=round(times["time"] - times["on_cpu"] - times["run_queue"]),
        share=Estimate(
            value=share,
            low=max(0.0, share - half),
            high=min(1.0, share + half),
            level=LEVEL,
            n=round(times["passes"]),
            method="poisson",
        ),
    )


def _session(
    number: int | None, whole: dict[str, Any], rows: list[dict[str, Any]]
) -> Session | None:
    sums: dict[str, float] = defaultdict(float)
    for row in rows:
        word, state, time = row["word"], row["state"], row["time_ns"]
        how = state if state in ("on_cpu", "run_queue") else "asleep"
        # Once woken for work it is not idle any more, whatever its annotation still says.
        idle = IDLE.match(word) and how == "asleep"
        waits = _EVENT.match(word) and not IDLE.match(word)
        kind = "idle" if idle else "wait" if waits else "no_wait"
        sums[kind] += time
        sums[f"{kind}/{how}"] += time
        sums[how] += time
    followed = whole["followed_ns"]
    if not any(_EVENT.match(row["word"]) for row in rows):
        return None
    # What was idle is sampled; CPU and run queue are counted.
    active = followed - sums["idle"]
    if active <= 0:
        return None
    cpu = whole["on_cpu_ns"] / active
    wait = sums["wait"] / active
    return Session(
        iteration=number,
        pid=whole["pid"],
        followed_ns=followed,
        active_ns=round(active),
        cpu_ratio=cpu,
        wait_ratio=wait,
        cpu_and_wait_ratio=cpu + wait,
        no_wait_ratio=sums["no_wait"] / active,
        cpu_in_wait_ratio=sums["wait/on_cpu"] / active,
        asleep_in_wait_ratio=sums["wait/asleep"] / active,
        run_queue_ratio=whole["run_queue_ns"] / active,
        closure_ratio=(whole["on_cpu_ns"] + whole["run_queue_ns"] + sums["asleep"] - followed)
        / followed,
    )
