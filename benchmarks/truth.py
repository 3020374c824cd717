"""Do figures mean what they say? Declared shares of programs against the measured ones.

``python -m benchmarks.truth --shares 10,30,50,70,90`` runs every workload of group ``truth`` that
has a variant ``workload.share`` and a truth that some instrument measures, once for each share, and
fits a line: measured = intercept + slope × declared. A right instrument has slope 1 and intercept
0; the 95 % interval of the slope is Student's t with n − 2 degrees of freedom. Where one operator
of the plan has all the work, the last column has the least share of the tasks' CPU that a run
attributed to it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scipy import stats

from benchmarks.harness import replace
from benchmarks.measured import run_and_read
from pyrometer.testing.truth.measured import measured
from pyrometer.workloads import registry

SHARE = "workload.share"
CAUSE = "workload.cause"
Show = Callable[[str, dict[str, str]], dict[str, Any]]
"""Runs a workload with some levels; returns what ``show --json`` says of the run."""


@dataclass(frozen=True)
class Point:
    """One run: the declared value and the measured one, or the reason why there is none."""

    declared: float
    measured: float | None
    reason: str | None = None
    operator_share: float | None = None


@dataclass(frozen=True)
class Fit:
    """Measured on declared: slope with its 95 % interval, and intercept; or why there is none."""

    slope: float | None
    low: float | None = None
    high: float | None = None
    intercept: float | None = None
    reason: str | None = None


def fit(points: Sequence[Point]) -> Fit:
    """Least squares through the points that have a measurement.

    Examples
    --------
    >>> line = fit([Point(x, 0.1 + 0.5 * x) for x in (0.1, 0.5, 0.9)])
    >>> round(line.slope, 6), round(line.intercept, 6)
    (0.5, 0.1)
    """
    known = [(p.declared, p.measured) for p in points if p.measured is not None]
    if len(known) < 3 or len({x for x, _ in known}) < 2:
        reasons = sorted({p.reason for p in points if p.reason})
        why = "; ".join([f"{len(known)} of {len(points)} runs have a measurement", *reasons])
        return Fit(None, reason=why)
    line = stats.linregress([x for x, _ in known], [y for _, y in known])
    half = float(stats.t.ppf(0.975, len(known) - 2)) * float(line.stderr)
    slope = float(line.slope)
    return Fit(slope, slope - half, slope + half, float(line.intercept))


def sweep(name: str, shares: Sequence[int], scale: str, show: Show) -> list[Point]:
    """Run one program at each share."""
    points = []
    for share in shares:
        levels = {CAUSE: "on", SHARE: str(share)}
        truth = registry.get(name).truth(registry.resolve(name, levels, scale))
        if truth is None:
            raise ValueError(f"{name} declares no truth at {levels}")
        try:
            shown = show(name, levels)
        except subprocess.CalledProcessError as error:
            points.append(Point(truth.value, None, f"the run failed: exit code {error.returncode}"))
            continue
        found = measured(truth, shown)
        share_of_operator = operator_share(shown, truth.operator) if truth.operator else None
        points.append(Point(truth.value, found.value, found.reason, share_of_operator))
    return points


def operator_share(shown: dict[str, Any], operator: str) -> float | None:
    """Share of an operator's nodes in the CPU of all tasks; ``None`` without samples.

    Examples
    --------
    >>> operators = [{"operator": "Project", "node_id": 1, "on_cpu_ns": 9}]
    >>> operator_share({"operators": [*operators, {"operator": "Task start", "node_id": None,
    ...     "on_cpu_ns": 1}], "unmapped": {"on_cpu_ns": 0}}, "Project")
    0.9
    """
    rows = shown["operators"]
    total = sum(row["on_cpu_ns"] for row in rows) + (shown["unmapped"]["on_cpu_ns"] or 0)
    own = [r["on_cpu_ns"] for r in rows if r["operator"] == operator and r["node_id"] is not None]
    return sum(own) / total if total else None


def programs() -> list[str]:
    """Workloads whose truth can be swept and is measured by something."""
    found = []
    for name in registry.entries():
        workload = registry.get(name)
        if workload.group != "truth" or SHARE not in workload.variants:
            continue
        truth = workload.truth(registry.resolve(name, {CAUSE: "on"}, "test"))
        if truth is not None and truth.measured_by is not None:
            found.append(name)
    return found


def table(fits: Iterable[tuple[str, Fit, Sequence[Point]]]) -> str:
    """One line for each program."""
    head = f"{'program':28} {'slope':>7} {'95 % interval':>18} {'intercept':>10} {'operator':>9}"
    lines = [head]
    for name, line, points in fits:
        if line.slope is None:
            lines.append(f"{name:28} {'–':>7} {line.reason}")
            continue
        interval = f"[{line.low:.3f}, {line.high:.3f}]"
        shares = [point.operator_share for point in points if point.operator_share is not None]
        least = f"{100 * min(shares):7.1f} %" if shares else ""
        figures = f"{line.slope:7.3f} {interval:>18} {line.intercept:10.3f} {least:>9}"
        lines.append(f"{name:28} {figures}".rstrip())
    return "\n".join(lines)


def run_and_show(scale: str, iterations: int) -> Show:
    """Give the function that measures: `pyrometer run` into a temporary folder, then `show`."""

    def show(name: str, levels: dict[str, str]) -> dict[str, Any]:
        settings = [word for k, v in levels.items() for word in ("--set", f"{k}={v}")]
        how = ["--scale", scale, "--iterations", str(iterations), "--profile", "full"]
        return run_and_read([name, *settings, *how]).shown[0]

    return show


def main(arguments: Sequence[str] | None = None) -> int:
    """Sweep, print the table and write the points."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.truth", description=__doc__)
    parser.add_argument("--shares", default="10,30,50,70,90", help="per cent, joined by commas")
    parser.add_argument("--only", action="append", help="a program; may be repeated")
    parser.add_argument("--scale", default="default")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args(arguments)
    words = chosen.shares.split(",")
    if not all(word.isdecimal() and 0 < int(word) < 100 for word in words):
        parser.error(f"--shares {chosen.shares!r}: whole numbers from 1 to 99, joined by commas")
    known = programs()
    unknown = sorted(set(chosen.only or ()) - set(known))
    if unknown or not known:
        what = f"--only {', '.join(unknown)}: no measurable truth to sweep" if unknown else "none"
        parser.error(f"{what}; programs that have one: {', '.join(known) or 'none'}")
    show = run_and_show(chosen.scale, chosen.iterations)
    results: dict[str, Any] = {}
    fits = []
    for name in chosen.only or known:
        points = sweep(name, [int(word) for word in words], chosen.scale, show)
        fits.append((name, fit(points), points))
        results[name] = {"points": [asdict(p) for p in points], "fit": asdict(fits[-1][1])}
        if chosen.output:
            replace(chosen.output, {"schema": "pyrometer/truth/1", "programs": results})
    print(table(fits))
    return 0 if all(line.slope is not None for _, line, _ in fits) else 1


if __name__ == "__main__":
    sys.exit(main())
