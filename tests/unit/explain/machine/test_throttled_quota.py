from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import S, holds, job, judged, only, series
from tests.support.hosts.two_hosts import WEST, TwoHosts, one_waits
from tests.support.tables import HOST, MS, World, mono

from pyrometer.explain.catalogue.machine.throttled_quota import RULE


def test_the_group_is_stopped_for_two_seconds(tmp_path: Path) -> None:
    world = job(on_cpu=0.5, run_queue=0.3)
    series(world, "cgroup", "cpu_throttled_ns", 0, 2 * S)
    series(world, "cgroup", "cpu_throttled_periods_count", 0, 30)
    series(world, "cgroup", "cpu_quota_ns", 100_000_000, 100_000_000)
    series(world, "cgroup", "cpu_period_ns", 100_000_000, 100_000_000)
    found = only(world.write(tmp_path), RULE)
    # 2 s of waits on two slots; the four CPUs of the host have idled for longer.
    assert holds(found, 0.96)
    assert (found.place.stage_id, found.place.setting) == (0, "cpu.quota")
    assert found.remedies[0].factor == "cpu.quota"


def test_the_group_is_stopped_on_one_host_of_two(tmp_path: Path) -> None:
    two = one_waits()
    for row in two.rows["thread_counters"]:
        ran = row["host"] == WEST and row["tid"] < 200 and row["run_ns"]
        row["run_delay_ns"] = 400 * MS if ran else 0
    for name, first, last in (
        ("cpu_throttled_ns", 0, 2 * S),
        ("cpu_throttled_periods_count", 0, 30),
        ("cpu_quota_ns", 25 * MS, 25 * MS),
        ("cpu_period_ns", 100 * MS, 100 * MS),
    ):
        for at, value in ((0, first), (two.world.end_ms, last)):
            two.add("os_series", host=WEST, t_mono_ns=two.west(mono(at)), scope="cgroup",
                    name=name, value=value)  # fmt: skip
    found = only(two.write(tmp_path), RULE)
    assert holds(found, 0.4)
    assert (found.place.host, found.place.stage_id) == (WEST, 0)


def stopped(two: TwoHosts, host: str, ns: int) -> None:
    for at, value in ((0, 0), (two.world.end_ms, ns)):
        shown = two.west(mono(at)) if host == WEST else mono(at)
        two.add("os_series", host=host, t_mono_ns=shown, scope="cgroup", name="cpu_throttled_ns",
                value=value)  # fmt: skip


def test_what_other_hosts_waited_is_no_wait_of_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without clocks of threads all that is not CPU may be a wait: of the tasks there alone."""
    monkeypatch.setattr("pyrometer.explain.evidence.hosts.lost.MOST_HOSTS", 1)
    two = one_waits()
    two.rows["thread_counters"] = []
    for row in two.rows["tasks"]:
        if row["host"] == HOST:
            row["executor_cpu_time_ns"] = row["finish_wall_ns"] - row["launch_wall_ns"]
    stopped(two, WEST, 300 * MS)
    stopped(two, HOST, 200 * MS)
    found = only(two.write(tmp_path), RULE)
    assert found.place.host == WEST
    assert "by 4" in found.mechanism, "of both hosts, the quota stopped them"
    assert "All of it was on west." in found.mechanism


def pod(world: World, *, quota_ms: int) -> None:
    """Let the group above that of the JVM be stopped for two seconds, in periods of 250 ms."""
    series(world, "cgroup", "cpu_throttled_ns", 0, 0)
    series(world, "cgroup", "cpu_period_ns", 100 * MS, 100 * MS)
    series(world, "cgroup/pod7", "cpu_throttled_ns", 0, 2 * S)
    series(world, "cgroup/pod7", "cpu_throttled_periods_count", 0, 12)
    series(world, "cgroup/pod7", "cpu_quota_ns", quota_ms * MS, quota_ms * MS)
    series(world, "cgroup/pod7", "cpu_period_ns", 250 * MS, 250 * MS)


def test_a_group_above_is_stopped_and_named(tmp_path: Path) -> None:
    world = job(on_cpu=0.5, run_queue=0.3)
    pod(world, quota_ms=225)
    found = only(world.write(tmp_path), RULE)
    assert holds(found, 0.96)
    assert "The quota of 0.9 CPUs of control group /pod7 throttled" in found.mechanism
    (remedy,) = found.remedies
    assert remedy.kind == "machine", "a limit of the run itself would be below that group"


def test_near_miss_a_group_above_with_a_quota_that_is_never_used_up(tmp_path: Path) -> None:
    world = job(on_cpu=0.5, run_queue=0.3)
    series(world, "cgroup/pod7", "cpu_throttled_ns", 5, 5)
    series(world, "cgroup/pod7", "cpu_quota_ns", 400 * MS, 400 * MS)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_nobody_waited_while_it_was_stopped(tmp_path: Path) -> None:
    world = job(on_cpu=0.5, run_queue=0.0)
    series(world, "cgroup", "cpu_throttled_ns", 0, 2 * S)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    world = job(on_cpu=0.5, run_queue=0.3)
    series(world, "cgroup", "cpu_throttled_ns", 7, 7)
    assert judged(world.write(tmp_path), RULE).findings == []
