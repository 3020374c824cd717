"""Cost of measuring: one Spark program bare, under Pyrometer, under JFR, under sparkMeasure.

``python -m benchmarks.overhead --spark 4`` compares bare, light (the OS probe at its best tier, and
at those below), full, what makes lines of generated code known (comments, exact lines of
compiled code) and JFR's ``profile`` settings on the Spark of this environment; ``--spark 3.5
--python .venv-spark35/bin/python`` adds sparkMeasure's flight recorder, whose last released jar is
for Scala 2.12. ``--workload tpch --scale test`` runs many small plans instead of one large one:
there the compiler of generated code has more of the time than the code.

The slow-down is a ratio of the median warm iteration. Direct CPU is what the kernel charged to the
instrument: Pyrometer's own account (plugin, profiler threads, sampling inside application threads,
probe), JFR's threads. sparkMeasure works inside Spark's listener threads, which every arm has:
compare ``listener_cpu_ns``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.canary import canary
from benchmarks.execute import Arm, Finished, Metrics, last_line_json
from benchmarks.harness import INSTRUMENT, TOTAL, Plan, alternate, table
from pyrometer.collect.probes.stacks import DEBUG_OPTIONS

APP = Path(__file__).parent / "apps" / "spark_loop.py"
SPARKMEASURE = "ch.cern.sparkmeasure:spark-measure_2.12:0.24"
DEBUG = " ".join(DEBUG_OPTIONS)
VALUES = ("iteration_ns", "jvm_cpu_ns", "wall_ns", "listener_cpu_ns")


def pyrometer_metrics(finished: Finished) -> Metrics:
    """Metrics of the program, and what the run says of its instruments."""
    metrics = last_line_json(finished)
    run = finished.folder / "run"
    command = [sys.executable, "-m", "pyrometer", "show", str(run), "--json"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    summary = json.loads(shown.splitlines()[-1])
    parts = {row["name"]: row["cpu_ns"] for row in summary["instruments"]}
    known = [cpu_ns for cpu_ns in parts.values() if cpu_ns is not None]
    # The whole application on both sides: a command has no iterations.
    metrics[INSTRUMENT] = sum(known) if known else None
    metrics[TOTAL] = summary["cpu"]["process_cpu_ns"]
    return {**metrics, **{f"instrument/{name}_ns": cpu for name, cpu in parts.items()}}


def sparkmeasure_metrics(finished: Finished) -> Metrics:
    """Metrics of the program; the cost of a listener is not separable from that of Spark's."""
    return {**last_line_json(finished), INSTRUMENT: None}


def data_folder(workload: str, scale: str) -> str:
    """Folder of a workload's data, generated if need be: of all tables, or of the only one."""
    from pyrometer.workloads import registry
    from pyrometer.workloads.data_cache import DataCache

    spec = registry.resolve(workload, {}, scale)
    prepared = registry.get(workload).prepare(spec, DataCache())
    return prepared.root if len(prepared.paths) > 1 else next(iter(prepared.paths.values()))


def sparkmeasure_jar() -> Path:
    """Fetch sparkMeasure's jar with Maven, once."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "pyrometer" / "peers"
    jar = cache / "spark-measure_2.12-0.24.jar"
    if not jar.exists():
        cache.mkdir(parents=True, exist_ok=True)
        goal = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"
        subprocess.run(
            ["mvn", "-q", "-B", goal, f"-Dartifact={SPARKMEASURE}", f"-DoutputDirectory={cache}"],
            check=True,
        )
    return jar


def arms(spark: str, program: tuple[str, ...], cores: int) -> list[Arm]:
    """Build the arms; the bare program comes first."""
    base = f"--master local[{cores}] --driver-memory 1g --conf spark.ui.enabled=false"
    jfr = "-XX:StartFlightRecording=settings=profile,filename={folder}/recording.jfr"

    def submit(more: str = "") -> dict[str, str]:
        return {"PYSPARK_SUBMIT_ARGS": f"{base} {more} pyspark-shell"}

    def measured(profile: str, tier: str = "") -> Arm:
        run = (sys.executable, "-m", "pyrometer", "run", "--profile", profile, "--no-report")
        at = ("--tier", tier) if tier else ()
        command = (*run, *at, "-o", "{folder}/run", "--", *program)
        return Arm(f"{profile} {tier}".strip(), command, submit(), pyrometer_metrics)

    # Makes lines of generated code known, without sampling them.
    lines = f"--conf spark.sql.codegen.comments=true --driver-java-options '{DEBUG}'"
    found = [
        Arm("bare", program, submit()),
        measured("light"),
        *(measured("light", tier) for tier in ("T1", "T2", "T3")),
        measured("full"),
        Arm("code lines", program, submit(lines)),
        Arm("JFR profile", program, submit(f"--driver-java-options {jfr}")),
    ]
    if spark == "3.5":
        jar = sparkmeasure_jar()
        listener = "ch.cern.sparkmeasure.FlightRecorderStageMetrics"
        output = "spark.sparkmeasure.outputFilename={folder}/stages.json"
        more = f"--jars {jar} --conf spark.extraListeners={listener} --conf {output}"
        found.append(Arm("sparkMeasure 0.24", program, submit(more), sparkmeasure_metrics))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__)
    parser.add_argument("--spark", choices=("4", "3.5"), default="4")
    parser.add_argument("--python", default=sys.executable, help="interpreter that has PySpark")
    parser.add_argument("--blocks", type=int, default=9)
    parser.add_argument("--warmup", type=int, default=3, help="iterations before the measured ones")
    parser.add_argument("--iterations", type=int, default=7)
    parser.add_argument("--workload", choices=("parquet-scan", "tpch"), default="parquet-scan")
    parser.add_argument("--scale", default="default", help="size of its tables")
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument(
        "--arm", action="append", help="compared with bare; default: all; may be repeated"
    )
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args(arguments)
    numbers = (str(chosen.warmup), str(chosen.iterations))
    data = data_folder(chosen.workload, chosen.scale)
    program = (chosen.python, str(APP), data, *numbers)
    found = arms(chosen.spark, program, chosen.cores)
    wanted = [
        arm for arm in found if arm.name in ("bare", *(chosen.arm or [a.name for a in found]))
    ]
    if len(wanted) < 2:
        parser.error("--arm: one of " + ", ".join(arm.name for arm in found[1:]))
    plan = Plan(
        name=f"cost of measuring {chosen.workload}, Spark {chosen.spark}",
        arms=wanted,
        blocks=chosen.blocks,
        values=VALUES,
        seed=chosen.seed,
        canary=canary,
        timeout_s=1800,
    )
    result = alternate(plan, chosen.output, lambda text: print(text, file=sys.stderr))
    print(table(result))
    return 0 if all(sample["exit_code"] == 0 for sample in result["samples"]) else 1


if __name__ == "__main__":
    sys.exit(main())
