from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import holds, job, judged_with

from pyrometer.accounts.hardware.schema import StageCounters
from pyrometer.explain.catalogue.machine import throttled_frequency
from pyrometer.explain.catalogue.machine.throttled_frequency import RULE
from pyrometer.summary.schema import Summary


def clock(summary: Summary, ghz: float) -> None:
    summary.hardware.stages = [
        StageCounters(
            stage_id=0, stage_attempt=0, tasks_count=8, cycles_count=5.6e9 * ghz,
            counts={"task-clock": 5.6e9},
        )
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def nominal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throttled_frequency, "_model", lambda facts: "Xeon @ 2.00GHz")


def test_half_of_the_nominal_clock(tmp_path: Path) -> None:
    (found,) = judged_with(tmp_path, job(), RULE, lambda summary: clock(summary, 1.0)).findings
    assert found.shown
    assert holds(found, 4 * 0.8 * 0.5 * 0.8)
    assert "1 GHz" in found.mechanism
    assert found.place.stage_id == 0


def test_less_turbo_is_no_throttling(tmp_path: Path) -> None:
    assert judged_with(tmp_path, job(), RULE, lambda summary: clock(summary, 2.1)).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged_with(tmp_path, job(), RULE, lambda summary: clock(summary, 3.5)).findings == []
