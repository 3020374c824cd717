r"""Slow-down by measuring, found inside one JVM: instruments are switched on and off in blocks.

``python -m benchmarks.toggled`` runs five workloads, each in one JVM under ``pyrometer run
--profile full``. A block has every treatment once, in random order: ``off``, ``light``, ``full``,
and with ``--each`` every instrument alone. Machines and JVMs differ from one start to the next by
more than measuring costs; within one JVM and seconds apart they do not.

Switched are task hooks, event log, logs of collector and compiler, profiler, comments in generated
code, OS probe, and sampling of Python workers. What only a new JVM can do without is not in the
ratios: loading the agent (``python -m benchmarks.startup``), the start of an instrument, exact line
numbers of compiled code, the agent's own thread. ``python -m benchmarks.overhead`` compares whole
JVMs.

The ratio is of a block's iterations, treatment over ``off``: of wall time, which users feel, and of
the JVM's CPU time, which neighbours of the machine disturb less. A second table says which threads
use more: by what they do, and the probe beside them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import replace
from benchmarks.statistics import log_ratios, rank_interval
from benchmarks.toggled.app import TREATMENTS
from benchmarks.toggled.jobs import NAMES
from benchmarks.toggled.launch import SIZED, data, environment, measured, title
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.two import student

VALUES = ("wall_ns", "jvm_cpu_ns")
GOAL = 0.02
LEAST = 0.0005


def ratios(blocks: Iterable[Mapping[str, Any]], arm: str, value: str) -> Estimate:
    """Ratio of an arm to ``off`` over blocks; of a block's iterations the mean of the logarithms.

    Examples
    --------
    >>> one = {"arms": {"off": {"wall_ns": [10, 10]}, "light": {"wall_ns": [11, 11]}}}
    >>> round(ratios([one] * 12, "light", "wall_ns").value, 3)
    1.1
    """

    def mean(found: Mapping[str, Any]) -> float:
        return float(np.exp(np.mean(np.log(found[value]))))

    both = [(mean(block["arms"]["off"]), mean(block["arms"][arm])) for block in blocks]
    return rank_interval(log_ratios([a for a, _ in both], [b for _, b in both]))


def observe(workload: str, chosen: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Run one workload in its JVM and read its blocks.

    Raises
    ------
    subprocess.CalledProcessError
        If the run fails.
    """
    scratch = folder / "scratch"
    scratch.mkdir(exist_ok=True)
    output = folder / "blocks.ndjson"
    output.unlink(missing_ok=True)
    asked = {
        "workload": workload,
        "title": title(workload, chosen.size),
        "size": chosen.size,
        "data": data(workload, chosen.size),
        "folder": str(scratch),
        "output": str(output),
        "seconds": chosen.seconds,
        "warmup_s": chosen.warmup,
        "iterations": chosen.iterations,
        "treatments": chosen.treatments,
        "seed": chosen.seed,
    }
    program = (sys.executable, "-m", "benchmarks.toggled.app", json.dumps(asked))
    command = measured("full", folder / workload.replace(" ", "-"), program)
    own = environment(chosen.cores)
    subprocess.run(command, env=own, stdout=subprocess.DEVNULL, check=True)
    return [json.loads(line) for line in output.read_text().splitlines()]


def comparisons(blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Compare every treatment with ``off``, workload by workload."""
    rows = []
    for workload in dict.fromkeys(block["workload"] for block in blocks):
        of_it = [block for block in blocks if block["workload"] == workload]
        for arm in of_it[0]["arms"].keys() - {"off"}:
            rows += [
                {
                    "workload": workload,
                    "treatment": arm,
                    "value": value,
                    "ratio": ratios(of_it, arm, value).model_dump(),
                }
                for value in VALUES
            ]
    return sorted(rows, key=lambda r: (r["workload"], list(TREATMENTS).index(r["treatment"])))


def sources(blocks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Compare what threads of each role use in an iteration with everything off.

    Of all CPU time of the JVM with everything off; the mean over blocks, with Student's interval.
    """
    rows = []
    for workload in dict.fromkeys(block["workload"] for block in blocks):
        arms = [b["arms"] for b in blocks if b["workload"] == workload]
        alone = float(np.mean([np.mean(arm["off"]["jvm_cpu_ns"]) for arm in arms]))
        for name in (n for n in TREATMENTS if n in arms[0] and n != "off"):
            roles = sorted({role for arm in arms for role in arm[name]["cpu_ns"]})
            for role in roles:
                more = [arm[name]["cpu_ns"].get(role, 0) - arm["off"]["cpu_ns"].get(role, 0)
                        for arm in arms]  # fmt: skip
                found = student([one / alone for one in more])
                rows.append({"workload": workload, "treatment": name, "role": role,
                             "of_cpu_ratio": found.model_dump()})  # fmt: skip
    return rows


def table_of_sources(rows: Sequence[Mapping[str, Any]]) -> str:
    """Lay out which threads use more by being measured; what is less than `LEAST` is left out."""
    lines = [
        f"{'workload':<14}{'treatment':<16}{'CPU of':<12}{'n':>5}{'more':>9}  95 % interval"
        f" (of the JVM's with everything off; from {100 * LEAST:g} % on)"
    ]
    for row in rows:
        found = row["of_cpu_ratio"]
        if found["value"] is None or abs(found["value"]) < LEAST:
            continue
        ends = "-"
        if found["low"] is not None:
            ends = f"{100 * found['low']:+.2f} … {100 * found['high']:+.2f} %"
        lines.append(
            f"{row['workload']:<14}{row['treatment']:<16}{row['role']:<12}{found['n']:>5}"
            f"{100 * found['value']:>+8.2f} %  {ends}"
        )
    return "\n".join(lines)


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Lay the comparisons out as text; the goal is the upper end of the interval of wall time."""
    lines = [f"{'workload':<14}{'treatment':<16}{'value':<12}{'n':>5}{'ratio':>8}  95 % interval"]
    for row in rows:
        found = row["ratio"]
        interval, verdict = "-", ""
        if found["low"] is not None:
            interval = f"{found['low']:.4f} … {found['high']:.4f}"
            if row["value"] == "wall_ns" and row["treatment"] in ("light", "full"):
                half = (found["high"] - found["low"]) / 2
                needed = math.ceil(found["n"] * (half / GOAL) ** 2)
                verdict = "below 2 %" if found["high"] < 1 + GOAL else ""
                if not verdict and found["low"] < 1 + GOAL:
                    verdict = f"2 % is within it; blocks for ±2 %: {needed}"
                verdict = verdict or "above 2 %"
        lines.append(
            f"{row['workload']:<14}{row['treatment']:<16}{row['value']:<12}{found['n']:>5}"
            f"{found['value']:>8.4f}  {interval:<18}  {verdict}".rstrip()
        )
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.toggled",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workload", action="append", choices=NAMES, help="default: all")
    parser.add_argument(
        "--size", type=int, default=1, help=f"times the rows of: {', '.join(sorted(SIZED))}"
    )
    parser.add_argument("--seconds", type=float, default=300, help="of blocks, for each workload")
    parser.add_argument("--warmup", type=float, default=40, metavar="SECONDS")
    parser.add_argument(
        "--iterations",
        type=int,
        default=4,
        help="counted after each switch, at least; two seconds of them",
    )
    parser.add_argument("--each", action="store_true", help="every instrument alone, too")
    parser.add_argument(
        "--treatment", action="append", choices=list(TREATMENTS)[1:], help="default: light, full"
    )
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("-o", "--output", type=Path, help="JSON file: comparisons, raw samples")
    chosen = parser.parse_args(arguments)
    if chosen.size < 1:
        parser.error(f"--size is a whole number from 1 on, not {chosen.size}")
    asked = list(TREATMENTS) if chosen.each else chosen.treatment or ["light", "full"]
    chosen.treatments = list(dict.fromkeys(["off", *asked]))
    blocks: list[dict[str, Any]] = []
    for workload in chosen.workload or NAMES:
        with tempfile.TemporaryDirectory(prefix="pyrometer-bench-") as folder:
            blocks += observe(workload, chosen, Path(folder))
        rows = comparisons(blocks)
        print(f"{workload}: {len(blocks)} blocks so far", file=sys.stderr)
        if chosen.output is not None:
            found = {
                "schema": "pyrometer/benchmark-toggled/1",
                "seed": chosen.seed,
                "cpus_count": os.cpu_count(),
                "comparisons": rows,
                "sources": sources(blocks),
                "blocks": blocks,
            }
            replace(chosen.output, found)
    print(table(rows))
    print(table_of_sources(sources(blocks)))
    for block in {block["workload"]: block for block in blocks}.values():
        paces = ", ".join(f"{name} {hz:g} Hz" for name, hz in block["probe_hz"].items())
        print(f"{block['workload']}: pace that the budget leaves: {paces or 'no probe'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
