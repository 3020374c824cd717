"""What Python workers say of their task, as another process reads it while they run."""

from __future__ import annotations

import contextlib
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrometer.collect.probes import os as contexts
from pyrometer.collect.probes.os import OsProbe
from pyrometer.store.paths import RunPaths

pytestmark = pytest.mark.timeout(120)

# Spark 3.5 sets attributes of one object again and again, Spark 4 makes an object for each task.
CONTEXT = """
class TaskContext:
    _taskContext = None
    _taskAttemptId = None
    def __init__(self, task=None):
        if task is not None:
            self._taskAttemptId = task
"""
WORKER = """
import atexit, os, sys
from pyspark.taskcontext import TaskContext
def say(word):
    sys.stdout.write(f"{word} {os.getpid()}\\n")
    sys.stdout.flush()
    sys.stdin.readline()
def main(first):
    say("idle")
    context = TaskContext()
    assert context._taskAttemptId is None and TaskContext._taskAttemptId is None
    context._taskAttemptId = first
    assert (context._taskAttemptId, vars(context)) == (first, {"_taskAttemptId": first})
    say("first")
    TaskContext(first + 1)
    if os.fork() == 0:
        TaskContext(99)
        atexit._run_exitfuncs()
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        pass  # the daemon's children are not waited for
    say("second")
    context._taskAttemptId = None
    say("none")
if __name__ == "__main__":
    main(5)
"""
DAEMON = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for task in (7, 70):
    if os.fork() == 0:
        from pyspark.worker import main
        main(task)
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        pass
for _ in range(2):
    if os.fork() == 0:
        os.write(1, f"child {os.getpid()}\\n".encode())
        time.sleep(120)
        os._exit(0)
signal.pause()
"""

# Has a library in memory, and runs the rest of what it is given.
LAUNCHER = """
import mmap, subprocess, sys
with open(sys.argv[1]) as library:
    memory = mmap.mmap(library.fileno(), 0, access=mmap.ACCESS_READ)
subprocess.call(sys.argv[2:])
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    package = tmp_path / "lib" / "pyspark"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "taskcontext.py").write_text(CONTEXT)
    (package / "worker.py").write_text(WORKER)
    (package / "daemon.py").write_text(DAEMON)
    (tmp_path / "raw").mkdir()
    yield tmp_path
    contexts.clean_up(tmp_path / "raw")


@contextlib.contextmanager
def started(folder: Path, module: str, *above: str | Path) -> Iterator[subprocess.Popen[str]]:
    needs = OsProbe().needs(RunPaths(folder))
    path = os.pathsep.join([*needs.python_path, str(folder / "lib")])
    process = subprocess.Popen(
        [*above, sys.executable, "-m", module],
        env={**os.environ, **needs.environment, "PYTHONPATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 9)
        process.communicate()


def program(folder: Path, name: str) -> Path:
    """Make a program that runs what it is given, and waits for it."""
    made = folder / name
    made.write_text('#!/bin/sh\n"$@"\nexit $?\n')
    made.chmod(0o755)
    return made


def said(process: subprocess.Popen[str]) -> tuple[str, int]:
    """Wait for a word of a worker, with its process id; it then waits for us."""
    assert process.stdout
    word, pid = process.stdout.readline().split()
    return word, int(pid)


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


def owner(folder: Path) -> int:
    """Process that made the only file of slots."""
    (name,) = (folder / "raw").glob("context-*")
    return int(name.name.removeprefix("context-"))


def slots(folder: Path, owner: int) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Header and used records, by docs/reference/context-slot.md."""
    content = (folder / "raw" / f"context-{owner}").read_bytes()
    magic, size, capacity, used, pid, parent, _, _, overflow = struct.unpack_from(
        "<8s6i2q", content
    )
    assert (magic, size, pid) == (b"PYROCTX\x01", 128, owner)
    assert len(content) == (1 + capacity) * 128
    records = []
    for slot in range(used):
        names = ("magic", "version", "sequence", "tid", "phase", "start", "task", "stage")
        values = struct.unpack_from("<iiqiiqqi", content, (1 + slot) * 128)
        records.append(dict(zip(names, values, strict=True)))
        assert records[-1]["sequence"] % 2 == 0
    return {"parent": parent, "overflow": overflow}, records


def test_each_worker_says_its_task(folder: Path) -> None:
    with started(folder, "pyspark.daemon", program(folder, "java")) as jvm:
        for first in (7, 70):
            seen = {}
            for _ in range(4):
                word, pid = said(jvm)
                header, records = slots(folder, owner(folder))
                assert header == {"parent": jvm.pid, "overflow": 0}
                # The second worker came after the first had ended: it has its slot.
                assert [r["tid"] for r in records] == [pid]
                (record,) = records
                assert (record["magic"], record["version"]) == (0x54584350, 1)
                assert (record["stage"], record["start"] > 0) == (-1, True)
                seen[word] = (record["phase"], record["task"])
                go_on(jvm)
            assert seen == {
                "idle": (0, -1),
                "first": (3, first),
                "second": (3, first + 1),
                "none": (0, -1),
            }
        alive = {said(jvm)[1], said(jvm)[1]}
        assert {record["tid"] for record in slots(folder, owner(folder))[1]} == alive


def test_a_worker_without_a_daemon_has_a_file_of_its_own(folder: Path) -> None:
    with started(folder, "pyspark.worker") as worker:
        assert said(worker) == ("idle", worker.pid)
        go_on(worker)
        assert said(worker)[0] == "first"
        _, (record,) = slots(folder, worker.pid)
        assert (record["tid"], record["phase"], record["task"]) == (worker.pid, 3, 5)
        memory = (folder / "raw" / f"context-{worker.pid}").resolve()
        for word in ("second", "none"):
            go_on(worker)
            assert said(worker)[0] == word
        assert memory.exists(), "a child that it forked has ended"
        go_on(worker)
        assert worker.wait() == 0
        assert not memory.exists()
        assert list((folder / "raw").iterdir()) == []


@pytest.mark.parametrize("name", ["java", "java-21"])
def test_a_program_that_wraps_python_is_not_taken_for_the_jvm(name: str, folder: Path) -> None:
    above = [program(folder, name), program(folder, "wrapper")]
    with started(folder, "pyspark.worker", *above) as jvm:
        _, worker = said(jvm)
        assert slots(folder, worker)[0]["parent"] == jvm.pid


def test_a_jvm_of_another_name_is_known_by_its_library(folder: Path) -> None:
    (folder / "libjvm.so").write_text("a library")
    above = [program(folder, "java"), sys.executable, "-c", LAUNCHER, folder / "libjvm.so"]
    with started(folder, "pyspark.worker", *above) as java:
        _, worker = said(java)
        stat = Path(f"/proc/{worker}/stat").read_text()
        parent = int(stat.rpartition(")")[2].split()[1])
        assert slots(folder, worker)[0]["parent"] == parent != java.pid


def test_memory_that_gets_no_name_is_given_back(folder: Path) -> None:
    needs = OsProbe().needs(RunPaths(folder))
    path = os.pathsep.join([*needs.python_path, str(folder / "lib")])
    env = {**os.environ, **needs.environment, "PYTHONPATH": path}
    unnamed = "import os, sys; os.rmdir(sys.argv[1]); import pyspark; print(os.getpid())"
    done = subprocess.run(
        [sys.executable, "-c", unnamed, str(folder / "raw")],
        env=env | {"PYTHON_WORKER_FACTORY_SECRET": "x"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    assert not list(Path("/dev/shm").glob(f"pyrometer-*.context-{done.stdout.strip()}"))


def test_what_is_left_of_killed_processes_is_removed(folder: Path) -> None:
    with started(folder, "pyspark.worker") as worker:
        said(worker)
        worker.kill()
    (name,) = (folder / "raw").glob("context-*")
    target = name.resolve()
    assert slots(folder, worker.pid)[1][0]["tid"] == worker.pid
    contexts.clean_up(folder / "raw")
    assert not target.exists()
    assert list((folder / "raw").iterdir()) == []
