from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import holds, job, judged, only
from tests.support.tables import HOST, MS, StageSpec, World, mono

from pyrometer.explain.catalogue.machine.contended_more_tasks_than_cpus import RULE


def test_a_long_task_that_shares_its_cpu(tmp_path: Path) -> None:
    # Eight slots on four CPUs: the long task begins after 0.5 s and needs 4 s for 2 s of work.
    world = World([StageSpec([500] * 8 + [4000])], slots=8, on_cpu=0.5, run_queue=0.5)
    found = only(world.write(tmp_path), RULE)
    # On four slots it begins after 0.5 s, too, and needs 2 s.
    assert holds(found, 4.5 - 2.5)
    assert (found.remedies[0].factor, found.remedies[0].level) == ("layout.tasks", "4")


def test_short_tasks_beside_a_long_one_wait_for_more_of_their_time(tmp_path: Path) -> None:
    # Of 8 s the long task works for 7; of 3 s the others work for 0.5.
    lengths, work = [8000] + [3000] * 12, [7000] + [500] * 12
    world = World([StageSpec(lengths)], slots=8, cpus=2, on_cpu=0.2, run_queue=0.8)
    for row, ms in zip(world.rows["tasks"], work, strict=True):
        row.update(executor_cpu_time_ns=ms * MS)
    found = only(world.write(tmp_path), RULE)
    assert holds(found, 8 - 7)


def test_alike_tasks_are_done_as_late(tmp_path: Path) -> None:
    world = World([StageSpec([1000] * 16)], slots=8, on_cpu=0.5, run_queue=0.5)
    found = judged(world.write(tmp_path), RULE)
    assert not any(one.shown for one in found.findings)


def switched(world: World, times: int) -> World:
    """Let the kernel take each task's thread so many times off its CPU, in all."""
    rows = [row for row in world.rows["thread_counters"] if "Executor task" in row["comm"]]
    ends = {row["tid"]: row["t_mono_ns"] for row in rows}
    for row in rows:
        done = row["t_mono_ns"] == ends[row["tid"]]
        row["involuntary_switches_count"] = times * done
    return world


def test_alike_tasks_load_their_caches_again(tmp_path: Path) -> None:
    # 8 s of CPU, of which 4800 returns to a CPU took 4.8 s at most: of 2 s elapsed, 1.2 s.
    world = World([StageSpec([1000] * 16)], slots=8, on_cpu=0.5, run_queue=0.5)
    (found,) = judged(switched(world, 600).write(tmp_path), RULE).findings
    saved = found.saving.elapsed_ns
    assert saved.value == pytest.approx(0.17 * 1.2e9, rel=0.1)
    assert saved.low == 0
    assert saved.high == pytest.approx(1.2e9, rel=0.1)
    assert not found.shown
    assert "preempted each other 4 792 times" in found.mechanism
    assert (found.remedies[0].factor, found.remedies[0].level) == ("layout.tasks", "4")


def test_near_miss_no_task_was_taken_off_its_cpu(tmp_path: Path) -> None:
    world = World([StageSpec([1000] * 16)], slots=8, on_cpu=0.5, run_queue=0.5)
    assert judged(switched(world, 0).write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(job(slots=4, on_cpu=0.9, run_queue=0.1).write(tmp_path), RULE).findings == []


def on_cpus(world: World, cpus: int, idle: float) -> World:
    """Let threads be seen on the first CPUs in turn; the last of two is idle for a part of time."""
    for number, row in enumerate(world.rows["thread_counters"]):
        row["cpu"] = number % cpus
    for cpu, part in ((0, 0.0), (1, idle)):
        for at in (0, world.end_ms):
            world.add("os_series", host=HOST, t_mono_ns=mono(at), scope=f"cpu/{cpu}",
                      name="cpu_idle_ns", value=round(at * MS * part))  # fmt: skip
    return world


def taking_turns() -> World:
    return World([StageSpec([200] * 40)], slots=2, cpus=2, on_cpu=0.5, run_queue=0.5)


@pytest.mark.parametrize(("idle", "saved"), [(1.0, 2.0), (0.5, 1.0)])
def test_the_jvm_is_bound_to_one_cpu_of_two(tmp_path: Path, idle: float, saved: float) -> None:
    # 8 s of tasks in two slots, of which 4 s wait for CPU 0; the other could take so much of it.
    found = only(on_cpus(taking_turns(), 1, idle).write(tmp_path), RULE)
    assert holds(found, saved)
    assert "ran at once on CPU 0 alone, and waited 4.00 s for it" in found.mechanism
    assert (found.place.layer, found.place.stage_id) == ("host", 0)


def test_near_miss_threads_run_on_both(tmp_path: Path) -> None:
    world = on_cpus(taking_turns(), 2, 1.0)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_near_miss_the_other_cpu_is_busy(tmp_path: Path) -> None:
    world = on_cpus(taking_turns(), 1, 0.0)
    assert not any(one.shown for one in judged(world.write(tmp_path), RULE).findings)


def test_near_miss_too_few_readings_to_say_where_threads_run(tmp_path: Path) -> None:
    world = World([StageSpec([4000] * 2)], slots=2, cpus=2, on_cpu=0.5, run_queue=0.5)
    found = judged(on_cpus(world, 1, 1.0).write(tmp_path), RULE).findings
    assert not any("alone" in one.mechanism for one in found)
