from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.asked import asked
from tests.support.explain.explained import Job, saves
from tests.support.hosts.serving import BEGINS_MS, WAIT_MS, serves, waiting_elsewhere
from tests.support.hosts.two_hosts import WEST
from tests.support.tables import HOST, MS, PID

from pyrometer.explain.catalogue.data.shuffle_fetch_wait import RULE as FETCH
from pyrometer.explain.catalogue.data.shuffle_write_slow import RULE as WRITE
from pyrometer.explain.findings import explain
from pyrometer.explain.rule import Rule
from pyrometer.store import Run

CASES = [(FETCH, "shuffle_fetch_wait_time_ns", 0.6), (WRITE, "shuffle_write_time_ns", 0.4)]


def shuffling(column: str, waited_ms: int, first_ms: int = 2000) -> Job:
    """Four tasks of 2 s on four slots, all or the first of which wait for so long."""
    job = Job()
    job.stage(
        [first_ms, 2000, 2000, 2000],
        columns=lambda _: {column: waited_ms * MS, "shuffle_read_remote_bytes": 1 << 20,
                           "shuffle_written_bytes": 1 << 20},
    )  # fmt: skip
    return job


@pytest.mark.parametrize(("rule", "column", "share"), CASES)
def test_most_of_the_time_is_waiting(tmp_path: Path, rule: Rule, column: str, share: float) -> None:
    (found,) = shuffling(column, 1600).found(tmp_path, rule)
    assert saves(found, 1600 * share)
    assert found.place.stage_id == 0


@pytest.mark.parametrize(("rule", "column", "share"), CASES)
def test_waits_beside_a_longer_task_save_nothing(
    tmp_path: Path, rule: Rule, column: str, share: float
) -> None:
    job = Job()
    job.stage(
        [9000, 2000, 2000, 2000],
        columns=lambda index: {column: 0 if index == 0 else 1000 * MS},
    )  # fmt: skip
    assert job.all_found(tmp_path, rule) == []


@pytest.mark.parametrize(("rule", "column", "share"), CASES)
def test_no_waits(tmp_path: Path, rule: Rule, column: str, share: float) -> None:
    assert shuffling(column, 0).all_found(tmp_path, rule) == []


@pytest.mark.parametrize(("rule", "column", "share"), CASES)
def test_seven_stages_count(tmp_path: Path, rule: Rule, column: str, share: float) -> None:
    job = Job()
    for _ in range(7):
        job.stage([2000] * 4, columns=lambda _: {column: 1600 * MS, "shuffle_written_bytes": 1})
    assert sum(one.place.places_count for one in job.found(tmp_path, rule)) == 7


def test_tasks_on_one_host_of_two_wait_for_blocks(tmp_path: Path) -> None:
    job = Job()
    job.stage([2000] * 8, length_on=lambda length, name: length * (1 + (name == "2")))
    for task in job.log.rows["tasks"]:
        task["shuffle_fetch_wait_time_ns"] = 2000 * MS if task["host"] == "host-2" else 0
    (found,) = job.found(tmp_path, FETCH)
    assert found.place.host == "host-2"
    assert "All of it was on host-2." in found.mechanism


def test_what_those_who_serve_blocks_did_is_told_and_has_a_remedy(tmp_path: Path) -> None:
    two = waiting_elsewhere()
    serves(two, HOST, PID, BEGINS_MS, {"disk": 0.75})
    serves(two, WEST, PID, BEGINS_MS, {"on_cpu": 1.0})
    two.rows["stages"][0].setdefault("parent_ids", [])
    with Run.open(two.write(tmp_path)) as run:
        found, *_ = asked(run, [FETCH]).findings
    assert "% waited for a disk" in found.mechanism
    assert found.remedies[0].text.startswith("relieve the disks")
    disk = next(one for one in found.evidence if one.what.endswith("waited for a disk"))
    assert disk.estimate.value == pytest.approx(0.75 * 2 * WAIT_MS * MS, rel=0.03)
    assert (disk.estimate.low or 0) <= 0.75 * 2 * WAIT_MS * MS <= (disk.estimate.high or 0)


def test_without_a_probe_there_is_no_word_of_who_served(tmp_path: Path) -> None:
    (found,) = shuffling("shuffle_fetch_wait_time_ns", 1600).found(tmp_path, FETCH)
    assert "serve blocks" not in found.mechanism
    assert [one.what for one in found.evidence] == ["fetch wait time"]


def test_waiting_and_writing_of_one_stage_are_saved_together(tmp_path: Path) -> None:
    job = Job()
    job.stage(
        [2000] * 4,
        columns=lambda _: {"shuffle_fetch_wait_time_ns": 1000 * MS,
                           "shuffle_write_time_ns": 800 * MS, "shuffle_written_bytes": 1 << 20},
    )  # fmt: skip
    job.log.rows["apps"][0]["end_wall_ns"] += job.now_ms * MS
    with Run.open(job.log.write(tmp_path)) as run:
        found = explain(run, rules=[FETCH, WRITE]).findings
    assert [one.code for one in found] == [FETCH.code, WRITE.code]
    alone = [one.saving_ratio.value for one in found]
    assert [one.added_ratio for one in found] == pytest.approx(alone, rel=0.01)
