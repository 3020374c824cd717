from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, jit_log, job, judged, only, samples, stack

from pyrometer.explain.catalogue.cpu.jit_deoptimisation_storm import RULE

TRAP = ("a.Task.run", "Deoptimization::uncommon_trap", "Deoptimization::fetch_unroll_info")


def test_a_third_of_the_cpu_in_traps(tmp_path: Path) -> None:
    world = job()
    samples(world, 1 / 3, java_stack=stack(world, *TRAP))
    jit_log(world, 4, 40, "a.Hot.call")
    found = only(world.write(tmp_path), RULE)
    assert holds(found, 4 * 0.8 / 3 * 0.75)
    assert found.place.stage_id == 0
    assert found.place.expression == "a.Hot.call"
    assert "40 times" in found.mechanism


def test_the_compiler_planning_a_trap_is_none(tmp_path: Path) -> None:
    world = job()
    samples(world, 1 / 3, java_stack=stack(world, "a.Task.run", "GraphKit::uncommon_trap"))
    jit_log(world, 3, 40)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(job().write(tmp_path), RULE).findings == []
