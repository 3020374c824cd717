"""Programs with a declared truth keep the workload contract, with their cause and without it."""

from __future__ import annotations

from pyrometer.testing.workloads import WorkloadContract
from pyrometer.workload.truth import calibrated


class TestSleep(WorkloadContract):
    workload = calibrated.Sleep


class TestUdf(WorkloadContract):
    workload = calibrated.Udf


class TestCast(WorkloadContract):
    workload = calibrated.Cast


class TestDecompression(WorkloadContract):
    workload = calibrated.Decompression
