"""One side of a duet: waits for the other, starts its JVM, runs iterations, ends its JVM.

It knows nothing of any profiler. The argument is one JSON object; times of the monotonic clock,
which both sides share, go to the file that it names.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from pyrometer.workloads.barrier import Barrier


def perform(asked: dict[str, Any]) -> list[tuple[int, int]]:
    """Run the application from its JVM's start to its exit; when each iteration began and ended."""
    # Not earlier: what Python and Spark load is a part of the application.
    from pyspark.sql import SparkSession

    from benchmarks.toggled.jobs import job

    spark = SparkSession.builder.appName(f"duet {asked['workload']}").getOrCreate()
    java: Any = spark.sparkContext._gateway
    run = job(
        asked["workload"], spark, Path(asked["data"]) if asked["data"] else None, asked["size"]
    )
    times = []
    for _ in range(asked["warmup"] + asked["iterations"]):
        began = time.monotonic_ns()
        # Whether Python workers are sampled is left to the profile.
        run(True)
        times.append((began, time.monotonic_ns()))
    spark.stop()
    java.proc.stdin.close()
    java.proc.wait()
    return times


def main() -> None:
    """Begin when both sides are there."""
    asked = json.loads(sys.argv[1])
    Barrier(Path(asked["barrier"]), asked["position"]).wait(0)
    began = time.monotonic_ns()
    times = perform(asked)
    found = {"application_ns": [began, time.monotonic_ns()], "iterations_ns": times}
    Path(asked["output"]).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
