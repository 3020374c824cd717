"""The observed program: runs one workload over and over, switching instruments between blocks.

Started by ``python -m benchmarks.toggled`` under ``pyrometer run --profile full``. Arguments are
one JSON object; every block's times are appended to the file that it names.
"""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.canary import canary
from benchmarks.toggled import switches
from benchmarks.toggled.jobs import Iteration, job
from benchmarks.toggled.switches import Switch

LIGHT = ("task hooks", "event log", "vm logs", "probe T1")
FULL = ("task hooks", "event log", "vm logs", "probe T0", "profiler", "code comments", "python")
TREATMENTS: Mapping[str, Sequence[str]] = {
    "off": (),
    "light": LIGHT,
    "full": FULL,
    **{name: (name,) for name in dict.fromkeys((*LIGHT, *FULL))},
}
"""Instruments that are on, by treatment; the first is the baseline."""

SETTLE_S = 1.5
"""Waited after every switch: the start of an instrument (a probe reads the kernel's symbols, its
programs are verified) is paid once in a run, and is no part of what it costs while it runs."""
SETTLE = 1
"""Iterations after that which are not counted: files open, threads start, caches change."""
COUNTED_S = 2.0
"""Iterations that are counted take at least this long together."""


def process_cpu_ns(pid: int) -> int:
    """CPU so far of a whole process: its CPU clock (see clock_getcpuclockid(3))."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def installed(spark: SparkSession, raw: Path, folder: Path) -> dict[str, Switch]:
    """Make all switches and turn everything off; a place for Python, which each iteration asks."""
    found = {
        "task hooks": switches.task_hooks(spark),
        "event log": switches.event_log(spark),
        "vm logs": switches.vm_logs(spark, folder),
        "profiler": switches.profiler(spark, raw, folder),
        "code comments": switches.code_comments(spark),
        "probe T0": switches.os_probe(raw, folder, "T0"),
        "probe T1": switches.os_probe(raw, folder, "T1"),
        "python": Switch(lambda: None, lambda: None),
    }
    switches.end_own_probe(raw)
    for switch in found.values():
        switch.off()
    return found


def measured(run: Iteration, sampled: bool, count: int, pid: int) -> dict[str, list[int]]:
    """Run iterations; give the wall time of each and the CPU time of the JVM."""
    walls, cpus = [], []
    for number in range(SETTLE + count):
        cpu, wall = process_cpu_ns(pid), time.perf_counter_ns()
        run(sampled)
        if number >= SETTLE:
            walls.append(time.perf_counter_ns() - wall)
            cpus.append(process_cpu_ns(pid) - cpu)
    return {"wall_ns": walls, "jvm_cpu_ns": cpus}


def main() -> None:
    """Warm up, then blocks of all treatments in random order until the time is over."""
    asked = json.loads(sys.argv[1])
    folder, raw = Path(asked["folder"]), Path(os.environ["PYROMETER_CONTEXT_DIR"])
    spark = SparkSession.builder.appName(f"toggled {asked['workload']}").getOrCreate()
    pid = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    run = job(asked["workload"], spark, Path(asked["data"]) if asked["data"] else None)
    by_name = installed(spark, raw, folder)
    states: set[str] = set()

    def switch(to: Sequence[str]) -> None:
        for name in states - set(to):
            by_name[name].off()
        for name in to:
            if name not in states:
                by_name[name].on()
        states.clear()
        states.update(to)

    treatments = asked["treatments"]
    # Both kinds of code are compiled, and all of Spark is warm, before anything is counted.
    ends = time.monotonic() + asked["warmup_s"]
    while time.monotonic() < ends:
        for name in treatments:
            switch(TREATMENTS[name])
            measured(run, "python" in states, 2, pid)
    took = statistics.median(measured(run, "python" in states, 8, pid)["wall_ns"]) / 1e9
    iterations = max(asked["iterations"], math.ceil(COUNTED_S / took))
    order = random.Random(asked["seed"])
    ends = time.monotonic() + asked["seconds"]
    with Path(asked["output"]).open("a", encoding="utf-8") as output:
        block = 0
        while time.monotonic() < ends or block < 2:
            found = {"workload": asked["workload"], "block": block, "canary": canary(), "arms": {}}
            for name in order.sample(treatments, len(treatments)):
                switch(TREATMENTS[name])
                time.sleep(SETTLE_S)
                found["arms"][name] = measured(run, "python" in states, iterations, pid)
            output.write(json.dumps(found) + "\n")
            output.flush()
            block += 1
    switch(())
    spark.stop()


if __name__ == "__main__":
    main()
