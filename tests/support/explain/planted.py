"""Worlds in which a cause is planted, and what a rule says of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.explain.asked import asked
from tests.support.explain.summarised import summarised
from tests.support.tables import HOST, MS, PID, StageSpec, World, mono

from pyrometer.core.estimate import Estimate
from pyrometer.explain.findings import explained
from pyrometer.explain.rule import Rule
from pyrometer.explain.schema import Finding, Findings
from pyrometer.store import Run
from pyrometer.summary.schema import Summary

S = 1_000_000_000


def judged(folder: Path, rule: Rule) -> Findings:
    """Ask one rule about a run directory."""
    with Run.open(folder) as run:
        return sound(asked(run, [rule]))


def sound(found: Findings) -> Findings:
    """Give findings; a rule that broke is listed as not judged, and must not pass for silent."""
    assert not [one.missing for one in found.unjudged if "broke" in one.missing], found.unjudged
    return found


def only(folder: Path, rule: Rule) -> Finding:
    """Give the only finding of a rule, which must be one that is shown."""
    found = judged(folder, rule)
    assert [one.code for one in found.findings] == [rule.code], found.unjudged
    assert found.findings[0].shown
    return found.findings[0]


def holds(finding: Finding, seconds: float) -> bool:
    """Whether the interval of the saving holds a planted number of seconds."""
    saving = finding.saving.elapsed_ns
    assert saving.low is not None
    assert saving.high is not None
    return saving.low <= seconds * S <= saving.high


def job(tasks: int = 8, ms: int = 1000, slots: int = 2, **parts: Any) -> World:
    """Give a world of one stage: of its time 70 % on a CPU, 10 % in the run queue, 20 % asleep."""
    return World([StageSpec([ms] * tasks)], slots=slots, **parts)


def in_a_row(stages: int, gap_ms: int = 20) -> World:
    """Give a world of stages like that of `job`, each of which waits for the one before."""
    world = World([StageSpec([1000] * 8, gap_ms=gap_ms) for _ in range(stages)])
    for number, row in enumerate(world.rows["stages"]):
        row["parent_ids"] = [number - 1] if number else []
    return world


def stack(world: World, *frames: str, kind: str = "c2") -> int:
    """Add a stack, root first, of ``Class.method`` or native ``symbol``; give its id."""
    number = len(world.rows.get("stacks", []))
    ids = []
    for text in frames:
        name, _, method = text.rpartition(".")
        native = not name
        ids.append(len(world.rows.get("frames", [])))
        world.add(
            "frames", frame_id=ids[-1], class_name=name or None, method=method,
            kind="cpp" if native else kind, library="libjvm.so" if native else None,
        )  # fmt: skip
    world.add("stacks", stack_id=number, frame_ids=ids, truncated=False)
    return number


def samples(world: World, share: float, stage: int = 0, **columns: Any) -> None:
    """Give so much of a stage's CPU samples other columns: every n-th, evenly over its tasks."""
    mine = [
        row
        for row in world.rows["samples"]
        if row["event"] == "cpu" and row["stage_id"] == stage and row["role"] == "task"
    ]
    for place, row in enumerate(mine):
        if int((place + 1) * share) > int(place * share):
            row.update(columns)


def beside(world: World, table: str = "samples", **which: Any) -> World:
    """Add another application in a JVM of its own; rows of a table with some values are its own."""
    rows = world.rows
    rows["apps"].append({**rows["apps"][0], "app_index": 1, "app_id": "local-2"})
    rows["processes"].append({**rows["processes"][0], "pid": PID + 1, "app_id": "local-2"})
    for row in rows[table]:
        if which and all(row.get(name) == value for name, value in which.items()):
            row["pid"] = PID + 1
    return world


def sleeping(world: World, wait_class: str, stage: int = 0) -> None:
    """Say what the tasks of a stage sleep for."""
    for row in world.rows["samples"]:
        if row["event"] == "wall" and row["stage_id"] == stage and row["wait_class"]:
            row["wait_class"] = wait_class


def series(world: World, scope: str, name: str, *values: int) -> None:
    """Add a series of the host: its values, evenly from the begin to the end of the run."""
    for place, value in enumerate(values):
        at = mono(0) + place * world.end_ms * MS // max(1, len(values) - 1)
        world.add("os_series", host=HOST, t_mono_ns=at, scope=scope, name=name, value=value)


def settings(world: World, **conf: str) -> None:
    """Set Spark properties; ``__`` stands for a dot."""
    world.rows["apps"][0]["spark_conf"] = json.dumps(
        {name.replace("__", "."): value for name, value in conf.items()}
    )


def jit_log(world: World, level: int, count: int, method: str = "a.B.c") -> None:
    """Add a log of the compiler with discarded code."""
    world.add(
        "jit", pid=PID, start_mono_ns=mono(400), duration_ns=MS, compiler="c2", level=level,
        method=method, succeeded=True, compile_id=0, osr=False,
    )  # fmt: skip
    for number in range(count):
        world.add(
            "deoptimisations", pid=PID, t_mono_ns=mono(500 + number), kind="invalidated",
            compile_id=number, level=level, osr=False, method=method,
        )  # fmt: skip


PYTHON = {
    "function": ("__main__", "/home/me/app.py"),
    "serialisation": ("pyspark.serializers", "/usr/lib/python3.11/site-packages/pyspark/s.py"),
    "model": ("sklearn.tree", "/usr/lib/python3.11/site-packages/sklearn/tree.py"),
    "pandas": ("pandas.core.frame", "/usr/lib/python3.11/site-packages/pandas/core/frame.py"),
    "network": ("http.client", "/usr/lib/python3.11/http/client.py"),
    "imports": ("importlib._bootstrap", "<frozen importlib._bootstrap>"),
}
"""Module and file of a frame of each kind of a worker's work."""


def workers(world: World, operator: str = "BatchEvalPython", **work_ms: int) -> None:
    """Add Python workers that used CPU for the tasks of the first stage, by kind of work."""
    world.add(
        "plan_nodes", app_index=0, sql_id=0, plan_version=0, is_final=True, node_id=3,
        parent_node_id=0, depth=1, name=operator, simple_string=f"{operator} [f(x#1)]",
    )  # fmt: skip
    tasks = [row["task_attempt_id"] for row in world.rows["tasks"] if row["stage_id"] == 0]
    for work, ms in work_ms.items():
        kinds = ("function", work) if work == "network" else (work,)
        first, number = len(world.rows.get("frames", [])), len(world.rows.get("stacks", []))
        for frame, (module, file) in enumerate((PYTHON[kind] for kind in kinds), first):
            world.add("frames", frame_id=frame, class_name=module, method="f", kind="python",
                      library=file)  # fmt: skip
        frames = list(range(first, first + len(kinds)))
        world.add("stacks", stack_id=number, frame_ids=frames, truncated=False)
        for place in range(ms // 10):
            world.add(
                "samples", host=HOST, pid=9, tid=9, t_ns=mono(150) + place * 10 * MS, clock="mono",
                source="python", event="cpu", weight=10 * MS, unit="ns", role="python",
                thread_name="Python worker", task_attempt_id=tasks[place % len(tasks)],
                stage_id=0, stage_attempt=0, sql_id=0, node_id=3, operator=operator,
                java_stack=number,
            )  # fmt: skip


def waiting_for_workers(on_cpu: float = 0.1, run_queue: float = 0.1, stages: int = 1) -> World:
    """Give a world of stages of 8 tasks of 1 s, most of which sleeps for Python workers."""
    each = [StageSpec([1000] * 8) for _ in range(stages)]
    world = World(each, on_cpu=on_cpu, run_queue=run_queue)
    number = stack(world, "org.apache.spark.api.python.BasePythonRunner$ReaderIterator.read")
    for row in world.rows["samples"]:
        if row["event"] == "wall" and row["wait_class"]:
            row.update(wait_class="helper", operator="Python", java_stack=number)
    return world


def judged_with(
    folder: Path, world: World, rule: Rule, change: Callable[[Summary], object]
) -> Findings:
    """Ask one rule, with accounts changed that no table of a world can plant."""
    with summarised(folder, world) as (scope, summary):
        change(summary)
        return sound(explained(scope, summary, rules=[rule]))


def estimate(value: float, low: float, high: float) -> Estimate:
    """Give an estimate of 20 observations."""
    return Estimate(value=value, low=low, high=high, level=0.95, n=20, method="planted")
