"""Figures of clusters on test beds: ``python -m benchmarks.cluster table|clocks|kills|planted``.

As root. Brings a bed up, runs jobs on it through the command line, writes what was found as JSON
lines, and prints a table. What the file has is not measured again; a case that failed stays there
with its reason (``--again`` tries it once more).
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.cluster import clocks, kills, planted, results, table
from benchmarks.cluster.beds import Beds
from pyrometer.core.errors import PyrometerError

VERBS = {"table": table, "clocks": clocks, "kills": kills, "planted": planted}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what is not there yet and print all; the exit code is 1 if a case failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cluster", description=__doc__)
    verbs = parser.add_subparsers(dest="verb", required=True)
    for name, verb in VERBS.items():
        one = verbs.add_parser(name, description=verb.__doc__)
        one.add_argument("-o", "--output", type=Path, help="JSON lines")
        one.add_argument("--name", default="bench", help="of the test bed")
        one.add_argument("--memory", default="600m", help="of each executor")
        one.add_argument("--patience", type=float, default=1800.0, help="seconds for a job")
        one.add_argument("--again", action="store_true", help="try cases that failed once more")
        one.add_argument(
            "--print", action="store_true", help="print what is there, measure nothing"
        )
        one.add_argument("--keep", type=Path, help="folder that run directories are copied to")
        verb.arguments(one)
    asked = parser.parse_args(arguments)
    asked.output = asked.output or Path("build/benchmarks/cluster") / f"{asked.verb}.jsonl"
    verb = VERBS[asked.verb]
    # So that the bed is taken away.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        if asked.print:
            rows = results.read(asked.output)
        else:
            with Beds(asked.name) as beds:
                rows = verb.measure(asked, beds)
    except PyrometerError as error:
        print(f"{error.message}\n{error.remedy or ''}".strip(), file=sys.stderr)
        return 1
    print(results.table(rows, verb.COLUMNS))
    if asked.verb == "planted":
        print(planted.summary(rows))
    print(f"{asked.output}: {len(rows)} cases", file=sys.stderr)
    return 1 if any(row["failed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
