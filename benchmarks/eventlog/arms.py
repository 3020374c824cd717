"""What is compared when an event log is read; each function runs in a separate process."""

from __future__ import annotations

import json
import tempfile
import time

import orjson

from pyrometer import _core


def pyrometer(log: str) -> dict[str, float]:
    """Write finished Parquet tables; ``core_cpu_ns`` excludes the start of Python."""
    with tempfile.TemporaryDirectory() as out:
        start = time.process_time_ns()
        report = json.loads(_core.ingest_eventlogs([log], out))
        cpu = time.process_time_ns() - start
    size = report["stats"]["uncompressed_bytes"]
    return {
        "core_cpu_ns": cpu,
        "mb_per_cpu_s": size / 1e6 / (cpu / 1e9),
        "tasks_count": report["tables"]["tasks"],
    }


def orjson_lines(log: str) -> dict[str, float]:
    """Parse every line and only count tasks."""
    start = time.process_time_ns()
    tasks = size = 0
    with open(log, "rb") as file:
        for line in file:
            size += len(line)
            tasks += orjson.loads(line)["Event"] == "SparkListenerTaskEnd"
    cpu = time.process_time_ns() - start
    return {"core_cpu_ns": cpu, "mb_per_cpu_s": size / 1e6 / (cpu / 1e9), "tasks_count": tasks}
