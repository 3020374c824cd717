"""Waits for swap and for the kernel to free memory."""

from pathlib import Path

import pytest
from tests.support.explain.causes import holds, shown
from tests.support.explain.planted import judged
from tests.support.hosts.two_hosts import WEST, one_waits
from tests.support.tables import HOST, MS, PID, StageSpec, World, mono

from pyrometer.explain.catalogue.memory.heap_reclaim import RULE as RECLAIM
from pyrometer.explain.catalogue.memory.heap_swap import RULE as SWAP
from pyrometer.explain.rule import Rule

CASES = [(SWAP, "swap_in"), (RECLAIM, "reclaim")]


def world_of(wait_class: str) -> World:
    """Eight tasks of 1 s on two slots: 20 % of their time they wait for something."""
    world = World([StageSpec([1000] * 8)])
    for row in world.rows["samples"]:
        if row.get("wait_class"):
            row["wait_class"] = wait_class
    return world


@pytest.mark.parametrize(("rule", "wait_class"), CASES)
def test_its_waits_are_found(tmp_path: Path, rule: Rule, wait_class: str) -> None:
    (finding,) = shown(world_of(wait_class).write(tmp_path), rule)
    assert holds(finding, 0.2 * 4 * 0.8)
    assert finding.place.stage_id == 0


@pytest.mark.parametrize(
    ("rule", "wait_class", "kind"), [(*CASES[0], "swapin"), (*CASES[1], "freepages")]
)
def test_delay_accounting_is_evidence_beside_samples(
    tmp_path: Path, rule: Rule, wait_class: str, kind: str
) -> None:
    world = world_of(wait_class)
    span = world.rows["spans"][0]
    for tid, at, waited in (
        (None, span["start_mono_ns"], 0),
        (None, mono(world.end_ms), 300),
        (span["tid"], span["start_mono_ns"], 0),
        (span["tid"], span["end_mono_ns"], 300),
    ):
        world.add("delays", host=HOST, t_mono_ns=at, pid=PID, tid=tid, kind=kind, count=waited,
                  total_ns=waited * MS)  # fmt: skip
    (finding,) = shown(world.write(tmp_path), rule)
    sampled, counted = finding.evidence
    assert (sampled.table, counted.table, counted.estimate.value) == ("samples", "delays", 300 * MS)


@pytest.mark.parametrize(("rule", "wait_class"), CASES)
def test_one_host_of_two_waits(tmp_path: Path, rule: Rule, wait_class: str) -> None:
    (finding,) = shown(one_waits(wait_class).write(tmp_path), rule)
    assert holds(finding, 0.2 * 1.6 * 0.8)
    assert (finding.place.host, finding.place.stage_id) == (WEST, 0)
    assert finding.mechanism.endswith(f"All of it was on {WEST}.")


@pytest.mark.parametrize(("rule", "wait_class"), CASES)
def test_waits_for_something_else(tmp_path: Path, rule: Rule, wait_class: str) -> None:
    assert not judged(world_of("lock").write(tmp_path), rule).findings


@pytest.mark.parametrize(("rule", "wait_class"), CASES)
def test_tasks_that_do_not_wait(tmp_path: Path, rule: Rule, wait_class: str) -> None:
    world = World([StageSpec([1000] * 8)], on_cpu=0.9)
    assert not judged(world.write(tmp_path), rule).findings
