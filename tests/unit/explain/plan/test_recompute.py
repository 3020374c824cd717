"""Parts of plans that queries share and nobody keeps."""

from __future__ import annotations

from pathlib import Path

from tests.support.explain.explained import Job, saves

from pyrometer.explain.catalogue.plan.recompute_subtree import RULE

FILES = "Batched: true, Location: InMemoryFileIndex(1 paths)[file:/data/t], PartitionFilters: []"


def scan(columns: str = "a#1", files: str = FILES) -> str:
    return f"FileScan parquet [{columns}] {files}, ReadSchema: struct<>"


def run(
    *scans: str, rows: tuple[int, ...] = (), above: tuple[str, ...] = (), key: str = "k#3"
) -> Job:
    """Queries one after another, each a stage of four tasks of 1 s on four slots: scan, group."""
    job = Job()
    for number, text in enumerate(scans):
        given = rows[number] if rows else 1000
        start = job.now_ms
        stage = job.stage([1000] * 4, sql=number, name="count at reports.py:3")
        group = f"HashAggregate(keys=[{key}], functions=[partial_sum(a#{number})])"
        nodes = [
            *(("Filter", text) for text in above[number : number + 1]),
            ("HashAggregate", group), ("Scan parquet", text),
        ]  # fmt: skip
        job.query(start, job.now_ms, nodes)
        for node in range(len(nodes)):
            job.log.rows.setdefault("node_metrics", []).append(
                {"app_index": 0, "sql_id": number, "plan_version": 0, "node_id": node,
                 "metric": "number of output rows", "metric_type": "sum",
                 "accumulator_id": 10 * number + node, "stage_id": stage, "stage_attempt": 0,
                 "updates_count": 4, "value_sum": given}
            )  # fmt: skip
    return job


def test_three_queries_compute_the_same(tmp_path: Path) -> None:
    (found,) = run(scan("a#1"), scan("a#7"), scan("a#9")).found(tmp_path, RULE)
    # Two of three seconds, of which a cache saves 50 to 95 %.
    assert saves(found, 2000 * 0.7)
    assert found.place.stages_count == 2
    assert found.place.operator == "HashAggregate"
    assert "3 queries compute the same" in found.mechanism
    assert "2 repetitions took 8.00 s" in found.mechanism


def test_columns_that_spark_prunes_do_not_matter(tmp_path: Path) -> None:
    (found,) = run(scan("a#1"), scan("a#7, b#8")).found(tmp_path, RULE)
    assert saves(found, 1000 * 0.7)


def test_null_checks_do_not_matter_and_conditions_do(tmp_path: Path) -> None:
    checks = ("Filter isnotnull(k#3)", "Filter (isnotnull(k#3) AND isnotnull(a#7))")
    assert len(run(scan("a#1"), scan("a#7"), above=checks).all_found(tmp_path / "a", RULE)) == 1
    # What lies below a condition is shared, but without samples no part of the stage is its own.
    ends = ("Filter (k#3 > 3)", "Filter (k#3 > 4)")
    assert run(scan("a#1"), scan("a#7"), above=ends).all_found(tmp_path / "b", RULE) == []


def test_other_files_are_not_the_same(tmp_path: Path) -> None:
    other = scan(files=FILES.replace("/data/t", "/data/u"))
    assert run(scan(), other).all_found(tmp_path, RULE) == []


def test_other_rows_are_not_the_same(tmp_path: Path) -> None:
    assert run(scan("a#1"), scan("a#7"), rows=(1000, 2000)).all_found(tmp_path, RULE) == []


def test_a_scan_alone_is_no_work_to_keep(tmp_path: Path) -> None:
    job = run(scan("a#1"), scan("a#7"))
    for row in job.log.rows["plan_nodes"]:
        if row["name"] == "HashAggregate":
            row.update(name="Project", simple_string="Project [a#1]")
    assert job.all_found(tmp_path, RULE) == []


def test_what_is_read_from_a_cache_is_kept_already(tmp_path: Path) -> None:
    cached = "InMemoryTableScan [a#1]"
    assert run(cached, cached, cached).all_found(tmp_path, RULE) == []


def test_once_is_not_again(tmp_path: Path) -> None:
    assert run(scan()).all_found(tmp_path, RULE) == []
