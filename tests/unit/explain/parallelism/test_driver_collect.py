from pathlib import Path

import pytest
from tests.support.explain.explained import Job, saves
from tests.support.explain.planned import node, plan
from tests.support.explain.planted import (
    holds,
    job,
    judged,
    judged_with,
    only,
    samples,
    stack,
)
from tests.support.tables import MS, World, wall

from pyrometer.explain.catalogue.parallelism.driver_collect import RULE


def _job(after_ms: int, size: int, serialised_ms: int) -> Job:
    job = Job()
    sql = job.query(0, 2_100 + after_ms)
    job.stage(
        [1_000] * 8,
        gap_ms=100,
        sql=sql,
        columns=lambda n: {
            "result_size_bytes": size,
            "result_serialization_time_ns": serialised_ms * MS,
        },
    )
    job.now_ms += after_ms
    return job


def test_results_that_the_driver_decodes_for_three_seconds(tmp_path: Path) -> None:
    (found,) = _job(3_000, 50_000_000, 400).found(tmp_path, RULE)
    assert (found.place.layer, found.place.stage_id) == ("driver", 0)
    # Two rounds of tasks, 0.4 s each, and what the driver did.
    assert saves(found, 3_000 + 800)


@pytest.mark.parametrize(("version", "is_said"), [("3.5.1", True), ("4.2.0", False)])
def test_arrow_is_not_advised_where_it_is_the_default(
    tmp_path: Path, version: str, is_said: bool
) -> None:
    job = _job(3_000, 50_000_000, 400)
    job.log.rows["apps"][0]["spark_version"] = version
    (found,) = job.found(tmp_path, RULE)
    assert any("arrow" in (one.factor or "") for one in found.remedies) == is_said


def _fetched(own_ms: int, size: int = 50_000_000) -> Job:
    """Give a job of eight tasks of a second; results are fetched for three after the last one."""
    job = Job()
    sql = job.query(0, 5_200)
    job.stage([1_000] * 8, gap_ms=100, sql=sql, columns=lambda _: {"result_size_bytes": size})
    for row in job.log.rows["tasks"]:
        row["getting_result_wall_ns"] = row["finish_wall_ns"]
        row["finish_wall_ns"] = wall(job.now_ms + 3_000)
    job.log.rows["stages"][-1]["complete_wall_ns"] = wall(job.now_ms + 3_000)
    job.log.rows["jobs"][-1]["end_wall_ns"] = wall(job.now_ms + 3_000)
    job.now_ms += 3_000 + own_ms
    return job


def test_results_are_fetched_while_other_tasks_have_the_slots(tmp_path: Path) -> None:
    # All but the last are fetched beside tasks: they cost what the driver needs after these.
    (found,) = _fetched(0).found(tmp_path, RULE)
    assert saves(found, 3_000)
    assert found.saving.elapsed_ns.high is not None
    assert found.saving.elapsed_ns.high < 3_300 * MS


def test_results_that_threads_fetch_at_the_same_time_count_once(tmp_path: Path) -> None:
    job = Job()
    for number, fetched_ms in enumerate((4_000, 5_000)):
        job.now_ms = 0
        job.stage([1_000] * 2, gap_ms=100, name="collect at app.py:7",
                  columns=lambda _: {"result_size_bytes": 50_000_000})  # fmt: skip
        for row in job.log.rows["tasks"][-2:]:
            row["getting_result_wall_ns"] = row["finish_wall_ns"]
            row["finish_wall_ns"] = wall(fetched_ms)
        job.log.rows["stages"][number]["complete_wall_ns"] = wall(fetched_ms)
        job.log.rows["jobs"][number]["end_wall_ns"] = wall(fetched_ms)
    job.now_ms = 5_000
    (found,) = job.found(tmp_path, RULE)
    assert saves(found, 3_900)


def test_near_miss_small_results_are_no_reason_to_fetch_for_long(tmp_path: Path) -> None:
    assert not _fetched(0, size=20_000).found(tmp_path, RULE)


@pytest.mark.parametrize(
    ("line", "is_sure"), [("collect at app.py:7", True), ("toPandas at app.py:7", False)]
)
def test_python_makes_an_object_of_each_row(tmp_path: Path, line: str, is_sure: bool) -> None:
    job = Job()
    sql = job.query(0, 2_100, [("Scan parquet ", "FileScan parquet [a#1]")])
    job.metric(sql, 0, "number of output rows", 1_000_000)
    job.stage([1_000] * 8, gap_ms=100, sql=sql, name=line,
              columns=lambda _: {"result_size_bytes": 1_000_000})  # fmt: skip
    job.now_ms += 2_000
    (found,) = job.all_found(tmp_path, RULE)
    # A million rows need a second at least; 8 MB may be decoded in 0.2 s.
    low = found.saving.elapsed_ns.low
    assert low is not None
    assert (low > 700 * MS) == is_sure
    assert saves(found, 1_100)


def test_a_pause_after_a_few_bytes_is_not_the_result(tmp_path: Path) -> None:
    assert not _job(3_000, 1_000, 0).found(tmp_path, RULE)


def test_small_results(tmp_path: Path) -> None:
    assert not _job(5, 1_000, 1).found(tmp_path, RULE)


def test_parts_that_a_line_fetches_one_after_another_are_one_finding(tmp_path: Path) -> None:
    job = Job()
    for _ in range(6):
        sql = job.query(job.now_ms, job.now_ms + 1_600)
        job.stage([500], gap_ms=100, sql=sql, name="toLocalIterator at report.py:9",
                  columns=lambda _: {"result_size_bytes": 20_000_000})  # fmt: skip
        job.now_ms += 1_000
    (found,) = job.found(tmp_path, RULE)
    assert "114 MiB of results went to the driver in 6 jobs of the line" in found.mechanism
    assert found.place.stages_count == 6
    assert saves(found, 6 * 800)


ARROW = "org.apache.spark.sql.execution.arrow.ArrowConverters$ArrowBatchIterator.next"
BYTES = "org.apache.spark.sql.execution.SparkPlan.$anonfun$getByteArrayRdd$1"
GENERATED = "org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIterator.processNext"


def _encoding(*frames: str, size: int = 20_000_000) -> World:
    """Give a world of eight tasks of a second, half of whose CPU is in a stack."""
    world = job()
    samples(world, 0.5, java_stack=stack(world, "a.Task.run", *frames))
    for row in world.rows["tasks"]:
        row["result_size_bytes"] = size
    return world


@pytest.mark.parametrize("frame", [ARROW, BYTES])
def test_tasks_that_encode_rows_for_the_driver(tmp_path: Path, frame: str) -> None:
    found = only(_encoding(frame).write(tmp_path), RULE)
    # Four rounds of tasks, of which 80 % go with the CPU: half of that.
    assert holds(found, 4 * 0.8 * 0.5)
    assert any("encoding" in one.what for one in found.evidence)


def test_what_makes_the_rows_is_not_encoding(tmp_path: Path) -> None:
    assert not judged(_encoding(ARROW, GENERATED).write(tmp_path), RULE).findings


def test_few_bytes_do_not_take_long_to_encode(tmp_path: Path) -> None:
    found = judged(_encoding(BYTES, size=20_000).write(tmp_path), RULE).findings
    assert not any(one.shown for one in found)


def test_rows_that_are_broadcast_are_not_the_programs(tmp_path: Path) -> None:
    change = plan(node(0, "BroadcastExchange", None, []), node(1, "Filter", 0, [0]))
    found = judged_with(tmp_path, _encoding(BYTES), RULE, change)
    assert not found.findings


@pytest.mark.parametrize(("given", "is_back"), [(80_000, True), (79_000, False)])
def test_rows_that_go_back_are_read_by_more_tasks(
    tmp_path: Path, given: int, is_back: bool
) -> None:
    job = Job()
    asked = job.query(0, 1_600, [("Scan parquet ", "FileScan parquet [a#1]")])
    job.metric(asked, 0, "number of output rows", 80_000)
    job.stage([1_000] * 4, gap_ms=100, sql=asked, columns=lambda _: {
        "result_size_bytes": 20_000_000, "result_serialization_time_ns": 400 * MS,
    })  # fmt: skip
    job.now_ms += 500
    again = job.query(job.now_ms, job.now_ms + 1_700, [("LocalTableScan", "LocalTableScan [a#1]")])
    job.metric(again, 0, "number of output rows", given)
    job.log.rows["node_metrics"][-1].update(stage_id=1, stage_attempt=0)
    job.stage([30] * 200, gap_ms=100, sql=again,
              columns=lambda _: {"executor_run_time_ns": 10 * MS})  # fmt: skip
    found = next(one for one in job.found(tmp_path, RULE) if one.place.stage_id == 0)
    assert ("went back to Spark, in 196 more tasks" in found.mechanism) == is_back
    # Beside their run time 196 tasks on 4 slots need 20 ms each.
    assert saves(found, 400 + 500 + (196 * 20 / 4 if is_back else 0))


LOADS = "pyspark.serializers.FramedSerializer.load_stream"
COLLECTS = "pyspark.sql.classic.dataframe.DataFrame.collect"
ASKS = "py4j.java_gateway.GatewayClient.send_command"


@pytest.mark.parametrize(
    ("frames", "is_sure"),
    [
        ((COLLECTS, LOADS, "pyspark.sql.types._create_row_inbound_converter"), True),
        (("pyspark.core.rdd.RDD.collectAsMap",), True),
        ((COLLECTS, ASKS), False),
        (("report.render",), False),
    ],
)
def test_a_program_in_python_takes_few_long_rows_in(
    tmp_path: Path, frames: tuple[str, ...], is_sure: bool
) -> None:
    job = Job()
    sql = job.query(0, 2_100, [("ObjectHashAggregate", "ObjectHashAggregate")])
    job.metric(sql, 0, "number of output rows", 60)
    job.stage([1_000] * 8, gap_ms=100, sql=sql, name="collect at app.py:7",
              columns=lambda _: {"result_size_bytes": 2_000_000})  # fmt: skip
    job.driver(0, 2_100, spark=0.1)
    job.through(2_200, 6_200, "__main__.main", *frames, python=True)
    job.now_ms = 7_200
    job.stage([1_000] * 8, name="count at app.py:9")
    found = next(one for one in job.all_found(tmp_path, RULE) if one.place.stage_id == 0)
    low = found.saving.elapsed_ns.low
    assert low is not None
    assert (low > 3_000 * MS) == is_sure
    assert saves(found, 4_500)


PICKLES = "org.apache.spark.api.python.SerDeUtil$AutoBatchedPickler.next"
WRITES = "org.apache.spark.api.python.PythonRDD$.writeIteratorToStream"


@pytest.mark.parametrize(
    ("frames", "is_encoding"), [((PICKLES,), True), ((WRITES, PICKLES), False)]
)
def test_tasks_that_pickle_rows_for_the_program(
    tmp_path: Path, frames: tuple[str, ...], is_encoding: bool
) -> None:
    findings = judged(_encoding(*frames).write(tmp_path), RULE).findings
    assert bool(findings) == is_encoding
