"""Too few CPU samples are a doubt of runs that took some."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from pyrometer.summary.rules.samples_few import RULE


def run_with(events: Sequence[str]) -> Any:
    """Give what the rule sees of a run with samples of these events."""
    connection = duckdb.connect()
    rows = ", ".join(f"('{event}')" for event in events) or "(NULL)"
    connection.execute(f"CREATE TABLE samples AS FROM (VALUES {rows}) v(event)")
    return SimpleNamespace(
        has=lambda name: bool(events) and name == "samples",
        tables=SimpleNamespace(scalar=lambda sql: connection.execute(sql).fetchone()[0]),
        window=SimpleNamespace(name="application"),
    )


@pytest.mark.parametrize(
    ("events", "count", "said"),
    [
        (["state", "state"], 0, False),  # profile light: the probe's states alone
        ([], 0, False),
        (["state", "cpu"], 1, True),
        (["cpu"], 99, True),
        (["cpu"], 100, False),
    ],
)
def test_only_a_profile_of_cpu_can_have_too_few_samples(
    events: list[str], count: int, said: bool
) -> None:
    summary: Any = SimpleNamespace(
        operators=[SimpleNamespace(samples_count=count)] if count else [], account=None
    )
    found = list(RULE.check(run_with(events), summary))
    assert found == ([f"{count} CPU samples of operators in window application"] if said else [])
