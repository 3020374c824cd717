r"""Time and memory of `explain`, from nothing and with the summary kept, beside another checkout.

::

    python -m benchmarks.eventlog.record_tpch FOLDER
    python -m benchmarks.eventlog.widen FOLDER/local-… 100000 tasks.log
    python -m benchmarks.eventlog.multiply FOLDER/local-… 60 queries.log
    python -m benchmarks.explain tasks.log queries.log --beside OTHER_CHECKOUT -o out.json

The tables of each log are made first: that is `ingest`, which `benchmarks.analysis` times. Findings
are computed from them in alternating blocks with the other checkout, which needs a native core of
its own; from the tables alone, and with the summary that `show` keeps beside them. Every arm is a
fresh process with its own peak of memory, and has its own copy of the tables.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.execute import Arm
from benchmarks.harness import Plan, alternate, replace, table
from benchmarks.stacks import MIB, VALUES, arm
from pyrometer.core.units import digits

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
        if not samples:
            found.append(f"{result['name']}, {name}: every run failed")
            continue
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
    parser.add_argument("logs", type=Path, nargs="+", metavar="LOG", help="event logs")
    parser.add_argument("--beside", type=Path, required=True, help="a checkout to compare with")
    parser.add_argument("--blocks", type=int, default=5)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 100_000)
    parser.add_argument("-o", "--output", type=Path)
    given = parser.parse_args(arguments)
    checkouts = {"beside": given.beside.resolve(), "now": Path(__file__).parents[1]}
    results = []
    with tempfile.TemporaryDirectory(prefix="pyrometer-bench-") as folder:
        for log in given.logs:
            run = Path(folder) / log.stem
            ingest_eventlogs([log], run)
            results += compare(run, checkouts, given)
            if given.output:
                replace(given.output, {"comparisons": results})
    failed = [s for result in results for s in result["samples"] if s["exit_code"] != 0]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
