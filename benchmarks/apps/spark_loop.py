"""A PySpark program that knows nothing of any profiler: one query over and over, timed.

Arguments: a folder of Parquet files, warm-up iterations, measured iterations. The last line of
stdout is a JSON object: the median and the sum of the measured iterations, and over the same time
the CPU of the JVM and of those of its threads whose names belong to profilers.
"""

import json
import os
import re
import statistics
import sys
import time

from pyspark.sql import SparkSession

PROFILERS = re.compile(r"^(JFR|pyrometer|Async-profiler)")
LISTENERS = re.compile(r"^spark-listener")


def threads_cpu_ns(pid: int, pattern: "re.Pattern[str]") -> int:
    """CPU so far of the living threads of a process whose names match."""
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/comm") as comm:
                ours = pattern.match(comm.read())
            if ours:
                with open(f"/proc/{pid}/task/{tid}/schedstat") as schedstat:
                    total += int(schedstat.read().split()[0])
        except OSError:
            continue
    return total


def process_cpu_ns(pid: int) -> int:
    """CPU so far of a whole process: its CPU clock (see clock_getcpuclockid(3))."""
    return time.clock_gettime_ns((~pid << 3) | 2)


def main() -> None:
    """Run the query and print what it took."""
    path, warmup, measured = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    spark = SparkSession.builder.appName("spark-loop").getOrCreate()
    pid = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())

    def query() -> int:
        table = spark.read.parquet(path)
        sums = table.groupBy("ws_item_sk").agg({"ws_quantity": "sum", "ws_net_paid": "max"})
        return len(sums.where("`sum(ws_quantity)` < 0").collect())

    def reading() -> "tuple[int, int, int]":
        return process_cpu_ns(pid), threads_cpu_ns(pid, PROFILERS), threads_cpu_ns(pid, LISTENERS)

    times = []
    before = reading()
    for number in range(warmup + measured):
        if number == warmup:
            before = reading()
        start = time.perf_counter_ns()
        query()
        times.append(time.perf_counter_ns() - start)
    process, profilers, listeners = (b - a for a, b in zip(before, reading(), strict=True))
    spark.stop()
    result = {
        "iteration_ns": statistics.median(times[warmup:]),
        "iterations_ns": sum(times[warmup:]),
        "jvm_cpu_ns": process,
        "process_cpu_ns": process,
        "listener_cpu_ns": listeners,
        "instrument_cpu_ns": profilers,
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
