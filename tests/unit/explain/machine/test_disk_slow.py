from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, job, judged, only, series, sleeping
from tests.support.tables import World

from pyrometer.explain.catalogue.machine.disk_slow import RULE


def disk(request_ns: int) -> World:
    world = job()
    series(world, "disk/sda", "reads_count", 0, 1000)
    series(world, "disk/sda", "read_time_ns", 0, 1000 * request_ns)
    return world


def test_ten_milliseconds_for_a_request(tmp_path: Path) -> None:
    found = only(disk(10_000_000).write(tmp_path), RULE)
    # A fifth of 4 s is waiting for the disk; one of 0.1 to 1 ms saves nearly all.
    assert holds(found, 4 * 0.2 * 0.945)
    assert (found.place.host, found.place.stage_id) == ("sda", 0)


def test_requests_are_quick(tmp_path: Path) -> None:
    assert judged(disk(50_000).write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    world = disk(10_000_000)
    sleeping(world, "timed_sleep")
    assert judged(world.write(tmp_path), RULE).findings == []
