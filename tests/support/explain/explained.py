"""Invented runs for rules of `explain`: stages on slots, and what a rule finds in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.support.explain.asked import asked
from tests.support.simulation.simulated import Log
from tests.support.tables import HOST, MS, PID, mono

from pyrometer.explain.rule import Rule
from pyrometer.explain.schema import Finding
from pyrometer.store import Run

S = 1_000_000_000


class Job:
    """Jobs one after another on executors of equal size, each a stage of tasks."""

    def __init__(self, executors: int = 2, cores: int = 2, add_ms: int = 0, **conf: str) -> None:
        self.log = Log(0, **conf)
        self.executors, self.cores = executors, cores
        self.now_ms = add_ms
        self.jobs = 0
        self.queries = 0
        for number in range(executors):
            self.log.executor(str(number + 1), cores, add_ms)

    def stage(
        self,
        lengths_ms: Sequence[int],
        gap_ms: int = 0,
        columns: Callable[[int], dict[str, Any]] | None = None,
        length_on: Callable[[int, str], int] | None = None,
        name: str | None = None,
        sql: int | None = None,
        tail_ms: int = 0,
    ) -> int:
        """Run a job of one stage: tasks in their order, each on the slot that is free first."""
        number = self.jobs
        self.jobs += 1
        submit = self.now_ms + gap_ms
        slots = [(submit, str(n % self.executors + 1)) for n in range(self.executors * self.cores)]
        done = submit
        for index, length in enumerate(lengths_ms):
            slots.sort(key=lambda one: one[0])
            launch, executor = slots.pop(0)
            took = length if length_on is None else length_on(length, executor)
            own = {} if columns is None else columns(index)
            self.log.task(
                number, launch, took,
                **{"executor_id": executor, "host": f"host-{executor}", "has_metrics": True,
                   "task_index": index, "executor_run_time_ns": took * MS,
                   "executor_cpu_time_ns": took * MS, **own},
            )  # fmt: skip
            slots.append((launch + took, executor))
            done = max(done, launch + took)
        self.log.stage(number, submit, done, [])
        self.log.job(number, submit, done + tail_ms, [number])
        row = self.log.rows["stages"][-1]
        row.update(job_id=number, sql_id=sql, planned_tasks_count=len(lengths_ms))
        if name is not None:
            row["name"] = name
        self.log.rows["jobs"][-1]["sql_id"] = sql
        self.now_ms = done + tail_ms
        return number

    def query(self, start_ms: int, end_ms: int, nodes: Sequence[tuple[str, str]] = ()) -> int:
        """Add an SQL execution with a plan: name and text of nodes, each the child of the last."""
        number = self.queries
        self.queries += 1
        rows = self.log.rows
        rows.setdefault("sql_executions", []).append(
            {"app_index": 0, "sql_id": number, "description": f"query {number}",
             "start_wall_ns": _wall(start_ms), "end_wall_ns": _wall(end_ms),
             "plan_versions_count": 1}
        )  # fmt: skip
        for node, (name, text) in enumerate(nodes):
            rows.setdefault("plan_nodes", []).append(
                {"app_index": 0, "sql_id": number, "plan_version": 0, "is_final": True,
                 "node_id": node, "parent_node_id": node - 1 if node else None, "depth": node,
                 "name": name, "simple_string": text}
            )  # fmt: skip
        return number

    def metric(self, sql: int, node: int, metric: str, value: int, kind: str = "sum") -> None:
        """Add a metric that the driver set."""
        self.log.rows.setdefault("node_metrics", []).append(
            {"app_index": 0, "sql_id": sql, "plan_version": 0, "node_id": node, "metric": metric,
             "metric_type": kind, "accumulator_id": node, "updates_count": 1, "value_sum": value}
        )  # fmt: skip

    def driver(self, start_ms: int, end_ms: int, spark: float = 0.0, waited: float = 0.0) -> None:
        """Sample the driver's thread, every 10 ms: of a stretch it ran Spark's code, and waited."""
        rows, tid = self.log.rows, 7
        if "samples" not in rows:
            names = ("java.lang.Thread", "org.apache.spark.sql.Dataset")
            rows["frames"] = [
                {"frame_id": n, "class_name": name, "method": "run", "kind": "c2"}
                for n, name in enumerate(names)
            ]
            rows["stacks"] = [{"stack_id": 0, "frame_ids": [0, 1], "truncated": False}]
            rows["clock_pairs"] = [
                {"host": HOST, "source": "plugin", "mono_ns": mono(at), "wall_ns": _wall(at)}
                for at in (0, 60_000)
            ]
            rows["thread_counters"], rows["samples"] = [self._read(tid, 0, 0.0)], []
        length = end_ms - start_ms
        before = rows["thread_counters"][-1]["run_delay_ns"]
        for at in (start_ms, end_ms):
            rows["thread_counters"].append(
                self._read(tid, at, before + waited * length * MS * (at == end_ms))
            )
        for number in range(0, int(spark * length), 10):
            rows["samples"].append(
                {"host": HOST, "pid": PID, "tid": tid, "clock": "mono", "unit": "ns",
                 "source": "async-profiler", "role": "driver", "thread_name": "main",
                 "t_ns": mono(start_ms + number), "event": "cpu", "weight": 10 * MS,
                 "java_stack": 0}
            )  # fmt: skip

    def through(
        self,
        start_ms: int,
        end_ms: int,
        *frames: str,
        python: bool = False,
        **columns: object,
    ) -> None:
        """Sample a thread of the driver, or its program in Python: frames from outside.

        Call `driver` before.
        """
        rows = self.log.rows
        stack = len(rows["stacks"])
        known = len(rows["frames"])
        for n, name in enumerate(frames):
            split = name.rpartition(".")
            rows["frames"].append(
                {"frame_id": known + n, "class_name": split[0], "method": split[2], "kind": "c2"}
            )
        ids = [*range(known, known + len(frames))]
        rows["stacks"].append({"stack_id": stack, "frame_ids": ids, "truncated": False})
        own = {"tid": 7, "role": "driver", "thread_name": "main", "source": "async-profiler"}
        if python:
            own.update(pid=9, tid=9, role="python", thread_name="Python driver", source="python")
        for at in range(start_ms, end_ms, 10):
            rows["samples"].append(
                {"host": HOST, "pid": PID, "clock": "mono", "unit": "ns", "t_ns": mono(at),
                 "event": "cpu", "weight": 10 * MS, "java_stack": stack, **own, **columns}
            )  # fmt: skip

    @staticmethod
    def _read(tid: int, at_ms: int, delay_ns: float) -> dict[str, Any]:
        return {"host": HOST, "pid": PID, "tid": tid, "t_mono_ns": mono(at_ms), "comm": "main",
                "run_ns": 0, "run_delay_ns": int(delay_ns), "timeslices_count": 1,
                "first": False, "last": False}  # fmt: skip

    def found(self, folder: Path, rule: Rule, end_ms: int = 0) -> list[Finding]:
        """End the application, write it, and give what a rule finds worth showing."""
        return [one for one in self.all_found(folder, rule, end_ms) if one.shown]

    def all_found(self, folder: Path, rule: Rule, end_ms: int = 0) -> list[Finding]:
        """Do the same with what lies below the noise."""
        self.log.rows["apps"][0]["end_wall_ns"] = _wall(self.now_ms + end_ms)
        with Run.open(self.log.write(folder)) as run:
            report = asked(run, [rule])
        broken = [one.missing for one in report.unjudged if "broke" in one.missing]
        assert not broken, broken
        return report.findings


def ended(reason: str, status: str = "failed", **columns: object) -> Job:
    """Give a job of which four tasks fail after 3 s; their partitions are run again for 2 s."""
    job = Job()
    own = {"status": status, "reason": reason, "error": "no such file\nat line 3", **columns}
    job.stage(
        [3_000] * 4 + [2_000] * 4,
        columns=lambda n: {"task_index": n % 4, "attempt": n // 4, **(own if n < 4 else {})},
    )
    job.log.rows["stages"][-1]["planned_tasks_count"] = 4
    return job


def saves(finding: Finding, ms: float) -> bool:
    """Whether the interval of a saving holds so many milliseconds."""
    saving = finding.saving.elapsed_ns
    assert saving.low is not None
    assert saving.high is not None
    return saving.low <= ms * MS <= saving.high


def _wall(ms: int) -> int:
    from tests.support.tables import wall

    return wall(ms)
