r"""Slow-down by measuring, found with two JVMs at once: a bare one beside a measured one.

``python -m benchmarks.duets`` runs the jobs of ``python -m benchmarks.toggled`` in duets: two
applications with the same number of iterations begin together, each bound to one CPU with all that
belongs to it (driver, JVM, Python workers; launcher and probe of the measured one). Whatever else
happens on the machine happens to both. CPUs and the order of starts are drawn at random, and turned
round in the next pair.

The ratio is of a pair, measured over bare: of the warm iterations, and of the whole application,
from the start of the driver, before its JVM, to the exit of that JVM. The second has in it what
cannot be switched within one JVM: loading the agent and the profiler, the start of the probe, the
thread that writes the plugin's records, exact line numbers. How much of it that is depends on how
long the job runs: column ``bare``. What the launcher does before the driver starts and after it has
ended (tables, summary) is in neither.

A/A is bare beside bare: its ratio shows the bias of the design, its interval the noise. A slow-down
below that is none. What both sides share is in no ratio: the caches and memory bandwidth that a
measured side takes from the bare one, and programs of tier T0, which the kernel runs at switches on
both CPUs. A JVM on one CPU has its collector and compiler on that CPU, too: nothing that
they do is free.

Duet: Bulej et al., "Duet benchmarking: improving measurement accuracy in the cloud", ICPE 2020.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.canary import canary
from benchmarks.duets.compare import comparisons, ratios, table
from benchmarks.duets.plan import CANARY, Duet, blocks, two_cpus
from benchmarks.duets.play import DuetError, Side, play
from benchmarks.harness import replace
from benchmarks.toggled.jobs import NAMES
from benchmarks.toggled.launch import SIZED, data, environment, measured, title

PROFILES = ("light", "full")
TIMEOUT_S = 1800.0


def sides(
    duet: Duet, cpus: tuple[int, int], asked: dict[str, Any], folder: Path
) -> tuple[Side, Side]:
    """Make both sides of a duet, in the order in which they start."""
    # A JVM that sees one CPU would choose the serial collector.
    own = {**environment(1), "SPARK_SUBMIT_OPTS": "-XX:+UseG1GC"}

    def side(role: str, position: int, profile: str) -> Side:
        given = {
            **asked, "barrier": str(folder), "position": position,
            "output": str(folder / f"{role}.json"),
        }  # fmt: skip
        program = [sys.executable, "-m", "benchmarks.duets.app", json.dumps(given)]
        command = program if profile == CANARY else measured(profile, folder / "run", program)
        return Side(role, duet.cpus(cpus)[position], command, own)

    bare, other = side("bare", 0, CANARY), side("other", 1, duet.kind)
    return (bare, other) if duet.bare_first else (other, bare)


def observe(duet: Duet, cpus: tuple[int, int], asked: dict[str, Any]) -> dict[str, Any]:
    """Run a duet; what is found of it, or why it failed."""
    found: dict[str, Any] = {
        "workload": title(asked["workload"], asked["size"]),
        "block": duet.block,
        "kind": duet.kind,
        "cpus": duet.cpus(cpus),
        "bare_first": duet.bare_first,
        "canary": canary(),
        "failure": None,
    }
    with tempfile.TemporaryDirectory(prefix="pyrometer-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            play(sides(duet, cpus, asked, folder), folder, TIMEOUT_S)
            times = {
                role: json.loads((folder / f"{role}.json").read_bytes())
                for role in ("bare", "other")
            }
        except DuetError as error:
            return {**found, "failure": str(error)}
        if duet.kind != CANARY:
            probes = json.loads((folder / "run" / "manifest.json").read_bytes())["probes"]
            found["tier"] = next((one["tier"] for one in probes if one["name"] == "os"), None)
    both = ratios(times["bare"], times["other"], asked["warmup"])
    return {**found, "ratios": both, "sides": times}


def pairs(
    workload: str, cpus: tuple[int, int], chosen: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Run the pairs of a workload until there are enough, or its time is over."""
    asked = {
        "workload": workload,
        "data": data(workload, chosen.size),
        "size": chosen.size,
        "warmup": chosen.warmup,
        "iterations": chosen.iterations,
    }
    ends = None if chosen.seconds is None else time.monotonic() + chosen.seconds
    for block in blocks(chosen.profiles, chosen.pairs, chosen.seed):
        if block[0].block and ends is not None and time.monotonic() > ends:
            return
        for duet in block:
            found = observe(duet, cpus, asked)
            said = found["failure"] or ", ".join(
                f"{name} {'-' if ratio is None else f'{ratio:.3f}'}"
                for name, ratio in found["ratios"].items()
            )
            print(f"{found['workload']}: pair {duet.block} {duet.kind}: {said}", file=sys.stderr)
            yield found


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.duets",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--workload", action="append", choices=NAMES, help="default: all")
    parser.add_argument("--profile", action="append", choices=PROFILES, help="default: both")
    parser.add_argument(
        "--pairs", type=int, default=12, help="of each profile, and as many of two bare sides"
    )
    parser.add_argument(
        "--seconds", type=float, help="no more pairs of a workload after these; default: no limit"
    )
    parser.add_argument(
        "--size", type=int, default=1, help=f"times the rows of: {', '.join(sorted(SIZED))}"
    )
    parser.add_argument("--warmup", type=int, default=10, help="iterations before the warm ones")
    parser.add_argument("--iterations", type=int, default=20, help="warm ones of each side")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("-o", "--output", type=Path, help="JSON file: comparisons, raw samples")
    chosen = parser.parse_args(arguments)
    for name, least in (("pairs", 1), ("size", 1), ("iterations", 1), ("warmup", 0)):
        if (value := getattr(chosen, name)) < least:
            parser.error(f"--{name} is a whole number from {least} on, not {value}")
    chosen.profiles = list(dict.fromkeys(chosen.profile or PROFILES))
    return chosen


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table."""
    chosen = _parsed(arguments)
    cpus = two_cpus(frozenset(os.sched_getaffinity(0)))
    if cpus is None:
        print("a duet needs two CPUs, one for each JVM; here is one", file=sys.stderr)
        return 3
    found: list[dict[str, Any]] = []
    for workload in dict.fromkeys(chosen.workload or NAMES):
        for pair in pairs(workload, cpus, chosen):
            found.append(pair)
            if chosen.output is not None:
                result = {
                    "schema": "pyrometer/benchmark-duets/1",
                    "seed": chosen.seed,
                    "cpus_count": os.cpu_count(),
                    "comparisons": comparisons(found),
                    "pairs": found,
                }
                replace(chosen.output, result)
    print(table(comparisons(found)))
    print(f"seed {chosen.seed}, CPUs {cpus[0]} and {cpus[1]}; ratio = measured / bare")
    failed = sum(pair["failure"] is not None for pair in found)
    if failed:
        print(f"{failed} of {len(found)} pairs failed and are left out")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
