"""Results of cases as JSON lines: written one by one, and what is there is not measured again."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pyrometer.core.errors import PyrometerError

SCHEMA = "pyrometer/benchmark-cluster/1"
FAILURES = (
    PyrometerError,
    AssertionError,
    LookupError,
    OSError,
    ValueError,
    subprocess.SubprocessError,
)

Case = Mapping[str, Any]
Row = dict[str, Any]


def read(path: Path) -> list[Row]:
    """Read results; of a case that was measured twice the last one, a line that was cut left out.

    Examples
    --------
    >>> read(Path("/nowhere"))
    []
    """
    if not path.exists():
        return []
    found: dict[str, Row] = {}
    for line in path.read_text("utf-8").splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        found[name(row["case"])] = row
    return list(found.values())


def name(case: Case) -> str:
    """Name a case by its fields.

    Examples
    --------
    >>> name({"manager": "yarn", "mode": "client", "seed": 3})
    'manager=yarn mode=client seed=3'
    """
    return " ".join(f"{key}={value}" for key, value in case.items())


def measure(
    path: Path, cases: Iterable[Case], one: Callable[[Case], Row], again: bool = False
) -> list[Row]:
    """Measure what is not there yet; a case that fails is kept with its reason.

    Parameters
    ----------
    path : Path
        File of results, one a line.
    cases : iterable of mapping
        What is to be measured.
    one : callable
        Measures a case.
    again : bool
        Whether cases that failed are tried once more.

    Returns
    -------
    list of dict
        All that the file has then.
    """
    done = {name(row["case"]) for row in read(path) if not (again and row["failed"])}
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.read_bytes().endswith(b"\n"):
        with path.open("ab") as out:
            out.write(b"\n")
    for case in cases:
        if name(case) in done:
            continue
        print(f"{time.strftime('%H:%M:%S')} {name(case)}", file=sys.stderr, flush=True)
        begun, found, failed = time.time(), None, None
        try:
            found = one(case)
        except FAILURES as error:
            failed = f"{type(error).__name__}: {error}"
            traceback.print_exc()
        row = {
            "schema": SCHEMA, "case": dict(case), "begun_wall_s": begun,
            "took_s": time.time() - begun, "failed": failed, "found": found,
        }  # fmt: skip
        with path.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
    return read(path)


def table(rows: Iterable[Row], columns: Mapping[str, Callable[[Row], str]]) -> str:
    """Write rows as a table of Markdown; a case that failed has its reason in the last column.

    Examples
    --------
    >>> print(table([{"case": {"a": 1}, "failed": None, "found": {"x": 2}}],
    ...     {"x": lambda found: str(found["x"])}))
    | case | x |
    |---|---|
    | a=1 | 2 |
    """
    lines = [f"| case | {' | '.join(columns)} |", "|---" * (len(columns) + 1) + "|"]
    for row in rows:
        if row["failed"]:
            cells = [*[""] * (len(columns) - 1), f"failed: {row['failed'].splitlines()[0][:200]}"]
        else:
            told = {**row["found"], "case": row["case"]}
            cells = [write(told) for write in columns.values()]
        lines.append(f"| {name(row['case'])} | {' | '.join(cells)} |")
    return "\n".join(lines)
