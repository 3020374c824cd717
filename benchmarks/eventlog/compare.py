r"""Compare reading an event log with peers, in one run of alternating blocks.

Ours writes finished Parquet tables. Compared with it: ``orjson`` on the same lines, without using
them; and, where its jar is given, the profiling tool of NVIDIA's spark-rapids-tools::

    python -m benchmarks.eventlog.compare LOG --blocks 5 -o out.json \
        --rapids-jar rapids-4-spark-tools.jar --spark-home SPARK_3_5_HOME
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.eventlog import arms
from benchmarks.execute import Arm
from benchmarks.harness import Plan, alternate, table

MIB = 1 << 20


def rapids(log: Path, jar: Path, spark_home: Path) -> Arm:
    """NVIDIA's profiling tool on one log."""
    command = ("java", "-Xmx4g", "-cp", f"{jar}:{spark_home}/jars/*")
    main = "com.nvidia.spark.rapids.tool.profiling.ProfileMain"
    arguments = ("--num-threads", "1", "-o", "{folder}", str(log))
    return Arm("rapids-tools", (*command, main, *arguments), metrics=lambda _: {})


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("log", type=Path, help="a plain event log")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    parser.add_argument("--rapids-jar", type=Path)
    parser.add_argument("--spark-home", type=Path)
    given = parser.parse_args(arguments)
    log = given.log.resolve()
    compared = [
        Arm.of_function("pyrometer", arms.pyrometer, str(log)),
        Arm.of_function("orjson", arms.orjson_lines, str(log)),
    ]
    if given.rapids_jar:
        if not given.spark_home:
            parser.error("--rapids-jar needs --spark-home, the folder that holds jars/")
        compared.append(rapids(log, given.rapids_jar, given.spark_home))
    plan = Plan(name=f"event log {log.name}", arms=compared, blocks=given.blocks)
    result = alternate(plan, given.output, lambda text: print(text, file=sys.stderr))
    print(table(result))
    megabytes = log.stat().st_size / 1e6
    for arm in compared:
        samples = [s for s in result["samples"] if s["arm"] == arm.name and s["exit_code"] == 0]
        if not samples:
            print(f"{arm.name}: every run failed")
            continue
        inner = [s["metrics"].get("mb_per_cpu_s") for s in samples]
        rates = [r for r in inner if r] or [megabytes / (s["cpu_ns"] / 1e9) for s in samples]
        peak = max(s["peak_rss_bytes"] for s in samples) / MIB
        print(f"{arm.name}: {statistics.median(rates):.0f} MB/s per CPU s, peak {peak:.0f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
