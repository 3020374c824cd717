"""CPU of each query by what ran, on tables made by hand with known samples."""

from __future__ import annotations

import json
import tomllib

import pytest

from pyrometer.characterise.breakdown import LAYERS, breakdowns, layer
from pyrometer.characterise.queries import Characterisation, Part
from pyrometer.cli.begin.characterise import breakdown_columns, print_breakdown
from pyrometer.core import schema
from pyrometer.core.estimate import Estimate
from pyrometer.store import Run
from pyrometer.store.write_tables import write_rows

MS = 1_000_000
OFFSET = 1_700_000_000_000_000_000
# kind and library of the leaf, role, category, component and samples in query a.
LEAVES = [
    ("c2", None, "task", "hash", "java", 40),
    ("inlined", None, "task", "decode", "java", 10),
    ("native", None, "task", "operator", "java", 5),  # a stub that copies arrays
    ("native", "libsnappyjava.so", "task", "decompression", "codec", 8),
    ("cpp", "libjvm.so", "gc", "gc", "gc", 12),
    ("cpp", "libjvm.so", "task", "gc", "gc", 1),  # a barrier
    ("cpp", "libjvm.so", "jit", "jit", "jit", 7),
    ("cpp", "libjvm.so", "task", "vm", "vm", 3),
    ("kernel", None, "gc", "gc", "kernel", 6),
    ("python", None, "python", "python", "python", 4),
    ("native", "libc.so.6", "task", "io", "native", 4),
]


def write(folder, *, samples=True, pairs=True):
    tables = folder / "tables"
    tables.mkdir(parents=True)
    frames = [
        {"frame_id": n, "class_name": None, "method": "m", "kind": kind, "library": library}
        for n, (kind, library, *_) in enumerate(LEAVES)
    ]
    root = len(frames)
    frames.append({"frame_id": root, "class_name": None, "method": "root", "kind": "c1"})
    stacks = [
        {"stack_id": n, "frame_ids": [root, n], "truncated": False} for n in range(len(LEAVES))
    ]
    facts = []
    for n, (_, _, role, category, _, count) in enumerate(LEAVES):
        # Twice as many in query b, in twice the time; one of each between them counts nowhere.
        for at, times in ((100, count), (300, 2 * count), (250, 1)):
            facts += [
                {
                    "host": "h", "pid": 1, "tid": 1, "t_ns": at * MS, "clock": "mono",
                    "source": "async-profiler", "event": "cpu", "weight": 10 * MS, "unit": "ns",
                    "role": role, "category": category, "java_stack": n,
                }
            ] * times  # fmt: skip
    made = {"frames": frames, "stacks": stacks, "samples": facts if samples else []}
    if pairs:
        made["clock_pairs"] = [{"host": "h", "mono_ns": 0, "wall_ns": OFFSET}]
    for table, rows in made.items():
        write_rows(tables, table, rows)
    return folder


QUERIES = [("a", OFFSET + 90 * MS, OFFSET + 200 * MS), ("b", OFFSET + 290 * MS, OFFSET + 400 * MS)]


def test_every_sample_of_a_query_has_one_component(tmp_path):
    with Run.open(write(tmp_path)) as run:
        found, reason = breakdowns(run, QUERIES)
    assert reason is None
    assert found["a"].samples_count == 100
    assert found["b"].samples_count == 200
    assert found["a"].on_cpu_ns == 1000 * MS
    wanted = {}
    for *_, component, count in LEAVES:
        wanted[component] = wanted.get(component, 0) + count
    for name in ("a", "b"):
        shares = {row.name: row.share.value for row in found[name].components}
        assert shares == pytest.approx({name: count / 100 for name, count in wanted.items()})
    java = {row.name: row.share.value for row in found["a"].java if row.share.value}
    assert java == pytest.approx({"sql": 45 / 55, "files": 10 / 55})
    one = found["a"].components[0].share
    assert one.low < one.value < one.high
    assert one.n == 100


@pytest.mark.parametrize(
    ("how", "queries", "reason"),
    [
        ({"samples": False}, QUERIES, "no profiler samples"),
        ({"pairs": False}, QUERIES, "no clock pair"),
        (
            {},
            [("a", OFFSET, OFFSET + 9 * MS), ("b", OFFSET + 5 * MS, OFFSET + 6 * MS)],
            "same time",
        ),
        ({}, [("a", OFFSET, OFFSET + 9 * MS)], "no CPU sample"),
        ({}, [], "no query ended"),
    ],
)
def test_what_cannot_be_told_has_a_reason(tmp_path, how, queries, reason):
    with Run.open(write(tmp_path, **how)) as run:
        found, why = breakdowns(run, queries)
    assert found == {}
    assert reason in why


def test_layers_are_of_categories_that_exist():
    text = (schema.schema_folder() / "categories.toml").read_text(encoding="utf-8")
    known = {category["name"] for category in tomllib.loads(text)["category"]}
    assert {category for of in LAYERS.values() for category in of} <= known
    assert {category for category in known if layer(category) == "other"} == {
        "gc", "jit", "memory", "other", "vm",
    }  # fmt: skip


def test_shares_are_columns_and_a_table(tmp_path, capsys):
    with Run.open(write(tmp_path)) as run:
        found, _ = breakdowns(run, QUERIES)
    parts = [
        Part(
            name=name, operators={}, warmup="too short", breakdown=found.get(name),
            elapsed_ns=Estimate(value=1.0, low=None, high=None, level=0.95, n=1, method="mean"),
        )
        for name in ("a", "b", "none")
    ]  # fmt: skip
    assert breakdown_columns(parts[0])["cpu_gc_ratio"] == pytest.approx(0.13)
    assert breakdown_columns(parts[2]) == {}
    from rich.console import Console

    print_breakdown(
        Console(width=100), Characterisation(run_dir="r", iterations_count=1, parts=parts)
    )
    text = capsys.readouterr().out
    row = next(line for line in text.splitlines() if line.startswith("a "))
    assert row.split() == ["a", "55", "8", "13", "7", "3", "6", "4", "4"]
    assert json.loads(parts[0].model_dump_json())["breakdown"]["samples_count"] == 100
    print_breakdown(
        Console(width=100),
        Characterisation(run_dir="r", iterations_count=1, parts=[], breakdown_reason="no probe"),
    )
    assert "unknown: no probe" in capsys.readouterr().out
