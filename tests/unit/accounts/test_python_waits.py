"""Tasks that wait for Python workers: by their stack, whatever the kernel calls the wait."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import StageSpec, World

from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary
from pyrometer.summary.waits import UNKNOWN, waiting_words

BASE = [
    "java.lang.Thread", "org.apache.spark.executor.Executor$TaskRunner",
    "org.apache.spark.sql.execution.python.EvalPythonExec", "scala.collection.Iterator$$anon$9",
]  # fmt: skip
READER = "org.apache.spark.api.python.BasePythonRunner$ReaderIterator"
STACKS = {
    "answer": [*BASE, READER, "java.io.DataInputStream", "java.net.SocketInputStream"],
    "start": [
        *BASE, "org.apache.spark.api.python.PythonWorkerFactory$", "java.io.DataInputStream",
        "java.io.FileInputStream",
    ],
    # Another task holds the monitor while it starts a worker.
    "turn": [
        *BASE, "org.apache.spark.api.python.BasePythonRunner",
        "org.apache.spark.SparkEnv.createPythonWorker",
    ],
    # The task's own thread writes its input to the worker, and reads that input from a file.
    "input": [
        *BASE, "org.apache.spark.api.python.PythonRunner$$anon$1",
        "org.apache.spark.sql.execution.datasources.FileScanRDD$$anon$1",
        "org.apache.hadoop.fs.RawLocalFileSystem$LocalFSFileInputStream", "java.io.FileInputStream",
    ],
}  # fmt: skip


def run(tmp_path: Path, stack: list[str], wait_class: str) -> Summary:
    made = World([StageSpec([400, 400], iteration=0)])
    for number, name in enumerate(stack):
        owner, _, method = name.rpartition(".") if name.endswith("Worker") else (name, "", "m")
        made.add("frames", frame_id=number, class_name=owner, method=method, kind="c2")
    made.add("stacks", stack_id=7, frame_ids=list(range(len(stack))), truncated=False)
    for row in made.rows["samples"]:
        if row.get("state") == "sleeping":
            row.update(java_stack=7, wait_class=wait_class)
    with Run.open(made.write(tmp_path)) as opened:
        return summary(opened, "application")


@pytest.mark.parametrize(
    ("stack", "wait_class", "found"),
    [
        ("answer", "helper", "python_workers"),
        ("answer", "network", "python_workers"),
        ("start", "block_io", "python_workers"),
        ("turn", "lock", "python_workers"),
        ("answer", "gc_or_safepoint", "gc_or_safepoint"),
        ("input", "block_io", "block_io"),
    ],
)
def test_a_wait_belongs_to_python_where_the_bridge_waits(
    stack: str, wait_class: str, found: str, tmp_path: Path
) -> None:
    view = run(tmp_path, STACKS[stack], wait_class).ledger.slot_view
    classes = [row.path for row in view.rows if row.parent == "task/waiting"]
    assert classes == [f"task/waiting/{found}"]
    (whole,) = (row for row in view.rows if row.path == "task/waiting")
    (part,) = (row for row in view.rows if row.path == classes[0])
    assert part.value_ns == whole.value_ns


def test_waiting_for_python_is_said_so(tmp_path: Path) -> None:
    one = run(tmp_path, STACKS["answer"], "helper")
    (said,) = waiting_words(one.ledger.slot_view)
    assert "tasks waited for their Python workers" in one.verdict
    assert said.words == "waited for their Python workers"
    assert said.share > 0


def test_what_nobody_saw_is_given_no_cause(tmp_path: Path) -> None:
    view = run(tmp_path, STACKS["answer"], "helper").ledger.slot_view
    view.rows = [row for row in view.rows if not row.path.startswith("task/waiting/")]
    assert [one.words for one in waiting_words(view)] == [UNKNOWN]
