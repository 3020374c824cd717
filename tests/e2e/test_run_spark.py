"""`pyrometer run` around real Spark applications, 4.x and 3.5."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.support import needs
from tests.support.cli import codes, environment, opened, pyrometer, start

from pyrometer.collect.launch import record
from pyrometer.collect.probes.plugin import records
from pyrometer.store import Run
from pyrometer.store.paths import RunPaths
from pyrometer.workloads.spark import SparkInstall, find_spark

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parents[2]

# What spark-submit's scripts add for Java 17, needed where `java` starts Spark by itself.
OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in (
        "java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio",
        "java.util", "java.util.concurrent", "java.util.concurrent.atomic", "sun.nio.ch",
        "sun.nio.cs", "sun.security.action", "sun.util.calendar",
    )
]  # fmt: skip

PLUGIN = """
import java.nio.file.*;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.*;
public class TheirPlugin implements SparkPlugin {
  public DriverPlugin driverPlugin() {
    return new DriverPlugin() {
      public java.util.Map<String, String> init(SparkContext sc, PluginContext context) {
        try { Files.writeString(Path.of("their-plugin"), "driver"); }
        catch (java.io.IOException e) { throw new RuntimeException(e); }
        return java.util.Map.of();
      }
    };
  }
  public ExecutorPlugin executorPlugin() { return null; }
}
"""

MAIN = """
import java.util.*;
import org.apache.spark.sql.SparkSession;
public class Main {
  public static void main(String[] args) {
    SparkSession spark = SparkSession.builder().master("local[2]").appName("java main")
        .config("spark.ui.enabled", "false").getOrCreate();
    System.out.println("rows " + spark.range(0, 100000, 1, 4).count());
    if (args.length > 0) {
      List<byte[]> held = new ArrayList<>();
      while (true) held.add(new byte[1 << 20]);
    }
    spark.stop();
  }
}
"""

APP = """
import sys
from pyspark.sql import SparkSession
spark = (SparkSession.builder.appName("their app").master("local[2]")
         .config("spark.ui.enabled", "false").config("spark.plugins", "TheirPlugin")
         .getOrCreate())
rows = spark.range(0, 200000, 1, 4).selectExpr("id % 10 k").groupBy("k").count().collect()
print("rows", len(rows))
sys.stdout.write("no newline, then tab\\t\\u00e9 end\\n")
spark.stop()
sys.exit(7)
"""


@pytest.fixture(scope="module", params=["4.x", pytest.param("3.5", marks=pytest.mark.slow)])
def install(request: pytest.FixtureRequest) -> SparkInstall:
    if request.param == "4.x":
        return find_spark()
    return find_spark(needs.spark35())


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plugin and a main class, compiled against Spark's own jars."""
    folder = tmp_path_factory.mktemp("classes")
    for name, text in (("TheirPlugin", PLUGIN), ("Main", MAIN)):
        (folder / f"{name}.java").write_text(text)
    jars = find_spark().home / "jars"
    subprocess.run(
        ["javac", "--release", "17", "-cp", f"{jars}/*", "-d", folder, *folder.glob("*.java")],
        check=True,
        capture_output=True,
    )
    return folder


def processes(run_dir: Path, role: str) -> list[dict[str, Any]]:
    """What the JVMs of one role said of themselves."""
    return [r for r in record.processes(RunPaths(run_dir)) if r["role"] == role]


@pytest.mark.slow  # plugins beside ours: tests/integration/collect/test_plugin_spark.py
def test_an_application_with_its_own_plugin_stays_its_own(
    install: SparkInstall, classes: Path, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    env = environment(PYSPARK_SUBMIT_ARGS=f"--driver-class-path {classes} pyspark-shell")
    done = pyrometer("run", "--json", "-o", "run", "--", install.python, "app.py",
                     cwd=tmp_path, env=env)  # fmt: skip
    expected = "rows 10\nno newline, then tab\té end\n"
    ours = done.stdout.splitlines(keepends=True)[-1]
    assert done.stdout.removesuffix(ours) == expected
    assert (done.code, done.json["exit_code"]) == (7, 7)
    assert (tmp_path / "their-plugin").read_text() == "driver"
    run = tmp_path / "run"
    manifest = opened(run)
    assert (manifest.state, manifest.exit.code) == ("failed", 7)
    assert {o.key: o.how for o in manifest.conf_overlay}["spark.plugins"] == "appended"
    (driver,) = processes(run, "driver")
    assert driver["app_name"] == "their app"
    spans = [r for f in RunPaths(run).plugin_files() for r in records(f, "task")]
    assert len(spans) >= 4
    (log,) = RunPaths(run).eventlogs()
    ends = [line for line in log.read_text().splitlines() if '"SparkListenerTaskEnd"' in line]
    assert len(ends) >= 4
    again = [line for line in ends if '"internal.metrics.executorRunTime"' in line]
    assert "spark.plugins.internal.conf" not in log.read_text()
    assert len(again) == (len(ends) if driver["spark_version"].startswith("3.") else 0)
    assert {entry.name for entry in manifest.probes if entry.got} >= {
        "eventlog", "plugin", "gc", "os", "stacks",
    }  # fmt: skip
    sources = [r for f in RunPaths(run).codegen_files() for r in records(f, "source")]
    said = [text for record in sources for text in record["comments"].values()]
    assert any("CONSUME: HashAggregate" in text for text in said)
    (stacks,) = (entry for entry in manifest.probes if entry.name == "stacks")
    assert stacks.got == f"1 recording(s), {len(sources)} generated source(s)"
    assert manifest.versions["spark"] == driver["spark_version"]
    assert (run / "report.html").stat().st_size > 50_000
    assert codes(run) - {"probe_degraded", "processes_left"} == {"workload_failed"}


@pytest.mark.slow
def test_the_users_event_log_stays_where_they_want_it(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from pyspark.sql import SparkSession\n"
        "s = SparkSession.builder.getOrCreate()\n"
        "s.range(10).count()\n"
        "s.stop()\n"
        "s = SparkSession.builder.getOrCreate()\n"
        "s.range(10).count()\n"
        "s.stop()\n"
    )
    logs = tmp_path / "logs"
    logs.mkdir()
    done = pyrometer(
        "run", "--profile", "light", "--set", "layout.tasks=1", "--set", "jvm.heap=600m",
        "--set", "jvm.gc=serial", "-o", "run", "--", "spark-submit", "--conf",
        "spark.eventLog.enabled=true", "--conf", f"spark.eventLog.dir=file://{logs}",
        "--conf", "spark.ui.enabled=false", "--conf", "spark.eventLog.compress=true", "app.py",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.stderr
    run = tmp_path / "run"
    theirs = sorted(path.name for path in logs.iterdir())
    assert len(theirs) == 2
    assert sorted(path.name for path in RunPaths(run).eventlogs()) == theirs
    overlay = {o.key: o.how for o in opened(run).conf_overlay}
    assert overlay["spark.eventLog.dir"] == "kept_user"
    assert codes(run) - {"probe_slowed"} == {"several_contexts"}
    (driver, *_) = processes(run, "driver")
    assert driver["master"] == "local[1]"
    assert any("Copy" in name for name in driver["gc_names"])
    assert abs(driver["max_heap_bytes"] / (600 << 20) - 1) < 0.1
    # Each application counts its jobs and stages from 0; every task finds its own.
    with Run.open(run) as tables:
        ((spans, jobs),) = tables.tables.query("SELECT count(*), count(job_id) FROM spans")
    assert spans == jobs > 0


@pytest.mark.slow
def test_executors_of_their_own_are_measured_too(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from pyspark.sql import SparkSession\n"
        "s = SparkSession.builder.config('spark.ui.enabled', 'false').getOrCreate()\n"
        "print(s.range(0, 100000, 1, 4).repartition(4).count())\n"
        "s.stop()\n"
    )
    done = pyrometer(
        "run", "--set", "layout.executors=2", "--set", "layout.cores_per_executor=1",
        "--set", "jvm.heap=600m", "-o", "run", "--", sys.executable, "app.py", cwd=tmp_path,
    )  # fmt: skip
    assert done.code == 0, done.stderr
    assert done.stdout == "100000\n"
    run = tmp_path / "run"
    assert len(processes(run, "driver")) == 1
    assert len(processes(run, "executor")) == 2
    pids = {record["pid"] for record in processes(run, "executor")}
    assert {int(log.stem.rsplit("-", 1)[1]) for log in RunPaths(run).gc_logs()} > pids
    assert len(RunPaths(run).profiles()) == 3


@pytest.mark.slow
def test_a_script_for_spark_shell_on_stdin(tmp_path: Path) -> None:
    done = pyrometer(
        "run", "--profile", "light", "-o", "run", "--", "spark-shell", "--master", "local[2]",
        "--conf", "spark.ui.enabled=false", cwd=tmp_path,
        stdin='println("counted " + spark.range(1000).count())\nSystem.exit(4)\n',
    )  # fmt: skip
    assert (done.code, "counted 1000" in done.stdout) == (4, True)
    assert opened(tmp_path / "run").exit.code == 4
    assert codes(tmp_path / "run") - {"probe_slowed"} == {"workload_failed"}


@pytest.mark.slow
def test_a_java_main_that_runs_out_of_memory(classes: Path, tmp_path: Path) -> None:
    jars = find_spark().home / "jars"
    done = pyrometer(
        "run", "--set", "jvm.heap=600m", "--set", "jvm.options=-XX:+ExitOnOutOfMemoryError",
        "--json", "-o", "run", "--", "java", *OPENED, "-cp", f"{classes}:{jars}/*", "Main", "oom",
        cwd=tmp_path,
    )  # fmt: skip
    assert done.stdout.startswith("rows 100000\n")
    assert (done.code, done.json["exit_code"], done.json["failure"]) == (3, 3, None)
    manifest = opened(tmp_path / "run")
    assert manifest.exit.reason == "exit code 3: the JVM ended on OutOfMemoryError"
    assert len(processes(tmp_path / "run", "driver")) == 1
    assert RunPaths(tmp_path / "run").gc_logs()


@pytest.mark.slow
def test_an_interrupted_spark_application_keeps_what_was_measured(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(LONG_APP)
    process = start(
        "run", "--json", "-o", "run", "--", sys.executable, "app.py", "60",
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_for(tmp_path / "started")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    # Python's own end by Ctrl-C.
    assert process.returncode == 128 + signal.SIGINT
    run = tmp_path / "run"
    assert '"state": "interrupted"' in out
    assert opened(run).state == "interrupted"
    assert (run / "report.html").exists()
    assert "probe_missing" not in codes(run)
    assert "processes_left" not in codes(run)


LONG_APP = """
import os, sys, time
open("begun", "w").close()
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
open("started", "w").close()
until = time.monotonic() + float(sys.argv[1])
jobs = 0
while time.monotonic() < until or not all(map(os.path.exists, sys.argv[2:])):
    jobs += spark.range(0, 100000, 1, 2).repartition(2).count() == 100000
spark.stop()
open("ended", "w").write("0")
"""


def wait_for(path: Path, seconds: float = 120) -> None:
    until = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < until, f"{path} did not appear"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "repetition",
    [0, *(pytest.param(n, marks=pytest.mark.slow) for n in range(1, 20))],
)
def test_our_violent_death_harms_no_application(repetition: int, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(LONG_APP)
    process = start(
        "run", "-o", "run", "--", sys.executable, "app.py", "2", "killed",
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(tmp_path / "begun")
    # From the JVM's first moments to the middle of the jobs.
    time.sleep(0.3 + 0.45 * repetition)
    process.kill()
    assert process.wait() == -signal.SIGKILL
    (tmp_path / "killed").touch()
    wait_for(tmp_path / "ended")
    run = tmp_path / "run"
    manifest = opened(run)
    assert manifest.state == "interrupted"
    assert "run_interrupted" in codes(run)
    until = time.monotonic() + 120
    while any(_names(pid, str(run)) for pid in os.listdir("/proc") if pid.isdigit()):
        assert time.monotonic() < until, "something still writes into the run directory"
        time.sleep(0.1)
    shown = pyrometer("show", "--json", run, cwd=tmp_path)
    assert shown.code == 0, shown.stderr
    assert "run_interrupted" in {doubt["code"] for doubt in shown.json["doubts"]}
    assert shown.json["totals"]["tasks_count"] > 0


def _names(pid: str, folder: str) -> bool:
    try:
        return folder.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
