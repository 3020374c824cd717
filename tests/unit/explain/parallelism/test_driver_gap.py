from pathlib import Path

from tests.support.explain.explained import Job, saves
from tests.support.tables import HOST, MS, mono

from pyrometer.explain.catalogue.parallelism.driver_gap import RULE


def _job(gap_ms: int) -> Job:
    job = Job()
    job.stage([1_000] * 8, name="count at a.py:3")
    job.stage([1_000] * 8, gap_ms=gap_ms, name="count at a.py:9")
    return job


def test_the_drivers_code_between_two_lines(tmp_path: Path) -> None:
    (found,) = _job(5_000).found(tmp_path, RULE)
    assert found.place.source == "between count at a.py:3 and count at a.py:9"
    assert saves(found, 4_500)


def test_a_query_that_is_being_planned_is_no_code_of_the_user(tmp_path: Path) -> None:
    job = Job()
    job.stage([1_000] * 8)
    sql = job.query(2_010, 9_010)
    job.stage([1_000] * 8, gap_ms=5_000, sql=sql)
    assert not job.found(tmp_path, RULE)


def test_jobs_one_upon_the_other(tmp_path: Path) -> None:
    assert not _job(100).found(tmp_path, RULE)


def _sampled(spark: float, waited: float) -> Job:
    job = _job(5_000)
    job.driver(0, 2_000, spark=0.5)
    job.driver(2_000, 7_000, spark, waited)
    return job


def test_of_a_sampled_driver_sparks_code_and_waits_for_a_cpu_are_left_out(tmp_path: Path) -> None:
    (found,) = _sampled(spark=0.2, waited=0.1).found(tmp_path, RULE)
    assert saves(found, 3_500)
    high = found.saving.elapsed_ns.high
    assert high is not None
    assert high < 4.2e9
    assert "1.00 s of it was CPU of Spark's own code, and 500 ms waits for a CPU" in found.mechanism


def _planning(task: int | None, host: str = HOST) -> Job:
    """Let a Python worker use a CPU for all of the pause but 100 ms."""
    job = _sampled(spark=0.05, waited=0.0)
    for number in range(490):
        job.log.rows["samples"].append(
            {"host": host, "pid": 9, "tid": 9, "clock": "mono", "unit": "ns", "source": "python",
             "role": "python", "thread_name": "Python worker", "event": "cpu", "weight": 10 * MS,
             "t_ns": mono(2_050 + 10 * number), "task_attempt_id": task, "stage_id": task}
        )  # fmt: skip
    return job


def test_workers_that_plan_a_source_in_python_are_no_code_of_the_user(tmp_path: Path) -> None:
    assert not _planning(task=None).all_found(tmp_path, RULE)


def test_near_miss_workers_of_tasks_do_not_plan(tmp_path: Path) -> None:
    (found,) = _planning(task=0).found(tmp_path, RULE)
    assert saves(found, 4_500)


def test_near_miss_workers_on_other_hosts_do_not_plan(tmp_path: Path) -> None:
    (found,) = _planning(task=None, host="elsewhere").found(tmp_path, RULE)
    assert saves(found, 4_500)


def test_a_driver_that_had_no_cpu_is_no_code_of_the_user(tmp_path: Path) -> None:
    assert not _sampled(spark=0.05, waited=0.9).all_found(tmp_path, RULE)


def test_a_driver_that_never_got_a_cpu_has_no_sample_and_is_no_code_of_the_user(
    tmp_path: Path,
) -> None:
    assert not _sampled(spark=0.0, waited=0.95).all_found(tmp_path, RULE)


def test_a_driver_that_analyses_queries_is_no_code_of_the_user(tmp_path: Path) -> None:
    assert not _sampled(spark=0.95, waited=0.0).all_found(tmp_path, RULE)


def test_a_log_does_not_blame_the_program_for_the_first_query(tmp_path: Path) -> None:
    """The JVM loads the classes of Spark SQL: two seconds were measured where nothing was wrong."""
    job = Job()
    job.stage([1_000] * 8, name="parquet at a.py:3")
    job.stage([1_000] * 8, gap_ms=2_400, name="save at a.py:9", sql=job.query(4_400, 6_500))
    assert not job.found(tmp_path, RULE)


SERIALIZER = "pyspark.serializers.FramedSerializer.load_stream"


def test_rows_that_a_program_in_python_takes_in_are_no_code_of_the_user(tmp_path: Path) -> None:
    job = _sampled(spark=0.05, waited=0.0)
    job.through(2_100, 6_900, "__main__.main", SERIALIZER, python=True)
    assert not job.all_found(tmp_path, RULE)


def test_near_miss_a_program_in_python_works_for_itself(tmp_path: Path) -> None:
    job = _sampled(spark=0.05, waited=0.0)
    job.through(2_100, 6_900, "__main__.main", "report.render", python=True)
    (found,) = job.found(tmp_path, RULE)
    assert saves(found, 4_700)


def test_a_thread_that_lists_files_is_no_code_of_the_user(tmp_path: Path) -> None:
    job = _sampled(spark=0.05, waited=0.0)
    job.through(2_100, 6_900, "org.apache.hadoop.fs.Globber.glob", tid=8, role="other")
    assert not job.all_found(tmp_path, RULE)
