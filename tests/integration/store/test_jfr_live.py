"""The same experiment on this machine: async-profiler of our jar, and each JDK's recorder."""

from __future__ import annotations

import json
import subprocess
import zipfile
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support import needs
from tests.support.java.installed import NO_JAVA, javas

from pyrometer import _artifacts, _core

BURN = Path(__file__).parents[2] / "fixtures" / "jfr" / "Burn.java"
PROFILER = (
    "start,event={event},interval=10ms,wall=50ms,clock=monotonic,jfr,loglevel=none,file={file}"
)
JAVAS = javas()
CPU_PER_METHOD = """
    SELECT s.thread_name || ' ' || f.method, sum(s.weight)::BIGINT
    FROM '{out}/samples.parquet' s JOIN '{out}/stacks.parquet' k ON k.stack_id = s.java_stack
    JOIN '{out}/frames.parquet' f ON list_contains(k.frame_ids, f.frame_id)
    WHERE s.event = 'cpu' AND f.method IN ('spinAlpha', 'spinBeta') GROUP BY ALL
"""


def burn(java: Path, *options: str) -> dict[str, tuple[int, int]]:
    """Run the program and return the ns that it measured, by thread and method: CPU and wall."""
    done = subprocess.run(
        [str(java), *options, str(BURN), "400"],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("burner")]
    return {f"{thread} {method}": (int(cpu), int(wall)) for thread, method, cpu, wall in lines}


def ingest(recording: Path, out: Path) -> tuple[dict[str, Any], dict[str, int]]:
    out.mkdir()
    report = json.loads(_core.ingest_jfr([str(recording)], [], str(out), "box"))
    return report, dict(duckdb.sql(CPU_PER_METHOD.format(out=out)).fetchall())


@pytest.mark.slow
@pytest.mark.parametrize("java", JAVAS or NO_JAVA, ids=lambda path: path.parts[-3])
def test_async_profiler_accounts_for_the_cpu_time(java: Path, tmp_path: Path) -> None:
    library = "linux-x64/libasyncProfiler.so"
    with zipfile.ZipFile(_artifacts.plugin_jar()) as jar:
        jar.extract(library, tmp_path)
    recording = tmp_path / "profile-burn-1.jfr"
    command = PROFILER.format(event="cpu", file=recording)
    truth = burn(java, f"-agentpath:{tmp_path / library}={command}")
    report, found = ingest(recording, tmp_path / "out")
    assert [doubt["code"] for doubt in report["doubts"]] == ["samples_without_tasks"]
    assert found.keys() == truth.keys()
    for key, (ns, _) in truth.items():
        # The first samples may fall into code that has no name yet, and a timer of CPU time fires
        # late where CPUs are scarce; the fixture is held closer.
        assert found[key] == pytest.approx(ns, rel=0.2, abs=80e6), key


@pytest.mark.slow
@pytest.mark.parametrize("java", JAVAS or NO_JAVA, ids=lambda path: path.parts[-3])
def test_the_jdk_own_recorder_is_read(java: Path, tmp_path: Path) -> None:
    recording = tmp_path / "mine.jfr"
    options = "settings=profile,jdk.Compilation#threshold=0ms"
    truth = burn(java, f"-XX:StartFlightRecording={options},filename={recording}")
    report, found = ingest(recording, tmp_path / "out")
    codes = {doubt["code"] for doubt in report["doubts"]}
    assert codes == {"samples_without_tasks", "samples_wall_clock"}
    assert report["stats"]["cpu_interval_ns"] in (10_000_000, 20_000_000)
    # The JDK samples on a timer, not by CPU time, and passes over threads that it cannot walk just
    # then: that it never says more is all that can be held.
    assert found
    assert found.keys() <= truth.keys()
    for key, ns in found.items():
        assert ns < 1.3 * truth[key][1] + 100e6, key
    out = tmp_path / "out"
    pid = duckdb.sql(f"SELECT DISTINCT pid, source, clock FROM '{out}/samples.parquet'").fetchall()
    assert [row[1:] for row in pid] == [("jfr", "wall")]
    assert pid[0][0] > 1
    compiled = duckdb.sql(
        f"SELECT count(*), min(duration_ns), any_value(compiler) FROM '{out}/jit.parquet'"
    )
    count, shortest, compiler = compiled.fetchall()[0]
    assert report["tables"]["jit"] == count > 0
    assert shortest > 0
    assert compiler in ("c1", "c2")


@pytest.mark.slow
def test_samples_by_cpu_time_weigh_their_own_period(tmp_path: Path) -> None:
    event = "jdk.CPUTimeSample"
    homes = [java.parents[1] for java in JAVAS]
    known = [home for home in homes if event in (home / "lib/jfr/profile.jfc").read_text()]
    if not known:
        needs.missing(f"a JDK with {event} (25 and later)", "apt-get install temurin-25-jdk")
    recording, out = tmp_path / "mine.jfr", tmp_path / "out"
    options = f"jdk.ExecutionSample#enabled=false,{event}#enabled=true,{event}#throttle=20ms"
    start = f"-XX:StartFlightRecording=settings=profile,{options},filename={recording}"
    truth = burn(known[-1] / "bin/java", start)
    _, found = ingest(recording, out)
    assert found.keys() & truth.keys()
    # A timer that ran over weighs several periods.
    weights = duckdb.sql(f"SELECT DISTINCT weight FROM '{out}/samples.parquet' WHERE event = 'cpu'")
    found_weights = weights.fetchall()
    assert found_weights
    for (weight,) in found_weights:
        assert weight / 20e6 == pytest.approx(round(weight / 20e6), abs=1e-3)
        assert weight >= 19e6
