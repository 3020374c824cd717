from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, job, judged, judged_with

from pyrometer.explain.catalogue.machine.numa_remote import RULE
from pyrometer.summary.schema import Summary


def local(summary: Summary, ratio: float) -> None:
    summary.hardware.bandwidth.local_ratio = ratio


def test_three_quarters_are_remote(tmp_path: Path) -> None:
    (found,) = judged_with(tmp_path, job(), RULE, lambda one: local(one, 0.25)).findings
    # As in the seed: binding makes it between 1.07 and 1.25 times as fast.
    assert found.shown
    assert holds(found, 4 * 0.8 * 0.13)
    assert found.remedies[0].levels == {"layout.executors": "2"}


def test_a_little_is_always_remote(tmp_path: Path) -> None:
    found = judged_with(tmp_path, job(), RULE, lambda one: local(one, 0.95)).findings
    assert not any(one.shown for one in found)


def test_healthy_twin(tmp_path: Path) -> None:
    assert judged_with(tmp_path, job(), RULE, lambda one: local(one, 1.0)).findings == []


def test_without_counters_it_is_not_judged(tmp_path: Path) -> None:
    assert [one.code for one in judged(job().write(tmp_path), RULE).unjudged] == [RULE.code]
