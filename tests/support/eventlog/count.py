"""A straightforward count of what an event log holds.

Shares nothing with the reader under test: every line goes through ``json.loads``,
everything is held in memory, and each figure is the plain sum of its definition.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

MS = 1_000_000

# Column of table `tasks`: path in `Task Metrics`, factor to the column's unit.
METRICS: dict[str, tuple[tuple[str, ...], int]] = {
    "executor_run_time_ns": (("Executor Run Time",), MS),
    "executor_cpu_time_ns": (("Executor CPU Time",), 1),
    "executor_deserialize_time_ns": (("Executor Deserialize Time",), MS),
    "executor_deserialize_cpu_time_ns": (("Executor Deserialize CPU Time",), 1),
    "result_serialization_time_ns": (("Result Serialization Time",), MS),
    "jvm_gc_time_ns": (("JVM GC Time",), MS),
    "result_size_bytes": (("Result Size",), 1),
    "peak_execution_memory_bytes": (("Peak Execution Memory",), 1),
    "memory_spilled_bytes": (("Memory Bytes Spilled",), 1),
    "disk_spilled_bytes": (("Disk Bytes Spilled",), 1),
    "input_bytes": (("Input Metrics", "Bytes Read"), 1),
    "input_records_count": (("Input Metrics", "Records Read"), 1),
    "output_bytes": (("Output Metrics", "Bytes Written"), 1),
    "output_records_count": (("Output Metrics", "Records Written"), 1),
    "shuffle_read_remote_bytes": (("Shuffle Read Metrics", "Remote Bytes Read"), 1),
    "shuffle_read_remote_to_disk_bytes": (
        ("Shuffle Read Metrics", "Remote Bytes Read To Disk"),
        1,
    ),
    "shuffle_read_local_bytes": (("Shuffle Read Metrics", "Local Bytes Read"), 1),
    "shuffle_read_records_count": (("Shuffle Read Metrics", "Total Records Read"), 1),
    "shuffle_remote_blocks_fetched_count": (
        ("Shuffle Read Metrics", "Remote Blocks Fetched"),
        1,
    ),
    "shuffle_local_blocks_fetched_count": (("Shuffle Read Metrics", "Local Blocks Fetched"), 1),
    "shuffle_fetch_wait_time_ns": (("Shuffle Read Metrics", "Fetch Wait Time"), MS),
    "shuffle_written_bytes": (("Shuffle Write Metrics", "Shuffle Bytes Written"), 1),
    "shuffle_written_records_count": (("Shuffle Write Metrics", "Shuffle Records Written"), 1),
    "shuffle_write_time_ns": (("Shuffle Write Metrics", "Shuffle Write Time"), 1),
}
MAXIMA = {"result_size_bytes", "peak_execution_memory_bytes"}
STATUS = {"Success": "success", "TaskKilled": "killed", "TaskCommitDenied": "killed"}


@dataclass
class Count:
    """Figures of one log."""

    lines: int = 0
    bad_lines: int = 0
    tasks: Counter[str] = field(default_factory=Counter)
    never_ended: int = 0
    totals: dict[str, dict[str, int]] = field(
        default_factory=lambda: {"success": defaultdict(int), "other": defaultdict(int)}
    )
    stages: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    jobs: set[int] = field(default_factory=set)
    executors: set[str] = field(default_factory=set)
    sql: set[int] = field(default_factory=set)
    plans: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    sums: dict[tuple[int, int], int] = field(default_factory=lambda: defaultdict(int))

    @property
    def elapsed_ns(self) -> int | None:
        """Latest stage completion minus earliest stage submission."""
        if not self.stages:
            return None
        return max(e for _, e in self.stages.values()) - min(s for s, _ in self.stages.values())

    @property
    def stage_duration_ns(self) -> int:
        """Sum over completed stage attempts."""
        return sum(end - start for start, end in self.stages.values())


def count(lines: Iterable[bytes]) -> Count:
    """Count the lines of one log."""
    counting = _Counting()
    got = counting.got
    for line in lines:
        if not line.strip():
            continue
        got.lines += 1
        try:
            counting.event(json.loads(line))
        except (ValueError, TypeError, KeyError, AttributeError):
            # No JSON, or an event without what it is about.
            got.bad_lines += 1
    got.never_ended = len(counting.running)
    for (sql, accumulator), value in counting.updates.items():
        if accumulator in counting.accumulators[sql]:
            got.sums[sql, accumulator] = value
    return got


class _Counting:
    def __init__(self) -> None:
        self.got = Count()
        self.running: set[int] = set()
        self.stage_sql: dict[int, int] = {}
        self.succeeded: set[tuple[int, int, int]] = set()
        self.updates: dict[tuple[int, int], int] = defaultdict(int)
        self.accumulators: dict[int, set[int]] = defaultdict(set)

    def event(self, event: dict[str, Any]) -> None:
        got, running, stage_sql = self.got, self.running, self.stage_sql
        updates, accumulators = self.updates, self.accumulators
        name = event["Event"].rsplit(".", 1)[-1]
        if name == "SparkListenerTaskStart":
            running.add(event["Task Info"]["Task ID"])
        elif name == "SparkListenerTaskEnd":
            running.discard(event["Task Info"]["Task ID"])
            _task(got, event, stage_sql, updates, self.succeeded)
        elif name == "SparkListenerJobStart":
            got.jobs.add(event["Job ID"])
            sql = (event.get("Properties") or {}).get("spark.sql.execution.id")
            if sql is not None:
                got.sql.add(int(sql))
                for stage in event["Stage IDs"]:
                    stage_sql.setdefault(stage, int(sql))
        elif name == "SparkListenerStageSubmitted":
            sql = (event.get("Properties") or {}).get("spark.sql.execution.id")
            if sql is not None:
                stage_sql[event["Stage Info"]["Stage ID"]] = int(sql)
        elif name == "SparkListenerStageCompleted":
            info = event["Stage Info"]
            if info.get("Completion Time") and info.get("Submission Time"):
                key = (info["Stage ID"], info.get("Stage Attempt ID", 0))
                got.stages[key] = (info["Submission Time"] * MS, info["Completion Time"] * MS)
        elif "executionId" in event:
            sql = event["executionId"]
            got.sql.add(sql)
            if event.get("sparkPlanInfo"):
                nodes = list(_nodes(event["sparkPlanInfo"]))
                got.plans[sql].append(len(nodes))
                for node in nodes:
                    accumulators[sql].update(m["accumulatorId"] for m in node["metrics"])
            for metric in event.get("sqlPlanMetrics", []):
                accumulators[sql].add(metric["accumulatorId"])
            for accumulator, value in event.get("accumUpdates", []):
                if value != -1:
                    updates[sql, accumulator] += value
        elif name in ("SparkListenerExecutorAdded", "SparkListenerExecutorRemoved"):
            got.executors.add(event["Executor ID"])


def _nodes(node: dict[str, Any]) -> Iterable[dict[str, Any]]:
    yield node
    for child in node["children"]:
        yield from _nodes(child)


def _task(
    got: Count,
    event: dict[str, Any],
    stage_sql: dict[int, int],
    updates: dict[tuple[int, int], int],
    succeeded: set[tuple[int, int, int]],
) -> None:
    status = STATUS.get(event["Task End Reason"]["Reason"], "failed")
    got.tasks[status] += 1
    totals = got.totals["success" if status == "success" else "other"]
    for column, (path, factor) in METRICS.items():
        value: Any = event.get("Task Metrics") or {}
        for key in path:
            value = value.get(key) or {}
        if value:
            number = value * factor
            totals[column] = (
                max(totals[column], number) if column in MAXIMA else totals[column] + number
            )
    sql = stage_sql.get(event["Stage ID"])
    info = event["Task Info"]
    task = (event["Stage ID"], event.get("Stage Attempt ID", 0), info["Index"])
    if status == "success" and sql is not None and task not in succeeded:
        succeeded.add(task)
        for accumulable in info.get("Accumulables", []):
            name = accumulable.get("Name") or ""
            update = str(accumulable.get("Update"))
            # An update of -1 says that there is none.
            if not name.startswith("internal.metrics.") and re.fullmatch(r"(?!-1$)-?\d+", update):
                updates[sql, accumulable["ID"]] += int(update)


def plain_lines(data: bytes) -> list[bytes]:
    """Split a file into lines, decompressed where it is zstd (the corpus has no other codec)."""
    if data[:4] == b"\x28\xb5\x2f\xfd":
        with pa.CompressedInputStream(pa.BufferReader(data), "zstd") as stream:
            data = stream.read()
    return data.split(b"\n")
