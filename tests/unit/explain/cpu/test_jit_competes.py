from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import S, beside, job, judged
from tests.support.tables import MS, World

from pyrometer.explain.catalogue.cpu.jit_competes import RULE


def world(jit_ms: int, run_queue: float) -> World:
    """Tasks on a CPU for a tenth of their time, compiled by nobody: most is waiting for one."""
    made = job(on_cpu=0.1, run_queue=run_queue)
    for row in made.rows["thread_counters"]:
        if row["comm"].startswith("C2") and row["run_ns"]:
            row["run_ns"] = jit_ms * MS
    return made


def test_compilers_hold_what_tasks_wait_for(tmp_path: Path) -> None:
    (found,) = judged(world(6000, 0.8).write(tmp_path), RULE).findings
    saving = found.saving.elapsed_ns
    assert found.place.stage_id == 0
    assert found.remedies[0].level == "-XX:TieredStopAtLevel=1"
    # 80 % of 4 s waited, 6 of 6.8 s of CPU the compilers': never more than the wait.
    assert saving.value is not None
    assert 0 < saving.value <= 4 * 0.8 * S


def test_compilers_work_while_nobody_waits(tmp_path: Path) -> None:
    assert judged(world(6000, 0.0).write(tmp_path), RULE).findings == []


def test_compilers_of_another_application_are_not_to_be_restrained(tmp_path: Path) -> None:
    compiling = world(6000, 0.8)
    for row in compiling.rows["thread_counters"]:
        row["compiles"] = row["comm"].startswith(("C1", "C2"))
    beside(compiling, "thread_counters", compiles=True)
    for row in compiling.rows["thread_counters"]:
        del row["compiles"]
    assert judged(compiling.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    found = judged(world(0, 0.8).write(tmp_path), RULE).findings
    assert not any(one.shown for one in found)
