"""Bytes and waits by samples, beside what a program of this machine counted itself."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import zipfile
from pathlib import Path

import duckdb
import pytest

from pyrometer import _artifacts, _core

PROGRAM = Path(__file__).parents[2] / "fixtures" / "jfr" / "Memory.java"
OPTIONS = "start,event=cpu,alloc=128k,live,lock=10ms,nativemem=256k,clock=monotonic,jfr"
# What the program's own figures leave out, besides the samples' error: other threads and the JVM.
SLACK = {"alloc": 0.05, "live": 0.1, "nativemem": 0.15, "lock": 0.15}
MINE = {
    "alloc": "f.class_name = 'Memory' AND f.method = 'main'",
    "live": "f.class_name = 'Memory' AND f.method = 'main'",
    "nativemem": "f.method = 'allocateDirect'",
    "lock": "f.class_name = 'Memory' AND f.method = 'main'",
}


def test_sums_of_weights_are_what_the_program_counted(tmp_path: Path) -> None:
    java = shutil.which("java")
    assert java
    library = "linux-x64/libasyncProfiler.so"
    with zipfile.ZipFile(_artifacts.plugin_jar()) as jar:
        jar.extract(library, tmp_path)
    recording = tmp_path / "profile-memory-1.jfr"
    agent = f"-agentpath:{tmp_path / library}={OPTIONS},loglevel=none,file={recording}"
    done = subprocess.run(
        [java, agent, "-Xmx256m", "-Xmn16m", str(PROGRAM)],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    said = {name: int(n) for name, n in (line.split() for line in done.stdout.splitlines())}
    out = tmp_path / "out"
    out.mkdir()
    report = json.loads(_core.ingest_jfr([str(recording)], [], str(out), "box"))
    assert "jfr_unreadable" not in {doubt["code"] for doubt in report["doubts"]}
    assert set(said) == set(MINE)
    for event, counted in said.items():
        total, square, n, units = duckdb.sql(
            f"""
            SELECT sum(weight)::BIGINT, sum(weight::DOUBLE ** 2), count(*), list(DISTINCT unit)
            FROM '{out}/samples.parquet' s WHERE event = '{event}' AND java_stack IN (
              SELECT stack_id FROM '{out}/stacks.parquet' k JOIN '{out}/frames.parquet' f
              ON list_contains(k.frame_ids, f.frame_id) WHERE {MINE[event]})
            """
        ).fetchall()[0]
        assert units == ["ns" if event == "lock" else "bytes"]
        assert n > 30, event
        error = 3 * math.sqrt(square) + SLACK[event] * counted
        assert total == pytest.approx(counted, abs=error), (event, n)
