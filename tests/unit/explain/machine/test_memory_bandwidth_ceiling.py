from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import estimate, holds, job, judged, judged_with

from pyrometer.accounts.hardware.schema import CpiPart
from pyrometer.explain.catalogue.machine.memory_bandwidth_ceiling import RULE
from pyrometer.summary.schema import Summary


def traffic(summary: Summary, share: float, stalled: float) -> None:
    known = summary.hardware
    known.bandwidth.share_of_attainable = estimate(share, share - 0.02, share + 0.02)
    known.bandwidth.bytes_per_s = 9e10
    known.cpi.parts = [CpiPart(part="memory bound", share=stalled)]


def test_memory_at_its_limit(tmp_path: Path) -> None:
    (found,) = judged_with(tmp_path, job(), RULE, lambda one: traffic(one, 0.95, 0.6)).findings
    # Of the cycles stalled half is waiting in a loaded memory's queue.
    assert found.shown
    assert holds(found, 4 * 0.8 * 0.6 * 0.5 * 0.95 * 0.75)


def test_stalls_without_load_are_latency(tmp_path: Path) -> None:
    found = judged_with(tmp_path, job(), RULE, lambda one: traffic(one, 0.3, 0.6)).findings
    assert not any(one.shown for one in found)


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged_with(tmp_path, job(), RULE, lambda one: traffic(one, 0.95, 0.0)).findings == []


def test_without_counters_it_is_not_judged(tmp_path: Path) -> None:
    (lacks,) = judged(job().write(tmp_path), RULE).unjudged
    assert lacks.code == RULE.code
    assert "on one host" in lacks.remedy
