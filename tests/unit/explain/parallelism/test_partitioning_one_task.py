from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.explained import Job, saves
from tests.support.explain.planned import node, operator, plan
from tests.support.explain.planted import judged_with
from tests.support.tables import StageSpec, World

from pyrometer.explain.catalogue.parallelism.partitioning_one_task import RULE

SINGLE = "Exchange SinglePartition, ENSURE_REQUIREMENTS, [plan_id=12]"


def test_one_task_for_four_slots(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000, 2_010] * 8)
    sql = job.query(8_000, 20_000, [("Coalesce", "Coalesce 1")])
    job.stage([10_000], sql=sql)
    (found,) = job.found(tmp_path, RULE)
    assert (found.place.stage_id, found.place.sql_id) == (1, sql)
    assert "coalesce(1)" in found.mechanism
    # Half of it is put together again: 10 s become 6.25 s; all of it divided: 2.5 s.
    assert saves(found, 3_750)
    assert saves(found, 7_500)


JDBC = "Scan JDBCRelation(people) [numPartitions={}] [a#1] PushedFilters: []"


@pytest.mark.parametrize(
    ("nodes", "said", "remedy"),
    [
        ((SINGLE, "Coalesce 16"), "an exchange to a single partition", "PARTITION BY"),
        ((SINGLE, JDBC.format(8)), "an exchange to a single partition", "PARTITION BY"),
        ((JDBC.format(1),), "a read over one connection", "partitionColumn"),
        # What ran in this stage comes before what may have, and not what ran in another.
        ((SINGLE + "@0@1", "Coalesce 1"), "an exchange to a single partition and coalesce(1)",
         "PARTITION BY"),
        ((SINGLE + "@0@1", JDBC.format(1) + "@0"), "an exchange to a single partition",
         "PARTITION BY"),
        # An exchange that the stage writes leaves the next one a single task.
        ((SINGLE + "@1@2", "Coalesce 1"), "coalesce(1)", "repartition(1)"),
    ],
)  # fmt: skip
def test_what_leaves_one_task(
    tmp_path: Path, nodes: tuple[str, ...], said: str, remedy: str
) -> None:
    job = Job()
    texts = [text.split("@") for text in nodes]
    sql = job.query(0, 20_000, [(text.split()[0], text) for text, *_ in texts])
    for node_id, (_, *stages) in enumerate(texts):
        for stage in stages:
            job.metric(sql, node_id, "number of output rows", 10)
            job.log.rows["node_metrics"][-1]["stage_id"] = int(stage)
    job.stage([2_000, 2_010] * 8, sql=sql)
    job.stage([10_000], sql=sql)
    job.stage([50], sql=sql)
    (found,) = job.found(tmp_path, RULE)
    assert found.mechanism.endswith(f"; its query has {said}.")
    assert remedy in found.remedies[0].text


def test_a_merge_of_few_rows(tmp_path: Path) -> None:
    job = Job()
    job.stage([2_000, 2_010] * 8)
    job.stage([50])
    assert not job.found(tmp_path, RULE)


def test_one_slot_alone_has_nobody_to_share_with(tmp_path: Path) -> None:
    job = Job(executors=1, cores=1)
    job.stage([10_000])
    assert not job.all_found(tmp_path, RULE)


def _most(folder: Path, text: str, below: str, seconds: float = 2.0) -> float:
    """Give the most that a stage of one task costs, in seconds; an exchange feeds it."""
    exchange = node(2, "Exchange", 1, [0, 1], shuffle_bytes_written=1 << 20)
    exchange.simple_string = text
    change: Any = plan(
        node(0, "HashAggregate", None, [1]), node(1, "Generate", 0, [1]), exchange,
        node(3, below, 2, [0]), node(4, "Scan parquet", 3, [0]),
        operators=(operator("Exchange", 2, seconds, stages=(0, 1)),),
    )  # fmt: skip
    world = World([StageSpec([500] * 8), StageSpec([4_000])])
    world.rows["stages"][1]["parent_ids"] = [0]
    (found,) = judged_with(folder, world, RULE, change).findings
    return (found.saving.elapsed_ns.high or 0.0) / 1e9


def test_rows_that_a_limit_brings_together_are_neither_written_nor_read(tmp_path: Path) -> None:
    most = _most(tmp_path, SINGLE, "LocalLimit")
    # Of 280 samples of either stage 100 are the exchange's, 0.286 of the time: of 2 s and of 4 s.
    exchange = 100 / 280 * 0.8
    assert most == pytest.approx(2 * exchange + 4 * exchange + 4 * (1 - exchange) / 2, rel=0.1)


def test_rows_that_are_asked_for_in_one_partition(tmp_path: Path) -> None:
    assert _most(tmp_path, "Exchange RoundRobinPartitioning(1)", "Project") > 2.8


def test_near_miss_a_window_over_all_rows_needs_an_exchange_still(tmp_path: Path) -> None:
    assert _most(tmp_path, SINGLE, "Filter") == pytest.approx(2.0, rel=0.1)


def test_near_miss_an_exchange_without_cpu(tmp_path: Path) -> None:
    assert _most(tmp_path, SINGLE, "LocalLimit", 0.0) == pytest.approx(2.0, rel=0.1)
