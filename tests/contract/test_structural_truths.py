"""Programs made of Spark's own structure keep the contract, and refuse what spoils them."""

from __future__ import annotations

import importlib.util
from dataclasses import replace

import pytest
from tests.support import needs

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.testing.truth import engine, shuffles, tasks
from pyrometer.testing.truth import shuffles as joins
from pyrometer.testing.truth import shuffles as small_files
from pyrometer.testing.truth import tasks as driver
from pyrometer.testing.workloads import WorkloadContract
from pyrometer.workloads import registry
from pyrometer.workloads.data_cache import DataCache
from pyrometer.workloads.launch import launch_spec

SWEPT = [
    "truth-skewed-key",
    "truth-straggler",
    "truth-too-few-tasks",
    "truth-driver",
    "truth-python-udf",
    "truth-pandas-udf",
    "truth-task-failures",
]
COUNTED = [
    "truth-tiny-tasks",
    "truth-small-files",
    "truth-broadcast",
    "truth-cartesian",
    "truth-collect",
    "truth-recomputation",
    "truth-shuffle-blocks",
    "truth-executor-loss",
]


class TestSkewedKey(WorkloadContract):
    workload = tasks.SkewedKey

    @pytest.mark.spark
    def test_each_key_has_a_partition_of_its_own(self, spark):
        keys = ", ".join(f"({key}L)" for key in tasks.KEYS)
        found = spark.sql(f"select pmod(hash(key), 8) as part from values {keys} as t(key)")
        assert [row["part"] for row in found.collect()] == list(range(8))


@pytest.mark.slow
class TestStraggler(WorkloadContract):
    workload = tasks.Straggler


@pytest.mark.slow
class TestTinyTasks(WorkloadContract):
    workload = tasks.TinyTasks


@pytest.mark.slow
class TestTooFewTasks(WorkloadContract):
    workload = tasks.TooFewTasks


@pytest.mark.slow
class TestBroadcastTooBig(WorkloadContract):
    workload = joins.BroadcastTooBig


@pytest.mark.slow
class TestCartesianProduct(WorkloadContract):
    workload = joins.CartesianProduct


@pytest.mark.slow
class TestDriverOnly(WorkloadContract):
    workload = driver.DriverOnly


@pytest.mark.slow
class TestLargeResult(WorkloadContract):
    workload = driver.LargeResult


@pytest.mark.slow
class TestShuffleBlocks(WorkloadContract):
    workload = shuffles.ShuffleBlocks


@pytest.mark.slow
class TestRecomputation(WorkloadContract):
    workload = shuffles.Recomputation


@pytest.mark.slow
class TestSmallFiles(WorkloadContract):
    workload = small_files.SmallFiles


class TestPythonUdf(WorkloadContract):
    workload = engine.PythonUdf


@pytest.mark.slow
class TestPandasUdf(WorkloadContract):
    workload = engine.PandasUdf

    def run_once(self, spark, cache, spec):
        if importlib.util.find_spec("pandas") is None:
            needs.missing("pandas (what is said then is tested below)", "pip install pandas")
        return super().run_once(spark, cache, spec)


def test_packages_that_sparks_python_lacks_are_named(tmp_path, monkeypatch):
    lacking = replace(engine.PandasUdf.needs, spark_python=("json", "no_such_package"))
    monkeypatch.setattr(engine.PandasUdf, "needs", lacking)
    with pytest.raises(CapabilityError, match="needs no_such_package in the Python") as refused:
        launch_spec("truth-pandas-udf", raw_dir=tmp_path, data_cache=DataCache(tmp_path))
    assert refused.value.remedy.endswith("-m pip install no_such_package")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", SWEPT)
def test_the_declared_share_is_the_one_asked_for(name):
    workload = registry.get(name)
    truth = workload.truth(registry.resolve(name, {"share": "30"}, "test"))
    healthy = workload.truth(registry.resolve(name, {"cause": "off", "share": "30"}, "test"))
    assert truth.value == 0.3
    assert healthy.value < truth.value - truth.tolerance
    with pytest.raises(UsageError, match="not between 1 and 90"):
        workload.prepare(registry.resolve(name, {"share": "91"}, "test"), DataCache())


@pytest.mark.parametrize("name", COUNTED)
def test_the_healthy_twin_declares_less(name):
    workload = registry.get(name)
    truth = workload.truth(registry.resolve(name, {}, "test"))
    healthy = workload.truth(registry.resolve(name, {"cause": "off"}, "test"))
    assert truth.value - truth.tolerance > healthy.value + healthy.tolerance
    assert (truth.measured_by, truth.unit) == (healthy.measured_by, healthy.unit)


@pytest.mark.parametrize("name", ["truth-skewed-key", "truth-straggler"])
def test_under_an_eighth_the_other_tasks_are_the_longest(name):
    truth = registry.get(name).truth(registry.resolve(name, {"share": "10"}, "test"))
    assert truth.value == pytest.approx(0.9 / 7)
