from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import S, holds, job, judged, only, series, sleeping
from tests.support.hosts.two_hosts import WEST, TwoHosts, WestClock
from tests.support.tables import HOST, StageSpec, World, mono, wall

from pyrometer.accounts.window import open_scope
from pyrometer.explain.catalogue.machine.disk_slow import RULE, disk_waits
from pyrometer.explain.facts import Facts
from pyrometer.store import Run
from pyrometer.summary.summary import summarise

EAST = "east"


def disk(request_ns: int) -> World:
    world = job()
    series(world, "disk/sda", "reads_count", 0, 1000)
    series(world, "disk/sda", "read_time_ns", 0, 1000 * request_ns)
    return world


def three_hosts(west_ns: int) -> TwoHosts:
    """Give a job whose long tasks are on one of three hosts; the disks of the others are fast."""
    two = TwoHosts([StageSpec([400, 400, 1600, 1600])], WestClock(2 * S))
    for host, reads, request_ns in ((HOST, 10_000, 50_000), (EAST, 10_000, 50_000),
                                    (WEST, 1000, west_ns)):  # fmt: skip
        for at in (0, two.world.end_ms):
            shown = two.west(mono(at)) if host == WEST else mono(at)
            for name, value in (("reads_count", reads), ("read_time_ns", reads * request_ns)):
                two.add("os_series", host=host, t_mono_ns=shown, scope="disk/sda", name=name,
                        value=value if at else 0)  # fmt: skip
            if host == EAST:
                two.add("clock_pairs", host=host, source="plugin", mono_ns=shown, wall_ns=wall(at))
    return two


def test_ten_milliseconds_for_a_request(tmp_path: Path) -> None:
    found = only(disk(10_000_000).write(tmp_path), RULE)
    # A fifth of 4 s is waiting for the disk; one of 0.1 to 1 ms saves nearly all.
    assert holds(found, 4 * 0.2 * 0.945)
    assert (found.place.host, found.place.stage_id) == (HOST, 0)
    assert "sda needed 10.0 ms for a request" in found.mechanism


def limited(read: int, per_s: int) -> World:
    """Give a fast disk below a control group that may read so many bytes a second."""
    world = disk(50_000)
    series(world, "cgroup", "io_read_bytes", 0, read)
    series(world, "cgroup", "io_read_limit_bytes_per_s", per_s, per_s)
    return world


def test_a_control_group_limits_a_fast_disk(tmp_path: Path) -> None:
    found = only(limited(4 << 20, 1 << 20).write(tmp_path), RULE)
    # Of 8 s of tasks a fifth waits; a thousand requests need 0.1 to 1 s even so.
    assert holds(found, 4 * 0.2 * 0.9)
    assert "lets 1.00 MiB/s be read" in found.mechanism
    assert (found.remedies[0].factor, found.remedies[0].level) == ("cgroup.read_bps", "2097152")


def test_readers_of_a_scan_wait_in_threads_of_their_own(tmp_path: Path) -> None:
    with Run.open(limited(4 << 20, 1 << 20).write(tmp_path)) as run:
        scope = open_scope(run, None)
        facts = Facts(scope, summarise(scope))
        facts.__dict__["ledger"] = {
            0: {"task/waiting/block_io": 1.0, "task/waiting/helper": 9.0,
                "task/waiting/helper/Scan parquet": 2.0, "task/waiting/helper/Exchange": 4.0},
        }  # fmt: skip
        assert disk_waits(facts, HOST) == {0: 3.0}


@pytest.mark.parametrize(("request_ns", "readers_ns"), [(1_000_000, 1e9), (10_000_000, 8e9)])
def test_readers_wait_for_a_disk_no_longer_than_its_requests_take(
    request_ns: int, readers_ns: float, tmp_path: Path
) -> None:
    # A thousand requests. The rest of what tasks wait for their readers, these compute.
    with Run.open(disk(request_ns).write(tmp_path)) as run:
        scope = open_scope(run, None)
        facts = Facts(scope, summarise(scope))
        facts.__dict__["ledger"] = {
            0: {"task/waiting/block_io": 2e9, "task/waiting/helper/Scan parquet": 8e9}
        }
        assert disk_waits(facts, None) == {0: pytest.approx(2e9 + readers_ns, rel=0.05)}


def test_near_miss_a_control_group_whose_limit_is_not_reached(tmp_path: Path) -> None:
    found = judged(limited(4 << 20, 1 << 30).write(tmp_path), RULE)
    assert not any(one.shown for one in found.findings)


def test_one_slow_host_of_three_is_judged_by_its_own_disk(tmp_path: Path) -> None:
    found = only(three_hosts(10_000_000).write(tmp_path), RULE)
    # Its long tasks decide when the stage ends; tasks elsewhere wait for what is no slow disk.
    assert holds(found, 1.6 * 0.2 * 0.945)
    assert (found.place.host, found.place.stage_id) == (WEST, 0)
    assert found.evidence[0].estimate.value == pytest.approx(0.2 * 3.2 * S, rel=0.02)
    assert f"Tasks on {WEST} waited" in found.mechanism
    assert f"sda on {WEST} needed 10.0 ms for a request" in found.mechanism


def test_hosts_whose_disks_are_all_fast(tmp_path: Path) -> None:
    assert judged(three_hosts(50_000).write(tmp_path), RULE).findings == []


def test_requests_are_quick(tmp_path: Path) -> None:
    assert judged(disk(50_000).write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    world = disk(10_000_000)
    sleeping(world, "timed_sleep")
    assert judged(world.write(tmp_path), RULE).findings == []
