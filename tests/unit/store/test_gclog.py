"""GC and safepoint logs of every collector, against a count made with regular expressions."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pyrometer import _core

FIXTURES = Path(__file__).parents[2] / "fixtures" / "gclog"
LOGS = sorted(FIXTURES.glob("gc-*.log"))
COLLECTORS = {
    "g1": "G1",
    "parallel": "Parallel",
    "serial": "Serial",
    "z": "ZGC",
    "shenandoah": "Shenandoah",
}
PAUSE = re.compile(r"^\[(\d+)ns\]\[(\d+)ns\].*GC\((\d+)\).*Pause .*?([\d.]+)ms$")
SAFEPOINT = re.compile(r'^\[(\d+)ns\].*Safepoint "(\w+)".*Total: (\d+) ns')


def ingest(paths: list[Path], out: Path) -> dict[str, Any]:
    out.mkdir()
    report: dict[str, Any] = json.loads(_core.ingest_gc([str(path) for path in paths], str(out)))
    return report


def test_there_is_a_log_of_every_collector() -> None:
    kinds = {tuple(path.name.split("-")[1:3]) for path in LOGS}
    assert kinds == {(jdk, gc) for jdk in ("jdk17", "jdk25") for gc in COLLECTORS}


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_pauses_and_safepoints_equal_an_independent_count(path: Path, tmp_path: Path) -> None:
    lines = path.read_text().splitlines()
    pauses = [match.groups() for line in lines if (match := PAUSE.match(line))]
    stops = [match.groups() for line in lines if (match := SAFEPOINT.match(line))]
    assert pauses
    assert stops
    report = ingest([path], tmp_path / "out")
    assert report["doubts"] == []
    rows = pq.read_table(tmp_path / "out" / "gc_pauses.parquet").to_pylist()
    durations = [int(Decimal(ms) * 1_000_000) for *_, ms in pauses]
    assert [row["duration_ns"] for row in rows] == durations
    assert [row["gc_id"] for row in rows] == [int(gc_id) for _, _, gc_id, _ in pauses]
    ends = [int(mono) - ns for (mono, *_), ns in zip(pauses, durations, strict=True)]
    assert [row["start_mono_ns"] for row in rows] == ends
    assert {row["collector"] for row in rows} == {COLLECTORS[path.name.split("-")[2]]}
    assert {row["pid"] for row in rows} == {int(path.stem.split("-")[3])}
    assert all(row["start_wall_ns"] is None for row in rows)
    points = pq.read_table(tmp_path / "out" / "safepoints.parquet").to_pylist()
    seen = [(str(row["end_mono_ns"]), row["operation"], str(row["total_ns"])) for row in points]
    assert seen == stops
    assert points
    assert all(0 <= row["reaching_ns"] <= row["total_ns"] for row in points)


@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.stem)
def test_a_log_cut_anywhere_is_read_to_its_last_whole_line(path: Path, tmp_path: Path) -> None:
    content = path.read_bytes()
    assert len(content) > 2 * 997
    for number, cut in enumerate(range(len(content) // 2, len(content), 997)):
        log = tmp_path / f"gc-{number}.log"
        log.write_bytes(content[:cut])
        report = ingest([log], tmp_path / f"out{number}")
        whole = content[:cut].rpartition(b"\n")[0].decode().splitlines()
        assert report["tables"]["gc_pauses"] >= sum(bool(PAUSE.match(line)) for line in whole)
        assert {doubt["code"] for doubt in report["doubts"]} <= {"gc_log_truncated"}


def test_heap_sizes_are_bytes(tmp_path: Path) -> None:
    path = next(path for path in LOGS if "jdk17-parallel" in path.name)
    ingest([path], tmp_path / "out")
    first = pq.read_table(tmp_path / "out" / "gc_pauses.parquet").to_pylist()[0]
    assert re.search(r"5M->5M\(63M\)", path.read_text())
    sizes = [first[f"heap_{which}_bytes"] >> 20 for which in ("before", "after", "total")]
    assert sizes == [5, 5, 63]
    assert first["cause"] == "Allocation Failure"


def test_several_processes_are_kept_apart(tmp_path: Path) -> None:
    ingest(LOGS, tmp_path / "out")
    rows = pq.read_table(tmp_path / "out" / "gc_pauses.parquet").to_pylist()
    assert len({row["pid"] for row in rows}) == len(LOGS)
    assert {row["collector"] for row in rows} == set(COLLECTORS.values())
