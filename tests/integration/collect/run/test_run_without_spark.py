"""`pyrometer run` of a workload that starts no Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import needs
from tests.support.cli import codes, environment, opened, pyrometer

from pyrometer.workloads import registry


def test_a_level_of_spark_is_refused(tmp_path: Path) -> None:
    done = pyrometer("run", "random-read", "--set", "spark.x=1", cwd=tmp_path)
    assert done.code == 2
    assert "starts no Spark: spark.x" in done.stderr


@pytest.mark.slow
def test_a_run_has_no_event_log_and_no_doubt_for_that(tmp_path: Path) -> None:
    needs.tool("fio")
    # So many blocks that what fio reads of itself, the page cache dropped, is little beside them.
    reads = registry.get("random-read").scales["test"]
    done = pyrometer(
        "run", "random-read", "--scale", str(4 * reads), "--set", "cache.state=cold", "-o", "r",
        "--json",
        cwd=tmp_path,
        env=environment(PYROMETER_CACHE=str(tmp_path / "cache"), JAVA_HOME=None),
    )  # fmt: skip
    assert done.code == 0, done.stderr
    manifest = opened(tmp_path / "r")
    assert [probe.name for probe in manifest.probes] == ["os", "launcher"]
    assert [(r.rows, r.status) for r in manifest.results] == [(reads, "ok")] * 4
    assert not codes(tmp_path / "r") & {"no_spark_jvm", "probe_missing", "analysis_failed"}
    again = pyrometer("show", "r", "--json", cwd=tmp_path).json
    assert again["window"]["length_ns"] > 0
    for iteration in again["iterations"]:
        assert iteration["cache"]["state"] == "cold"
        assert iteration["cache"]["resident_ratio"] <= 0.01
        latencies = [iteration["counters"][f"latency_{name}_ns"] for name in ("p50", "p99", "max")]
        assert 0 < latencies[0] <= latencies[1] <= latencies[2]
    # Three measured iterations: their blocks once, and what fio's own start reads. The counter is
    # read four times a second; what is read between a reading and the window's edge is shared out.
    blocks = 3 * reads * 8192
    assert 0.9 * blocks < again["io"]["process_read_bytes"] < 1.3 * blocks + (2 << 20)
    text = pyrometer("show", "r", cwd=tmp_path).stdout
    assert "page cache: cold, 0.0 % resident before each iteration" in text
    assert "latency p99" in text
    assert again["verdict"].startswith("3 iterations without Spark, ")
    assert "latency of one read or query: p50 " in again["verdict"]
    assert again["cpu"]["process_cpu_ns"] > 0
    assert (tmp_path / "r" / "report.html").is_file()
