"""The jar inside Spark 4.x and 3.5, in one JVM and with executors of their own."""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from tests.integration.collect.test_driver_elsewhere import free_port
from tests.support import needs

from pyrometer import _artifacts, _core
from pyrometer.workloads.spark import SparkInstall, find_spark

pytestmark = pytest.mark.spark

PLUGIN = """
import java.nio.file.*;
import java.util.Map;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.*;
public class TheirPlugin implements SparkPlugin {
  static void alive(String who) {
    try { Files.writeString(Path.of(System.getenv("THEIR_DIR"), who), ""); }
    catch (java.io.IOException e) { throw new RuntimeException(e); }
  }
  public DriverPlugin driverPlugin() {
    return new DriverPlugin() {
      public Map<String, String> init(SparkContext sc, PluginContext context) {
        alive("driver");
        return Map.of();
      }
    };
  }
  public ExecutorPlugin executorPlugin() {
    return new ExecutorPlugin() {
      public void init(PluginContext context, Map<String, String> extra) {
        alive("executor-" + context.executorID());
      }
    };
  }
}
"""

# With a master as argument everything is said in code, else on the command line.
APP = """
import sys, time
from pyspark.sql import SparkSession
builder = SparkSession.builder.appName("theirs").config("spark.ui.enabled", "false")
if len(sys.argv) > 1:
    builder = builder.master(sys.argv[1]).config("spark.plugins", "TheirPlugin")
spark = builder.getOrCreate()
spark.sparkContext.setLocalProperty("pyrometer.iteration", "3")
print("sum", spark.range(0, 100000, 1, 4).selectExpr("sum(id) s").collect()[0].s)
try:
    spark.range(0, 2, 1, 2).selectExpr("if(id = 1, raise_error('no'), id)").collect()
except Exception:
    print("failed as it should")
time.sleep(2)  # the other task of the job may still be told of
sys.stdout.write("no newline at the end \\u00e9\\t")
spark.stop()
sys.exit(7)
"""

KILLED_APP = """
import os, sys, threading, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
endless = spark.range(0, 10**13, 1, 2).selectExpr("sum(id % 7)")
threading.Thread(target=lambda: endless.collect(), daemon=True).start()
pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
tracker = spark.sparkContext.statusTracker()
while not any(tracker.getStageInfo(i).numActiveTasks == 2 for i in tracker.getActiveStageIds()):
    time.sleep(0.1)
time.sleep(1)
print(time.clock_gettime_ns(time.CLOCK_MONOTONIC), flush=True)
os.kill(pid, 9)
os._exit(5)
"""


@dataclass
class Measured:
    """What one application left."""

    install: SparkInstall
    cluster: bool
    code: int
    out: str
    err: str
    raw: Path
    theirs: Path
    tables: dict[str, list[dict[str, Any]]]
    doubts: list[dict[str, Any]]

    def records(self, kind: str) -> list[dict[str, Any]]:
        lines = [line for file in self.raw.glob("plugin-*") for line in file.open()]
        return [record for line in lines if (record := json.loads(line))["k"] == kind]

    def ended_tasks(self) -> list[dict[str, Any]]:
        """Events of the event log for tasks that ended."""
        (log,) = (self.raw / "eventlog").iterdir()
        events = [json.loads(line) for line in log.open()]
        return [event for event in events if event["Event"] == "SparkListenerTaskEnd"]

    def task_ends(self) -> dict[int, dict[str, Any]]:
        """Task infos of the event log by TID."""
        infos = [event["Task Info"] for event in self.ended_tasks()]
        return {info["Task ID"]: info for info in infos}


def prepare(folder: Path) -> Path:
    """Make the raw folder, and the properties that the launcher would write."""
    raw = folder / "a run, measured" / "raw"
    (raw / "eventlog").mkdir(parents=True)
    (raw / "agent.properties").write_text(
        f"raw.dir={raw}\n"
        "force.spark.eventLog.enabled=true\n"
        f"conf.spark.eventLog.dir={(raw / 'eventlog').as_uri()}\n"
        "conf.spark.eventLog.rolling.enabled=false\n"
        "conf.spark.eventLog.compress=false\n"
        "append.spark.executor.extraJavaOptions=-Dpyrometer.test=1\n"
        "conf.spark.sql.codegen.comments=true\n"
        "codegen.interval.ms=200\n"
        "codegen.lines=on\n"
        "gclog.what=gc*,safepoint\n"
        "asprof.command=start,event=cpu,interval=10ms,wall=50ms,alloc=512k,lock=10ms,"
        "clock=monotonic,chunktime=10s\n"
    )
    return raw


def scala_version(install: SparkInstall) -> str:
    library = next(install.home.glob("jars/scala-library-*.jar")).name
    return ".".join(library.split("-")[2].split(".")[:2])


def environment(install: SparkInstall, raw: Path, **more: str) -> dict[str, str]:
    agent = f"-javaagent:{_artifacts.plugin_jar()}={raw / 'agent.properties'}"
    env = {**os.environ, **more, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_HOME": str(install.home)}
    env["PYSPARK_PYTHON"] = install.python
    env["SPARK_SCALA_VERSION"] = scala_version(install)
    env["SPARK_SUBMIT_OPTS"] = f'"{agent}"'
    return env


def generated(raw: Path) -> dict[str, list[dict[str, Any]]]:
    """Records of generated code by file."""
    files = sorted((raw / "codegen").iterdir())
    return {file.name: [json.loads(line) for line in file.open()] for file in files}


def ingest(raw: Path, out: Path) -> tuple[dict[str, list[dict[str, Any]]], list[dict[str, Any]]]:
    out.mkdir()
    files = sorted(str(file) for file in raw.glob("plugin-*"))
    report = json.loads(_core.ingest_plugin(files, str(out)))
    tables = {file.stem: pq.read_table(file).to_pylist() for file in out.glob("*.parquet")}
    return tables, report["doubts"]


def spark(version: str) -> SparkInstall:
    if version == "4.x":
        return find_spark()
    return find_spark(needs.spark35())


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    (folder / "TheirPlugin.java").write_text(PLUGIN)
    jars = find_spark().home / "jars"
    subprocess.run(
        ["javac", "--release", "17", "-cp", f"{jars}/*", "-d", folder, folder / "TheirPlugin.java"],
        check=True,
        capture_output=True,
    )
    return folder


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((version, master), id=f"{version}-{master.split('[')[0]}", marks=marks)
        for version, master, marks in (
            ("4.x", "local[2]", ()),
            ("4.x", "local-cluster[2,1,1024]", pytest.mark.slow),
            ("3.5", "local[2]", pytest.mark.slow),
            ("3.5", "local-cluster[2,1,1024]", pytest.mark.slow),
        )
    ],
)
def measured(
    request: pytest.FixtureRequest, classes: Path, tmp_path_factory: pytest.TempPathFactory
) -> Measured:
    version, master = request.param
    install = spark(version)
    cluster = master != "local[2]"
    folder = tmp_path_factory.mktemp("application")
    theirs = folder / "theirs"
    theirs.mkdir()
    raw = prepare(folder)
    (folder / "app.py").write_text(APP)
    env = environment(install, raw, THEIR_DIR=str(theirs))
    if cluster:
        command = [
            str(install.home / "bin" / "spark-submit"), "--master", master,
            "--driver-class-path", str(classes),
            "--conf", f"spark.executor.extraClassPath={classes}",
            "--conf", "spark.plugins=TheirPlugin", "--conf", "spark.task.maxFailures=1", "app.py",
        ]  # fmt: skip
    else:
        command = [install.python, "app.py", master]
        env["PYSPARK_SUBMIT_ARGS"] = f"--driver-class-path {classes} pyspark-shell"
    done = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=200, check=False
    )
    tables, doubts = ingest(raw, folder / "tables")
    return Measured(
        install, cluster, done.returncode, done.stdout, done.stderr, raw, theirs, tables, doubts
    )


def test_output_and_exit_code_are_the_applications_own(measured: Measured) -> None:
    assert measured.out == "sum 4999950000\nfailed as it should\nno newline at the end é\t", (
        measured.err[-2000:]
    )
    assert measured.code == 7
    # Spark's own log names the plugins and class paths it loads; nothing else speaks of us.
    ours = [line for line in measured.err.splitlines() if re.search("(?i)pyrometer|profil", line)]
    # Spark 3.5 logs warnings alone.
    assert ours or "35" in measured.install.python
    assert all(re.match(r"\d\d/\d\d/\d\d |Using Spark's default log4j", line) for line in ours)


def test_their_plugin_lives_beside_ours(measured: Measured) -> None:
    executors = ["executor-0", "executor-1"] if measured.cluster else ["executor-driver"]
    assert sorted(path.name for path in measured.theirs.iterdir()) == ["driver", *executors]
    how = {record["key"]: record for record in measured.records("overlay")}
    assert how["spark.plugins"]["how"] == "appended"
    assert how["spark.plugins"]["value"].startswith("TheirPlugin,org.pyrometer.")
    if measured.cluster:
        assert how["spark.executor.extraClassPath"]["how"] == "appended"


def test_every_jvm_tells_of_itself(measured: Measured) -> None:
    rows = measured.tables["processes"]
    expected = ["driver", "executor", "executor"] if measured.cluster else ["driver"]
    assert sorted(row["role"] for row in rows) == expected
    for row in rows:
        facts = json.loads(row["facts"])
        assert row["app_id"]
        assert facts["app_name"] == "theirs"
        assert facts["spark_version"].startswith("3.5" if "35" in measured.install.python else "4")
        assert row["end_mono_ns"] > row["start_mono_ns"]
        assert facts["profiler"]["started"], facts["profiler"]["error"]
        jfr = Path(facts["profiler"]["file"])
        assert jfr.parent == measured.raw
        assert jfr.read_bytes()[:4] == b"FLR\0"
        driver = row["role"] == "driver"
        whose = "driver" if driver else f"executor{row['executor_id']}"
        assert (measured.raw / f"gc-{whose}-{row['pid']}.log").stat().st_size > 0
        if row["role"] == "executor":
            assert "-Dpyrometer.test=1" in facts["input_arguments"]
    assert measured.doubts == []


def test_spans_are_the_tasks_of_the_event_log(measured: Measured) -> None:
    spans = {span["task_attempt_id"]: span for span in measured.tables["spans"]}
    tasks = measured.task_ends()
    assert len(measured.tables["spans"]) == len(spans)
    assert set(spans) == set(tasks)
    pairs = measured.tables["clock_pairs"]
    offset_ns = statistics.median(pair["wall_ns"] - pair["mono_ns"] for pair in pairs)
    for task, span in spans.items():
        info = tasks[task]
        assert span["status"] == ("failed" if info["Failed"] or info["Killed"] else "success")
        assert span["executor_id"] == info["Executor ID"]
        start_ms = (span["start_mono_ns"] + offset_ns) / 1e6
        end_ms = (span["end_mono_ns"] + offset_ns) / 1e6
        assert info["Launch Time"] - 5 <= start_ms <= end_ms <= info["Finish Time"] + 5
        assert 0 < span["cpu_ns"] <= 1.1 * (span["end_mono_ns"] - span["start_mono_ns"]) + 1e7
        assert span["allocated_bytes"] > 0
        assert (span["iteration"], span["sql_id"]) in {(3, 0), (3, 1)}
    assert {span["status"] for span in spans.values()} >= {"success", "failed"}


def test_series_grow_as_counters_do(measured: Measured) -> None:
    pids = {row["pid"] for row in measured.tables["processes"]}
    assert len(pids) == (3 if measured.cluster else 1)
    for pid in pids:
        rows = [row for row in measured.tables["jvm_series"] if row["pid"] == pid]
        for name in ("process_cpu_ns", "jit_time_ns", "pyrometer_cpu_ns"):
            values = [row["value"] for row in rows if row["name"] == name]
            assert len(values) >= 3
            assert values == sorted(values)
        heap = [row["value"] for row in rows if row["name"] == "heap_used_bytes"]
        assert len(heap) >= 3
        assert all(0 < value < 2 << 30 for value in heap)


def test_generated_code_is_kept_in_every_jvm(measured: Measured) -> None:
    files = generated(measured.raw)
    pids = {(row["role"], row["pid"]) for row in measured.tables["processes"]}
    assert {(name.split("-")[1], int(name.split("-")[-1][:-7])) for name in files} <= pids
    roles = {name.split("-")[1] for name in files}
    assert roles == ({"driver", "executor"} if measured.cluster else {"driver"})
    for found in files.values():
        sources = [record for record in found if record["k"] == "source"]
        assert [record["n"] for record in sources] == list(range(len(sources)))
        assert len({record["body"] for record in sources}) == len(sources)
        stages = [record for record in sources if "codegenStageId" in str(record["comments"])]
        assert stages
        said = [text for record in stages for text in record["comments"].values()]
        for words in ("PRODUCE: HashAggregate", "PRODUCE: Range", "CONSUME: HashAggregate"):
            assert any(words in text for text in said), words
        for record in stages:
            # Code that Spark threw away leaves comments without a place; an operator's have theirs.
            for name, text in record["comments"].items():
                assert "PRODUCE: " not in text or f"/*{name}*/" in record["body"]
            assert record["max_method_bytes"] > 0
            assert record["max_constants"] > 0
        assert {record["k"] for record in found} == {"source", "bye"}
        bye = [record for record in found if record["k"] == "bye"][-1]
        assert (bye["written"], bye["dropped"]) == (len(sources), 0)
        assert bye["own_cpu_ns"] > 0


def test_generated_code_has_lines_in_every_jvm(measured: Measured) -> None:
    """Where a task failed in generated code, its stack says the line, as a sampled stack would."""
    stacks = [event["Task End Reason"].get("Stack Trace", []) for event in measured.ended_tasks()]
    frames = [frame for stack in stacks for frame in stack]
    lines = [f["Line Number"] for f in frames if "$GeneratedIterator" in f["Declaring Class"]]
    assert lines
    longest = max(
        record["body"].count("\n") + 1
        for found in generated(measured.raw).values()
        for record in found
        if record["k"] == "source"
    )
    assert all(0 < line <= longest for line in lines), lines
    assert not [frame for frame in frames if "janino" in str(frame.get("File Name"))]


@pytest.mark.slow
def test_a_killed_driver_leaves_its_records(tmp_path: Path) -> None:
    install = find_spark()
    raw = prepare(tmp_path)
    (tmp_path / "app.py").write_text(KILLED_APP)
    done = subprocess.run(
        [install.python, "app.py"], cwd=tmp_path, env=environment(install, raw),
        capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert done.returncode == 5
    tables, doubts = ingest(raw, tmp_path / "tables")
    assert [doubt["code"] for doubt in doubts] == ["plugin_truncated"]
    running = [span for span in tables["spans"] if span["status"] == "running"]
    assert len(running) == 2
    assert all(span["end_mono_ns"] is None for span in running)
    last_ns = max(row["t_mono_ns"] for row in tables["jvm_series"])
    assert 0 <= int(done.stdout) - last_ns < 1_500_000_000
    (process,) = tables["processes"]
    assert process["end_mono_ns"] is None
    assert json.loads(process["facts"])["own_cpu_ns"] > 0
    ((*_, last),) = generated(raw).values()
    assert last["k"] == "source"


@pytest.fixture(params=["4.x", "3.5"])
def standalone(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[SparkInstall, str]]:
    """A standalone master, by its address, and a worker: without the scripts that pip's lacks."""
    install, port = spark(request.param), free_port()
    master = f"spark://127.0.0.1:{port}"
    opens = ["java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net",
             "java.nio", "java.util", "java.util.concurrent", "sun.nio.ch"]  # fmt: skip
    java = ["java", "-Xmx256m", *(f"--add-opens=java.base/{p}=ALL-UNNAMED" for p in opens),
            "-cp", f"{install.home}/jars/*"]  # fmt: skip
    env = {
        **os.environ,
        "SPARK_HOME": str(install.home),
        "SPARK_SCALA_VERSION": scala_version(install),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_WORKER_DIR": str(tmp_path / "work"),
    }
    log = tmp_path / "cluster.log"
    roles = [
        ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port),
         "--webui-port", "0"],
        ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1",
         "--memory", "1g", "--webui-port", "0", master],
    ]  # fmt: skip
    with log.open("w") as out:
        daemons = [subprocess.Popen([*java, *role], env=env, stdout=out, stderr=out)
                   for role in roles]  # fmt: skip
    try:
        until = time.monotonic() + 60
        while "Registering worker" not in log.read_text():
            assert time.monotonic() < until, log.read_text()[-2000:]
            assert all(daemon.poll() is None for daemon in daemons), log.read_text()[-2000:]
            time.sleep(0.2)
        yield install, master
    finally:
        for daemon in daemons:
            daemon.kill()
            daemon.wait()


@pytest.mark.slow
def test_executors_of_a_cluster_get_the_jar(
    standalone: tuple[SparkInstall, str], tmp_path: Path
) -> None:
    install, master = standalone
    raw = prepare(tmp_path)
    (tmp_path / "app.py").write_text(
        "from pyspark.sql import SparkSession\n"
        "s = SparkSession.builder.config('spark.ui.enabled', 'false').getOrCreate()\n"
        "print(s.range(0, 100000, 1, 4).count())\n"
        "s.stop()\n"
    )
    done = subprocess.run(
        [str(install.home / "bin" / "spark-submit"), "--master", master,
         "--executor-memory", "600m", "app.py"],
        cwd=tmp_path, env=environment(install, raw), capture_output=True, text=True,
        timeout=200, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "100000\n"), done.stderr[-2000:]
    tables, doubts = ingest(raw, tmp_path / "tables")
    assert doubts == []
    assert sorted(row["role"] for row in tables["processes"]) == ["driver", "executor"]
    assert len(tables["spans"]) == 5
    assert {row["executor_id"] for row in tables["spans"]} == {"0"}
