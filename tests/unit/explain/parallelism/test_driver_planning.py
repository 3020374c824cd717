from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.parallelism.driver_planning import RULE


def _job(planned_ms: int) -> Job:
    job = Job()
    first = job.query(0, 2_600)
    job.stage([1_000] * 8, gap_ms=500, sql=first)
    second = job.query(2_600, 4_600 + planned_ms, [("Project", "Project")] * 40)
    job.stage([1_000] * 8, gap_ms=planned_ms + 100, sql=second)
    return job


def test_a_query_that_is_planned_for_six_seconds(tmp_path: Path) -> None:
    (found,) = _job(6_000).found(tmp_path, RULE)
    assert (found.place.layer, found.place.sql_id) == ("driver", 1)
    assert "40 operators" in found.mechanism
    assert saves(found, 5_000)


def test_the_first_query_of_a_jvm_loads_classes(tmp_path: Path) -> None:
    job = Job()
    job.stage([1_000] * 8, gap_ms=1_700, sql=job.query(0, 3_700))
    assert not job.found(tmp_path, RULE)


def _analysing(share: float, analyses: bool = True) -> Job:
    job = Job()
    job.stage([1_000] * 8, gap_ms=100, sql=job.query(0, 2_200))
    job.driver(2_200, 8_200, spark=share)
    job.now_ms = 8_200
    job.stage([1_000] * 8, gap_ms=100, sql=job.query(8_200, 10_400))
    if analyses:
        name = "org.apache.spark.sql.catalyst.analysis.Analyzer"
        job.log.rows["frames"].append(
            {"frame_id": 2, "class_name": name, "method": "execute", "kind": "c2"}
        )
        job.log.rows["stacks"][0]["frame_ids"] = [0, 1, 2]
    return job


def test_plans_are_analysed_again_between_queries(tmp_path: Path) -> None:
    # 6 s between two queries, 4.8 s of it in the analyser: all but half a second may go.
    (found,) = _analysing(0.8).found(tmp_path, RULE)
    assert found.place.layer == "driver"
    assert "the driver analysed plans for 4.80 s" in found.mechanism
    assert saves(found, 4_300)
    assert saves(found, 4_300 / 2)


def test_near_miss_what_spark_does_between_queries_is_no_analysis(tmp_path: Path) -> None:
    assert not _analysing(0.8, analyses=False).all_found(tmp_path, RULE)


def test_healthy_a_plan_that_is_analysed_once(tmp_path: Path) -> None:
    assert not _analysing(0.05).all_found(tmp_path, RULE)


def test_planning_as_usual(tmp_path: Path) -> None:
    assert not _job(600).found(tmp_path, RULE)


def test_a_driver_that_had_no_cpu_does_not_plan(tmp_path: Path) -> None:
    job = _job(6_000)
    job.driver(2_500, 8_600, spark=0.05, waited=0.9)
    assert not job.found(tmp_path, RULE)


SPARK = "org.apache.spark.sql"
ANALYSES = f"{SPARK}.catalyst.analysis.Analyzer.execute"


def _between(*frames: str) -> Job:
    """Let the driver be in some code for 4 of 5 s between two queries."""
    job = Job()
    job.stage([1_000] * 8, gap_ms=100, sql=job.query(0, 2_200))
    job.driver(0, 2_200, spark=0.1)
    job.through(2_300, 6_300, f"{SPARK}.SparkSession.sql", *frames)
    job.now_ms = 7_200
    job.stage([1_000] * 8, gap_ms=100, sql=job.query(7_200, 9_400))
    return job


def test_a_long_text_is_parsed(tmp_path: Path) -> None:
    frames = (f"{SPARK}.catalyst.parser.AbstractParser.parse", "org.antlr.v4.runtime.Lexer.next")
    (found,) = _between(*frames).found(tmp_path, RULE)
    assert "parsed SQL for 4.00 s of CPU" in found.mechanism
    assert "rows from a table" in found.remedies[0].text
    assert saves(found, 4_000)


def test_near_miss_files_that_are_listed_are_no_planning(tmp_path: Path) -> None:
    lists = f"{SPARK}.execution.datasources.InMemoryFileIndex.refresh0"
    assert not _between(ANALYSES, lists).all_found(tmp_path, RULE)


def test_files_that_are_listed_while_a_query_is_planned_are_no_planning(tmp_path: Path) -> None:
    job = _job(6_000)
    job.driver(0, 2_600, spark=0.1)
    job.through(2_700, 8_500, f"{SPARK}.execution.datasources.InMemoryFileIndex.refresh0")
    assert not job.found(tmp_path, RULE)
