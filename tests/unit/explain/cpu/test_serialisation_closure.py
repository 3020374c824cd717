from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, judged, only
from tests.support.simulation.simulated import Log
from tests.support.tables import MS

from pyrometer.explain.catalogue.cpu.serialisation_closure import RULE


def log(deserialise_ms: int, first_ms: int = 0, stages: int = 2, **columns: int) -> Log:
    """Stages of 12 tasks of 1 s on 2 slots; those of all but the first deserialise for a while."""
    made = Log(6_000 * stages + 1_000)
    made.executor("1", 2)
    for stage in range(stages):
        made.job(stage, 6000 * stage, 6000 * (stage + 1), [stage])
        made.stage(stage, 6000 * stage, 6000 * (stage + 1), [])
        for task in range(12):
            spent = deserialise_ms if stage else 2
            spent = max(spent, first_ms if task < 2 else 0)
            made.task(
                stage, 6000 * stage + 1000 * (task // 2), 1000, has_metrics=True,
                executor_run_time_ns=(1000 - spent) * MS, executor_deserialize_time_ns=spent * MS,
                **{name: value * MS for name, value in columns.items() if stage},
            )  # fmt: skip
    return made


def test_each_task_deserialises_for_half_a_second(tmp_path: Path) -> None:
    found = only(log(502).write(tmp_path), RULE)
    # 12 tasks on 2 slots, half a second each, of which 0.7 to all goes.
    assert holds(found, 6 * 0.5 * 0.85)
    assert found.place.stage_id == 1
    assert found.remedies[0].after is not None
    assert "broadcast" in found.remedies[0].after


def test_seven_stages_count(tmp_path: Path) -> None:
    found = judged(log(502, stages=8).write(tmp_path), RULE).findings
    assert sum(one.place.places_count for one in found) == 7


def test_first_tasks_load_classes(tmp_path: Path) -> None:
    assert judged(log(2, first_ms=600).write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(log(2).write(tmp_path), RULE).findings == []


def test_pauses_while_tasks_deserialise_are_the_heaps(tmp_path: Path) -> None:
    paused = log(502, executor_deserialize_cpu_time_ns=2, jvm_gc_time_ns=600)
    assert judged(paused.write(tmp_path), RULE).findings == []


def test_near_miss_pauses_come_when_it_has_been_deserialised(tmp_path: Path) -> None:
    paused = log(502, executor_deserialize_cpu_time_ns=490, jvm_gc_time_ns=300)
    found = only(paused.write(tmp_path), RULE)
    assert holds(found, 6 * 0.49 * 0.85)


def test_what_is_left_of_it_without_pauses(tmp_path: Path) -> None:
    paused = log(502, executor_deserialize_cpu_time_ns=202, jvm_gc_time_ns=400)
    found = only(paused.write(tmp_path), RULE)
    # 300 of 500 ms were pauses.
    assert holds(found, 6 * 0.2 * 0.85)
    assert "pauses of the collector left out" in found.mechanism
    assert not holds(found, 6 * 0.5 * 0.85)


def test_a_log_without_cpu_spreads_pauses_over_the_task(tmp_path: Path) -> None:
    found = only(log(502, jvm_gc_time_ns=500).write(tmp_path), RULE)
    assert holds(found, 6 * 0.25 * 0.85)
