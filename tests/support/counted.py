"""A thread that faults, moves between CPUs, sleeps and burns known times, when told to on stdin.

Prints its thread id, then what it did as JSON: page faults, moves, sleeps, its CPU time, and how
long a hypervisor kept the CPUs from the machine meanwhile.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import threading
import time

PAGES = 3000
MOVES = 40
SLEEPS = 50
BURN_NS = 150_000_000


def stolen_ns() -> int:
    """Time all CPUs were withheld since boot (``proc(5)``, /proc/stat), ns, in ticks."""
    with open("/proc/stat", encoding="ascii") as stat:
        return int(stat.readline().split()[8]) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def work(go: threading.Event, done: dict[str, int]) -> None:
    done["tid"] = threading.get_native_id()
    print(done["tid"], flush=True)
    go.wait()
    start, stolen = time.thread_time_ns(), stolen_ns()
    area = mmap.mmap(-1, PAGES * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    area.madvise(mmap.MADV_NOHUGEPAGE)
    for page in range(PAGES):
        area[page * mmap.PAGESIZE] = 1
    cpus = sorted(os.sched_getaffinity(0))
    done["moves"] = 0
    if len(cpus) > 1:
        os.sched_setaffinity(0, {cpus[0]})
        for move in range(1, MOVES + 1):
            os.sched_setaffinity(0, {cpus[move % 2]})
            done["moves"] += 1
    for _ in range(SLEEPS):
        time.sleep(0.001)
    until = time.thread_time_ns() + BURN_NS
    while time.thread_time_ns() < until:
        pass
    done["cpu_ns"] = time.thread_time_ns() - start
    done["stolen_ns"] = stolen_ns() - stolen


def main() -> None:
    go, done = threading.Event(), {"pages": PAGES, "sleeps": SLEEPS}
    thread = threading.Thread(target=work, args=(go, done))
    thread.start()
    sys.stdin.readline()
    go.set()
    thread.join()
    print(json.dumps(done), flush=True)
    # The thread's end is seen while its process goes on.
    time.sleep(0.3)


if __name__ == "__main__":
    main()
