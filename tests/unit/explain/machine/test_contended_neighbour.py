from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import S, estimate, holds, job, judged_with

from pyrometer.accounts.schema import CpuTaker
from pyrometer.explain.catalogue.machine.contended_neighbour import RULE
from pyrometer.summary.schema import Summary


def others(summary: Summary, seconds: float) -> None:
    known = summary.contention
    known.behind_others_ns = estimate(seconds * S, seconds * S * 0.9, seconds * S * 1.1)
    known.others_ns, known.others_ratio = 4 * S, 0.25
    known.takers = [CpuTaker(pid=7, comm="backup", cpu_ns=4 * S)]


def test_half_of_the_wait_is_behind_a_backup(tmp_path: Path) -> None:
    world = job(on_cpu=0.3, run_queue=0.5)
    (found,) = judged_with(tmp_path, world, RULE, lambda summary: others(summary, 2)).findings
    assert found.shown
    assert holds(found, 1.0)
    assert "backup" in found.mechanism
    assert found.place.stage_id == 0


def test_others_run_but_nobody_waits(tmp_path: Path) -> None:
    world = job(on_cpu=0.8, run_queue=0.0)
    assert judged_with(tmp_path, world, RULE, lambda summary: others(summary, 2)).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    world = job(on_cpu=0.3, run_queue=0.5)
    found = judged_with(tmp_path, world, RULE, lambda summary: others(summary, 0)).findings
    assert found == []
