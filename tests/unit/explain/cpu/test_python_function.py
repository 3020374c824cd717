from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.explain.planted import holds, job, judged, only, waiting_for_workers, workers

from pyrometer.explain.catalogue.cpu.python_function import RULE


def test_the_function_takes_all(tmp_path: Path) -> None:
    world = waiting_for_workers()
    workers(world, function=6400)
    found = only(world.write(tmp_path), RULE)
    # The wait and its share of the CPU queue, nearly 90 % of 4 s; columns save 0.67 to 0.99.
    assert holds(found, 4 * 0.87 * 0.83)
    assert found.place.operator == "BatchEvalPython"
    assert found.place.source == "__main__.f"


def test_a_function_that_has_columns_already(tmp_path: Path) -> None:
    world = waiting_for_workers()
    workers(world, "ArrowEvalPython", function=6400)
    found = judged(world.write(tmp_path), RULE).findings
    assert not any(one.shown for one in found)


def test_healthy_twin(tmp_path: Path) -> None:
    world = waiting_for_workers()
    workers(world, serialisation=6400)
    assert judged(world.write(tmp_path / "exchange"), RULE).findings == []
    assert judged(job().write(tmp_path / "none"), RULE).findings == []


@pytest.mark.parametrize("scope", ["mapPartitions", "BatchEvalPython", "MapInArrow"])
def test_only_workers_that_ran_can_be_missed(tmp_path: Path, scope: str) -> None:
    world = waiting_for_workers()
    made = [{"id": 1, "name": "MapPartitionsRDD", "scope": {"id": "1", "name": scope}}]
    world.rows["stages"][0]["rdd_names"] = json.dumps(made, separators=(",", ":"))
    world.rows["samples"] = [row for row in world.rows["samples"] if row["source"] != "python"]
    unjudged = [one.missing for one in judged(world.write(tmp_path), RULE).unjudged]
    assert unjudged == ["no samples of Python workers"] * (scope != "mapPartitions")
