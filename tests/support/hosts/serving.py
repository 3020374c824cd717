"""Tasks of an invented run that wait for shuffle blocks, and threads that serve these."""

from __future__ import annotations

import json

from tests.support.hosts.two_hosts import WEST, TwoHosts, one_waits
from tests.support.tables import MS, mono

# What a serving thread does in each wait, one after the other; what is left it sleeps.
PLANTED = {"disk": 0.5, "on_cpu": 0.25, "run_queue": 0.1}
WAIT_MS = 320
BEGINS_MS = 1403


def waiting_elsewhere(conf: dict[str, str] | None = None) -> TwoHosts:
    """Two tasks on the other host that wait for blocks of the first for their last 320 ms."""
    two = one_waits("shuffle_fetch")
    two.rows["apps"][0] |= {"master": "yarn", "spark_conf": json.dumps(conf or {})}
    for row in two.rows["tasks"]:
        if row["executor_id"] == "2":
            row |= {"shuffle_fetch_wait_time_ns": WAIT_MS * MS, "shuffle_read_remote_bytes": 100,
                    "shuffle_read_local_bytes": 0}  # fmt: skip
    return two


def serves(two: TwoHosts, host: str, pid: int, begin_ms: float, states: dict[str, float]) -> None:
    """Let a thread that serves blocks do one thing after the other, for shares of a wait."""
    clock = two.west if host == WEST else lambda driver_ns: driver_ns
    two.add("thread_counters", host=host, pid=pid, tid=300, comm="shuffle-server-",
            t_mono_ns=clock(mono(50)), run_ns=0, run_delay_ns=0, timeslices_count=1, first=True,
            last=False)  # fmt: skip

    def state(name: str, since: int, until: int) -> None:
        begin, end = clock(since), clock(until)
        two.add("thread_states", host=host, pid=pid, tid=300, begin_mono_ns=begin, end_mono_ns=end,
                passes_count=1, weight_ns=end - begin, state=name)  # fmt: skip

    at = mono(0) + round(begin_ms * MS)
    state("sleeping", mono(0), at)
    for name, share in states.items():
        length = round(share * WAIT_MS * MS)
        state(name, at, at + length)
        at += length
    state("sleeping", at, mono(two.world.end_ms))
