"""Executors that ship through Hadoop's client: all arrives, privately, and what cannot is said.

``viewfs`` is a file system of Hadoop's client that needs no cluster: it is mounted on a folder.
"""

from __future__ import annotations

import shutil
import stat
import tempfile
from pathlib import Path

import pytest
from tests.support.cli import environment, opened, pyrometer

from pyrometer.store import Run
from pyrometer.store.chunks import join_chunks
from pyrometer.workloads.spark import find_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APP = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
for _ in range(3):
    spark.range(0, 2_000_000, 1, 4).selectExpr("sum(hash(id))").collect()
spark.stop()
"""
MOUNT = "spark.hadoop.fs.viewfs.mounttable.bed.link"


def shipped_through(mounted: Path, tmp_path: Path) -> tuple[Path, str]:
    """Run the application on a cluster of this machine; gives the run and its application."""
    run_dir = tmp_path / "run"
    (tmp_path / "app.py").write_text(APP)
    submit = str(find_spark().home / "bin" / "spark-submit")
    done = pyrometer(
        "run", "--profile", "light", "-o", run_dir, "--",
        submit, "--master", "local-cluster[2,1,1024]",
        "--conf", f"{MOUNT}./pyrometer={mounted.as_uri()}", "app.py",
        cwd=tmp_path, env=environment(PYROMETER_SHIP_TO="viewfs://bed/pyrometer"),
    )  # fmt: skip
    assert done.code == 0, done.stderr[-3000:]
    (shipped,) = opened(run_dir).shipped
    assert shipped.to == "viewfs://bed/pyrometer"
    return run_dir, shipped.app_id


def left_behind(app: str) -> list[Path]:
    """Folders of this application that executors wrote into on this host."""
    name = app.replace("-", "_")
    return sorted(Path(tempfile.gettempdir()).glob(f"pyrometer-{name}-*"))


def test_all_that_executors_wrote_is_there_when_their_jvms_have_ended(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    run_dir, app = shipped_through(store, tmp_path)
    joined = join_chunks(store, tmp_path / "joined")
    executors = {one.executor for one in joined.streams}
    assert executors == {"0", "1"}
    for stream in joined.streams:
        whole = (stream.problem, stream.missing_count, stream.dropped_bytes, stream.repeated_bytes)
        assert (stream.ended, whole) == (True, (None, 0, 0, 0)), stream
    files = {one.file.partition("-")[0] for one in joined.streams if one.file}
    assert {"plugin", "gc", "agent"} <= files
    for path in store.rglob("*"):
        rights = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == rights, path
        # Hadoop keeps sums of local files beside them.
        assert path.is_dir() or path.name.endswith((".chunk", ".chunk.crc")), path
    assert left_behind(app) == []
    # Without Hadoop's native client here, a copy of the store is read.
    (store / app).rename(run_dir / "raw" / "chunks" / app)
    assert pyrometer("ingest", run_dir, cwd=tmp_path).code == 0
    with Run.open(run_dir) as run:
        spans = run.tables.query("SELECT count(DISTINCT executor_id), count(*) FROM spans")
        assert spans == [(2, run.tables.query("SELECT count(*) FROM tasks")[0][0])]


def test_a_store_that_cannot_be_written_is_said_and_the_job_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "store"
    file.write_text("no folder")
    run_dir, app = shipped_through(file, tmp_path)
    with Run.open(run_dir) as run:
        doubts = dict(run.tables.query("SELECT code, message FROM ingest_doubts"))
    said = doubts["executor_records_elsewhere"]
    assert "Why: cannot write to viewfs://bed/pyrometer: " in said
    left = left_behind(app)
    assert left, "what was recorded stays"
    for folder in left:
        assert str(folder) in said
        shutil.rmtree(folder)
