"""Parts of plans that queries share and nobody keeps."""

from __future__ import annotations

from pathlib import Path

from tests.support.explain.explained import Job, saves
from tests.support.tables import MS

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
    assert "3 queries compute the same parts again" in found.mechanism
    assert "2 repetitions cost 8.00 s" in found.mechanism


def test_seven_inputs_that_are_read_again_count(tmp_path: Path) -> None:
    files = [scan(files=FILES.replace("/data/t", f"/data/t{number // 2}")) for number in range(14)]
    found = run(*files).found(tmp_path, RULE)
    assert sum(one.place.places_count for one in found) == 7


def test_columns_that_spark_prunes_do_not_matter(tmp_path: Path) -> None:
    (found,) = run(scan("a#1"), scan("a#7, b#8")).found(tmp_path, RULE)
    assert saves(found, 1000 * 0.7)


def dearer(first_ms: int, again_ms: int) -> Job:
    """The first query reads one column, the second more."""
    job = run(scan("a#1"), scan("a#7, b#8"))
    for row in job.log.rows["tasks"]:
        length = first_ms if row["stage_id"] == 0 else again_ms
        row["finish_wall_ns"] = row["launch_wall_ns"] + length * MS
    for row in (*job.log.rows["stages"], *job.log.rows["jobs"]):
        column = "complete_wall_ns" if "complete_wall_ns" in row else "end_wall_ns"
        row[column] -= (1000 - (first_ms, again_ms)[row["job_id"]]) * MS
    return job


def test_what_is_kept_takes_as_long_as_the_dearest(tmp_path: Path) -> None:
    # With the columns of both it takes a second: what the first took is saved, and no more.
    (found,) = dearer(300, 1000).found(tmp_path, RULE)
    assert saves(found, 300 * 0.7)
    assert not saves(found, 1000 * 0.7)
    assert "1 repetition cost 1.20 s" in found.mechanism


def test_a_dearer_first_one_is_what_is_kept(tmp_path: Path) -> None:
    (found,) = dearer(1000, 300).found(tmp_path, RULE)
    assert saves(found, 300 * 0.7)


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


def test_expressions_that_spark_names_alike_are_not_the_same(tmp_path: Path) -> None:
    def grouped(folder: Path, *by: str) -> int:
        job = run(*(scan() for _ in by), key="_groupingexpression#3")
        for number, expression in enumerate(by):
            for row in job.log.rows["plan_nodes"]:
                if row["sql_id"] == number and row["node_id"] == 1:
                    row.update(node_id=2, depth=2, parent_node_id=1)
            job.log.rows["plan_nodes"].append(
                {"app_index": 0, "sql_id": number, "plan_version": 0, "is_final": True,
                 "node_id": 1, "parent_node_id": 0, "depth": 1, "name": "Project",
                 "simple_string": f"Project [a#1, {expression} AS _groupingexpression#9]"}
            )  # fmt: skip
        return len(job.all_found(folder, RULE))

    assert grouped(tmp_path / "same", "hour(t#4)", "hour(t#5)") == 1
    assert grouped(tmp_path / "other", "hour(t#4)", "minute(t#5)") == 0


def test_what_an_exchange_gives_again_is_not_computed_again(tmp_path: Path) -> None:
    reused = "ReusedExchange [k#1], Exchange hashpartitioning(k#1, 8)"
    assert run(reused, reused).all_found(tmp_path, RULE) == []


def test_a_plan_deeper_than_pythons_stack_is_compared(tmp_path: Path) -> None:
    job = run(scan("a#1"), scan("a#7"))
    for number in range(2):
        for row in [one for one in job.log.rows["plan_nodes"] if one["sql_id"] == number]:
            row.update(node_id=row["node_id"] + 3000, parent_node_id=row["node_id"] + 2999)
        for row in job.log.rows["node_metrics"]:
            if row["sql_id"] == number:
                row["node_id"] += 3000
        for node in range(3000):
            job.log.rows["plan_nodes"].append(
                {"app_index": 0, "sql_id": number, "plan_version": 0, "is_final": True,
                 "node_id": node, "parent_node_id": node - 1 if node else None, "depth": node,
                 "name": "Project", "simple_string": "Project [a#1]"}
            )  # fmt: skip
    assert len(job.all_found(tmp_path, RULE)) == 1


def test_what_was_computed_before_counts_within_what_is_new_too(tmp_path: Path) -> None:
    # The second query goes on from the part of the first, and the third does all of that again:
    # without samples only its whole stage is its own.
    ends = ("Filter isnotnull(k#3)", "Filter (k#3 > 4)", "Filter (k#3 > 4)")
    (found,) = run(scan("a#1"), scan("a#7"), scan("a#9"), above=ends).all_found(tmp_path, RULE)
    assert "3 queries compute the same parts again" in found.mechanism
    assert "2 repetitions cost 4.00 s" in found.mechanism


def sorted_first(*above: str) -> Job:
    """One query groups by a hash table, one by sorting; maybe something takes rows in between."""
    job = run(scan("a#1"), scan("a#7"))
    rows = job.log.rows["plan_nodes"]
    group, read = (row for row in rows if row["sql_id"] == 1)
    text = "SortAggregate(key=[k#3], functions=[partial_max(name#4)])"
    group.update(name="SortAggregate", simple_string=text)
    between = (*above, "Sort [k#3 ASC NULLS FIRST], false, 0")
    read.update(node_id=1 + len(between), depth=1 + len(between), parent_node_id=len(between))
    for place, text in enumerate(between, 1):
        rows.append({**read, "node_id": place, "depth": place, "parent_node_id": place - 1,
                     "name": text.split(" ")[0], "simple_string": text})  # fmt: skip
    for row in job.log.rows["node_metrics"]:
        if row["sql_id"] == 1 and row["node_id"] == 1:
            row["node_id"] = read["node_id"]
    return job


def test_groups_that_are_found_by_sorting_are_the_same(tmp_path: Path) -> None:
    (found,) = sorted_first().found(tmp_path, RULE)
    assert saves(found, 1000 * 0.7)


def test_near_miss_the_order_decides_which_rows_are_grouped(tmp_path: Path) -> None:
    assert sorted_first("LocalLimit 1000").all_found(tmp_path, RULE) == []


SHARED = (
    (0, None, "CartesianProduct", "CartesianProduct", None),
    (1, 0, "HashAggregate", "HashAggregate(keys=[k#3], functions=[sum(a#1)])", 0),
    (2, 1, "BroadcastHashJoin", "BroadcastHashJoin [c#2], [c#4], Inner, BuildRight", 0),
    (3, 2, "Scan parquet", scan("a#1"), 0),
    (4, 2, "BroadcastExchange", "BroadcastExchange HashedRelationBroadcastMode", None),
    (5, 4, "Scan parquet", scan("c#4", FILES.replace("/t", "/rates")), 1),
    (6, 0, "HashAggregate", "HashAggregate(keys=[k#13], functions=[max(a#11)])", 2),
    (7, 6, "BroadcastHashJoin", "BroadcastHashJoin [c#12], [c#4], Inner, BuildRight", 2),
    (8, 7, "Scan parquet", scan("a#11"), 2),
    (9, 7, "ReusedExchange", "ReusedExchange [c#4], BroadcastExchange", None),
    (10, 9, "BroadcastExchange", "BroadcastExchange HashedRelationBroadcastMode", None),
    (11, 10, "Scan parquet", scan("c#4", FILES.replace("/t", "/rates")), 1),
)
"""A query with two branches: number, parent, name, text, and the stage with the node's rows."""


def branches() -> Job:
    """Run the query with two branches."""
    job = Job()
    for ms in (1000, 100, 1000):
        job.stage([ms] * 4, sql=0)
    job.query(0, job.now_ms)
    depth: dict[int | None, int] = {None: -1}
    for node, parent, name, text, stage in SHARED:
        depth[node] = depth[parent] + 1
        job.log.rows.setdefault("plan_nodes", []).append(
            {"app_index": 0, "sql_id": 0, "plan_version": 0, "is_final": True, "node_id": node,
             "parent_node_id": parent, "depth": depth[node],
             "name": name, "simple_string": text}
        )  # fmt: skip
        if stage is not None:
            job.log.rows.setdefault("node_metrics", []).append(
                {"app_index": 0, "sql_id": 0, "plan_version": 0, "node_id": node,
                 "metric": "number of output rows", "metric_type": "sum", "accumulator_id": node,
                 "stage_id": stage, "stage_attempt": 0, "updates_count": 4, "value_sum": 1000}
            )  # fmt: skip
    return job


def test_a_branch_that_reuses_only_the_small_side_computes_again(tmp_path: Path) -> None:
    (found,) = branches().found(tmp_path, RULE)
    # The stage of the reused side is not its own.
    assert found.place.stages_count == 1
    assert saves(found, 1000 * 0.7)


def test_near_miss_a_branch_that_reuses_all_of_its_inputs(tmp_path: Path) -> None:
    job = branches()
    for row in job.log.rows["plan_nodes"]:
        if row["node_id"] == 7:
            row.update(name="ReusedExchange", simple_string="ReusedExchange [k#3], Exchange")
    rows = job.log.rows["plan_nodes"]
    rows[:] = [row for row in rows if row["node_id"] not in (9, 10, 11)]
    assert job.all_found(tmp_path, RULE) == []


def test_near_miss_a_cache_with_a_name_is_read_twice(tmp_path: Path) -> None:
    job = run("Scan In-memory table kept [a#1]", "Scan In-memory table kept [a#7]")
    assert not job.all_found(tmp_path, RULE)
