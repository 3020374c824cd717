"""Programs with a declared truth keep the workload contract, with their cause and without it."""

from __future__ import annotations

import pytest

from pyrometer.core.errors import UsageError
from pyrometer.testing.truth import calibrated
from pyrometer.testing.workloads import WorkloadContract
from pyrometer.workloads import registry
from pyrometer.workloads.data_cache import DataCache


class TestSleep(WorkloadContract):
    workload = calibrated.Sleep


class TestUdf(WorkloadContract):
    workload = calibrated.Udf


class TestCast(WorkloadContract):
    workload = calibrated.Cast


class TestDecompression(WorkloadContract):
    workload = calibrated.Decompression


@pytest.mark.parametrize("share", ["91", "100"])
def test_a_share_that_leaves_too_little_is_refused(tmp_path, share):
    spec = registry.resolve("truth-udf", {"share": share}, "test")
    with pytest.raises(UsageError, match="not between 1 and 90"):
        registry.get("truth-udf").prepare(spec, DataCache(tmp_path))


@pytest.mark.parametrize(("cause", "value"), [("on", 0.3), ("off", 0.0)])
def test_the_declared_share_is_the_one_asked_for(cause, value):
    spec = registry.resolve("truth-sleep", {"cause": cause, "share": "30"}, "test")
    truth = registry.get("truth-sleep").truth(spec)
    assert truth is not None
    assert truth.value == value
