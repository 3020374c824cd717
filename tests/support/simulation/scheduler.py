"""Scheduler events of an invented run: what tier T0 would have seen of its tasks."""

from __future__ import annotations

from typing import Any

from tests.support.tables import HOST, MS, PID, S, World

WAKERS: tuple[dict[str, Any], ...] = (
    {"waker_pid": PID, "waker_tid": 200, "waker_comm": "GC Thread#0", "waker_interrupt": False},
    {"waker_pid": PID, "waker_tid": 900, "waker_comm": "shuffle-client-", "waker_interrupt": False},
    {"waker_pid": 0, "waker_tid": 0, "waker_comm": "swapper/0", "waker_interrupt": True},
    {"waker_pid": 77, "waker_tid": 77, "waker_comm": "postgres", "waker_interrupt": False},
)


def add_events(world: World, by_second: bool = False) -> None:
    """Add the interval that each task was off its CPU: queued for its delay, else asleep.

    With ``by_second`` they are added up over the second in which they began, as short ones are.
    """
    for number, span in enumerate(world.rows["spans"]):
        run = span["end_mono_ns"] - span["start_mono_ns"]
        off = run - span["cpu_ns"]
        begin = span["start_mono_ns"] + span["cpu_ns"]
        second = begin // S * S
        world.add(
            "off_cpu",
            host=HOST,
            pid=span["pid"],
            tid=span["tid"],
            begin_mono_ns=second if by_second else begin,
            end_mono_ns=second + S if by_second else begin + off,
            count=7 if by_second else 1,
            off_ns=off,
            run_queue_ns=round(run / MS * world.run_queue * MS),
            kind="sleeping",
            io_wait=False,
            **WAKERS[number % len(WAKERS)],
        )
