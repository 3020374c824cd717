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
def started(folder: Path, module: str) -> Iterator[subprocess.Popen[str]]:
    needs = OsProbe().needs(RunPaths(folder))
    path = os.pathsep.join([*needs.python_path, str(folder / "lib")])
    process = subprocess.Popen(
        [sys.executable, "-m", module],
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


def said(process: subprocess.Popen[str]) -> tuple[str, int]:
    """Wait for a word of a worker, with its process id; it then waits for us."""
    assert process.stdout
    word, pid = process.stdout.readline().split()
    return word, int(pid)


def go_on(process: subprocess.Popen[str]) -> None:
    assert process.stdin
    process.stdin.write("\n")
    process.stdin.flush()


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
    with started(folder, "pyspark.daemon") as daemon:
        for first in (7, 70):
            seen = {}
            for _ in range(4):
                word, pid = said(daemon)
                header, records = slots(folder, daemon.pid)
                assert header == {"parent": os.getpid(), "overflow": 0}
                # The second worker came after the first had ended: it has its slot.
                assert [r["tid"] for r in records] == [pid]
                (record,) = records
                assert (record["magic"], record["version"]) == (0x54584350, 1)
                assert (record["stage"], record["start"] > 0) == (-1, True)
                seen[word] = (record["phase"], record["task"])
                go_on(daemon)
            assert seen == {
                "idle": (0, -1),
                "first": (3, first),
                "second": (3, first + 1),
                "none": (0, -1),
            }
        alive = {said(daemon)[1], said(daemon)[1]}
        assert {record["tid"] for record in slots(folder, daemon.pid)[1]} == alive


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
