"""The OS probe on many threads: it reads as often as its budget lets it, and says so."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pyrometer import _core
from pyrometer.collect.probes.base import read_object
from pyrometer.collect.probes.os import OsProbe
from pyrometer.store.axis.probe_reports import slowed
from pyrometer.store.paths import RunPaths

THREADS = 300
# All of them run in every period, so that each has to be read.
CREW = f"""
import threading, time
threading.stack_size(1 << 17)
def work():
    while True:
        time.sleep(0.02)
for _ in range({THREADS}):
    threading.Thread(target=work, daemon=True).start()
time.sleep(120)
"""


@pytest.fixture
def crew() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-S", "-c", CREW])
    yield process
    process.kill()
    process.wait()


def observed(paths: RunPaths, pid: int, budget: float | None, seconds: float) -> dict[str, Any]:
    """Observe at the tier that costs most a thread; the probe's own report."""
    paths.raw.mkdir(parents=True)
    paths.tables.mkdir()
    probe = OsProbe(host="here", tier="T3", budget=budget)
    probe.start(paths, pid)
    time.sleep(seconds)
    probe.stop()
    found = read_object(paths.raw / "probe-here.report.json")
    assert found is not None
    entry = probe.report(paths)
    found["said"] = slowed(entry)
    return found


@pytest.mark.slow
def test_a_budget_makes_passes_rarer_and_figures_stay_right(
    crew: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    free = observed(RunPaths(tmp_path / "free"), crew.pid, None, 4)
    assert free["pace"]["changes_count"] == 0
    assert free["said"] is None
    used = free["own_cpu_ns"] / (free["updated_mono_ns"] - free["started_mono_ns"])
    # A third of what it would take: at least two halvings, and some room above the slowest pace.
    paths = RunPaths(tmp_path / "held")
    held = observed(paths, crew.pid, used / 3, 12)
    pace = held["pace"]
    assert pace["changes_count"] >= 1
    assert pace["hz"] <= 10
    assert pace["hz"] >= 1
    assert [change["hz"] for change in pace["changes"]][-1] == pace["hz"]
    assert pace["mean_hz"] < 15
    assert f"{pace['mean_hz']:.3g} passes per second" in held["said"]
    assert held["passes_count"] < 0.8 * 12 * 20

    _core.ingest_probe([str(path) for path in paths.probe_streams()], str(paths.tables))
    with duckdb.connect() as connection:
        series = connection.execute(
            f"SELECT t_mono_ns, value FROM '{paths.tables / 'os_series.parquet'}'"
            " WHERE scope = 'probe' AND name = 'period_ns' ORDER BY 1"
        ).fetchall()
        weighed = connection.execute(
            "SELECT sum(weight_ns) / (max(end_mono_ns) - min(begin_mono_ns))"
            f" FROM '{paths.tables / 'thread_states.parquet'}' GROUP BY tid"
        ).fetchall()
    assert series[0][1] == 50_000_000
    assert series[-1][1] == round(1e9 / pace["hz"])
    assert all(one[0] <= two[0] for one, two in itertools.pairwise(series))
    # However far apart passes lie, they stand for all of the time that a thread was observed.
    assert len(weighed) >= THREADS
    assert all(ratio == pytest.approx(1, abs=0.02) for (ratio,) in weighed)
