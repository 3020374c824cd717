"""Do experiments find what was planted? A program that sleeps for a declared share, on and off.

``python -m benchmarks.planted`` makes an experiment for each effect: `truth-sleep`'s useful work
alone, and with a percentage of sleep, in turns in one JVM; and one whose treatments do not differ.
The table has the planted change, the estimate with its interval, the verdict, the smallest effect
that the blocks detect, and the verdict on the null (*the same* is right, *cannot tell* is honest, a
difference is wrong).

Below is power: how often a number of the blocks would have found the effect (all choices of that
size), and the power by Student's noncentral distribution for their noise. Choices overlap: the
first figure is itself uncertain, the more so the closer the choice is to all blocks.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from scipy import stats

from benchmarks.harness import replace
from benchmarks.statistics import log_ratios, spread
from pyrometer.core import units
from pyrometer.statistics.power import ALPHA, power

SCHEMA = "pyrometer/planted/1"
ROW_S = 0.01
NULL = {"spark.sql.repl.eagerEval.enabled": ["false", "true"]}


def experiment(
    share: int, rows: int, blocks: int, iterations: int, slots: int = 1
) -> dict[str, Any]:
    """Give the file of an experiment that plants `share` per cent; 0 plants nothing.

    Examples
    --------
    >>> experiment(5, rows=100, blocks=8, iterations=6)["matrix"]
    {'workload.cause': ['off', 'on']}
    """
    cause = {"workload.cause": ["off", "on"]}
    return {
        "name": f"planted-{share}",
        "workload": "truth-sleep",
        "scale": str(rows),
        "profile": "off",
        "matrix": cause if share else NULL,
        "set": {
            "layout.tasks": slots,
            **({"workload.share": share} if share else {"workload.cause": "off"}),
        },
        "design": {"kind": "toggle"},
        "blocks": blocks,
        "iterations": iterations,
        "guard": {"policy": "flag"},
        "timeout": "10m",
    }


def measure(share: int, rows: int, blocks: int, iterations: int, slots: int = 1) -> dict[str, Any]:
    """Run the experiment and return the planted effect and what it found."""
    with tempfile.TemporaryDirectory(prefix="pyrometer-planted-") as folder:
        file = Path(folder, "experiment.yaml")
        file.write_text(yaml.safe_dump(experiment(share, rows, blocks, iterations, slots)))
        command = [sys.executable, "-m", "pyrometer", "experiment", "run", str(file), "--json"]
        done = subprocess.run(
            [*command, "-o", str(Path(folder, "out"))],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    report = json.loads(done.stdout.splitlines()[-1])
    without, with_sleep = report["comparison"]["treatments"]
    planted = rows * ROW_S * share / 100 / slots / without["mean"]["value"]
    return {
        "share_percent": share,
        "slots_count": slots,
        "planted_ratio": planted,
        **report["comparison"]["pairs"][0],
        "log_ratios": log_ratios(without["values"], with_sleep["values"]),
        "doubts": [doubt["code"] for doubt in report["doubts"]],
    }


def found(logs: Sequence[float], size: int) -> float:
    """Share of all choices of `size` blocks in which a t test finds a difference.

    Examples
    --------
    >>> found([0.05, 0.06, 0.05, 0.04], 3)
    1.0
    """
    choices = [stats.ttest_1samp(some, 0).pvalue for some in itertools.combinations(logs, size)]
    return float(sum(p < ALPHA for p in choices) / len(choices))


def promised(planted: float, logs: Sequence[float], size: int) -> float:
    """Power of `size` blocks with the noise of these."""
    noise = (spread(logs) or 0.0) / math.sqrt(2)
    return power(math.log1p(planted), noise, size, blocks=True)


def table(results: Sequence[Mapping[str, Any]]) -> str:
    """One line for each effect; then power by number of blocks."""
    lines = [
        f"{'planted':>9} | {'estimate':>9} {'95 %':>20} {'n':>3} {'p':>8} | {'sees':>7} | verdict"
    ]
    for one in results:
        change = one["change"]
        between = " … ".join(units.percent(change[side], signed=True) for side in ("low", "high"))
        lines.append(
            f"{units.percent(one['planted_ratio'], signed=True):>9}"
            f" | {units.percent(change['value'], signed=True):>9} {between:>20} {change['n']:>3}"
            f" {one['p']:8.2g} | {units.percent(one['detectable']):>7} | {one['verdict']}"
        )
    lines.append("\npower: found in so many of all choices of blocks | promised for their noise")
    for one in results:
        planted, logs = one["planted_ratio"], one["log_ratios"]
        cells = [
            f"{size} blocks {found(logs, size):5.0%} | {promised(planted, logs, size):4.0%}"
            for size in range(3, len(logs), 2)
        ]
        lines.append(f"{units.percent(planted, signed=True):>9}   " + "   ".join(cells))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the experiments and print the table; 1 where a null is called a difference."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted", description=__doc__)
    parser.add_argument("--shares", default="0,1,2,5,10", help="per cent; 0 is the null")
    parser.add_argument("--rows", type=int, default=200, help="of 10 ms each")
    parser.add_argument("--slots", type=int, default=1, help="of tasks; one CPU should be left")
    parser.add_argument("--blocks", type=int, default=8, help="launches of the JVM")
    parser.add_argument("--iterations", type=int, default=6, help="of each treatment in a launch")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args(arguments)
    results: list[dict[str, Any]] = []
    for share in (int(word) for word in chosen.shares.split(",")):
        results.append(measure(share, chosen.rows, chosen.blocks, chosen.iterations, chosen.slots))
        if chosen.output:
            replace(chosen.output, {"schema": SCHEMA, "results": results})
    print(table(results))
    wrong = ("slower", "faster")
    return 1 if any(r["verdict"] in wrong and not r["share_percent"] for r in results) else 0


if __name__ == "__main__":
    sys.exit(main())
