"""A full link: which waits are its own, and when a plateau is no limit of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.explained import Job
from tests.support.explain.planted import holds, job, judged, only, series, sleeping
from tests.support.tables import HOST, MS, StageSpec, World

from pyrometer.explain.catalogue.machine.network_saturated import RULE
from pyrometer.explain.judge import explains
from pyrometer.explain.rule import PROFILE
from pyrometer.store import Run

GIGABIT = 118_000_000
"""What a full link of 1 Gbit/s shows, in bytes per second."""
ODD = 50_000_000


def fetching(world: World, share: float, remote: int = 59_000_000, stage: int = 0) -> World:
    """Let the tasks of a stage wait for blocks of other hosts for a share of their time."""
    for row in world.rows["tasks"]:
        if row["stage_id"] == stage:
            row["shuffle_fetch_wait_time_ns"] = round(row["executor_run_time_ns"] * share)
            row["shuffle_read_remote_bytes"] = remote
    return world


def moving(
    world: World, *rates: int, name: str = "received_bytes", scope: str = "net/eth0"
) -> None:
    """Give bytes per second, for equal parts of the run."""
    total = 0
    values = [total := total + round(rate * world.end_ms / 1000 / len(rates)) for rate in rates]
    series(world, scope, name, 0, *values)


def two_then_one() -> World:
    """One task of 4 s and one of 8 s, side by side."""
    return fetching(World([StageSpec([4000, 8000])]), 0.75, remote=200_000_000)


def test_a_full_gigabit_link(tmp_path: Path) -> None:
    world = fetching(job(), 0.6)
    moving(world, GIGABIT)
    found = only(world.write(tmp_path), RULE)
    # Twice the link halves the time of transfers: half a second of each task of one second.
    assert holds(found, 4 * 0.5)
    assert holds(found, 4 * 0.3)  # a codec that saves some of the bytes
    assert (found.place.host, found.place.stage_id, found.place.layer) == (HOST, 0, "host")
    assert "125 MB/s" in found.mechanism or "119 MiB/s" in found.mechanism
    with Run.open(tmp_path) as run:
        (rate,) = run.tables.query(found.evidence[0].query or "")[0]
    assert rate == pytest.approx(found.evidence[0].estimate.value, rel=0.1)


def test_waits_that_are_short(tmp_path: Path) -> None:
    world = fetching(job(), 0.2)
    moving(world, GIGABIT)
    assert holds(only(world.write(tmp_path), RULE), 4 * 0.2)


def test_remote_reads_by_sampled_waits_for_sockets(tmp_path: Path) -> None:
    world = job()
    sleeping(world, "network")
    for row in world.rows["tasks"]:
        row["input_bytes"] = 50_000_000
    moving(world, GIGABIT)
    assert holds(only(world.write(tmp_path), RULE), 4 * 0.2)


def test_healthy_twin_nobody_waits(tmp_path: Path) -> None:
    world = job()
    moving(world, GIGABIT)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_near_miss_the_link_is_full_while_another_stage_runs(tmp_path: Path) -> None:
    world = fetching(World([StageSpec([1000] * 8), StageSpec([1000] * 8)]), 0.6)
    moving(world, 0, 0, 0, 0, 0, 0, GIGABIT, GIGABIT, GIGABIT, GIGABIT, GIGABIT, GIGABIT)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_near_miss_a_plateau_that_is_no_usual_link(tmp_path: Path) -> None:
    """Always as many tasks: it may be what the other side gives to each."""
    world = fetching(job(), 0.6, remote=25_000_000)
    moving(world, ODD)
    (found,) = judged(world.write(tmp_path), RULE).findings
    assert not found.shown
    assert "or of the other side" in found.mechanism


def test_a_plateau_that_stays_when_fewer_tasks_are_left(tmp_path: Path) -> None:
    world = two_then_one()
    moving(world, ODD)
    # The stage is as long as its longer task: half of its 8 s.
    assert holds(only(world.write(tmp_path), RULE), 4)


def test_a_rate_that_goes_with_the_tasks_is_no_limit(tmp_path: Path) -> None:
    world = two_then_one()
    moving(world, ODD, ODD // 2)
    assert not [one for one in judged(world.write(tmp_path), RULE).findings if one.shown]


def test_blocks_that_did_not_come_by_the_link(tmp_path: Path) -> None:
    """Executors of one host fetch by its loopback; the other interface moves next to nothing."""
    world = fetching(job(), 0.6)
    moving(world, 100)
    moving(world, GIGABIT, scope="net/lo")
    assert judged(world.write(tmp_path), RULE).findings == []


def _two_hosts(world: World) -> World:
    """Let every other task run on an executor of another host."""
    moved = {row["task_attempt_id"] for row in world.rows["tasks"] if row["task_index"] % 2}
    for table in ("tasks", "spans"):
        for row in world.rows[table]:
            if row["task_attempt_id"] in moved:
                row.update(executor_id="2", host="10.0.0.2" if table == "tasks" else "other")
    (first,) = world.rows["executors"]
    first["cores_count"] = 1
    world.add("executors", **{**first, "executor_id": "2", "host": "10.0.0.2"})
    return world


def test_only_tasks_of_the_host_wait_for_what_it_receives(tmp_path: Path) -> None:
    world = _two_hosts(fetching(job(), 0.6))
    for row in world.rows["tasks"]:
        if row["executor_id"] != "2":
            row["shuffle_fetch_wait_time_ns"] = 0
    moving(world, GIGABIT)  # of the host whose tasks do not wait
    assert judged(world.write(tmp_path), RULE).findings == []


def test_tasks_of_others_wait_for_what_it_sends(tmp_path: Path) -> None:
    world = _two_hosts(fetching(job(), 0.6, remote=118_000_000))
    moving(world, GIGABIT, name="sent_bytes")
    (found,) = judged(world.write(tmp_path), RULE).findings
    assert found.place.host == HOST
    assert " sent " in found.mechanism
    core = found.saving.core_ns
    assert core.value is not None
    assert core.value == pytest.approx(4 * 500 * MS * 0.75, rel=0.1)


def test_an_event_log_alone(tmp_path: Path) -> None:
    made = Job()
    made.stage([1000] * 4, columns=lambda _: {"shuffle_fetch_wait_time_ns": 600 * MS})
    made.log.rows["apps"][0]["end_wall_ns"] += 1000 * MS
    (one,) = judged(made.log.write(tmp_path), RULE).unjudged
    assert (one.missing, one.remedy) == ("no series of network interfaces", PROFILE)


def test_it_explains_waits_for_blocks() -> None:
    assert explains(RULE, "shuffle.fetch-wait")
    assert explains(RULE, "network.slow")
