"""Executors that ship through Hadoop's client: all arrives, privately, and what cannot is said.

``viewfs`` is a file system of Hadoop's client that needs no cluster: it is mounted on a folder.
HDFS is one NameNode and one DataNode on this machine.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cluster import yarn
from tests.support import needs
from tests.support.cli import environment, opened, pyrometer

from pyrometer.core.errors import CapabilityError
from pyrometer.store import Run, ingest_run
from pyrometer.store.chunks import Joined, join_chunks
from pyrometer.workloads.spark import find_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APP = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
for _ in range(3):
    spark.range(0, 2_000_000, 1, 4).selectExpr("sum(hash(id))").collect()
spark.stop()
"""
# Its NameNode neither answers nor refuses for longer than a call may take.
STOPPING = """
import os, signal, sys, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()

def work():
    spark.range(0, 2_000_000, 1, 4).selectExpr("sum(hash(id))").collect()

work()
os.kill(int(sys.argv[1]), signal.SIGSTOP)
try:
    work()
    time.sleep(25)
finally:
    os.kill(int(sys.argv[1]), signal.SIGCONT)
work()
time.sleep(15)
spark.stop()
"""
JAVA = Path(__file__).parents[2] / "support" / "java"
MOUNT = "spark.hadoop.fs.viewfs.mounttable.bed.link"


def shipped_to(place: str, tmp_path: Path, *words: str, app: str = APP) -> tuple[Path, str]:
    """Run the application on a cluster of this machine; gives the run and its application."""
    run_dir = tmp_path / "run"
    (tmp_path / "app.py").write_text(app)
    submit = str(find_spark().home / "bin" / "spark-submit")
    done = pyrometer(
        "run", "--profile", "light", "-o", run_dir, "--",
        submit, "--master", "local-cluster[2,1,1024]", *words,
        cwd=tmp_path,
        # The last chunks are waited for two seconds, which is too short where other tests run.
        env=environment(PYROMETER_SHIP_TO=place, PYROMETER_PATIENCE="5"),
    )  # fmt: skip
    assert done.code == 0, done.stderr[-3000:]
    (shipped,) = opened(run_dir).shipped
    assert shipped.to == place
    return run_dir, shipped.app_id


def shipped_through(mounted: Path, tmp_path: Path) -> tuple[Path, str]:
    """The same into a folder here, as Hadoop sees it."""
    link = f"{MOUNT}./pyrometer={mounted.as_uri()}"
    return shipped_to("viewfs://bed/pyrometer", tmp_path, "--conf", link, "app.py")


def check_whole(joined: Joined) -> None:
    """All of each stream has arrived, once, of both executors."""
    assert {one.executor for one in joined.streams} == {"0", "1"}
    for stream in joined.streams:
        whole = (stream.problem, stream.missing_count, stream.dropped_bytes, stream.repeated_bytes)
        assert (stream.ended, whole) == (True, (None, 0, 0, 0)), stream
    files = {one.file.partition("-")[0] for one in joined.streams if one.file}
    assert {"plugin", "gc", "agent"} <= files


@dataclass(frozen=True)
class Hdfs:
    """A file system that is up.

    Parameters
    ----------
    address : str
        Its own.
    pid : int
        Of the process that both nodes run in.
    classes : str
        Class path of its client.
    """

    address: str
    pid: int
    classes: str

    def shell(self, *words: str) -> str:
        """Run a command of its client."""
        command = ["java", "-cp", self.classes, "org.apache.hadoop.fs.FsShell", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-2000:]
        return done.stdout


@pytest.fixture
def hdfs(tmp_path: Path) -> Iterator[Hdfs]:
    try:
        jars = yarn.jars()
    except CapabilityError as error:
        needs.missing(error.message, error.remedy or "")
    # Its shell does not begin without such a file.
    (tmp_path / "core-site.xml").write_text("<configuration/>")
    places = [tmp_path, *jars, find_spark().home / "jars" / "*"]
    classes = os.pathsep.join(map(str, places))
    process = subprocess.Popen(
        ["java", "-Xmx512m", "-cp", classes, str(JAVA / "SmallHdfs.java"), str(tmp_path / "hdfs")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    said = process.stdout.readline()
    assert said.startswith("up hdfs://"), said
    yield Hdfs(said.split()[1], process.pid, classes)
    process.stdin.close()
    process.wait()


def left_behind(app: str) -> list[Path]:
    """Folders of this application that executors wrote into on this host."""
    name = app.replace("-", "_")
    return sorted(Path(tempfile.gettempdir()).glob(f"pyrometer-{name}-*"))


def test_all_that_executors_wrote_is_there_when_their_jvms_have_ended(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    run_dir, app = shipped_through(store, tmp_path)
    check_whole(join_chunks(store, tmp_path / "joined"))
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


def test_hdfs_has_all_though_its_name_node_hangs_for_a_while(hdfs: Hdfs, tmp_path: Path) -> None:
    place = f"{hdfs.address}/user/ann/pyrometer"
    run_dir, app = shipped_to(place, tmp_path, "app.py", str(hdfs.pid), app=STOPPING)
    hdfs.shell("-get", f"{place}/{app}", str(run_dir / "raw" / "chunks"))
    check_whole(join_chunks(run_dir / "raw" / "chunks", tmp_path / "joined"))
    for line in hdfs.shell("-ls", "-R", place).splitlines():
        assert line.startswith(("drwx------", "-rw-------")), line
        assert line.startswith("d") or line.endswith(".chunk"), line
    assert left_behind(app) == []
    (told,) = {one.message for one in ingest_run(run_dir).doubts if one.code == "chunks_elsewhere"}
    assert "Hadoop's native client is missing" in told
    assert "CLASSPATH" in told


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
