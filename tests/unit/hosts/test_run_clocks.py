"""From a run's tables and plugin files to the clocks of its hosts, which are planted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.support.hosts.clocks import MS, PPM, PlantedClock, S
from tests.support.hosts.clustered import DRIVER, Cluster

from pyrometer.hosts.host_clocks import HostClocks
from pyrometer.hosts.limits import STEADY
from pyrometer.hosts.seen import Seen
from pyrometer.store.axis.seen import seen
from pyrometer.store.run import Run

# Clocks of hosts that booted at other times: what is to be added differs by days.
EAST = PlantedClock(50 * S, 900_000 * S + 17, [200.0 * S], [120 * PPM, 20 * PPM])
WEST = PlantedClock(70_000 * S, 830_050 * S + 17, [], [-180 * PPM])


def of_run(run: Run) -> Seen:
    return seen(run.tables, run.paths.plugin_files())


def excess(clocks: HostClocks, host: str, clock: PlantedClock) -> float:
    return float(clock.excess(clocks.clocks[host], asked(clock)).max())


def asked(clock: PlantedClock) -> np.ndarray:
    return clock.start_ns + np.arange(-30, 700) * S


@pytest.mark.parametrize("set_by_ns", [0, 3 * S, -2 * S])
def test_tasks_bound_every_host_also_where_the_drivers_wall_clock_is_set(
    tmp_path: Path, set_by_ns: int
) -> None:
    with Cluster({"east": EAST, "west": WEST}, set_by_ns=set_by_ns).write(tmp_path) as run:
        found = of_run(run)
        clocks = HostClocks.of(found)
    assert found.driver_host == DRIVER
    assert found.hosts == ("east", DRIVER, "west")
    assert clocks.doubts == []
    for host, clock in (("east", EAST), ("west", WEST)):
        assert len(found.messages[host].sent_driver_ns) == 300
        assert len(found.messages[host].sent_host_ns) == 294
        assert excess(clocks, host, clock) <= 0
        bound = clocks.to_driver(host, asked(clock)).bound_ns
        assert np.ma.median(bound) < 5 * MS
    same = clocks.to_driver(DRIVER, [5, 7])
    assert same.driver_ns.tolist() == [5, 7]
    assert same.bound_ns.tolist() == [0, 0]


def test_round_trips_narrow_the_bound(tmp_path: Path) -> None:
    with Cluster({"west": WEST}, pings_count=60).write(tmp_path / "a") as run:
        both = HostClocks.of(of_run(run), STEADY)
    with Cluster({"west": WEST}, pings_count=60, tasks_count=0).write(tmp_path / "b") as run:
        alone = HostClocks.of(of_run(run), STEADY)
    with Cluster({"west": WEST}).write(tmp_path / "c") as run:
        tasks = HostClocks.of(of_run(run), STEADY)
    bounds = []
    for clocks in (both, alone, tasks):
        assert clocks.doubts == []
        assert excess(clocks, "west", WEST) <= 0
        bounds.append(clocks.to_driver("west", asked(WEST)).bound_ns.max())
    assert bounds[0] <= bounds[1] < 0.3 * MS < bounds[2]


def test_a_host_without_messages_has_no_bound(tmp_path: Path) -> None:
    cluster = Cluster({"west": WEST, "east": EAST}, tasks_count=0, walls=["west"])
    with cluster.write(tmp_path) as run:
        clocks = HostClocks.of(of_run(run))
    assert [doubt.code for doubt in clocks.doubts] == ["clock_unknown", "clock_bound_unknown"]
    assert "east" in clocks.doubts[0].message
    by_wall = clocks.to_driver("west", [WEST.start_ns])
    assert by_wall.bound_ns.mask.all()
    assert by_wall.driver_ns.tolist() == [WEST.start_ns + WEST.offset_ns]
    unknown = clocks.to_driver("east", [EAST.start_ns])
    assert unknown.driver_ns.mask.all()
    assert unknown.bound_ns.mask.all()


def test_a_host_that_was_suspended_is_a_doubt(tmp_path: Path) -> None:
    clock = PlantedClock(50 * S, 17, [], [0.0], ((300.0 * S, 3600.0 * S),))
    with Cluster({"east": clock}).write(tmp_path) as run:
        found = of_run(run)
        # The driver's wall clock has pairs for ten minutes, and goes on as it did.
        clocks = HostClocks.of(found)
    assert [doubt.code for doubt in clocks.doubts] == ["clock_broken"]
    assert "1 place" in clocks.doubts[0].message
    assert excess(clocks, "east", clock) <= 0


def test_without_a_driver_nothing_is_aligned(tmp_path: Path) -> None:
    with Cluster({"east": EAST}, with_driver=False).write(tmp_path) as run:
        clocks = HostClocks.of(of_run(run))
    assert clocks.driver_host is None
    # The host of the driver that was not recorded left readings of its clocks.
    assert [doubt.code for doubt in clocks.doubts] == ["clock_unknown"] * 2
    assert clocks.to_driver("east", [1]).driver_ns.mask.all()


def test_attempts_of_an_application_have_the_same_ids_and_give_no_messages(tmp_path: Path) -> None:
    with Cluster({"east": EAST}, attempts_count=2).write(tmp_path) as run:
        assert of_run(run).messages == {}
