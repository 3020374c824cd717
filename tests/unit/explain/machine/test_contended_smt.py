from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import estimate, holds, job, judged, judged_with

from pyrometer.explain.catalogue.machine import contended_smt
from pyrometer.explain.catalogue.machine.contended_smt import LOST, RULE
from pyrometer.summary.schema import Summary


def traffic(summary: Summary, share: float) -> None:
    summary.hardware.bandwidth.share_of_attainable = estimate(share, share - 0.02, share + 0.02)


@pytest.fixture(autouse=True)
def two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contended_smt, "_threads_per_core", lambda facts: 2)


def test_pairs_of_tasks_on_cores_whose_memory_is_the_limit(tmp_path: Path) -> None:
    world = job(slots=4)
    (found,) = judged_with(tmp_path, world, RULE, lambda summary: traffic(summary, 0.9)).findings
    assert holds(found, 2 * 0.8 * LOST)
    assert (found.remedies[0].factor, found.remedies[0].level) == ("layout.tasks", "2")


def test_memory_has_room_left(tmp_path: Path) -> None:
    world = job(slots=4)
    found = judged_with(tmp_path, world, RULE, lambda summary: traffic(summary, 0.2)).findings
    assert not any(one.shown for one in found)


def test_healthy_twin(tmp_path: Path) -> None:
    world = job(slots=2)
    found = judged_with(tmp_path, world, RULE, lambda summary: traffic(summary, 0.9)).findings
    assert found == []


def test_without_counters_it_is_not_judged(tmp_path: Path) -> None:
    assert [one.code for one in judged(job().write(tmp_path), RULE).unjudged] == [RULE.code]
