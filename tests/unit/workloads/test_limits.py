"""Limits of the host that a workload names: applied to its run, unless the user says otherwise."""

from __future__ import annotations

from typing import ClassVar

import pytest
from tests.support.toy_workload import Toy

from pyrometer.collect.host import cgroup
from pyrometer.collect.host.cgroup_plan import Hierarchy
from pyrometer.collect.launch.launch import launch_workload
from pyrometer.collect.probes.base import Needs
from pyrometer.store.paths import RunPaths
from pyrometer.trial.trial import Trial
from pyrometer.workloads import registry
from pyrometer.workloads.values import no_progress


class Limited(Toy):
    name = "limited"
    engine: ClassVar = "process"

    def limits(self, spec):
        return {"cgroup.memory": 64 << 20} if spec.scale == "test" else {}


@pytest.mark.parametrize(
    ("scale", "treatment", "written"),
    [
        ("test", {}, {"memory.limit_in_bytes": str(64 << 20)}),
        ("test", {"cgroup.memory": 32 << 20}, {"memory.limit_in_bytes": str(32 << 20)}),
        ("test", {"cpu.quota": 1}, {"memory.limit_in_bytes": str(64 << 20), "cpu.cfs": "100000"}),
        ("default", {}, {}),
    ],
)
def test_limits_reach_the_plan_and_the_record(monkeypatch, tmp_path, scale, treatment, written):
    monkeypatch.setitem(registry.BUILTIN, "limited", f"{__name__}:Limited")
    hosts = [Hierarchy(1, frozenset({name}), f"/cg/{name}", "/cg") for name in ("memory", "cpu")]
    monkeypatch.setattr(cgroup, "here", lambda: hosts)
    monkeypatch.setenv("PYROMETER_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("PYROMETER_RUN_DIR", raising=False)
    (tmp_path / "raw").mkdir()
    trial = Trial(name="limited", scale=scale, treatment=treatment, iterations=1)
    launch = launch_workload(trial, Needs(), RunPaths(tmp_path), no_progress)
    made = {write.path.rpartition("/")[2]: write.text for write in launch.host.group.writes}
    quota = made.pop("cpu.cfs_quota_us", None)
    made.pop("cpu.cfs_period_us", None)
    brought = scale == "test" and "cgroup.memory" not in treatment
    assert launch.limits == ({"cgroup.memory": 64 << 20} if brought else {})
    assert made | ({"cpu.cfs": quota} if quota else {}) == written
