"""Times of facts: whatever the samples, what the buckets hold together is what the facts hold."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.report_fixture import HOST, MONO0, WALL0, S, write_tables

from pyrometer.flame import facts
from pyrometer.flame.pack import build_flame
from pyrometer.pages.axis import Axis
from pyrometer.pages.columns import Pack
from pyrometer.store import Tables

LENGTH_S = 30
AXIS = Axis(WALL0, WALL0 + LENGTH_S * S, {HOST: WALL0 - MONO0})
MS = 1_000_000

SAMPLES = st.lists(
    st.fixed_dictionaries(
        {
            "event": st.sampled_from(["cpu", "wall", "alloc", "lock"]),
            "clock": st.sampled_from(["mono", "wall"]),
            "host": st.sampled_from([HOST, None]),
            "t_ns": st.one_of(
                st.none(), st.integers(-2 * S, (LENGTH_S + 2) * S), st.just(10 * LENGTH_S * S)
            ),
            "weight": st.sampled_from([0, 1, 10 * MS, 50 * MS, 3 * S + 7, 60 * S]),
            "role": st.sampled_from(["task", "gc"]),
            "stage_id": st.sampled_from([None, 3]),
            "task_attempt_id": st.sampled_from([None, 5]),
            "java_stack": st.sampled_from([None, 1, 2, 3]),
            "top_class": st.sampled_from([None, "byte[]"]),
        }
    ),
    min_size=1,
    max_size=25,
)


def placed(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same samples on their clocks, of which each sample's stack decides which one."""
    start = {"mono": MONO0, "wall": WALL0}
    return [
        row
        | {
            "t_ns": None if row["t_ns"] is None else row["t_ns"] + start[row["clock"]],
            "unit": "bytes" if row["event"] == "alloc" else "ns",
        }
        for row in rows
    ]


def built(rows: list[dict[str, Any]], folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    write_tables(
        folder,
        {
            "samples": placed(rows),
            # Stacks 1 and 2 read the same: their facts fall together in the tree.
            "stacks": [{"stack_id": n, "frame_ids": [n], "truncated": False} for n in (1, 2, 3)],
            "frames": [
                {"frame_id": n, "method": m, "kind": "c2"}
                for n, m in ((1, "f"), (2, "f"), (3, "g"))
            ],
        },
    )
    pack = Pack()
    added: dict[str, Any] = {}
    with (
        Tables(folder) as tables,
        patch.object(
            Pack,
            "add",
            lambda self, name, values: added.setdefault(name, values) is values and name,
        ),
    ):
        return build_flame(tables, pack, AXIS), added


def in_buckets(row: dict[str, Any], width_ms: int, count: int) -> dict[int, float]:
    """Weight of a sample by bucket, told sample by sample; `count` is where it has no time."""
    at = row["t_ns"]
    if at is None or not -S <= at <= (LENGTH_S + 1) * S:
        return {count: row["weight"]}
    at = min(max(at, 0), LENGTH_S * S - 1)
    lasting = max(row["weight"], 1) if row["event"] in ("wall", "lock") else 1
    fine = facts.WIDTHS_MS[0] * MS
    by = width_ms * MS // fine
    first = at // fine // by
    last = (min(at + lasting, LENGTH_S * S) - 1) // fine // by
    return dict.fromkeys(range(first, last + 1), row["weight"] / (last - first + 1))


@settings(max_examples=8, deadline=None)
@given(SAMPLES, st.sampled_from([1, 4, 500_000]))
def test_buckets_hold_what_the_facts_hold(rows: list[dict[str, Any]], most: int) -> None:
    with TemporaryDirectory() as folder, patch.object(facts, "MAX_ENTRIES", most):
        made, columns = built(rows, Path(folder))
    times = made["times"]
    if "reason" in times:
        assert all(set(in_buckets(row, 20, -1)) == {-1} for row in rows)
        return
    width, count = times["bucket_ms"], times["count"]
    assert (count - 1) * width < LENGTH_S * 1000 <= count * width
    entries = columns["times.entries"].astype(int)
    fact = np.repeat(np.arange(entries.size), entries)
    assert (columns["times.bucket"] < count).sum() <= max(most, len(rows))
    for name in ("weight", "n"):
        summed = np.bincount(fact, weights=columns[f"times.{name}"], minlength=entries.size)
        assert summed.tolist() == columns[f"flame.{name}"].astype(float).tolist()
    critical = np.bincount(fact, weights=columns["times.critical"], minlength=entries.size)
    assert np.allclose(critical, columns["flame.critical"], rtol=1e-12)

    expected: dict[tuple[str, int], float] = defaultdict(float)
    for row in rows:
        for bucket, weight in in_buckets(row, width, count).items():
            expected[row["event"], bucket] += weight
    found: dict[tuple[str, int], float] = defaultdict(float)
    for f, first, span, weight in zip(
        fact.tolist(),
        columns["times.bucket"].tolist(),
        columns["times.span"].tolist(),
        columns["times.weight"].tolist(),
        strict=True,
    ):
        event = made["event_names"][columns["flame.event"][f]]
        for bucket in range(first, first + span + 1):
            found[event, bucket] += weight / (span + 1)
    assert set(found) == set(expected)
    for key, weight in expected.items():
        assert np.isclose(found[key], weight, rtol=1e-12, atol=1e-6)
    unplaced = sum(1 for row in rows if count in in_buckets(row, width, count))
    assert times["unplaced"] == unplaced


def test_narrower_buckets_where_they_fit() -> None:
    rows = [
        {"event": "cpu", "clock": "mono", "host": HOST, "t_ns": n * 100 * MS, "weight": 10 * MS,
         "role": "task", "java_stack": 3}
        for n in range(40)
    ]  # fmt: skip
    widths = {}
    for most in (40, 39, 8, 4, 1):
        with TemporaryDirectory() as folder, patch.object(facts, "MAX_ENTRIES", most):
            widths[most] = built(rows, Path(folder))[0]["times"]["bucket_ms"]
    assert widths == {40: 20, 39: 200, 8: 1_000, 4: 1_000, 1: 5_000}
