"""Texts and answers of a suite's queries, as kept in a dataset, and comparison of results.

Imported by the workload runner, whose Python need not have DuckDB.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pyrometer.workloads.results import differences, equal_rows
from pyrometer.workloads.values import Mismatch, Prepared

QUERIES_FILE = "queries.json"
RELATIVE, ABSOLUTE = 1e-9, 2e-6
"""Tolerance for numbers that are a float in one engine: Spark keeps six decimals of a quotient."""


def read_queries(prepared: Prepared) -> Mapping[str, Any]:
    """Read text and answer of each query by name, in the order of names; once in a process."""
    return _queries(prepared.root)


@functools.cache
def _queries(root: str) -> Mapping[str, Any]:
    text = (Path(root) / QUERIES_FILE).read_text(encoding="utf-8")
    return MappingProxyType(dict(sorted(json.loads(text).items())))


def decode(value: Any) -> Any:
    """Read a value of ``queries.json``."""
    if isinstance(value, dict):
        ((kind, text),) = value.items()
        return Decimal(text) if kind == "decimal" else date.fromisoformat(text)
    return value


def check_answer(
    name: str, answer: Mapping[str, Any], got: Sequence[Sequence[Any]]
) -> Mismatch | None:
    """Compare a query's result with its answer; a mismatch names the query.

    Of rows tied at a LIMIT any choice is accepted; those above the tie must all be present.
    """
    sure, tied = ([tuple(map(decode, row)) for row in answer[k]] for k in ("rows", "tied"))
    if tied:
        chosen = equal_rows(tied, got, relative=RELATIVE, absolute=ABSOLUTE)
        order = sorted(range(len(tied)), key=lambda number: number not in chosen)
        tied = [tied[number] for number in order[: answer["count"] - len(sure)]]
    mismatch = differences([*sure, *tied], got, relative=RELATIVE, absolute=ABSOLUTE)
    return mismatch and Mismatch(f"{name}, {mismatch.what}", mismatch.expected, mismatch.got)
