"""A PySpark program that knows nothing of any profiler: the same queries over and over, timed.

Arguments: a folder of Parquet files, or a suite's folder (one for each table, and queries.json);
warm-up iterations, measured iterations. The last line of stdout is a JSON object: the median and
the sum of the measured iterations, and over the same time the CPU of the JVM and of those of its
threads whose names belong to profilers.
"""

import json
import os
import re
import statistics
import sys
import time
from pathlib import Path

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


def queries(spark: SparkSession, data: Path) -> "list[str]":
    """Give the SQL to run on what is in the folder."""
    suite = data / "queries.json"
    if not suite.exists():
        spark.read.parquet(str(data)).createOrReplaceTempView("sales")
        sums = "SELECT sum(ws_quantity) AS n, max(ws_net_paid) FROM sales GROUP BY ws_item_sk"
        return [f"SELECT * FROM ({sums}) WHERE n < 0"]
    for table in data.iterdir():
        if table.is_dir() and not table.name.startswith("."):
            spark.read.parquet(str(table)).createOrReplaceTempView(table.name)
    return [query["sql"] for _, query in sorted(json.loads(suite.read_text()).items())]


def main() -> None:
    """Run the queries and print what they took."""
    path, warmup, measured = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    spark = SparkSession.builder.appName("spark-loop").getOrCreate()
    pid = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())

    texts = queries(spark, Path(path))

    def reading() -> "tuple[int, int, int]":
        return process_cpu_ns(pid), threads_cpu_ns(pid, PROFILERS), threads_cpu_ns(pid, LISTENERS)

    times = []
    before = reading()
    for number in range(warmup + measured):
        if number == warmup:
            before = reading()
        start = time.perf_counter_ns()
        for text in texts:
            spark.sql(text).collect()
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
