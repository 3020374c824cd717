"""Executors that ship: what they and the probe beside them wrote arrives, also of a killed one."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

import pytest
from tests.support import needs
from tests.support.cli import opened, pyrometer

from pyrometer import _artifacts
from pyrometer.collect.probes.plugin import records
from pyrometer.store import Run, ingest_run
from pyrometer.store.paths import RunPaths
from pyrometer.store.shipped import open_streams
from pyrometer.workloads.spark import SparkInstall, find_spark

pytestmark = pytest.mark.spark

MASTER = "local-cluster[2,1,1024]"
MOST_LOST_NS = 10_000_000_000

APP = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
for _ in range(3):
    spark.range(0, 2_000_000, 1, 4).selectExpr("sum(hash(id))").collect()
spark.stop()
"""

# Kills executor 0 between two jobs, with no chance to say anything, and says when. With a word more
# its agent is killed before it, and the executor works on until another one has shipped.
KILLING = """
import os, sys, time
from pathlib import Path
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
app = spark.sparkContext.applicationId

def work():
    spark.range(0, 2_000_000, 1, 4).selectExpr("sum(hash(id))").collect()

def words(process):
    try:
        return (process / "cmdline").read_bytes().split(b"\\0")
    except OSError:
        return []

def executor():
    for process in Path("/proc").glob("[0-9]*"):
        said = words(process)
        if app.encode() in said and b"--executor-id" in said:
            if said[said.index(b"--executor-id") + 1] == b"0":
                return int(process.name)
    return None

def agent():
    own = {b"ship", b"--app=" + app.encode(), b"--executor=0"}
    found = [one for one in Path("/proc").glob("[0-9]*") if own <= {*words(one)}]
    return int(found[0].name) if found else None

work()
while executor() is None:
    time.sleep(0.1)
time.sleep(3)
if sys.argv[2:]:
    gone = agent()
    os.kill(gone, 9)
    while agent() in (None, gone):
        time.sleep(0.1)
    work()
    time.sleep(7)
pid = executor()
killed = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
os.kill(pid, 9)
work()
spark.stop()
Path(sys.argv[1]).write_text(f"{app} {pid} {killed}")
"""


def left_behind(app: str) -> list[Path]:
    """Folders of this application that executors wrote into on this host."""
    plain = app.replace("-", "_")
    return sorted(Path(tempfile.gettempdir()).glob(f"pyrometer-{plain}-*"))


@pytest.mark.slow
def test_a_run_reads_what_its_executors_shipped(tmp_path: Path) -> None:
    store, run_dir = tmp_path / "store", tmp_path / "run"
    store.mkdir()
    (tmp_path / "app.py").write_text(APP)
    submit = str(find_spark().home / "bin" / "spark-submit")
    done = pyrometer(
        "run", "--profile", "light", "-o", run_dir, "--",
        submit, "--master", MASTER, "--conf", f"spark.pyrometer.ship.to=file://{store}", "app.py",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.stderr[-3000:]
    manifest, paths = opened(run_dir), RunPaths(run_dir)
    (shipped,) = manifest.shipped
    assert shipped.to == f"file://{store}"
    assert open_streams(store / shipped.app_id)[1] == 0
    roles = {file: [r["role"] for r in records(file, "process")] for file in paths.plugin_files()}
    direct = [found[0] for file, found in roles.items() if file.parent == paths.raw]
    assert direct == ["driver"]
    assert sorted(found[0] for found in roles.values()) == ["driver", "executor", "executor"]
    with Run.open(run_dir) as run:
        spans = run.tables.query("SELECT count(DISTINCT executor_id), count(*) FROM spans")
        tasks = run.tables.query("SELECT count(*) FROM tasks")
        assert spans == [(2, tasks[0][0])]
        # The launcher's probe follows executors of this master: no second one beside them.
        rows = run.tables.query("SELECT count(*), count(DISTINCT (host, pid, tid, t_mono_ns))"
                                " FROM thread_counters")  # fmt: skip
        assert rows[0][0] == rows[0][1] > 0
    assert not list(paths.shipped.rglob("probe-*"))
    assert left_behind(shipped.app_id) == []


@pytest.fixture(params=["4.x", "3.5"])
def install(request: pytest.FixtureRequest) -> SparkInstall:
    return find_spark(needs.spark35() if request.param == "3.5" else None)


def killed(install: SparkInstall, tmp_path: Path, *more: str) -> tuple[RunPaths, int, int]:
    """Run the application that kills its executor; gives the run, who was killed and when."""
    jar = _artifacts.plugin_jar()
    paths = RunPaths(tmp_path / "run")
    paths.chunks.mkdir(parents=True)
    (tmp_path / "app.py").write_text(KILLING)
    conf = {
        "spark.plugins": "org.pyrometer.plugin.PyrometerPlugin",
        "spark.driver.extraClassPath": str(jar),
        "spark.executor.extraClassPath": str(jar),
        "spark.pyrometer.raw.dir": str(paths.raw),
        "spark.pyrometer.ship.to": str(paths.chunks),
    }
    words = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    submit = str(install.home / "bin" / "spark-submit")
    env = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": install.python}
    done = subprocess.run(
        [submit, "--master", MASTER, *words, "app.py", "said", *more],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    app, pid, killed_ns = (tmp_path / "said").read_text().split()
    while left_behind(app):
        time.sleep(0.1)  # agents end after their executors
    return paths, int(pid), int(killed_ns)


def records_of(paths: RunPaths, pid: int) -> Path:
    return next(file for file in paths.plugin_files() if file.name.endswith(f"-{pid}.ndjson"))


def lost_ns(paths: RunPaths, pid: int, killed_ns: int) -> tuple[int, int]:
    """How long before an executor's end the last records are, of the plugin and of the probe."""
    mono_ns = [int(one["mono_ns"]) for one in records(records_of(paths, pid), "mx", "clock")]
    with Run.open(paths.root) as run:
        threads = run.tables.query(
            "SELECT coalesce(max(t_mono_ns), 0) FROM thread_counters WHERE pid = ?", [pid]
        )
    return killed_ns - max(mono_ns), killed_ns - threads[0][0]


@pytest.mark.slow
def test_a_killed_executor_has_lost_seconds_at_most(install: SparkInstall, tmp_path: Path) -> None:
    paths, pid, killed_ns = killed(install, tmp_path)
    report = ingest_run(paths.root)
    assert max(lost_ns(paths, pid, killed_ns)) < MOST_LOST_NS
    file = records_of(paths, pid)
    assert not list(records(file, "bye")), "it could not say so"
    for line in file.read_text().splitlines()[:-1]:
        json.loads(line)
    agents = [json.loads(one.read_text()) for one in paths.shipped.rglob("agent-*.report.json")]
    assert {agent["end_reason"] for agent in agents} == {"its writer ended"}
    assert {agent["recorder"]["state"] for agent in agents} == {"ended"}
    assert report.tables["spans"] > 0
    with Run.open(paths.root) as run:
        executors = run.tables.query("SELECT executor_id FROM processes WHERE role = 'executor'")
        assert {"0", "1"} <= {name for (name,) in executors}


@pytest.mark.slow
def test_an_executor_whose_agent_was_killed_before_it_has_lost_no_more(tmp_path: Path) -> None:
    paths, pid, killed_ns = killed(find_spark(), tmp_path, "its agent first")
    ingest_run(paths.root)
    assert max(lost_ns(paths, pid, killed_ns)) < MOST_LOST_NS
    file = records_of(paths, pid)
    assert [one["where"] for one in records(file, "error")] == ["agent_gone"]
    (report,) = file.parent.glob("agent-*.report.json")
    recorder = json.loads(report.read_text())["recorder"]
    assert [gap["reason"] for gap in recorder["gaps"]] == ["its agent ended"]
    assert recorder["unrecorded_ns"] < MOST_LOST_NS
    assert len(list(file.parent.glob("probe-*-threads*.arrows"))) == 2
