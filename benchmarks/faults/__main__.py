"""Plant faults, explain the runs, and judge what was found: ``python -m benchmarks.faults``.

Every case runs on every shape of data, ``--blocks`` times with the cause and without it, in random
order within a block; the runs with the cause are explained (one of them for each block), and so
are the healthy ones. What the cause costs is the difference of the elapsed times. Rules must not
be changed after looking at the result: those that are, are measured again on cases written later.
So there are sets: ``--set development``, which rules were written beside, and ``later`` to
``ninth``, whose causes have other forms on other shapes of data. ``conditions`` (of JVM and
machine) and ``surroundings`` were written beside the rules: do these fire on the real thing?

``--record`` only runs the applications and keeps the runs, so that they can be recorded while rules
are still written; ``--judge`` only explains what was kept, with the rules of now.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.faults.authored import authored
from benchmarks.faults.calibration import calibration
from benchmarks.faults.cases import DEVELOPMENT
from benchmarks.faults.judge import judge
from benchmarks.faults.later_cases import LATER
from benchmarks.faults.listing import listing
from benchmarks.faults.record import record, recorded
from benchmarks.faults.third_cases import THIRD
from benchmarks.faults.verdict import explained, line, outcomes, table
from benchmarks.harness import replace

SCHEMA = "pyrometer/faults/1"
SETS = {"development": DEVELOPMENT, "later": LATER, "third": THIRD}
AUTHORED = ("fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "conditions", "surroundings")


def main() -> None:
    """Run what is missing, and print the verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=[*SETS, *AUTHORED], default="later")
    parser.add_argument("--only", help="cases, with commas")
    parser.add_argument("--shapes", help="shapes of data of the set, with commas")
    parser.add_argument("--blocks", type=int, default=2)
    parser.add_argument("--data", type=Path, default=Path.home() / ".cache/pyrometer/faults")
    parser.add_argument("-o", "--output", type=Path, default=Path("faults.json"))
    parser.add_argument("--keep", type=Path, help="folder of the runs")
    parser.add_argument("--plot", type=Path, help="write predicted against measured, SVG")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=1, help="times the rows of the largest tables")
    parser.add_argument("--list", type=Path, help="write a row for each planted cause, Markdown")
    phase = parser.add_mutually_exclusive_group()
    phase.add_argument("--record", action="store_true", help="run only, and explain nothing")
    phase.add_argument("--judge", action="store_true", help="explain the kept runs only")
    asked = parser.parse_args()
    of = SETS.get(asked.set) or authored(asked.set)
    names = set(asked.only.split(",")) if asked.only else {case.name for case in of.cases}
    shapes = asked.shapes.split(",") if asked.shapes else list(of.shapes)
    data = (asked.data / f"{of.name}-{asked.size}").absolute()
    os.environ["PYROMETER_FAULTS_SIZE"] = str(asked.size)
    kept = (asked.keep or data / "runs").absolute()
    if not asked.judge:
        pairs = [each for each in of.pairs() if each[0].name in names and each[1] in shapes]
        record(of, pairs, asked.blocks, data, kept, asked.seed)
    if asked.record:
        return
    found = {
        folder: row for folder, row in recorded(of, kept).items()
        if row["key"].split("/")[0] in names and row["key"].split("/")[1] in shapes
    }  # fmt: skip
    rows = explained(found)
    replace(asked.output, {"schema": SCHEMA, "rows": rows})
    for key, row in sorted(rows.items()):
        print(key, line(row))
    found_of = outcomes(rows, of.cases)
    verdict = judge(found_of)
    if asked.list:
        asked.list.write_text(listing(found_of))
    print(table(verdict))
    if asked.plot:
        asked.plot.write_text(calibration(verdict.points))


if __name__ == "__main__":
    main()
