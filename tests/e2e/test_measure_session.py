"""`pm.measure` in live sessions of both Sparks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support import needs
from tests.support.cli import environment, opened, pyrometer

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]

SESSION = """
import json, sys
from pyspark.sql import SparkSession
import pyrometer as pm

spark = (SparkSession.builder.master("local[2]").appName("live")
         .config("spark.ui.enabled", "false").config("spark.my.password", "hunter2").getOrCreate())
spark.range(0, 1000, 1, 7).count()
with pm.measure(spark, "run") as m:
    before = spark.sparkContext.getLocalProperty("pyrometer.iteration")
    rows = spark.range(0, 300000, 1, 4).selectExpr("id % 10 k").groupBy("k").count().count()
assert (before, rows) == ("0", 10), (before, rows)
assert spark.sparkContext.getLocalProperty("pyrometer.iteration") is None
spark.range(0, 1000, 1, 9).count()
m.show()
m.report()
try:
    with pm.measure(spark, "failed", probe=False):
        raise KeyError("in the block")
except KeyError:
    pass
counts = iter([5, 5, 5, 6])
again = pm.repeat(spark, lambda: spark.range(100).count(), "again", name="nightly", iterations=2)
assert [i.warmup for i in again.summary.iterations] == [True, False, False]
try:
    pm.repeat(spark, lambda: spark.range(next(counts)).collect(), "unlike", name="odd", probe=False)
except pm.errors.WorkloadError as error:
    assert "iteration 3 of odd" in error.message and "expected 5, got 6" in error.message, error
else:
    raise AssertionError("another result was taken")
spark.stop()
try:
    pm.measure(spark, "stopped")
except pm.errors.CapabilityError as error:
    assert "stopped" in error.message
else:
    raise AssertionError("a stopped session was taken")
print(json.dumps(m.summary.model_dump(mode="json", by_alias=True)))
"""


@pytest.fixture(scope="module", params=["4.x", pytest.param("3.5", marks=pytest.mark.slow)])
def measured(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("live")
    env = environment()
    if request.param == "3.5":
        (packages,) = needs.spark35().glob("lib/python3*/site-packages")
        env["PYTHONPATH"] = os.pathsep.join([str(packages), str(ROOT / "python")])
    (folder / "session.py").write_text(SESSION)
    done = subprocess.run(
        [sys.executable, "session.py"],
        cwd=folder, env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, json.loads(done.stdout.splitlines()[-1])


def test_only_the_block_is_counted(measured: tuple[Path, dict[str, Any]]) -> None:
    _, summary = measured
    tasks = sum(stage["tasks_count"] for stage in summary["stages"])
    # 4 of the scan and what the aggregation needs; none of the 7 before and the 9 after.
    assert 4 < tasks < 4 + 7
    assert summary["totals"]["tasks_count"] == tasks
    assert summary["totals"]["executor_cpu_time_ns"] > 0
    assert [(i["iteration"], i["status"]) for i in summary["iterations"]] == [(0, "success")]
    assert [app["app_name"] for app in summary["apps"]] == ["live"]


def test_the_ledger_knows_the_slots_of_a_session(
    measured: tuple[Path, dict[str, Any]],
) -> None:
    _, summary = measured
    slots = summary["ledger"]["slot_view"]
    elapsed = summary["window"]["end_mono_ns"] - summary["window"]["start_mono_ns"]
    assert slots["total_ns"] == pytest.approx(2 * elapsed, rel=0.02)
    assert summary["cpu"]["process_cpu_ns"] > summary["totals"]["executor_cpu_time_ns"]


def test_the_record_says_that_it_is_coarser(measured: tuple[Path, dict[str, Any]]) -> None:
    folder, summary = measured
    assert "live_session" in {doubt["code"] for doubt in summary["doubts"]}
    # The first screen has the gravest only: on a busy machine those are others.
    everything = pyrometer("show", folder / "run", "--all", cwd=folder).stdout
    assert "running session" in everything
    assert opened(folder / "run").state == "finished"
    failed = opened(folder / "failed")
    assert (failed.state, failed.results[0].status) == ("failed", "failed")
    assert not (folder / "stopped").exists()


def test_a_block_that_repeats_is_a_workload(
    measured: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = measured
    again = opened(folder / "again")
    assert (again.workload.name, again.state, again.iterations) == ("nightly", "finished", 2)
    results = [(r.iteration, r.warmup, r.rows, r.status) for r in again.results]
    assert results == [(0, True, 1, "ok"), (1, False, 1, "ok"), (2, False, 1, "ok")]
    assert len({r.checksum for r in again.results}) == 1
    unlike = opened(folder / "unlike")
    assert (unlike.state, unlike.results[-1].status) == ("failed", "wrong_result")
    assert "number of rows" in str(unlike.results[-1].error)


def test_secrets_of_the_session_are_not_written(
    measured: tuple[Path, dict[str, Any]],
) -> None:
    folder, _ = measured
    files = [path for path in (folder / "run").rglob("*") if path.is_file()]
    assert {"manifest.json", "report.html"} <= {path.name for path in files}
    assert [path for path in files if b"hunter2" in path.read_bytes()] == []
