"""The heat map of I/O latencies: what lies where, and what is one cell with others."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.tables import HOST, MONO0, OFFSET, WALL0, Rows, S, write_tables

from pyrometer.pages.axis import Axis
from pyrometer.pages.columns import Pack
from pyrometer.store.tables import Tables
from pyrometer.timeline.latency_map import MAX_PROCESSES, MAX_SERIES, latency_map

AXIS = Axis(WALL0, WALL0 + 10 * S, {HOST: OFFSET})


def period(begin: float, end: float, **more: Any) -> dict[str, Any]:
    row = {"kind": "block", "device": "vda", "operation": "read", "pid": 7, "low_ns": 1 << 16,
           "count": 100, "sum_ns": 100_000}  # fmt: skip
    begun = {"begin_mono_ns": MONO0 + round(begin * S), "end_mono_ns": MONO0 + round(end * S)}
    return {"host": HOST, **row, **begun, **more}


def made(folder: Path, rows: Rows, axis: Axis = AXIS) -> tuple[dict[str, Any], dict[str, Any]]:
    pack = Pack()
    with Tables(write_tables(folder, rows) / "tables") as tables:
        found = latency_map(tables, axis, pack)
    raw = zlib.decompress(base64.b64decode(pack.encoded()))
    types = {"u8": np.uint8, "f32": np.float32}
    columns = {
        name.removeprefix("latencies."): np.frombuffer(
            raw, types[at["type"]], at["length"], at["offset"]
        ).tolist()
        for name, at in pack.directory.items()
    }
    return found, columns


def test_a_period_counts_where_it_lies_by_its_part(tmp_path):
    rows = [period(1.25, 2.25), period(4, 5, low_ns=1 << 20, count=3), period(9.5, 12.5, count=60)]
    found, columns = made(tmp_path, {"io_latency": rows})
    assert (found["step_ms"], found["count"]) == (1000, 10)
    cells = zip(columns["cell"], columns["bucket"], columns["count"], strict=True)
    told = {(cell, bucket): count for cell, bucket, count in cells}
    assert told == pytest.approx({(1, 16): 75, (2, 16): 25, (4, 20): 3, (9, 16): 10})


def test_devices_calls_and_processes_are_told_apart(tmp_path):
    names = [{"host": HOST, "pid": 7, "tid": 7, "t_mono_ns": MONO0, "comm": "fio", "run_ns": 0,
              "run_delay_ns": 0, "timeslices_count": 0, "first": True, "last": False}]  # fmt: skip
    rows = [
        period(0, 1, sum_ns=900_000),
        period(0, 1, pid=0, count=4, sum_ns=10),
        period(0, 1, pid=None, count=2, sum_ns=1),
        period(0, 1, kind="read", device=None, operation="pread64", count=8, sum_ns=5),
    ]
    found, columns = made(tmp_path, {"io_latency": rows, "thread_counters": names})
    device, call = found["series"]
    assert (device["device"], call["kind"], call["operation"]) == ("vda", "read", "pread64")
    assert [(one["pid"], one["comm"], one["count"]) for one in device["processes"]] == [
        (7, "fio", 100), (0, "kernel", 4), (None, None, 2),
    ]  # fmt: skip
    assert "host" not in device
    assert sorted(zip(columns["series"], columns["process"], columns["count"], strict=True)) == [
        (0, 0, 100), (0, 1, 4), (0, 2, 2), (1, 0, 8),
    ]  # fmt: skip


def test_its_size_has_bounds_and_what_is_cut_is_told(tmp_path):
    many = [period(0, 1, pid=pid, sum_ns=1000 - pid) for pid in range(100, 120)]
    many += [period(0, 1, device=f"d{i:02}", sum_ns=10 - i // 10) for i in range(MAX_SERIES + 5)]
    found, columns = made(tmp_path, {"io_latency": many})
    assert len(found["series"]) == MAX_SERIES
    assert found["cut"] == f"{MAX_SERIES} of {MAX_SERIES + 6} kinds with most time"
    last = found["series"][0]["processes"][-1]
    assert (last["others"], last["count"]) == (20 - MAX_PROCESSES, 1200)
    assert sum(columns["count"]) == pytest.approx(100 * (20 + MAX_SERIES - 1))
    hour = Axis(WALL0, WALL0 + 3600 * S, {HOST: OFFSET})
    assert made(tmp_path / "h", {"io_latency": many}, hour)[0]["count"] == 200


def test_why_there_is_none(tmp_path):
    with Tables(write_tables(tmp_path, {}) / "tables") as tables:
        assert "T0" in latency_map(tables, AXIS, Pack())["reason"]
    with Tables(write_tables(tmp_path / "b", {"io_latency": [period(0, 1)]}) / "tables") as tables:
        elsewhere = Axis(WALL0, WALL0 + S, {"one": 0, "two": 5})
        assert "clock" in latency_map(tables, elsewhere, Pack())["reason"]
