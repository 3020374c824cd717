"""Programs whose tasks or executors fail, and whose work is done again."""

from __future__ import annotations

import abc
import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from pyrometer.core.errors import UsageError
from pyrometer.testing.truth.rows import (
    CAUSE,
    SHARE,
    Structural,
    cause,
    collected,
    is_on,
    mix,
    percent,
    share,
)
from pyrometer.testing.truth.tasks import spin
from pyrometer.workloads.values import IterationResult, Needs, Prepared, Truth, WorkloadSpec

_TASK_NS = 50_000_000


class Failing(Structural):
    """Base: tasks that work in Python, and of which some fail at their first attempt."""

    scale_unit = "tasks"
    scales: ClassVar = {"test": 10, "default": 200, "seed": 2_000}
    needs = Needs()
    master: ClassVar[str]
    fail: ClassVar[Callable[[], None]]

    @abc.abstractmethod
    def failing(self, spec: WorkloadSpec) -> frozenset[int]:
        """Give the tasks that fail."""

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Set a master that retries tasks."""
        return {**super().spark_conf(spec), "spark.master": self.master}

    def refuse(self, master: str, why: str) -> UsageError:
        """Build the error for a master that does not fit."""
        return UsageError(
            f"{self.name} needs {why}; {master} has none",
            f"leave out layout.tasks and spark.master, or --set spark.master={self.master}",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Work, in a task for each number."""
        failing, fail = self.failing(spec), type(self).fail

        def task(index: int, numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
            from pyspark import TaskContext

            context = TaskContext.get()
            assert context is not None
            spin(_TASK_NS)
            if index in failing and context.attemptNumber() == 0:
                fail()
            return iter([(number, mix(number)) for number in numbers])

        numbers = spark.sparkContext.parallelize(range(spec.size), spec.size)
        return collected(numbers.mapPartitionsWithIndex(task).collect())


def fail_task() -> None:
    """Fail, as a user's function does.

    Raises
    ------
    RuntimeError
        Always.
    """
    raise RuntimeError("this task fails at its first attempt, as it was made to")


def kill_executor() -> None:
    """End the executor that this Python worker belongs to, and this process.

    Raises
    ------
    RuntimeError
        If no process above this one is an executor of a cluster.
    """
    pid = os.getppid()
    while pid > 1:
        folder = Path(f"/proc/{pid}")
        if b"CoarseGrainedExecutorBackend" in (folder / "cmdline").read_bytes():
            os.kill(pid, signal.SIGKILL)
            time.sleep(1)  # so that Spark does not see the worker end first
            os._exit(1)
        # After the name, which is in parentheses, come state and parent.
        pid = int((folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])
    raise RuntimeError("no process above this Python worker is an executor of a cluster")


class TaskFailures(Failing):
    """Tasks whose first attempt fails after its work."""

    name = "truth-task-failures"
    summary = "The first attempt of a declared share of the tasks fails"
    description = (
        "Each task works for 50 ms in Python. The declared share of them then fails at the first "
        "attempt, and is done again: local[2,4] allows four attempts."
    )
    expectation = "Failed attempts take their share of the time; the job succeeds nevertheless."
    variants: ClassVar = {
        CAUSE: cause("first attempts fail", "no attempt fails"),
        SHARE: share("Share of the tasks whose first attempt fails"),
    }
    master = "local[2,4]"
    fail = staticmethod(fail_task)

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        """Refuse a master under which the first failure is the last."""
        master = spark.sparkContext.master
        if master.startswith("local") and "," not in master:
            raise self.refuse(master, "a second attempt for tasks that fail")

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the share of tasks that fail once."""
        stage = f"stages[tasks_count={spec.size}]"
        return Truth(
            quantity="failed attempts, as a share of the tasks",
            where="the only stage",
            value=len(self.failing(spec)) / spec.size,
            unit="share",
            tolerance=0.0,
            measured_by=f"{stage}.failed_tasks_count",
            of=f"{stage}.tasks_count",
        )

    def failing(self, spec: WorkloadSpec) -> frozenset[int]:
        """Spread the failures evenly."""
        step = percent(spec) if is_on(spec) else 0
        return frozenset(i for i in range(spec.size) if i * step // 100 != (i + 1) * step // 100)


class ExecutorLoss(Failing):
    """A task that kills the executor it runs in."""

    name = "truth-executor-loss"
    summary = "An executor is killed once in every iteration"
    description = (
        "Each task works for 50 ms in Python, on two executors of one slot. The first attempt of "
        "the first task ends with SIGKILL to its executor's JVM, as the kernel does when memory "
        "is short; Spark starts another executor."
    )
    expectation = "One attempt is lost, and one slot is missing until an executor has started."
    variants: ClassVar = {CAUSE: cause("an executor is killed", "no executor is killed")}
    master = "local-cluster[2,1,1024]"
    fail = staticmethod(kill_executor)

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Set executors that are separate processes."""
        return {**super().spark_conf(spec), "spark.executor.memory": "512m"}

    def setup(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> None:
        """Refuse a master whose executor is the driver."""
        master = spark.sparkContext.master
        if not master.startswith("local-cluster"):
            raise self.refuse(master, "executors that are processes of this machine")

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare the attempts that are lost."""
        return Truth(
            quantity="attempts lost with their executor",
            where="the first task of the only stage",
            value=len(self.failing(spec)),
            unit="count",
            tolerance=0,
            measured_by=f"stages[tasks_count={spec.size}].failed_tasks_count",
        )

    def failing(self, spec: WorkloadSpec) -> frozenset[int]:
        """Kill in the first task only."""
        return frozenset([0] if is_on(spec) else [])
