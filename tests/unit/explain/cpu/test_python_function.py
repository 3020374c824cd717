from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.explain.planted import holds, job, judged, only, waiting_for_workers, workers
from tests.support.tables import MS

from pyrometer.explain.catalogue.cpu.python_function import RULE


def test_the_function_takes_all(tmp_path: Path) -> None:
    world = waiting_for_workers()
    workers(world, function=6400)
    found = only(world.write(tmp_path), RULE)
    # The wait and its share of the CPU queue, nearly 90 % of 4 s; columns save 0.67 to 0.99.
    assert holds(found, 4 * 0.87 * 0.83)
    assert found.place.operator == "BatchEvalPython"
    assert found.place.source == "__main__.f"


def test_functions_of_rdds_have_their_own_names(tmp_path: Path) -> None:
    world = waiting_for_workers(stages=2)
    world.rows["stages"][1]["parent_ids"] = [0]
    for stage, name in enumerate(("first", "second")):
        workers(world, "RDD Python", serialisation=200, function=3000 + 1000 * stage)
        world.rows["frames"][-1]["method"] = name
        world.rows["stages"][stage]["name"] = f"collect at app.py:{stage}"
        task = next(row for row in world.rows["tasks"] if row["stage_id"] == stage)
        for row in world.rows["samples"]:
            if row["source"] == "python" and row["node_id"] is not None:
                row.update(stage_id=stage, task_attempt_id=task["task_attempt_id"], sql_id=None,
                           node_id=None)  # fmt: skip
    del world.rows["plan_nodes"]
    found = judged(world.write(tmp_path), RULE).findings
    assert {(one.place.stage_id, one.place.source) for one in found} == {
        (0, "__main__.first"), (1, "__main__.second"),
    }  # fmt: skip
    for one in found:
        spent = one.evidence[0].estimate
        assert spent.n * 10 * MS == spent.value


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
