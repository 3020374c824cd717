from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import holds, job, judged, only, series
from tests.support.hosts.two_hosts import WEST, one_waits
from tests.support.tables import HOST, World, mono

from pyrometer.explain.catalogue.machine.disk_page_cache_lost import PAGE_BYTES, RULE


def reads(pages: int, again: int) -> World:
    world = job()
    series(world, "cgroup", "io_read_bytes", 0, pages * PAGE_BYTES)
    series(world, "cgroup", "refaulted_file_pages_count", 0, again)
    series(world, "cgroup", "memory_limit_bytes", 1 << 30, 1 << 30)
    return world


def test_all_that_is_read_had_been_there(tmp_path: Path) -> None:
    found = only(reads(1000, 1000).write(tmp_path), RULE)
    assert holds(found, 4 * 0.2 * 0.75)
    assert (found.remedies[0].factor, found.remedies[0].level) == ("cgroup.memory", "2048m")


def test_pages_have_the_size_that_their_host_gives_them(tmp_path: Path) -> None:
    world = reads(16_000, 1000)
    series(world, "host", "page_size_bytes", 16 * PAGE_BYTES, 16 * PAGE_BYTES)
    found = only(world.write(tmp_path), RULE)
    assert holds(found, 4 * 0.2 * 0.75)
    assert found.evidence[0].estimate.value == pytest.approx(16_000 * PAGE_BYTES, rel=0.05)


def test_refaults_are_told_by_whether_their_pages_were_in_use(tmp_path: Path) -> None:
    world = reads(1000, 1000)
    series(world, "cgroup", "activated_file_pages_count", 0, 800)
    series(world, "cgroup", "restored_file_pages_count", 0, 300)
    series(world, "cgroup", "shadow_nodes_reclaimed_count", 0, 0)
    told = only(world.write(tmp_path), RULE).evidence
    by_unit = [(one.unit, round(one.estimate.value or 0) // PAGE_BYTES) for one in told]
    again, activated, restored = [pages for unit, pages in by_unit if unit == "bytes"]
    assert activated / again == pytest.approx(0.8, rel=0.01)
    assert restored / again == pytest.approx(0.3, rel=0.01)
    assert len(told) == 3


def test_one_host_of_two_lost_its_pages(tmp_path: Path) -> None:
    two = one_waits("block_io")
    for host in (HOST, WEST):
        again = 1000 if host == WEST else 0
        for at in (0, two.world.end_ms):
            shown = two.west(mono(at)) if host == WEST else mono(at)
            for name, value in (
                ("io_read_bytes", 1000 * PAGE_BYTES),
                ("refaulted_file_pages_count", again),
            ):
                two.add("os_series", host=host, t_mono_ns=shown, scope="cgroup", name=name,
                        value=value if at else 0)  # fmt: skip
    found = only(two.write(tmp_path), RULE)
    assert holds(found, 0.2 * 1.6 * 0.75)
    assert (found.place.host, found.place.stage_id) == (WEST, 0)


def test_a_first_read_is_none(tmp_path: Path) -> None:
    found = judged(reads(1000, 2).write(tmp_path), RULE).findings
    assert not any(one.shown for one in found)


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(reads(1000, 0).write(tmp_path), RULE).findings == []
