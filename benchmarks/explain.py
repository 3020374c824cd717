r"""Time and memory of `explain` for very many tasks and very many queries.

::

    python -m benchmarks.eventlog.record_tpch /tmp/tpch
    python -m benchmarks.explain /tmp/tpch/local-… --beside OTHER_CHECKOUT --blocks 5 -o out.json

Of one small log two large ones are made: each task becomes a hundred, up to `--tasks`; and all of
it is repeated, `--times`. Their findings are computed from the tables alone, and with the summary
kept beside them; with ``--beside``, in alternating blocks with another checkout that has its native
core. Every arm is a fresh process with its own peak of memory, and has its own copy of the tables.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.eventlog.multiply import multiply
from benchmarks.eventlog.widen import widen
from benchmarks.execute import Arm
from benchmarks.harness import Plan, alternate, replace, table
from benchmarks.stacks import MIB, VALUES, arm
from pyrometer.core.units import digits

TASKS = 100_000
TIMES = 60
STATES = {"from nothing": (".summary-*", ".findings-*"), "summary kept": (".findings-*",)}
"""What is deleted before each run."""
_EXPLAIN = (
    "import pathlib, sys\n"
    "sys.path.insert(0, sys.argv[1])\n"
    "for name in sys.argv[3:]:\n"
    "    for kept in pathlib.Path(sys.argv[2], 'tables').glob(name):\n"
    "        kept.unlink()\n"
    "from pyrometer.cli.main import main\n"
    "main(['explain', sys.argv[2], '--json'])\n"
)


def arms(run: Path, checkouts: dict[str, Path], delete: Sequence[str]) -> list[Arm]:
    """Build an arm of each checkout, on a copy of a run's tables."""
    found = []
    for name, checkout in checkouts.items():
        mine = run.with_name(f"{run.name}-{name}".replace(" ", "-"))
        if not mine.exists():
            shutil.copytree(run, mine)
        code = str(checkout / "python")
        found.append(arm(name, sys.executable, "-c", _EXPLAIN, code, str(mine), *delete))
    return found


def compare(run: Path, checkouts: dict[str, Path], given: argparse.Namespace) -> list[Any]:
    """Explain a run from nothing, and with its summary kept; print both."""
    results = []
    for state, delete in STATES.items():
        plan = Plan(
            name=f"explain {run.name}, {state}",
            arms=arms(run, checkouts, delete),
            blocks=given.blocks,
            values=VALUES,
            seed=given.seed,
            warmup_blocks=1,
        )
        result = alternate(plan, None, lambda text: print(text, file=sys.stderr))
        print(table(result))
        print("\n".join(lines(result)), end="\n\n", flush=True)
        results.append(result)
    return results


def lines(result: dict[str, Any]) -> list[str]:
    """Give time and memory of every arm: median and range."""
    found = []
    for name in (each["name"] for each in result["arms"]):
        samples = [
            one for one in result["samples"]
            if one["arm"] == name and one["exit_code"] == 0 and one["block"] >= 0
        ]  # fmt: skip
        for unit, values in {
            "s": [one["wall_ns"] / 1e9 for one in samples],
            "MiB": [one["metrics"]["peak_bytes"] / MIB for one in samples],
        }.items():
            low, middle, high = np.quantile(values, (0, 0.5, 1))
            among = f"{digits(low)} … {digits(high)}, n = {len(values)}"
            found.append(f"{result['name']}, {name}: {digits(middle)} {unit} ({among})")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line."""
    from pyrometer.store import ingest_eventlogs

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.explain",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("log", type=Path, help="a small log whose tasks all succeeded")
    parser.add_argument("--beside", type=Path, required=True, help="a checkout to compare with")
    parser.add_argument("--tasks", type=int, default=TASKS)
    parser.add_argument("--times", type=int, default=TIMES)
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args(arguments)
    here = Path(__file__).parents[1]
    checkouts = {"beside": given.beside.resolve(), "now": here}
    results = []
    with tempfile.TemporaryDirectory(prefix="pyrometer-bench-") as name:
        folder = Path(name)
        for kind in ("tasks", "queries"):
            source = folder / f"{kind}.log"
            with source.open("wb") as out:
                if kind == "tasks":
                    widen(given.log, given.tasks, out)
                else:
                    multiply(given.log, given.times, out)
            print(f"{kind}: {source.stat().st_size / MIB:.0f} MiB", file=sys.stderr)
            ingest_eventlogs([source], folder / kind)
            os.unlink(source)
            results += compare(folder / kind, checkouts, given)
            if given.output:
                replace(given.output, {"comparisons": results})
    failed = [s for result in results for s in result["samples"] if s["exit_code"] != 0]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
