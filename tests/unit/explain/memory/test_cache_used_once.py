"""A cache that one stage reads, by metrics of plans and lineages of stages."""

from __future__ import annotations

from pathlib import Path

from tests.support.explain.cached import PLAN, one_after_another, paused, rdds, read_plan
from tests.support.explain.explained import Job, saves
from tests.support.explain.planted import holds, judged, only, samples
from tests.support.tables import StageSpec, World

from pyrometer.explain.catalogue.memory.cache_used_once import RULE
from pyrometer.explain.findings import explain
from pyrometer.store import Run


def filled_and_read(*scans: str) -> Job:
    """A stage of 2 s fills a cache; each scan reads it in half a second."""
    job = Job()
    read_plan(job, [2000] * 4, range(4), scan=scans[0])
    for scan in scans[1:]:
        read_plan(job, [500] * 4, (), scan=scan)
    return job


def sampled(keeping: float, columns: str = "id#1L, h#2", others: int = 0) -> World:
    """Two stages of a query: one fills the cache, one reads it; maybe others do later."""
    specs = [StageSpec([1000] * 8), StageSpec([100] * 8), *[StageSpec([100] * 8)] * others]
    world = World(specs)
    texts = ("HashAggregate", f"InMemoryTableScan [{columns}]", PLAN, "Range (0, 8)")
    world.rows["plan_nodes"] = [
        {"app_index": 0, "sql_id": 0, "plan_version": 0, "is_final": True, "node_id": node,
         "parent_node_id": node - 1 if node else None, "depth": node, "name": text.split(" ")[0],
         "simple_string": text}
        for node, text in enumerate(texts)
    ]  # fmt: skip
    for node, stage in ((3, 0), (1, 1)):
        world.add(
            "node_metrics", app_index=0, sql_id=0, plan_version=0, node_id=node,
            metric="number of output rows", metric_type="sum", accumulator_id=10 + node,
            stage_id=stage, stage_attempt=0, updates_count=8, value_sum=8000,
        )  # fmt: skip
    for row in world.rows["stages"]:
        rdds(row, [1, 2, 100 + row["stage_id"]])
    one_after_another(world)
    samples(world, keeping, operator="InMemoryTableScan")
    return world


def test_the_cost_of_keeping_rows(tmp_path: Path) -> None:
    found = only(sampled(0.6).write(tmp_path), RULE)
    # 60 % of the CPU (and its queue, 80 % of 4 s in two slots).
    assert holds(found, 4 * 0.8 * 0.6)
    assert (found.place.sql_id, found.place.node_id, found.place.stage_id) == (0, 1, 0)
    assert found.evidence[1].estimate.low is None  # samples of the cache, and pauses
    assert found.remedies[0].after == "df"


def test_columns_that_nobody_reads_need_not_be_computed(tmp_path: Path) -> None:
    found = only(sampled(0.6, columns="id#1L").write(tmp_path), RULE)
    assert holds(found, 4 * 0.8 * 0.6)
    assert holds(found, 3.9)
    assert "Columns are kept that it does not read" in found.mechanism


def test_pauses_go_with_what_is_allocated(tmp_path: Path) -> None:
    world = sampled(0.5)
    paused(world, 100)
    with_pauses = only(world.write(tmp_path / "a"), RULE).saving.elapsed_ns.value or 0
    without = only(sampled(0.5).write(tmp_path / "b"), RULE).saving.elapsed_ns.value or 0
    # 100 ms of each of the 8 tasks that fill, half of it, in two slots; reading has some, too.
    assert 0.15e9 < with_pauses - without < 0.45e9


def test_an_rdd_of_the_cache_is_read_by_a_stage_without_a_plan(tmp_path: Path) -> None:
    assert judged(sampled(0.6, others=1).write(tmp_path), RULE).findings == []


def test_without_samples_a_part_of_the_stage_is_assumed(tmp_path: Path) -> None:
    (found,) = filled_and_read("InMemoryTableScan [id#1L, h#2]").found(tmp_path, RULE)
    assert saves(found, 2000 * 0.5)


def test_healthy_twin_a_second_query_reads(tmp_path: Path) -> None:
    scan = "InMemoryTableScan [id#1L, h#2]"
    assert filled_and_read(scan, scan).all_found(tmp_path, RULE) == []


def counted(job: Job, by: str = "CacheTableAsSelect", plan: str = PLAN) -> Job:
    """A statement counts the rows of the cache to fill it, in a query of its own."""
    sql = job.queries
    start = job.now_ms
    job.query(start, start, [(by, f"{by} kept, Range (0, 8)")])
    read_plan(job, [2000] * 4, range(4), scan="Scan In-memory table kept", plan=plan)
    job.log.rows["sql_executions"][-1]["root_sql_id"] = sql
    return job


def test_a_statement_fills_the_cache_and_one_query_reads_it(tmp_path: Path) -> None:
    job = counted(Job())
    read_plan(job, [500] * 4, (), scan="Scan In-memory table kept [id#11L, h#12]")
    (found,) = job.all_found(tmp_path, RULE)
    assert saves(found, 2000 * 0.5)
    assert found.remedies[0].after == "CREATE TEMPORARY VIEW name AS SELECT"


def test_near_miss_a_program_counts_rows(tmp_path: Path) -> None:
    job = counted(Job(), by="Project")
    read_plan(job, [500] * 4, (), scan="Scan In-memory table kept [id#11L, h#12]")
    assert job.all_found(tmp_path, RULE) == []


def test_healthy_twin_two_queries_read_what_a_statement_filled(tmp_path: Path) -> None:
    job = counted(Job())
    for _ in range(2):
        read_plan(job, [500] * 4, (), scan="Scan In-memory table kept [id#11L, h#12]")
    assert job.all_found(tmp_path, RULE) == []


def test_a_stage_that_only_counts_for_a_statement_goes_too(tmp_path: Path) -> None:
    job = Job()
    counted(job)
    fill = job.jobs - 1
    count = job.stage([1000] * 4, sql=1)
    rdds(job.log.rows["stages"][-1], [1, 2, 1000 + count])
    out = next(one for one in job.log.rows["node_metrics"] if one["node_id"] == 1)
    assert out["stage_id"] == fill
    out["stage_id"] = count
    read_plan(job, [500] * 4, (), scan="Scan In-memory table kept [id#11L, h#12]")
    (found,) = job.all_found(tmp_path, RULE)
    assert saves(found, 2000 * 0.5 + 1000)


def test_what_fills_a_cache_reads_the_cache_below_it(tmp_path: Path) -> None:
    job = counted(Job(), plan="Scan In-memory table base [id#1L, h#2]")
    read_plan(job, [500] * 4, (), scan="Scan In-memory table base [id#1L, h#2]")
    rows = job.log.rows["plan_nodes"]
    for row in rows:
        if row["sql_id"] == 1 and row["node_id"] == 2:
            row["name"] = "Scan In-memory table base"
    rows[-2]["simple_string"] = rows[-1]["simple_string"]
    assert job.all_found(tmp_path, RULE) == []


def test_a_stage_that_feeds_a_shuffle_below_the_cache(tmp_path: Path) -> None:
    job = Job()
    fed = job.stage([100] * 4, sql=0)
    rdds(job.log.rows["stages"][-1], [500, 501])
    read_plan(job, [2000] * 4, range(4))
    job.log.rows["node_metrics"].append(
        {**job.log.rows["node_metrics"][-1], "stage_id": fed, "accumulator_id": 77}
    )
    (found,) = job.all_found(tmp_path, RULE)
    assert saves(found, 2000 * 0.5)


def test_a_plan_that_grew_in_a_loop(tmp_path: Path) -> None:
    """It is deeper than Python's stack."""
    job = Job()
    read_plan(job, [2000] * 4, range(4))
    nodes = job.log.rows["plan_nodes"]
    nodes += [{**nodes[3], "node_id": n, "parent_node_id": n - 1, "depth": n}
              for n in range(4, 2000)]  # fmt: skip
    assert len(job.all_found(tmp_path, RULE)) == 1


def test_another_set_of_columns_is_the_same_cache(tmp_path: Path) -> None:
    job = filled_and_read("InMemoryTableScan [id#1L]", "InMemoryTableScan [h#2]")
    assert job.all_found(tmp_path, RULE) == []


def test_an_application_that_goes_on_may_read_later(tmp_path: Path) -> None:
    job = filled_and_read("InMemoryTableScan [id#1L]")
    job.log.rows["apps"][0]["end_wall_ns"] = None
    with Run.open(job.log.write(tmp_path)) as run:
        assert explain(run, rules=[RULE]).findings == []
