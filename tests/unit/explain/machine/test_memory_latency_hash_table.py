from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import estimate, holds, job, judged, judged_with, samples
from tests.support.tables import World

from pyrometer.accounts.hardware.schema import OperatorIpc
from pyrometer.explain.catalogue.machine.memory_latency_hash_table import RULE
from pyrometer.summary.schema import Summary


def probing(operator: str = "HashAggregate") -> World:
    world = job()
    samples(world, 0.5, operator=operator)
    return world


def counted(summary: Summary, **ipc: float) -> None:
    summary.hardware.operators = [
        OperatorIpc(operator=name, ipc=estimate(value, value - 0.02, value + 0.02),
                    cycles_count=1e9, samples_count=400)
        for name, value in ipc.items()
    ]  # fmt: skip


@pytest.mark.parametrize("operator", ["HashAggregate", "ShuffledHashJoin", "BroadcastHashJoin"])
def test_probes_that_run_at_a_quarter_of_the_others_rate(tmp_path: Path, operator: str) -> None:
    found = judged_with(
        tmp_path, probing(operator), RULE, lambda one: counted(one, **{operator: 0.4, "Scan": 1.6})
    ).findings
    # Half of the CPU of 4 s on two slots is the operator's; three quarters of its cycles are lost.
    assert found[0].shown
    assert holds(found[0], 4 * 0.8 * 0.5 * 0.75)
    assert found[0].place.operator == operator
    # A table that is broadcast is as large in more tasks.
    settings = [one.factor for one in found[0].remedies if one.factor]
    assert bool(settings) == (operator != "BroadcastHashJoin")


def test_near_miss_an_operator_without_a_hash_table(tmp_path: Path) -> None:
    slow_scan = judged_with(
        tmp_path, probing(), RULE, lambda one: counted(one, Scan=0.4, HashAggregate=1.6)
    )
    assert slow_scan.findings == []


def test_healthy_all_operators_run_alike(tmp_path: Path) -> None:
    alike = judged_with(
        tmp_path, probing(), RULE, lambda one: counted(one, Scan=1.6, HashAggregate=1.6)
    )
    assert alike.findings == []


def test_without_counters_it_is_not_judged(tmp_path: Path) -> None:
    assert [one.code for one in judged(job().write(tmp_path), RULE).unjudged] == [RULE.code]
