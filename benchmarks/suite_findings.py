r"""What `explain` says of suites of queries: a row for each finding, by query and by saving.

::

    pyrometer run tpch --scale default --iterations 1 -o tpch
    python -m benchmarks.suite_findings tpch tpcds --rows 40

Every finding is listed, those within the noise of a run, too (they are marked): a query of a suite
is a small part of the run's time, and a user who has that query alone has its findings alone.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrometer.core import units
from pyrometer.explain.schema import Place
from pyrometer.store import Run

WHOLE = "(several)"
"""Instead of a query, of a finding in several places or in none."""
_HEAD = """| | finding | query | place | saves (90 %) | of the run |
|--:|---|---|---|--:|--:|
"""


@dataclass(frozen=True)
class Found:
    """A finding of a run.

    Attributes
    ----------
    query : str
        Name of the query that it is in.
    saved_ns, low_ns, high_ns : float
        Elapsed time that the remedy saves, and its 90 % interval.
    ratio : float
        Saving as a share of the run.
    shown : bool
        Whether it lies above the noise of the run.
    """

    code: str
    query: str
    place: str
    saved_ns: float
    low_ns: float
    high_ns: float
    ratio: float
    shown: bool


def findings_of(report: Mapping[str, Any], queries: Mapping[int, str]) -> list[Found]:
    """Read findings from ``explain --json --all``, the largest first.

    Parameters
    ----------
    queries : mapping of int to str
        Names of the queries, by the numbers of their SQL executions.
    """
    elapsed = float(report["baseline"]["elapsed_ns"])
    found = []
    for one in report["findings"]:
        saving, place = one["saving"]["elapsed_ns"], one["place"]
        if saving["value"] is None:
            continue
        found.append(
            Found(
                one["code"], queries.get(place["sql_id"], WHOLE), Place(**place).words,
                float(saving["value"]), float(saving["low"]), float(saving["high"]),
                float(saving["value"]) / elapsed, one["shown"],
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: -one.saved_ns)


def listing(found: Sequence[Found], rows: int) -> str:
    """Write a Markdown table of the largest findings.

    Examples
    --------
    >>> one = Found("join.order", "q05", "SortMergeJoin (node 9)", 2e9, 1e9, 3e9, 0.04, True)
    >>> print(listing([one], 5).splitlines()[2])
    | 1 | `join.order` | q05 | SortMergeJoin (node 9) | 2.00 s (1.00 s to 3.00 s) | 4.00 % |
    """
    lines = [
        f"| {rank} | `{one.code}`{'' if one.shown else ' *'} | {one.query} | {_cell(one.place)} |"
        f" {units.duration(one.saved_ns)} ({units.duration(one.low_ns)} to"
        f" {units.duration(one.high_ns)}) | {units.percent(one.ratio)} |\n"
        for rank, one in enumerate(found[:rows], 1)
    ]
    return _HEAD + "".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def by_query(found: Iterable[Found], queries: Iterable[str]) -> str:
    """Say what was found in each query, in a line of Markdown each.

    Examples
    --------
    >>> one = Found("join.order", "q05", "", 2e9, 1e9, 3e9, 0.04, True)
    >>> print(by_query([one], ["q05", "q06"]), end="")
    - **q05**: `join.order` 2.00 s
    - **q06**: nothing
    """
    of: dict[str, list[str]] = defaultdict(list)
    for one in found:
        of[one.query].append(f"`{one.code}` {units.duration(one.saved_ns)}")
    return "".join(f"- **{name}**: {', '.join(of[name]) or 'nothing'}\n" for name in queries)


def main(arguments: Sequence[str] | None = None) -> int:
    """Explain runs, and print tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--rows", type=int, default=40, help="of each table (40)")
    given = parser.parse_args(arguments)
    for folder in given.runs:
        done = subprocess.run(
            [sys.executable, "-m", "pyrometer", "explain", str(folder), "--json", "--all"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        report = json.loads(done.stdout)
        with Run.open(folder) as run:
            queries = {
                int(row["sql_id"]): str(row["description"])
                for row in run.tables.records("SELECT sql_id, description FROM sql_executions")
                if row["description"]
            }
        found = findings_of(report, queries)
        print(f"## {folder.name}\n\n{report['conclusion']}\n")
        print(listing(found, given.rows))
        print(by_query(found, dict.fromkeys(queries.values())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
