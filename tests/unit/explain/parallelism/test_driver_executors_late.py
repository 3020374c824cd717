from pathlib import Path

import pytest
from tests.support.explain.asked import asked
from tests.support.explain.explained import Job, saves
from tests.support.tables import HOST, MS, mono, wall

from pyrometer.explain.catalogue.machine.config_too_many_slots import RULE as TOO_MANY
from pyrometer.explain.catalogue.parallelism.driver_executors_late import INITIAL, RULE
from pyrometer.explain.schema import Finding
from pyrometer.store import Run


def test_executors_that_register_after_twenty_seconds(tmp_path: Path) -> None:
    job = Job(add_ms=20_000)
    job.stage([2_000] * 8)
    (found,) = job.found(tmp_path, RULE)
    assert found.place.layer == "cluster"
    assert saves(found, 17_000 * 0.75)


def _recorded(began_ms: int, add_ms: int = 20_000) -> Job:
    """Give a job whose two executors' processes were recorded from their start on."""
    job = Job(add_ms=add_ms)
    rows = job.log.rows
    rows["processes"] = [
        {"host": HOST, "pid": 70 + number, "executor_id": str(number or "driver"), "app_id": "a",
         "role": "executor" if number else "driver", "start_mono_ns": mono(began_ms * (number > 0))}
        for number in range(3)
    ]  # fmt: skip
    rows["clock_pairs"] = [
        {"host": HOST, "source": "plugin", "mono_ns": mono(0), "wall_ns": wall(0)}
    ]
    job.stage([2_000] * 8)
    return job


def test_what_went_by_before_a_process_started_is_the_clusters(tmp_path: Path) -> None:
    (found,) = _recorded(19_000).found(tmp_path, RULE)
    # The processes took a second to register, and not the three that are assumed.
    assert saves(found, 19_000 * 0.75)
    assert "Their processes started 19.0 s after it on average" in found.mechanism
    assert "took 1.00 s to register" in found.mechanism
    assert ["hold capacity" in one.text for one in found.remedies] == [True]


def test_a_slow_start_of_the_process_is_no_lack_of_room(tmp_path: Path) -> None:
    (found,) = _recorded(2_000).found(tmp_path, RULE)
    # Of 18 s of starting 15 may go; of 2 s in the queue three quarters.
    assert saves(found, 2_000 * 0.75 + 15_000 / 2)
    assert "shorten the start of executors" in found.remedies[0].text
    assert found.evidence[-1].estimate.value == pytest.approx(18_000 * MS)


@pytest.mark.parametrize(
    ("scheduled_s", "words", "said", "remedy"),
    [
        (15, "13.0 s without a node, 3.50 s for image", "Insufficient cpu", "autoscaler"),
        (5, "3.00 s without a node, 13.5 s for image", "The image is spark:4.", "DaemonSet"),
    ],
)
def test_on_kubernetes_the_longest_part_has_its_remedy(
    tmp_path: Path, scheduled_s: int, words: str, said: str, remedy: str
) -> None:
    job = _recorded(19_000)
    job.log.rows["executor_pods"] = [
        {"app_id": "a", "executor_id": name, "image": "spark:4", "created_wall_ns": wall(2_000),
         "scheduled_wall_ns": wall(1_000 * scheduled_s), "started_wall_ns": wall(18_000),
         "unschedulable": "0/3 nodes are available: 3 Insufficient cpu. " + "x" * 500}
        for name in "12"
    ]  # fmt: skip
    (found,) = job.found(tmp_path, RULE)
    assert f"(2.50 s without a pod, {words} and container; in whole seconds" in found.mechanism
    assert said in found.mechanism
    assert len(found.mechanism) < 600
    assert [remedy in one.text for one in found.remedies] == [True]
    spans = {one.what: one.estimate.value for one in found.evidence if one.table == "executor_pods"}
    assert spans["executors were without a node"] == (scheduled_s - 2) * 1_000 * MS
    assert sum(spans.values()) == 19_000 * MS


def test_on_kubernetes_too_a_slow_start_of_the_process_is_no_lack_of_room(tmp_path: Path) -> None:
    job = _recorded(6_000)
    job.log.rows["executor_pods"] = [
        {"app_id": "a", "executor_id": name, "created_wall_ns": wall(2_000),
         "scheduled_wall_ns": wall(3_000), "started_wall_ns": wall(5_000)} for name in "12"
    ]  # fmt: skip
    (found,) = job.found(tmp_path, RULE)
    assert ["shorten the start" in one.text for one in found.remedies] == [True, False]


def test_a_jvm_takes_some_seconds_to_start(tmp_path: Path) -> None:
    job = Job(add_ms=2_900)
    job.stage([2_000] * 8)
    assert not job.all_found(tmp_path, RULE)


def test_executors_that_were_there(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000] * 8)
    assert not job.all_found(tmp_path, RULE)


def _one_more(*others: str) -> Job:
    """Give a job whose third executor comes after 10 s, with others that have no tasks."""
    job = Job(**{"spark.dynamicAllocation.enabled": "true"})
    job.stage([2_000] * 40)
    for name in ("3", *others):
        job.log.executor(name, 2, 10_000)
    job.executors = 3
    job.stage([2_000] * 60)
    return job


def test_executors_that_replace_others_are_not_late(tmp_path: Path) -> None:
    job = _one_more()
    job.log.rows["executors"][-1]["remove_wall_ns"] = wall(30_000)
    job.log.executor("4", 2, 30_000)
    (found,) = job.all_found(tmp_path, RULE)
    assert "1 executor registered 10.0 s after" in found.mechanism
    assert "1 more replaced others" in found.mechanism
    (remedy,) = found.remedies
    assert (remedy.factor, remedy.level, remedy.levels) == (INITIAL, "3", {})
    with Run.open(tmp_path) as run:
        for one in found.evidence:
            ((value,),) = run.tables.query(one.query or "")
            assert float(value) == pytest.approx(one.estimate.value, rel=1e-6)
    # Two cores are held for up to 7 s more, of which half is expected.
    assert found.saving.core_ns.value == pytest.approx(-0.35 * 2 * 7_000 * MS, rel=0.01)


def test_no_more_are_asked_for_than_ever_had_tasks(tmp_path: Path) -> None:
    (late,) = _one_more("4", "5").all_found(tmp_path, RULE)
    with Run.open(tmp_path) as run:
        (spare,) = asked(run, [TOO_MANY]).notes
    assert spare.remedies[0].factor == "spark.dynamicAllocation.maxExecutors"
    assert late.remedies[0].level == spare.remedies[0].level == "3"


def test_without_settings_the_smaller_saving_counts(tmp_path: Path) -> None:
    def late(conf: str | None, name: str) -> Finding:
        job = Job(add_ms=10_000, **{"spark.dynamicAllocation.enabled": "true"})
        job.log.executor("3", 2, 20_000)
        job.stage([2_000] * 40)
        if conf is not None:
            job.log.rows["apps"][0]["spark_conf"] = conf
        (found,) = job.all_found(tmp_path / name, RULE)
        return found

    known, lost = late(None, "known"), late("{}", "lost")
    assert lost.saving.elapsed_ns == known.saving.elapsed_ns
    assert "whether dynamic allocation was on is not known" in lost.mechanism
    assert [one.kind for one in lost.remedies] == ["factor", "machine"]
    assert [one.kind for one in known.remedies] == ["factor"]
