r"""Schedule very many tasks: how long the simulator takes, with and without contention.

    python -m benchmarks.simulate --tasks 100000 --blocks 9 -o out.json

The application is drawn by seed: jobs one after another, each a diamond of four stages, tasks of
log-normal lengths, some of them tried twice. ``schedule`` is one schedule on 400 slots;
``contention`` finds each task's work first and then makes one under a law, on one host, the dearest
case. Each repetition is timed in one process, the request to the native scheduler and its answer
included; blocks alternate as everywhere (benchmarks/README.md). Goal: ``seconds`` below 1.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.execute import Arm, Metrics
from benchmarks.harness import Plan as Comparison
from benchmarks.harness import alternate, replace, table
from pyrometer.core.units import digits
from pyrometer.simulation.cluster import Graph
from pyrometer.simulation.contention import Contention, universal
from pyrometer.simulation.measured import Tasks
from pyrometer.simulation.scheduler import Plan, schedules

TASKS_OF_STAGE = 500
SLOTS = 400
MS = 1_000_000


def application(tasks_count: int, seed: int) -> Plan:
    """Draw an application of about so many tasks."""
    random = np.random.default_rng(seed)
    stages = max(4, tasks_count // TASKS_OF_STAGE // 4 * 4)
    per_stage = [len(part) for part in np.array_split(np.arange(tasks_count), stages)]
    graph = Graph()
    for _ in range(stages):
        graph.add([], 0)
    graph.start = before = graph.add([], 0)
    for first in range(0, stages, 4):
        top, left, right, bottom = range(first, first + 4)
        for stage, after in (
            (top, [before]),
            (left, [top]),
            (right, [top]),
            (bottom, [left, right]),
        ):
            graph.after[stage] = after
            graph.delay_ns[stage] = 20 * MS
        before = graph.add([bottom], 0)
    graph.end = before
    others = len(graph.after) - stages
    retry = np.full(tasks_count, -1, dtype=np.int32)
    wasted = np.zeros(tasks_count, dtype=np.uint8)
    for start in np.cumsum([0, *per_stage[:-1]])[::10]:
        wasted[start], retry[start + 1] = 1, 0
    tasks = Tasks(
        duration_ns=random.lognormal(np.log(800 * MS), 0.7, tasks_count),
        delay_ns=np.full(tasks_count, 4.0 * MS),
        level=np.zeros(tasks_count, dtype=np.uint8),
        wasted=wasted,
        retry_of=retry,
    )
    nodes = stages + others
    return Plan(
        graph=graph,
        tasks=tasks,
        delay_ns=[float(delay) for delay in graph.delay_ns],
        counts=[*per_stage, *([0] * others)],
        load=[1.0] * nodes,
        pool=[0] * nodes,
        near=[[] for _ in range(nodes)],
        locality_wait_ns=0.0,
        launch_resets_wait=False,
    )


def timed(kind: str, tasks_count: int, seed: int) -> Metrics:
    """Compute one schedule; return the time it took, and its length."""
    plan = application(tasks_count, seed)
    cluster = [{"slots": 4, "host": 0, "add": (plan.graph.start, 0)} for _ in range(SLOTS // 4)]
    law = universal(1e-4, 1e-7)
    contention = Contention(law, law, "universal") if kind == "contention" else None
    begun, cpu = time.perf_counter(), time.process_time()
    schedule = schedules(plan, [cluster], [{"nodes": True}], contention)[0]
    return {
        "seconds": time.perf_counter() - begun,
        "cpu_seconds": time.process_time() - cpu,
        "elapsed_ns": schedule.elapsed_ns,
    }


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("-o", "--output", type=Path)
    asked = parser.parse_args(arguments)
    # A fresh process imports the function by its module's name.
    from benchmarks import simulate

    arms = [
        Arm.of_function(kind, simulate.timed, kind, asked.tasks, asked.seed)
        for kind in ("schedule", "contention")
    ]
    plan = Comparison(
        f"simulate {asked.tasks} tasks", arms, asked.blocks, values=("seconds",), seed=asked.seed
    )
    result = alternate(plan, asked.output, report=lambda text: print(text, file=sys.stderr))
    if asked.output:
        replace(asked.output, result)
    for name in ("schedule", "contention"):
        taken = [
            sample["metrics"]["seconds"] for sample in result["samples"]
            if sample["arm"] == name and sample["exit_code"] == 0
        ]  # fmt: skip
        low, middle, high = np.quantile(taken, (0, 0.5, 1))
        print(f"{name}: {digits(middle)} s ({digits(low)} … {digits(high)}, n = {len(taken)})")
    print(table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
