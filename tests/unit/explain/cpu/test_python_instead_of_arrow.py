from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.planted import (
    holds,
    judged,
    only,
    settings,
    waiting_for_workers,
    workers,
)
from tests.support.tables import MS

from pyrometer.explain.catalogue.cpu.python_instead_of_arrow import RULE

SETTING = "spark.sql.execution.pythonUDF.arrow.enabled"


def test_workers_pickle(tmp_path: Path) -> None:
    world = waiting_for_workers()
    world.rows["apps"][0]["spark_version"] = "3.5.1"
    workers(world, serialisation=4800, function=1600)
    found = only(world.write(tmp_path), RULE)
    # Three quarters of the wait, 80 % of 4 s, and Arrow saves 0.3 to 0.9 of it.
    assert holds(found, 4 * 0.8 * 0.75 * 0.6)
    assert (found.place.operator, found.place.node_id, found.place.stage_id) == (
        "BatchEvalPython", 3, 0,
    )  # fmt: skip
    assert (found.remedies[0].factor, found.remedies[0].level) == (SETTING, "true")
    there, here = (one.estimate for one in found.evidence)
    assert there.n * 10 * MS == there.value  # a sample each 10 ms, those of the function left out
    assert here.low is None


@pytest.mark.parametrize(("version", "enabled"), [("4.2.0", None), ("3.5.1", "true")])
def test_where_arrow_is_on_the_function_refuses_it(
    tmp_path: Path, version: str, enabled: str | None
) -> None:
    world = waiting_for_workers()
    world.rows["apps"][0]["spark_version"] = version
    if enabled is not None:
        settings(world, spark__sql__execution__pythonUDF__arrow__enabled=enabled)
    workers(world, serialisation=4800, function=1600)
    found = only(world.write(tmp_path), RULE)
    assert found.place.setting is None
    assert not any(one.factor for one in found.remedies)
    assert "useArrow=False" in (found.remedies[0].before or "")


def test_the_example_pickles_rows() -> None:
    # Below the noise of one run alone, but there.
    (found,) = judged(Path("examples/slow-job"), RULE).findings
    assert (found.place.node_id, found.place.stage_id) == (13, 1)


def test_a_function_that_computes(tmp_path: Path) -> None:
    world = waiting_for_workers()
    workers(world, function=6400)
    assert judged(world.write(tmp_path), RULE).findings == []


def test_arrow_carries_the_rows_already(tmp_path: Path) -> None:
    world = waiting_for_workers()
    workers(world, "ArrowEvalPython", serialisation=4800)
    assert judged(world.write(tmp_path), RULE).findings == []
