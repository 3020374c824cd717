"""Do sleeping threads get their Java stacks? Tasks that sleep for known times, by length.

A Spark program sleeps from 10 ms to 2 s, as much time in each range of lengths
(`benchmarks/apps/spark_sleeps.py`). The table has the sleeps asked for, those that were seen, the
share of their time that was joined with a Java stack (95 % interval by sleeps), why the rest was
not, how far apart in time the halves of a sample are, what was lost, and how often our signals woke
somebody. Goal: 98 % of the time in sleeps of 50 ms and more; under 0.1 % of rows lost.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import replace
from benchmarks.measured import run_and_read

APP = Path(__file__).parent / "apps" / "spark_sleeps.py"
GOAL_NS, GOAL = 50_000_000, 0.98
SCHEMA = "pyrometer/sleeps/1"


def run(slots: int, seconds: float, profile: str, tier: str) -> dict[str, Any]:
    """Run the program under Pyrometer.

    Returns
    -------
    dict
        ``asked``: what the program says, by range of ms; ``told``: ``extended_stacks`` of ``show``;
        ``tier``: of the OS probe.
    """
    how = ["--profile", profile, "--tier", tier, "--"]
    measured = run_and_read([*how, sys.executable, str(APP), str(slots), str(seconds)])
    asked = next(line for line in reversed(measured.said.splitlines()) if line.startswith("{"))
    return {
        "asked": json.loads(asked),
        "told": measured.shown[0]["extended_stacks"],
        "tier": measured.tier,
    }


def long_sleeps(stacks: Mapping[str, Any]) -> tuple[float, float]:
    """Time in sleeps of 50 ms and more that could take a signal, and the joined part of it (ns)."""
    rows = [row for row in stacks["by_length"] if (row["low_ns"] or 0) >= GOAL_NS]
    asleep = sum(row["asleep_ns"] - row["uninterruptible_ns"] for row in rows)
    return asleep, sum(row["joined_ns"] for row in rows)


def table(found: Mapping[str, Any]) -> str:
    """Lines of text: a row for each range of lengths, then the other figures."""
    stacks = found["told"]
    if stacks["asleep_ns"] is None:
        return f"nothing was joined: {stacks['reason']}"
    lines = [
        f"tier {found['tier']}; lengths by {stacks['lengths_by']}",
        f"{'length':>16} {'asked':>9} {'n':>6} {'seen':>9} {'n':>6} {'joined':>9}  95 % interval",
    ]
    asked = {int(name.split("-")[0]) * 1_000_000: row for name, row in found["asked"].items()}
    for row in stacks["by_length"]:
        ratio, known = row["joined_ratio"], asked.get(row["low_ns"])
        lines.append(
            f"{_length(row):>16} {_seconds(known and known['ms'] * 1e6):>9}"
            f" {known['count'] if known else '-':>6} {_seconds(row['asleep_ns']):>9}"
            f" {row['episodes_count']:>6} {100 * ratio['value']:>7.2f} %"
            f"  {100 * ratio['low']:.2f} … {100 * ratio['high']:.2f} %"
        )
    asleep, joined = long_sleeps(stacks)
    lines.append(
        f"50 ms and more: {100 * joined / asleep:.2f} % of {_seconds(asleep)} (goal {GOAL:.0%})"
        if asleep
        else "no sleep of 50 ms or more was seen"
    )
    by_status = [f"{row['status']} {_seconds(row['asleep_ns'])}" for row in stacks["by_status"]]
    lines.append(f"outcomes: {', '.join(by_status)}")
    skew, woken, lost = stacks["skew"], stacks["wake_ups"], stacks["dropped_ratio"]
    if skew["n"]:
        times = ", ".join(
            f"{name} {skew[f'{name}_ns'] / 1e6:.1f} ms" for name in ("p50", "p95", "max")
        )
        lines.append(f"pass and sample apart: {times} (n = {skew['n']})")
    share = "" if woken["ratio"] is None else f" = {100 * woken['ratio']:.2f} % of all switches"
    lines.append(f"sleeps that our signals interrupted: {woken['caused_count']}{share}")
    lines.append(f"rows lost: {'not known' if lost is None else f'{100 * lost:.3f} %'}")
    return "\n".join(lines)


def _length(row: Mapping[str, Any]) -> str:
    low, high = row["low_ns"], row["high_ns"]
    if low is None:
        return "seen once"
    return f"{low / 1e6:g} - {high / 1e6:g} ms" if high else f"> {low / 1e6:g} ms"


def _seconds(ns: float | None) -> str:
    return "-" if ns is None else f"{ns / 1e9:.2f} s"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and print its table; 1 where the goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sleeps", description=__doc__)
    parser.add_argument("--slots", type=int, default=8, help="tasks that sleep at the same time")
    parser.add_argument("--seconds", type=float, default=40, help="each task sleeps in all")
    parser.add_argument("--profile", default="full", help="as pyrometer run takes it")
    parser.add_argument("--tier", default="auto")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args(arguments)
    found = run(chosen.slots, chosen.seconds, chosen.profile, chosen.tier)
    print(table(found))
    if chosen.output:
        replace(chosen.output, {"schema": SCHEMA, **found})
    asleep, joined = long_sleeps(found["told"])
    return 0 if asleep and joined >= GOAL * asleep else 1


if __name__ == "__main__":
    sys.exit(main())
