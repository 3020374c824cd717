from __future__ import annotations

from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.plan.recompute_subtree import RULE


def run(*texts: str, rows: tuple[int, ...] = ()) -> Job:
    """Queries one after another, each a stage of four tasks of 1 s on four slots."""
    job = Job()
    for number, text in enumerate(texts):
        read = rows[number] if rows else 1000
        start = job.now_ms
        columns = {
            "input_bytes": read * 10,
            "input_records_count": read,
            "shuffle_written_records_count": 5,
        }
        stage = job.stage([1000] * 4, sql=number, columns=lambda _, own=columns: dict(own))
        job.query(start, job.now_ms, [("Scan", text)])
        job.log.rows.setdefault("node_metrics", []).append(
            {"app_index": 0, "sql_id": number, "plan_version": 0, "node_id": 0,
             "metric": "number of output rows", "metric_type": "sum", "accumulator_id": number,
             "stage_id": stage, "stage_attempt": 0, "updates_count": 4, "value_sum": read}
        )  # fmt: skip
    return job


def test_three_queries_compute_the_same(tmp_path: Path) -> None:
    (found,) = run("Scan [a#1]", "Scan [a#7]", "Scan [a#9]").found(tmp_path, RULE)
    # Two of three seconds, of which a cache saves 50 to 95 %.
    assert saves(found, 2000 * 0.7)
    assert found.place.stages_count == 2


def test_other_columns_are_not_the_same(tmp_path: Path) -> None:
    assert run("Scan [a#1]", "Scan [b#7]", "Scan [c#9]").all_found(tmp_path, RULE) == []


def test_other_rows_are_not_the_same(tmp_path: Path) -> None:
    found = run("Scan [a#1]", "Scan [a#7]", rows=(1000, 2000)).all_found(tmp_path, RULE)
    assert found == []


def test_what_is_read_from_a_cache_is_kept_already(tmp_path: Path) -> None:
    cached = "InMemoryTableScan [a#1]"
    assert run(cached, cached, cached).all_found(tmp_path, RULE) == []


def test_once_is_not_again(tmp_path: Path) -> None:
    assert run("Scan [a#1]").all_found(tmp_path, RULE) == []
