r"""What `explain` says of suites of queries: of the whole run, and of each query in its own window.

::

    pyrometer run tpch --scale default --iterations 1 -o tpch
    python -m benchmarks.suite_findings tpch tpcds --rows 40 -o findings.json

A query of a suite is a small part of the run's time, and a user who has that query alone has its
findings alone: so each is explained in a window of its own (``--window query/NAME``).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.harness import replace
from pyrometer.core import units
from pyrometer.explain.schema import Place
from pyrometer.store import Run

SCHEMA = "pyrometer/suite-findings/1"
_HEAD = """| | finding | query | place | saves (90 %) | of its time |
|--:|---|---|---|--:|--:|
"""


@dataclass(frozen=True)
class Found:
    """A finding of a query, or of a whole run.

    Attributes
    ----------
    query : str
        Name of the query; "" for the whole run.
    saved_ns, low_ns, high_ns : float
        Elapsed time that the remedy saves, and its 90 % interval.
    ratio : float
        Saving as a share of the query's time.
    shown : bool
        Whether it lies above the noise.
    tried : str or None
        Factor and level that `explain --verify` would try.
    """

    code: str
    query: str
    place: str
    saved_ns: float
    low_ns: float
    high_ns: float
    ratio: float
    shown: bool
    tried: str | None = None


def findings_of(report: Mapping[str, Any], query: str) -> list[Found]:
    """Read findings from ``explain --json --all``, the largest first."""
    elapsed = float(report["baseline"]["elapsed_ns"])
    found = []
    for one in report["findings"]:
        saving = one["saving"]["elapsed_ns"]
        if saving["value"] is None:
            continue
        tried = [f"{each['factor']}={each['level']}" for each in one["remedies"] if each["factor"]]
        found.append(
            Found(
                one["code"], query, Place(**one["place"]).words,
                float(saving["value"]), float(saving["low"]), float(saving["high"]),
                float(saving["value"]) / elapsed, one["shown"], tried[0] if tried else None,
            )
        )  # fmt: skip
    return sorted(found, key=lambda one: -one.saved_ns)


def listing(found: Sequence[Found], rows: int) -> str:
    """Write a Markdown table of the largest findings; those within the noise are marked.

    Examples
    --------
    >>> one = Found("join.order", "q05", "SortMergeJoin (node 9)", 2e9, 1e9, 3e9, 0.04, False)
    >>> print(listing([one], 5).splitlines()[2])
    | 1 | `join.order` * | q05 | SortMergeJoin (node 9) | 2.00 s (1.00 s to 3.00 s) | 4.00 % |
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


def by_query(found: Iterable[Found], elapsed_ns: Mapping[str, float]) -> str:
    """Say what is shown of each query, in a row of Markdown each.

    Examples
    --------
    >>> one = Found("join.order", "q05", "", 2e9, 1e9, 3e9, 0.04, True)
    >>> print(by_query([one], {"q05": 50e9, "q06": 1e9}).splitlines()[2:])
    ['| q05 | 50.0 s | `join.order` 2.00 s |', '| q06 | 1.00 s | nothing |']
    """
    of: dict[str, list[str]] = {query: [] for query in elapsed_ns}
    for one in found:
        if one.shown:
            of[one.query].append(f"`{one.code}` {units.duration(one.saved_ns)}")
    rows = (
        f"| {query} | {units.duration(ns)} | {', '.join(of[query]) or 'nothing'} |\n"
        for query, ns in elapsed_ns.items()
    )
    return "| query | took | saves |\n|---|--:|---|\n" + "".join(rows)


def explain(run: Path, *options: str) -> dict[str, Any]:
    """Explain a run, or a part of it."""
    done = subprocess.run(
        [sys.executable, "-m", "pyrometer", "explain", str(run), "--json", "--all", *options],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{run} {' '.join(options)}: {done.stderr[-1000:]}")
    return dict(json.loads(done.stdout))


def explain_query(run: Path, query: str) -> dict[str, Any]:
    """Explain one query of a run."""
    return explain(run, "--window", f"query/{query}")


def queries_of(folder: Path) -> list[str]:
    """Name the queries of the measured iterations, in order."""
    with Run.open(folder) as run:
        rows = run.tables.query(
            "SELECT q.description FROM sql_executions q JOIN iterations i"
            " ON q.start_wall_ns BETWEEN i.start_wall_ns AND i.end_wall_ns"
            " WHERE NOT i.warmup AND q.description IS NOT NULL"
            " GROUP BY 1 ORDER BY min(q.start_wall_ns)"
        )
    return [str(name) for (name,) in rows if " " not in name]


def main(arguments: Sequence[str] | None = None) -> int:
    """Explain runs, and print tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    parser.add_argument("--rows", type=int, default=40, help="of each table (40)")
    parser.add_argument("-o", "--output", type=Path, help="write all findings, JSON")
    parser.add_argument("--only", help="queries, with commas")
    given = parser.parse_args(arguments)
    kept = {}
    for folder in given.runs:
        whole = explain(folder)
        wanted = given.only.split(",") if given.only else None
        queries = [one for one in queries_of(folder) if wanted is None or one in wanted]
        with ThreadPoolExecutor(2) as pool:
            reports = list(pool.map(partial(explain_query, folder), queries))
        found = [
            one for query, report in zip(queries, reports, strict=True)
            for one in findings_of(report, query)
        ]  # fmt: skip
        found.sort(key=lambda one: -one.saved_ns)
        elapsed = {
            query: float(report["baseline"]["elapsed_ns"])
            for query, report in zip(queries, reports, strict=True)
        }
        print(f"## {folder.name}\n\n{whole['conclusion']}\n")
        print(listing(findings_of(whole, ""), given.rows))
        print(listing([one for one in found if one.shown], given.rows))
        print(by_query(found, elapsed))
        kept[folder.name] = {
            "elapsed_ns": whole["baseline"]["elapsed_ns"], "queries": elapsed,
            "whole": [asdict(one) for one in findings_of(whole, "")],
            "found": [asdict(one) for one in found],
        }  # fmt: skip
    if given.output:
        replace(given.output, {"schema": SCHEMA, "runs": kept})
    return 0


if __name__ == "__main__":
    sys.exit(main())
