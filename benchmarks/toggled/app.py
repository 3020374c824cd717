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
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.canary import canary
from benchmarks.toggled import switches
from benchmarks.toggled.jobs import Iteration, job
from benchmarks.toggled.roles import by_role, cpu_of_threads
from benchmarks.toggled.switches import ProbeSwitch, Switch

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
SOON_S = 0.2
"""The same where all instruments are switched at once."""
SLOW = {"probe T0", "profiler"}
"""Instruments that start anew each time."""
SETTLE = 1
"""Iterations after that which are not counted: files open, threads start, caches change."""
COUNTED_S = 2.0
"""Iterations that are counted take at least this long together."""


def process_cpu_ns(pid: int) -> int:
    """CPU so far of a whole process: its CPU clock (see clock_getcpuclockid(3))."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def installed(
    spark: SparkSession, raw: Path, folder: Path
) -> tuple[dict[str, Switch], dict[str, ProbeSwitch]]:
    """Make all switches and turn everything off; a place for Python, which each iteration asks.

    The OS probe's are there twice: they are to find their pace.
    """
    probes = {f"probe {tier}": switches.os_probe(raw, folder, tier) for tier in ("T0", "T1")}
    found = {
        "task hooks": switches.task_hooks(spark),
        "event log": switches.event_log(spark),
        "vm logs": switches.vm_logs(spark, folder),
        "profiler": switches.profiler(spark, raw, folder),
        "code comments": switches.code_comments(spark),
        **{name: probe.switch for name, probe in probes.items()},
        "python": Switch(lambda: None, lambda: None),
    }
    switches.end_own_probe(raw)
    for switch in found.values():
        switch.off()
    return found, probes


def measured(
    run: Iteration, sampled: bool, count: int, pid: int, beside: Sequence[int] = ()
) -> dict[str, Any]:
    """Run iterations; give the wall time of each and the CPU time of the JVM.

    ``cpu_ns`` has that of an iteration by what threads do, and of the processes `beside`.
    """
    for _ in range(SETTLE):
        run(sampled)
    walls, cpus = [], []
    threads, others = cpu_of_threads(pid), [process_cpu_ns(other) for other in beside]
    for _ in range(count):
        cpu, wall = process_cpu_ns(pid), time.perf_counter_ns()
        run(sampled)
        walls.append(time.perf_counter_ns() - wall)
        cpus.append(process_cpu_ns(pid) - cpu)
    used = by_role(threads, cpu_of_threads(pid))
    used["probe"] = sum(process_cpu_ns(pid) for pid in beside) - sum(others)
    shares = {role: ns / count for role, ns in sorted(used.items())}
    return {"wall_ns": walls, "jvm_cpu_ns": cpus, "cpu_ns": shares}


def main() -> None:
    """Warm up, then blocks of all treatments in random order until the time is over."""
    asked = json.loads(sys.argv[1])
    folder, raw = Path(asked["folder"]), Path(os.environ["PYROMETER_CONTEXT_DIR"])
    spark = SparkSession.builder.appName(f"toggled {asked['workload']}").getOrCreate()
    pid = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())
    data = Path(asked["data"]) if asked["data"] else None
    run = job(asked["workload"], spark, data, asked["size"])
    by_name, probes = installed(spark, raw, folder)
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
    switch(())
    chosen = {one for name in treatments for one in TREATMENTS[name]}
    paces = {
        name: probe.settle(lambda: run(False)) for name, probe in probes.items() if name in chosen
    }
    took = statistics.median(measured(run, "python" in states, 8, pid)["wall_ns"]) / 1e9
    iterations = max(asked["iterations"], math.ceil(COUNTED_S / took))
    settle_s = SETTLE_S if chosen & SLOW else SOON_S
    order = random.Random(asked["seed"])
    ends = time.monotonic() + asked["seconds"]
    with Path(asked["output"]).open("a", encoding="utf-8") as output:
        block = 0
        while time.monotonic() < ends or block < 2:
            found = {"workload": asked["title"], "block": block, "canary": canary(), "arms": {}}
            found["probe_hz"] = paces
            for name in order.sample(treatments, len(treatments)):
                switch(TREATMENTS[name])
                time.sleep(settle_s)
                beside = [pid for one in states for pid in by_name[one].processes()]
                sampled = "python" in states
                found["arms"][name] = measured(run, sampled, iterations, pid, beside)
            output.write(json.dumps(found) + "\n")
            output.flush()
            block += 1
    switch(())
    spark.stop()


if __name__ == "__main__":
    main()
