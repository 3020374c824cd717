"""Generations, ages, allocation and promotion from GC logs, beside counts of their own lines."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.support.tables import MS, PID, StageSpec, World, mono

from pyrometer.accounts.jvm.heap_flow import collections
from pyrometer.accounts.jvm.jvm import gc, safepoints
from pyrometer.accounts.window import open_scope
from pyrometer.store import Run, ingest

LOGS = {
    path.stem.split("-")[2]: path
    for path in (Path(__file__).parents[2] / "fixtures/gcage").glob("*.log")
}
OLD = {
    "g1": r"GC\((\d+)\) Old regions: (\d+)->(\d+)",
    "serial": r"GC\((\d+)\) Tenured: (\d+)K\(\d+K\)->(\d+)K",
    "parallel": r"GC\((\d+)\) ParOldGen: (\d+)K\(\d+K\)->(\d+)K",
}
YOUNG = re.compile(r"GC\((\d+)\) Pause Young (?!.*Mixed).* (\d+)M->(\d+)M\((\d+)M\) [\d.]+ms")
PAUSE = re.compile(r"GC\(\d+\) Pause .* (\d+)M->(\d+)M\(\d+M\) [\d.]+ms")


@pytest.fixture(params=sorted(LOGS))
def collector(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


def rows(log: Path, out: Path, table: str) -> list[dict[str, Any]]:
    out.mkdir(exist_ok=True)
    report = json.loads(ingest.native().ingest_gc([str(log)], str(out)))
    assert report["doubts"] == []
    found: list[dict[str, Any]] = pq.read_table(out / f"{table}.parquet").to_pylist()
    return found


def unit(text: str, collector: str) -> int:
    """Bytes of what the old generation's lines count."""
    if collector != "g1":
        return 1024
    found = re.search(r"Heap Region Size: (\d+)M", text)
    assert found
    return int(found[1]) << 20


def test_old_generations_are_those_of_the_log(collector: str, tmp_path: Path) -> None:
    text = LOGS[collector].read_text()
    size = unit(text, collector)
    said = {int(n): (int(a) * size, int(b) * size) for n, a, b in re.findall(OLD[collector], text)}
    young = {int(found[1]) for found in YOUNG.finditer(text)}
    assert young
    found = {
        row["gc_id"]: (row["old_before_bytes"], row["old_after_bytes"])
        for row in rows(LOGS[collector], tmp_path / "out", "gc_pauses")
        if row["gc_id"] in young
    }
    assert found == {n: said[n] for n in young}


def test_ages_are_those_of_the_log(collector: str, tmp_path: Path) -> None:
    text = LOGS[collector].read_text()
    said = re.findall(r"GC\((\d+)\) - age +(\d+): +(\d+) bytes", text)
    found = rows(LOGS[collector], tmp_path / "out", "gc_ages")
    assert [(row["gc_id"], row["age"], row["bytes"]) for row in found] == [
        (int(n), int(age), int(size)) for n, age, size in said
    ]
    assert bool(said) == (collector != "parallel")


@pytest.fixture
def run(collector: str, tmp_path: Path) -> Run:
    """A run that is one JVM's log and an iteration from before it to after it."""
    raw = tmp_path / "run" / "raw"
    raw.mkdir(parents=True)
    text = LOGS[collector].read_text()
    (raw / LOGS[collector].name).write_text(text)
    stamps = [int(n) for n in re.findall(r"^\[(\d+)ns\]", text, re.M)]
    marks = [
        {"k": "start", "mono_ns": stamps[0] - 10**9},
        {"k": "end", "mono_ns": stamps[-1] + 10**9, "status": "ok"},
    ]
    (raw / "iterations.ndjson").write_text(
        "".join(
            json.dumps({"iteration": 0, "warmup": False, "wall_ns": m["mono_ns"], **m}) + "\n"
            for m in marks
        )
    )
    return Run.open(tmp_path / "run")


def test_allocation_is_the_growth_between_pauses(run: Run, collector: str) -> None:
    text = LOGS[collector].read_text()
    sizes = [(int(a), int(b)) for a, b in PAUSE.findall(text)]
    grown = sum(max(0, after[0] - before[1]) for before, after in pairwise(sizes))
    with run:
        found = collections(open_scope(run, None))
    flow = found.allocation
    assert flow.bytes is not None
    assert flow.bytes_per_s is not None
    # The generations' lines are finer than the pauses' for all but G1.
    assert flow.bytes == pytest.approx(grown << 20, abs=len(sizes) << 20)
    assert flow.bytes_per_s.n == len(sizes) - 1
    assert flow.bytes_per_s.low is not None
    assert flow.bytes_per_s.low < (flow.bytes_per_s.value or 0)
    size = unit(text, collector)
    old = {int(n): (int(b) - int(a)) * size for n, a, b in re.findall(OLD[collector], text)}
    promoted = sum(max(0, old[int(m[1])]) for m in YOUNG.finditer(text))
    assert found.promotion.bytes == promoted
    assert sum(cause.pauses_count for cause in found.by_cause) >= len(sizes)
    assert (found.ages_reason is None) == (collector != "parallel")


def test_pauses_count_for_the_part_that_lies_in_the_window(tmp_path: Path) -> None:
    world = World([StageSpec([200], iteration=number) for number in (0, 1)])
    start, end = world.marks[1]
    for begin, length in ((start - 30, 50), (start + 60, 10), (end - 20, 100), (end + 10, 5)):
        world.add("gc_pauses", pid=PID, start_mono_ns=mono(begin), duration_ns=length * MS,
                  collector="G1", kind="young")  # fmt: skip
    with Run.open(world.write(tmp_path)) as run:
        scope = open_scope(run, "iteration/1")
        found, (cause,) = gc(scope), collections(scope).by_cause
    assert (found.pauses_count, found.pause_total_ns) == (3, 50 * MS)
    assert found.pause_max_ns == 20 * MS
    assert (cause.cause, cause.pauses_count) == ("not logged", 3)
    assert (cause.pause_total_ns, cause.pause_max_ns) == (50 * MS, 20 * MS)


def test_percentiles_of_reaching_a_safepoint(run: Run, collector: str) -> None:
    text = LOGS[collector].read_text()
    reached = sorted(int(n) for n in re.findall(r"Reaching safepoint: (\d+) ns", text))
    with run:
        found = safepoints(open_scope(run, None))
    assert found.count == len(reached)
    assert found.reaching_max_ns == reached[-1]
    assert found.reaching_p50_ns is not None
    assert found.reaching_p50_ns.value == pytest.approx(reached[len(reached) // 2], rel=0.5)
    assert found.reaching_p50_ns.low is not None
    assert found.reaching_p50_ns.low <= (found.reaching_p50_ns.value or 0)
    assert found.reaching_p50_ns.n == len(reached)


def test_a_run_without_logs_says_why(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "iterations.ndjson").write_text(
        '{"k": "start", "iteration": 0, "mono_ns": 1, "wall_ns": 1}\n'
        '{"k": "end", "iteration": 0, "mono_ns": 9, "wall_ns": 9, "status": "ok"}\n'
    )
    with Run.open(tmp_path) as run:
        scope = open_scope(run, None)
        assert "no GC log" in (collections(scope).reason or "")
        assert "no safepoint log" in (safepoints(scope).reason or "")
