"""Columns that a scan reads and nothing uses: between a fifth of their share and all there is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.explain.planned import plan
from tests.support.explain.planted import holds, job, judged_with
from tests.support.explain.scans import above, scan

from pyrometer.accounts.plan_schema import Node, Sql
from pyrometer.explain.catalogue.data.scan_columns_unused import RULE
from pyrometer.explain.schema import Finding
from pyrometer.summary.schema import Summary

COLUMNS = "id#0L, a#1, b#2, c#3"
SCHEMA = "id:bigint,a:string,b:string,c:string"
CACHE = above(0, "InMemoryTableScan", None, "[id#0L]")


def read(parent: int, **parts: Any) -> Node:
    known: dict[str, Any] = {"columns": COLUMNS, "schema": SCHEMA, "scan_time": 6000}
    return scan(9, parent, **{**known, **parts})


def found(folder: Path, *nodes: Node, then: tuple[Node, ...] = ()) -> list[Finding]:
    def change(summary: Summary) -> None:
        plan(*nodes)(summary)
        if then:
            later = Sql(app_index=0, sql_id=1, plan_versions_count=1, nodes=list(then))
            summary.sql = [*summary.sql, later]

    return list(judged_with(folder, job(), RULE, change).findings)


def test_one_of_four_cached_columns_is_used(tmp_path: Path) -> None:
    # 8 s of tasks on two slots, 6 s of them in the scan: three quarters by number.
    (one,) = found(tmp_path, CACHE, read(0))
    assert one.shown
    assert holds(one, 6 / 2 * 0.75)
    assert not holds(one, 0)
    assert (one.place.node_id, one.place.operator) == (9, "Scan parquet")
    assert "3 of 4 columns" in one.mechanism


def test_a_cache_with_a_name_is_one_as_well(tmp_path: Path) -> None:
    (one,) = found(tmp_path, above(0, "Scan In-memory table t", None, "[id#0L]"), read(0))
    assert "3 of 4 columns that the scan reads (a, b, c) no query takes" in one.mechanism


def test_a_projection_above_a_source_that_prunes_nothing(tmp_path: Path) -> None:
    nodes = [
        above(0, "Project", None, "[a#1]"),
        above(1, "Filter", 0, "(b#2 = 3)"),
    ]
    (one,) = found(tmp_path, *nodes, read(1))
    assert "2 of 4 columns that the scan reads (id, c)" in one.mechanism


def test_near_miss_another_query_takes_the_rest_from_the_cache(tmp_path: Path) -> None:
    other = replace(CACHE, simple_string="InMemoryTableScan [a#11, b#12, c#13]")
    assert not found(tmp_path, CACHE, read(0), then=(other, read(0)))


def test_near_miss_a_cached_value_is_computed_of_them(tmp_path: Path) -> None:
    nodes = [
        above(0, "InMemoryTableScan", None, "[x#5]"),
        above(1, "Project", 0, "[concat(a#1, b#2, c#3, cast(id#0L as string)) AS x#5]"),
    ]
    assert not found(tmp_path, *nodes, read(1))


def test_near_miss_all_columns_are_the_result(tmp_path: Path) -> None:
    assert not found(tmp_path, above(0, "Filter", None, "(id#0L = 3)"), read(0))


def test_what_an_unknown_operator_uses_is_not_known(tmp_path: Path) -> None:
    nodes = [above(0, "Project", None, "[id#0L]"), above(1, "MapElements", 0, "f")]
    assert not found(tmp_path, *nodes, read(1))


def test_a_text_that_is_cut_is_left_out(tmp_path: Path) -> None:
    assert not found(tmp_path, CACHE, read(0, schema="id:bigint,a:str..."))
    cut = replace(CACHE, simple_string="InMemoryTableScan [id#0L, ... 3 more fields]")
    assert not found(tmp_path / "cut", cut, read(0))


def test_unread_files_cost_nothing(tmp_path: Path) -> None:
    assert not found(tmp_path, CACHE, read(0, scan_time=0))


def test_healthy_twin(tmp_path: Path) -> None:
    cache = replace(CACHE, simple_string="InMemoryTableScan [id#0L, a#1]")
    assert not found(tmp_path, cache, read(0, columns="id#0L, a#1", schema="id:bigint,a:string"))
