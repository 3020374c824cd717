"""Programs with a cause inside tasks keep the contract, and declare what follows from it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.testing.truth import calibrated, engine, host, memory
from pyrometer.testing.truth import calibrated as contention
from pyrometer.testing.workloads import WorkloadContract
from pyrometer.workloads import registry
from pyrometer.workloads.data_cache import DataCache


class Small(WorkloadContract):
    """Few rows: each takes 10 ms, and longer where the JVM has not the settings that it needs."""

    @classmethod
    def specifications(cls):
        return [replace(spec, size=4) for spec in super().specifications()]


@pytest.mark.slow
class TestSerialisation(Small):
    workload = calibrated.Serialisation


@pytest.mark.slow
class TestLock(Small):
    workload = contention.Lock


@pytest.mark.slow
class TestRunQueue(Small):
    workload = contention.RunQueue


@pytest.mark.slow
class TestGc(Small):
    workload = memory.Gc


@pytest.mark.slow
class TestAllocation(Small):
    workload = memory.Allocation


@pytest.mark.slow
class TestPageFaults(Small):
    workload = memory.PageFaults


@pytest.mark.slow
class TestSpill(WorkloadContract):
    workload = engine.Spill


@pytest.mark.slow
class TestHugeMethod(WorkloadContract):
    workload = engine.HugeMethod

    @pytest.mark.spark
    @pytest.mark.parametrize(("cause", "too_large"), [("on", True), ("off", False)])
    def test_only_the_cause_makes_a_method_that_is_not_compiled(self, spark, cause, too_large):
        spec = registry.resolve("truth-huge-method", {"cause": cause}, "test")
        # Without it the plan would have no generated code before it runs.
        static = {"spark.sql.adaptive.enabled": "false"}
        for key, value in {**self.workload().spark_conf(spec), **static}.items():
            spark.conf.set(key, value)
        plan = spark.sql(engine.sums(spec.size))._jdf.queryExecution()
        debug = getattr(spark._jvm.org.apache.spark.sql.execution.debug, "package$")
        stages = getattr(debug, "MODULE$").codegenStringSeq(plan.executedPlan())
        largest = max(stages.apply(i)._3().maxMethodCodeSize() for i in range(stages.size()))
        assert (largest > 8000) is too_large


@pytest.mark.slow
class TestSlowDisk(WorkloadContract):
    workload = host.SlowDisk


@pytest.mark.slow
class TestSwap(Small):
    workload = host.Swap


@pytest.mark.parametrize("rate", ["63", "2049"])
def test_a_rate_that_cannot_be_kept_is_refused(tmp_path, rate):
    spec = registry.resolve("truth-allocation", {"rate": rate}, "test")
    with pytest.raises(UsageError, match="not between 64 and 2048"):
        registry.get("truth-allocation").prepare(spec, DataCache(tmp_path))


@pytest.mark.parametrize(("cause", "per_s"), [("on", 10.0), ("off", 0.0)])
def test_collections_follow_from_the_rate(cause, per_s):
    spec = registry.resolve("truth-allocation", {"cause": cause, "rate": "320"}, "test")
    truth = registry.get("truth-allocation").truth(spec)
    assert truth is not None
    assert truth.value * 1e9 == pytest.approx(per_s)
    assert truth.tolerance > 0


@pytest.mark.parametrize(
    ("cause", "scale", "value"),
    # Of 16 rows each task spills one three times; of 4 rows, a task has one and spills none.
    [("on", "40000", 27), ("on", "16", 3 * 40 / 4), ("on", "4", 0), ("off", "40000", 0)],
)
def test_spilled_bytes_follow_from_the_rows(cause, scale, value):
    spec = registry.resolve("truth-spill", {"cause": cause}, scale)
    truth = registry.get("truth-spill").truth(spec)
    assert truth is not None
    assert truth.value == pytest.approx(value, abs=0.01)


def test_interpreted_code_is_all_but_what_tasks_do_beside_their_rows():
    workload = registry.get("truth-huge-method")
    test, default = (
        workload.truth(registry.resolve(workload.name, {}, scale)) for scale in ("test", "default")
    )
    assert test is not None
    assert default is not None
    assert test.value == default.value == 1
    assert 0.05 < default.tolerance < 0.1 < test.tolerance < 1
    assert workload.truth(registry.resolve(workload.name, {"cause": "off"}, "test")) is None


def test_memory_beyond_the_limit_is_in_swap():
    workload = registry.get("truth-swap")
    on, off = (
        workload.truth(registry.resolve(workload.name, {"cause": cause}, "test"))
        for cause in ("on", "off")
    )
    assert on.value - on.tolerance > (1 << 30) - workload.memory
    assert on.value + on.tolerance < workload.swap
    assert off.value == 0


def test_limits_are_those_of_the_cause():
    def of(name, **levels):
        return registry.get(name).limits(registry.resolve(name, levels, "test"))

    assert of("truth-slow-disk", speed="5") == {"cgroup.read_bps": 5 << 20}
    assert of("truth-slow-disk", cause="off") == of("truth-swap", cause="off") == {}


@pytest.mark.parametrize(("free_kib", "enough"), [(0, False), (1 << 19, False), (1 << 20, True)])
def test_swap_is_needed_only_with_the_cause(monkeypatch, tmp_path: Path, free_kib, enough):
    meminfo = tmp_path / "meminfo"
    meminfo.write_text(f"MemTotal: 1000 kB\nSwapTotal: 9999999 kB\nSwapFree: {free_kib} kB\n")
    monkeypatch.setattr(host, "_MEMINFO", meminfo)
    workload, spec = registry.get("truth-swap"), registry.resolve("truth-swap", {}, "test")
    if enough:
        limits = workload.limits(spec)
        assert limits["cgroup.memory"] < 1 << 30
        assert limits["cgroup.swap"] >= 1 << 30
    else:
        with pytest.raises(CapabilityError, match=f"{free_kib >> 10} MiB of free swap"):
            workload.limits(spec)


def test_a_kernel_that_counts_no_waits_is_refused(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(contention, "_SCHEDSTAT", tmp_path / "schedstat")
    for name in ("truth-run-queue", "truth-lock"):
        spec = registry.resolve(name, {}, "test")
        with pytest.raises(CapabilityError, match="schedstat"):
            registry.get(name).prepare(spec, DataCache(tmp_path))
