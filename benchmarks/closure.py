"""Do the ledgers close? Every workload, measured at a tier: three figures for each view.

``python -m benchmarks.closure --tier T0`` runs every workload that Spark runs (without those of
group ``truth``, unless named) and prints for the measured iterations: closure of the slot view and
of the core view, what is unclassified, the sampling error and the cross-checks. A figure over its
goal (|closure| < 0.5 %, unclassified < 1 %) is marked, and below the table stands what speaks for
its cause: the rows and checks concerned.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.harness import replace
from benchmarks.measured import run_and_read
from pyrometer.core import units
from pyrometer.workloads import registry

SCHEMA = "pyrometer/closure/1"
GOALS = {"closure_ratio": 0.005, "unclassified_ratio": 0.01}
VIEWS = {"slot_view": "slot", "core_view": "core"}


def measure(
    name: str, scale: str, iterations: int, tier: str, profile: str, settings: Sequence[str] = ()
) -> dict[str, Any]:
    """Run a workload once and keep what its ledger says; ``error`` where the run failed."""
    how = ["--scale", scale, "--iterations", str(iterations), "--tier", tier, "--profile", profile]
    sets = [word for setting in settings for word in ("--set", setting)]
    load = os.getloadavg()[0]
    try:
        measured = run_and_read([name, *how, *sets], ["ledger"])
    except subprocess.CalledProcessError as error:
        return {"workload": name, "error": f"exit code {error.returncode}"}
    ledger = measured.shown[0]
    return {
        "workload": name,
        "tier": measured.tier,
        "load_before": load,
        "length_ns": ledger["window"]["length_ns"],
        **{view: ledger[view] for view in VIEWS},
        "checks": ledger["checks"],
    }


def over(run: Mapping[str, Any]) -> list[tuple[str, str, float]]:
    """View, figure and value of what misses its goal.

    Examples
    --------
    >>> views = {"slot_view": {"closure_ratio": -0.02, "unclassified_ratio": 0.001},
    ...          "core_view": {"closure_ratio": None, "unclassified_ratio": 0.0}}
    >>> over(views)
    [('slot_view', 'closure_ratio', -0.02)]
    """
    return [
        (view, figure, run[view][figure])
        for view in VIEWS
        if view in run
        for figure, goal in GOALS.items()
        if run[view].get(figure) is not None and abs(run[view][figure]) >= goal
    ]


def table(runs: Sequence[Mapping[str, Any]]) -> str:
    """One line for each workload; below, what is behind figures over the goal."""
    lines = [
        f"{'workload':22} {'tier':5} {'load':>5} {'window':>8} | {'slot: closure':>13} {'uncl.':>8}"
        f" {'sampling':>9} | {'core: closure':>13} {'uncl.':>8} | checks"
    ]
    for run in runs:
        if "error" in run:
            lines.append(f"{run['workload']:22} {run['error']}")
            continue
        missed = {(view, figure) for view, figure, _ in over(run)}

        def figure(
            view: str, name: str, run: Mapping[str, Any] = run, missed: set[Any] = missed
        ) -> str:
            mark = "!" if (view, name) in missed else " "
            return units.percent(run[view][name], signed=name == "closure_ratio") + mark

        known = [check for check in run["checks"] if check["ok"] is not None]
        agree = f"{sum(check['ok'] for check in known)} of {len(known)}"
        lines.append(
            f"{run['workload']:22} {run['tier'] or '-':5} {run['load_before']:5.1f}"
            f" {units.duration(run['length_ns']):>8}"
            f" | {figure('slot_view', 'closure_ratio'):>13}"
            f" {figure('slot_view', 'unclassified_ratio'):>8}"
            f" {units.percent(run['slot_view']['sampling_error_ratio']):>9}"
            f" | {figure('core_view', 'closure_ratio'):>13}"
            f" {figure('core_view', 'unclassified_ratio'):>8} | {agree}"
        )
    return "\n".join([*lines, *(line for run in runs for line in _behind(run))])


def _behind(run: Mapping[str, Any]) -> list[str]:
    """Say what may be behind a figure over its goal: reason, unclassified rows, failed checks."""
    lines = []
    for view, figure, value in over(run):
        lines.append(f"{run['workload']}, {VIEWS[view]} view: {figure} {value:+.2%}")
        if figure == "unclassified_ratio":
            rows = [r for r in run[view]["rows"] if r["path"].rsplit("/", 1)[-1] == "unclassified"]
            lines += [f"    {row['path']}: {units.duration(row['value_ns'])}" for row in rows]
        elif run[view]["reason"]:
            lines.append(f"    {run[view]['reason']}")
    failed = [check for check in run.get("checks", ()) if check["ok"] is False]
    for check in failed:
        sides = f"{units.duration(check['left_ns'])} | {units.duration(check['right_ns'])}"
        lines.append(f"{run['workload']}, check {check['name']}: {sides}")
    return lines


def workloads() -> list[str]:
    """Names of what Spark runs, programs with a declared truth left out."""
    known = {name: registry.get(name) for name in registry.entries()}
    return [n for n, one in known.items() if one.engine == "spark" and one.group != "truth"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the workloads, print the table and keep the ledgers; 1 where a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.closure", description=__doc__)
    parser.add_argument("--only", action="append", help="a workload; may be repeated")
    parser.add_argument("--tier", default="auto", help="of the OS probe: auto, T0, T1, T2, T3")
    parser.add_argument("--scale", default="default")
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--profile", default="full")
    parser.add_argument("--set", action="append", default=[], metavar="FACTOR=LEVEL")
    parser.add_argument("--json", action="store_true", help="print the ledgers, not the table")
    parser.add_argument("-o", "--output", type=Path)
    chosen = parser.parse_args(arguments)
    unknown = sorted(set(chosen.only or ()) - set(registry.entries()))
    if unknown:
        parser.error(f"--only {', '.join(unknown)}: no such workload (pyrometer workloads list)")
    runs: list[dict[str, Any]] = []
    for name in chosen.only or workloads():
        runs.append(
            measure(name, chosen.scale, chosen.iterations, chosen.tier, chosen.profile, chosen.set)
        )
        if chosen.output:
            replace(chosen.output, {"schema": SCHEMA, "runs": runs})
    if chosen.json:
        print(json.dumps({"schema": SCHEMA, "runs": runs}))
    else:
        print(table(runs))
    return 1 if any("error" in run or over(run) for run in runs) else 0


if __name__ == "__main__":
    sys.exit(main())
