from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, job, judged, only
from tests.support.tables import StageSpec, World

from pyrometer.explain.catalogue.machine.contended_more_tasks_than_cpus import RULE


def test_a_long_task_that_shares_its_cpu(tmp_path: Path) -> None:
    # Eight slots on four CPUs: the long task begins after 0.5 s and needs 4 s for 2 s of work.
    world = World([StageSpec([500] * 8 + [4000])], slots=8, on_cpu=0.5, run_queue=0.5)
    found = only(world.write(tmp_path), RULE)
    # On four slots it begins after 0.5 s, too, and needs 2 s.
    assert holds(found, 4.5 - 2.5)
    assert (found.remedies[0].factor, found.remedies[0].level) == ("layout.tasks", "4")


def test_alike_tasks_are_done_as_late(tmp_path: Path) -> None:
    world = World([StageSpec([1000] * 16)], slots=8, on_cpu=0.5, run_queue=0.5)
    found = judged(world.write(tmp_path), RULE)
    assert not any(one.shown for one in found.findings)


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged(job(slots=4, on_cpu=0.9, run_queue=0.1).write(tmp_path), RULE).findings == []
