"""The sampler inside Python processes, against what the kernel says that they used."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pyrometer.collect.injected import pyrometer_sampler
from pyrometer.collect.launch.environment import add_needs
from pyrometer.collect.probes.base import Needs
from pyrometer.collect.probes.plugin import records
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.collect.probes.python_workers import HOOK, PythonProbe
from pyrometer.store.paths import RunPaths

# What the sampler knows of pyspark: a package of that name, and its task context.
CONTEXT = """
class TaskContext:
    _taskContext = None
    _taskAttemptId = None
"""
BURN = """
import os, random, sys, time
def burn(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        sum(range(500))
"""
DAEMON = (
    BURN
    + """
from pyspark.taskcontext import TaskContext
if __name__ == "__main__":
    if os.fork() == 0:
        for task, ms in ((7, 900), (8, 450)):
            TaskContext._taskContext = context = TaskContext()
            context._taskAttemptId = task
            burn(ms)
            TaskContext._taskContext = None
            time.sleep(0.5)
        if os.fork() == 0:
            burn(360)
            time.sleep(0.5)
            os._exit(0)
        os.wait()
        print("used", time.process_time_ns(), flush=True)
        os._exit(0)
    os.wait()
    print("threads", len(os.listdir("/proc/self/task")), flush=True)
"""
)
# A file that may not grow is like one on a full disk: a line is cut, the next ones fail.
FULL = """
import pyspark, resource
_, most = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, most))
burn(900)
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
burn(400)
time.sleep(0.7)
"""
KEEPING_FEW = """
import pyspark, pyrometer_sampler
pyrometer_sampler.MAX_FRAMES = 3
def deeper():
    burn(100)
for _ in range(4):
    burn(100)
    deeper()
time.sleep(0.5)
"""
# Writes that are as early as the first one would all have failed by then.
MISSING_AT_FIRST = """
os.rmdir(os.environ["PYROMETER_PYTHON_DIR"])
import pyspark, pyrometer_sampler
pyrometer_sampler.FLUSH_NS = 5_000_000_000
burn(600)
os.mkdir(os.environ["PYROMETER_PYTHON_DIR"])
burn(200)
time.sleep(0.5)
"""
# Each look takes 4 ms of the CPU, as of a process that imports.
DEAR = """
import pyspark, pyrometer_sampler
plain = pyrometer_sampler.Sampler.look
def look(sampler):
    until = time.thread_time() + 0.004
    while time.thread_time() < until:
        pass
    return plain(sampler)
pyrometer_sampler.Sampler.look = look
burn(1500)
time.sleep(0.7)
"""
# Says its process id, and runs what it is given.
JVM = """#!/bin/sh
echo "jvm $$"
"$@"
exit $?
"""
KEEPING_LITTLE = "import pyspark, pyrometer_sampler\npyrometer_sampler.MAX_KEPT = 100\n"


# Without spark.python.worker.reuse a worker ends with its task, and past all that Python would do.
NOT_KEPT = (
    BURN
    + """
from pyspark.taskcontext import TaskContext
if __name__ == "__main__":
    if os.fork() == 0:
        TaskContext._taskContext = context = TaskContext()
        context._taskAttemptId = 7
        burn(200)
        os._exit(0)
    os.wait()
"""
)


@pytest.fixture
def spark(tmp_path: Path) -> Path:
    package = tmp_path / "lib" / "pyspark"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "taskcontext.py").write_text(CONTEXT)
    (package / "daemon.py").write_text(DAEMON)
    (tmp_path / "raw").mkdir()
    return package.parent


def run(spark: Path, *arguments: str, raw: str = "raw", above: str = "", **more: str) -> str:
    needs = PythonProbe().needs(RunPaths(spark.parent))
    folder = str(spark.parent / raw)
    path = os.pathsep.join([*needs.python_path, str(spark)])
    env = {**os.environ, **needs.environment, "PYTHONPATH": path, "PYROMETER_PYTHON_DIR": folder}
    done = subprocess.run(
        [*filter(None, [above]), sys.executable, *arguments],
        env=env | more,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stderr == ""
    return done.stdout


def lines(spark: Path, kind: str) -> list[dict[str, Any]]:
    files = list((spark.parent / "raw").glob("python-*.ndjson"))
    return [r for f in files for r in map(json.loads, f.open()) if r["k"] == kind]


def test_a_workers_samples_add_up_to_its_cpu_time_by_task(spark: Path) -> None:
    # The daemon of Spark 4 is told the module of its workers, too.
    java = spark / "java"
    java.write_text(JVM)
    java.chmod(0o755)
    words = run(spark, "-m", "pyspark.daemon", "pyspark.worker", above=str(java)).splitlines()
    printed = dict(line.split() for line in words)
    assert printed["threads"] == "1"  # the daemon itself forks without a thread beside it
    processes = lines(spark, "process")
    assert {(p["kind"], p["jvm"]) for p in processes} == {("worker", int(printed["jvm"]))}
    worker, child = sorted({p["pid"] for p in processes})
    told = {
        pid: [
            row
            for r in lines(spark, "samples")
            if r["pid"] == pid
            for row in zip(r["cpu"], r["task"], r["stack"], strict=True)
        ]
        for pid in (worker, child)
    }
    # What the daemon used up to the fork is the worker's; what the worker used is not its child's.
    assert [cpu > 0 for cpu, _, stack in told[worker] if stack == -3] == [True]
    assert sum(cpu for cpu, *_ in told[child]) == pytest.approx(360e6, abs=150e6)
    rows = [row for row in told[worker] if row[2] != -3]
    by_task = {task: sum(cpu for cpu, t, _ in rows if t == task) for task in (7, 8)}
    assert by_task[7] == pytest.approx(900e6, abs=200e6)
    assert by_task[8] == pytest.approx(450e6, abs=150e6)
    own = sum(r["own"] for r in lines(spark, "samples") if r["pid"] == worker)
    total = sum(cpu for cpu, _, _ in rows)
    assert total + own == pytest.approx(int(printed["used"]), rel=0.1)
    assert own < 0.1 * total
    known = (r for r in lines(spark, "stack") if r["pid"] == worker)
    stacks = {r["id"]: [f["f"] for f in r["frames"]] for r in known}
    burning = sum(cpu for cpu, _, stack in rows if "burn" in stacks.get(stack, ()))
    assert burning > 0.8 * total


def test_the_driver_is_sampled_once_it_imports_pyspark(spark: Path) -> None:
    run(spark, "-c", BURN + "burn(100)")
    assert not lines(spark, "process")
    script = BURN + "import pyspark\nburn(200)\ntime.sleep(0.5)\nprint(random.Random(1).random())"
    run(spark, "-c", "import random\nrandom.seed(1)\n" + script)
    (process,) = lines(spark, "process")
    assert process["kind"] == "driver"
    assert sum(sum(r["cpu"]) for r in lines(spark, "samples")) > 150e6


def test_the_application_does_not_notice(spark: Path) -> None:
    script = (
        "import random, threading\nrandom.seed(5)\nimport pyspark, time\ntime.sleep(0.2)\n"
        "print(random.random(), threading.active_count(), len(threading.enumerate()))"
    )
    import random

    assert run(spark, "-c", script).split() == [str(random.Random(5).random()), "1", "1"]
    theirs = "import sys\nHIDDEN = 'by none'\nsys.path.append('/theirs')"
    (spark / "sitecustomize.py").write_text(theirs)
    script = "import pyspark, sys, sitecustomize as s; print(s.HIDDEN, sys.path[-1], sys.path[1])"
    assert run(spark, "-c", script) == f"by none /theirs {HOOK}\n"
    # Neither a folder that is not there nor one that cannot be written to is its problem.
    assert run(spark, "-c", "import pyspark; print(1)", raw="away") == "1\n"
    script = BURN + "os.rmdir(os.environ['PYROMETER_PYTHON_DIR'])\nimport pyspark\nburn(700)"
    (spark.parent / "gone").mkdir()
    run(spark, "-c", script, raw="gone")


def cpu_of_one_driver(spark: Path) -> int:
    """CPU time of all samples; the process and their stacks are known."""
    (file,) = RunPaths(spark.parent).python_files()
    assert {r["kind"] for r in records(file, "process")} == {"driver"}
    samples = list(records(file, "samples"))
    known = {r["id"] for r in records(file, "stack")}
    assert {stack for r in samples for stack in r["stack"] if stack >= 0} <= known
    return sum(sum(r["cpu"]) for r in samples)


def test_a_worker_that_ends_with_its_short_task_leaves_samples_of_it(spark: Path) -> None:
    (spark / "pyspark" / "daemon.py").write_text(NOT_KEPT)
    run(spark, "-m", "pyspark.daemon")
    samples = lines(spark, "samples")
    rows = [row for r in samples for row in zip(r["cpu"], r["task"], strict=True)]
    assert sum(cpu for cpu, task in rows if task == 7) > 50e6


def test_a_folder_that_is_missing_at_first_costs_no_samples(spark: Path) -> None:
    run(spark, "-c", BURN + MISSING_AT_FIRST)
    assert cpu_of_one_driver(spark) == pytest.approx(800e6, abs=250e6)


def test_looks_that_take_long_are_seldom_and_lose_nothing(spark: Path) -> None:
    run(spark, "-c", BURN + DEAR)
    assert cpu_of_one_driver(spark) == pytest.approx(1500e6, abs=300e6)
    samples = lines(spark, "samples")
    elapsed = max(r["at"] for r in samples) - samples[0]["since"]
    # With a look every 20 ms it would be a sixth.
    assert sum(r["own"] for r in samples) < 0.08 * elapsed


class Clock:
    """Time of a busy process whose sampler takes 4 ms of CPU for a look, and what is written then.

    Gaps are those between looks, each with the number of samples in the file as it begins.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = self.own = 0
        self.looks = 0
        self.gaps: list[tuple[float, int]] = []

    def monotonic_ns(self) -> int:
        return self.now

    process_time_ns = monotonic_ns

    def thread_time_ns(self) -> int:
        return self.own

    def thread_time(self) -> float:
        return self.own / 1e9

    def look(self, sampler: pyrometer_sampler.Sampler) -> bool:
        self.looks += 1
        self.now += 4_000_000
        self.own += 4_000_000
        return LOOK(sampler)

    def sleep(self, gap: float) -> None:
        written = [json.loads(line) for f in self.folder.iterdir() for line in f.open()]
        self.gaps.append((gap, sum(len(r["t"]) for r in written if r["k"] == "samples")))
        if len(self.gaps) == 20:
            raise KeyboardInterrupt
        self.now += round(gap * 1e9)


LOOK = pyrometer_sampler.Sampler.look


def test_all_is_written_before_a_long_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(tmp_path)
    monkeypatch.setattr(pyrometer_sampler, "time", clock)
    monkeypatch.setattr(pyrometer_sampler.Sampler, "look", lambda sampler: clock.look(sampler))
    monkeypatch.setattr(sys, "_current_frames", dict)
    with pytest.raises(KeyboardInterrupt):
        pyrometer_sampler.Sampler(str(tmp_path), "worker", 1).run()
    assert clock.looks == 19
    long = [(looks, written) for looks, (gap, written) in enumerate(clock.gaps) if gap > 0.1]
    assert len(long) > 10
    assert all(looks == written for looks, written in long)


def test_stacks_that_are_too_many_are_forgotten_and_introduced_again(spark: Path) -> None:
    run(spark, "-c", BURN + KEEPING_FEW)
    assert cpu_of_one_driver(spark) == pytest.approx(800e6, abs=250e6)
    known = [json.dumps(r["frames"]) for r in lines(spark, "stack")]
    assert len(known) > len(set(known))


def test_what_a_full_disk_does_not_take_is_written_once_there_is_room(spark: Path) -> None:
    run(spark, "-c", BURN + FULL)
    assert cpu_of_one_driver(spark) == pytest.approx(1300e6, abs=250e6)
    assert PythonProbe().report(RunPaths(spark.parent)).dropped == 0


def test_what_is_more_than_may_be_kept_is_counted_and_the_rest_is_whole(spark: Path) -> None:
    run(spark, "-c", BURN + KEEPING_LITTLE + FULL)
    assert 250e6 < cpu_of_one_driver(spark) < 1050e6
    assert (PythonProbe().report(RunPaths(spark.parent)).dropped or 0) > 10


def test_workers_of_limited_memory_are_left_alone(spark: Path) -> None:
    run(spark, "-m", "pyspark.daemon", PYSPARK_EXECUTOR_MEMORY_MB="512")
    assert not lines(spark, "samples")
    (error,) = lines(spark, "error")
    assert "spark.executor.pyspark.memory" in error["message"]
    entry = PythonProbe().report(RunPaths(spark.parent))
    assert entry.reason == error["message"]


def test_the_probe_counts_what_came(spark: Path) -> None:
    run(spark, "-m", "pyspark.daemon")
    entry = PythonProbe("20ms").report(RunPaths(spark.parent))
    samples = sum(len(r["t"]) for r in lines(spark, "samples"))
    assert entry.got == f"{samples} samples in 1 file(s)"
    assert entry.own_cpu_ns == sum(r["own"] for r in lines(spark, "samples"))
    assert PythonProbe().check() == []
    # An application without Python lacks nothing.
    other = PythonProbe().report(RunPaths(spark.parent / "other"))
    assert (other.got, other.reason) == ("no Python that uses pyspark", None)


def test_the_users_own_path_stays_behind_ours() -> None:
    needs = PythonProbe().needs(RunPaths(Path("/r")))
    env = {"PYTHONPATH": "/theirs:/more"}
    add_needs(env, needs)
    assert env["PYTHONPATH"] == f"{HOOK}:/theirs:/more"
    bare: dict[str, str] = {}
    add_needs(bare, Needs())
    assert bare == {}
    add_needs(bare, needs)
    assert bare["PYTHONPATH"] == str(HOOK)


def test_python_may_be_left_out_or_asked_for_alone() -> None:
    assert "python" in parse_profile("full").probes
    assert "python" not in parse_profile("cpu,wall,alloc,lock").probes
    alone = parse_profile("python=5ms")
    assert (alone.python_period, alone.stack_events) == ("5ms", {})
    assert "stacks" not in alone.probes
    assert PythonProbe("5ms").needs(RunPaths(Path("/r"))).environment[
        "PYROMETER_PYTHON_PERIOD_NS"
    ] == str(5_000_000)
    assert (HOOK / "sitecustomize.py").is_file()
