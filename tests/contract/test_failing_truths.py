"""Programs of which tasks or executors fail keep the contract, and fail as often as they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.testing.truth import failures
from pyrometer.testing.workloads import WorkloadContract
from pyrometer.workloads import registry
from pyrometer.workloads.values import IterationResult, Prepared

_ON_EXECUTORS = """
import json, sys
from pyrometer.workloads.values import Prepared, WorkloadSpec
from pyrometer.workloads.contract import load
from pyrometer.workloads.runner import start_session
spark = start_session(json.loads(sys.argv[1]))
for value in json.loads(sys.argv[2]):
    spec = WorkloadSpec(**value)
    workload = load(spec.entry)
    workload.setup(spark, Prepared(), spec)
    result = workload.run(spark, Prepared(), spec)
    # The tracker knows what its listener has been told.
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60000)
    status = spark.sparkContext.statusTracker()
    job = max(status.getJobIdsForGroup())
    stage = status.getStageInfo(status.getJobInfo(job).stageIds[0])
    print(json.dumps([spec.name, spec.levels, result.rows, result.checksum, stage.numFailedTasks]))
spark.stop()
"""


@pytest.fixture(scope="module")
def outcomes():
    """Run both programs that need executors, each with its cause and without, in one session."""
    specs = [
        spec for test in (TestTaskFailures, TestExecutorLoss) for spec in test.specifications()
    ]
    conf = {"spark.ui.enabled": "false", **failures.ExecutorLoss().spark_conf(specs[0])}
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            _ON_EXECUTORS,
            json.dumps(conf),
            json.dumps([asdict(s) for s in specs]),
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


class OnExecutors(WorkloadContract):
    """Programs that need another master than the session of the tests."""

    @pytest.mark.spark
    @pytest.mark.slow
    def test_result_is_right(self, outcomes):
        """Every level gives the right result, after as many failures as are declared."""
        specifications = self.specifications()
        assert specifications
        for spec in specifications:
            ours = [o for o in outcomes if o[:2] == [spec.name, spec.levels]]
            assert len(ours) == 1
            _, _, rows, known, failed = ours[0]
            workload = self.workload()
            assert workload.verify(IterationResult(rows, known), Prepared(), spec) is None
            assert failed == len(workload.failing(spec))

    # The test above runs every level at once.
    test_result_is_right_at_every_level = None

    @pytest.mark.spark
    @pytest.mark.slow
    def test_wrong_result_is_noticed(self, outcomes):
        """A result with another row or checksum is refused."""
        spec = self.specifications()[0]
        _, _, rows, known, _ = next(o for o in outcomes if o[0] == spec.name)
        for wrong in (IterationResult(rows + 1, known), IterationResult(rows, "0123456789abcdef")):
            assert self.workload().verify(wrong, Prepared(), spec) is not None


class TestTaskFailures(OnExecutors):
    workload = failures.TaskFailures


class TestExecutorLoss(OnExecutors):
    workload = failures.ExecutorLoss


class Master:
    """Stands for a session of which the master is asked."""

    def __init__(self, master: str) -> None:
        self.sparkContext = self
        self.master = master


@pytest.mark.parametrize(
    ("name", "master"),
    [
        ("truth-task-failures", "local[2]"),
        ("truth-executor-loss", "local[2,4]"),
        ("truth-executor-loss", "local[2]"),
    ],
)
def test_a_master_that_spoils_the_program_is_refused(name, master):
    spec = registry.resolve(name, {}, "test")
    workload = registry.get(name)
    with pytest.raises(UsageError, match=re.escape(f"{master} has none")) as refused:
        workload.setup(Master(master), Prepared(), spec)
    good = workload.spark_conf(spec)["spark.master"]
    assert good in refused.value.remedy
    workload.setup(Master(good), Prepared(), spec)


def test_no_process_but_an_executor_is_killed():
    with pytest.raises(RuntimeError, match="no process above"):
        failures.kill_executor()
