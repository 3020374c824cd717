"""Processes that run already: any program by the probe, a JVM by attaching to it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support import cli, needs

from pyrometer.collect.attach import hotspot
from pyrometer.collect.attach.hotspot import Jvm, NoAnswerError
from pyrometer.core.errors import CapabilityError
from pyrometer.core.liveness import runs
from pyrometer.orchestrator import attach
from pyrometer.store import Run
from pyrometer.store.manifest import read_manifest

PROGRAM = """
public class Busy {
  public static void main(String[] words) throws Exception {
    double x = 1;
    System.out.println("ready");
    for (long end = System.nanoTime() + 120_000_000_000L; System.nanoTime() < end; )
      for (int i = 0; i < 1000; i++) x = Math.sin(x) + 1;
    System.out.println(x);
  }
}
"""
# Half of the time on a CPU, the other half asleep; the word that it keeps is Python's own.
HALF = """
import time
while True:
    end = time.process_time() + 0.02
    while time.process_time() < end: pass
    time.sleep(0.02)
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("java") / "Busy.java"
    source.write_text(PROGRAM)
    return source


@pytest.fixture
def jvm(program: Path) -> Iterator[subprocess.Popen[str]]:
    yield from java(program)


def java(program: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    words = ["java", "-Xmx64m", "-XX:TieredStopAtLevel=1", *options, str(program)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.wait()


def test_a_process_is_observed_and_left_as_it_was(tmp_path):
    process = subprocess.Popen([sys.executable, "-S", "-c", HALF])
    try:
        word = "word@Py_OptimizeFlag:i32"
        made = attach.probe(
            [process.pid], annotation=word, seconds=1.5, run_dir=tmp_path / "r", hz=100,
            report=False,
        )  # fmt: skip
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()
    assert made.reason == "the time was over"
    account = made.summary.account
    # What slept is a share of some 150 moments, of a process that others may keep off its CPU.
    assert abs(account.view.closure_ratio) < 0.25
    (found,) = account.processes
    assert found.pid == process.pid
    assert found.on_cpu_ns > 0.03 * found.followed_ns
    assert [word.word for word in account.annotated[0].words] == ["0"]
    manifest = read_manifest(tmp_path / "r")
    assert (manifest.state, manifest.profile) == ("finished", "probe")
    assert manifest.workload.name is None


def test_it_ends_with_the_process_and_tells_what_could_not_be_read(tmp_path):
    process = subprocess.Popen(["sleep", "600"])

    def end_when_observed() -> None:
        end = time.monotonic() + 60
        while (
            not any((tmp_path / "r" / "raw").glob("probe-*.report.json")) and time.monotonic() < end
        ):
            time.sleep(0.02)
        time.sleep(2)
        process.kill()
        process.wait()

    ending = threading.Thread(target=end_when_observed)
    ending.start()
    made = attach.probe(
        [process.pid], annotation="word@no_such_symbol", run_dir=tmp_path / "r", report=False
    )
    ending.join()
    assert made.reason == "it ended"
    (doubt,) = [d for d in made.record.manifest.doubts if d.code == "annotation_unread"]
    assert "no_such_symbol" in doubt.message


@pytest.mark.slow
def test_stacks_of_a_running_java_program(jvm, tmp_path):
    made = attach.attach(jvm.pid, seconds=1.5, run_dir=tmp_path / "r", report=False)
    assert jvm.poll() is None
    with Run.open(tmp_path / "r") as run:
        cpu = run.tables.scalar("SELECT sum(weight) FROM samples WHERE event = 'cpu'")
    assert cpu > 0.2e9
    assert "attached" in {doubt.code for doubt in made.summary.doubts}
    # Ended well, it can be begun again.
    options = f"start,event=ctimer,jfr,file={tmp_path}/x.jfr"
    assert Jvm(jvm.pid).load(beside_library(Jvm(jvm.pid)), options) == 0
    with pytest.raises(CapabilityError, match="profiled already"):
        attach.attach(jvm.pid, seconds=1, run_dir=tmp_path / "again", report=False)
    assert not (tmp_path / "again").exists()


def beside_library(target: Jvm) -> Path:
    from pyrometer.collect.attach.profiler import library

    return library(target)


def test_a_jvm_that_forbids_it_is_left_alone(program, tmp_path):
    for process in java(program, "-XX:+DisableAttachMechanism"):
        with pytest.raises(CapabilityError, match="DisableAttachMechanism"):
            attach.attach(process.pid, run_dir=tmp_path / "r")
        assert process.poll() is None
    assert not (tmp_path / "r").exists()


def test_a_stopped_jvm_gives_no_answer_and_a_refusal_is_one(jvm, monkeypatch):
    target = Jvm(jvm.pid)
    with pytest.raises(CapabilityError, match="refused nosuch") as refused:
        target.ask("nosuch")
    assert not isinstance(refused.value, NoAnswerError)
    monkeypatch.setattr(hotspot, "ANSWER_S", 0.2)
    jvm.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, jvm.pid, os.WSTOPPED)
    with pytest.raises(NoAnswerError, match="does not answer properties"):
        target.ask("properties")


@pytest.mark.slow
def test_ctrl_c_detaches_and_a_kill_leaves_the_jvm_without_a_profiler(jvm, tmp_path):
    ours = cli.start("attach", jvm.pid, "-o", "r", "--no-report", cwd=tmp_path)
    wait_for(tmp_path / "r" / "raw" / f"profile-java-{jvm.pid}.jfr")
    time.sleep(1)
    ours.send_signal(signal.SIGINT)
    assert ours.wait(60) == 0
    assert read_manifest(tmp_path / "r").exit.reason == "observing ended: asked to end"
    ours = cli.start("attach", jvm.pid, "-o", "k", "--no-report", cwd=tmp_path)
    wait_for(tmp_path / "k" / "raw" / f"keeper-{jvm.pid}.log")
    time.sleep(1)
    ours.kill()
    ours.wait()
    # What waits for our death stops the profiler: it can be started again.
    library, deadline = beside_library(Jvm(jvm.pid)), time.monotonic() + 20
    options = f"start,event=ctimer,jfr,loglevel=none,file={tmp_path}/x.jfr"
    while Jvm(jvm.pid).load(library, options):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    report = json.loads(next((tmp_path / "k" / "raw").glob("probe-*.report.json")).read_bytes())
    while runs(report["pid"]):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert jvm.poll() is None


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline, file
        time.sleep(0.05)


SPARK = """
import sys, time
from pyspark.sql import SparkSession
spark = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    .config("spark.eventLog.enabled", "true").config("spark.eventLog.dir", sys.argv[1])
    .config("spark.sql.shuffle.partitions", "2").getOrCreate())
spark.range(10).count()
print(spark._jvm.java.lang.ProcessHandle.current().pid(), flush=True)
end = time.time() + 300
while time.time() < end:
    spark.range(0, 60_000_000, 1, 2).selectExpr("sum(sqrt(id) * sin(id))").collect()
"""


@pytest.mark.spark
@pytest.mark.slow
def test_tasks_and_events_of_a_running_spark(tmp_path):
    (tmp_path / "events").mkdir()
    words = [sys.executable, "-c", SPARK, str(tmp_path / "events")]
    environment = cli.environment(PYSPARK_PYTHON=sys.executable)
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    )
    try:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        time.sleep(2)
        made = attach.attach(pid, seconds=8, run_dir=tmp_path / "r", report=False)
        assert process.poll() is None
        os.kill(pid, 0)
    finally:
        process.terminate()
        process.wait()
    summary = made.summary
    assert summary.apps
    assert summary.stages
    assert summary.window.length_ns < 12e9
    with Run.open(tmp_path / "r") as run:
        tasks, known = run.tables.query(
            "SELECT sum(weight), sum(weight) FILTER (task_attempt_id IS NOT NULL) FROM samples"
            " WHERE event = 'cpu' AND role = 'task'"
        )[0]
    # Tasks shorter than the time between two looks at their names stay unknown: more of them where
    # CPUs are scarce.
    assert known > 0.2 * tasks


def test_root_asks_a_jvm_of_another_user_and_gives_nothing_away(program: Path) -> None:
    needs.root()
    # Where that user may enter; a test's own folder is root's alone.
    with tempfile.TemporaryDirectory() as name:
        folder, secret = Path(name) / "theirs", Path(name) / "secret"
        Path(name).chmod(0o755)
        folder.mkdir()
        os.chown(folder, 65534, 65534)
        secret.write_text("root's")
        (folder / "Busy.java").write_text(program.read_text())
        # The folder on our PATH may be one that only root may enter.
        java = os.path.realpath(str(shutil.which("java")))
        process = subprocess.Popen(
            [java, "-Xmx64m", "-XX:TieredStopAtLevel=1", "Busy.java"],
            stdout=subprocess.PIPE, text=True, cwd=folder, user=65534, group=65534, extra_groups=[],
            env={"HOME": str(folder)},
        )  # fmt: skip
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            (folder / f".attach_pid{process.pid}").symlink_to(secret)
            assert Jvm(process.pid).properties()["user.dir"] == str(folder)
        finally:
            process.kill()
            process.wait()
        assert (secret.stat().st_uid, secret.read_text()) == (0, "root's")
        assert not (folder / f".attach_pid{process.pid}").is_symlink()
