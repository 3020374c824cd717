from __future__ import annotations

from pathlib import Path

from tests.support.explain.planted import holds, job, judged, only, samples
from tests.support.tables import World

from pyrometer.explain.catalogue.machine.engine_fallback import RULE


def plan(*names: str) -> World:
    world = job()
    for row, name in zip(world.rows["plan_nodes"], names, strict=True):
        row.update(name=name, simple_string=name, codegen_stage_id=None)
    for node in range(3):
        world.add(
            "node_metrics", app_index=0, sql_id=0, plan_version=0, node_id=node, updates_count=8,
            metric="number of output rows", metric_type="sum", accumulator_id=90 + node,
            stage_id=0, stage_attempt=0, value_sum=8,
        )  # fmt: skip
    samples(world, 1.0, codegen_stage_id=None, operator=names[1], category=None)
    return world


def test_an_aggregate_beside_a_native_scan(tmp_path: Path) -> None:
    world = plan("GpuColumnarToRow", "HashAggregate", "GpuScan parquet ")
    found = only(world.write(tmp_path), RULE)
    assert holds(found, 4 * 0.8 * 0.5)
    assert (found.place.operator, found.place.node_id, found.place.stage_id) == (
        "HashAggregate", 1, 0,
    )  # fmt: skip


def test_a_conversion_at_the_end_is_none(tmp_path: Path) -> None:
    world = plan("GpuColumnarToRow", "GpuHashAggregate", "GpuScan parquet ")
    assert judged(world.write(tmp_path), RULE).findings == []


def test_healthy_twin(tmp_path: Path) -> None:
    world = plan("Project", "HashAggregate", "Scan parquet ")
    assert judged(world.write(tmp_path), RULE).findings == []
