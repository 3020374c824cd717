"""What is not the same on both sides: settings without secrets, versions, executors, plans."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.cli import inside
from tests.support.compared import Job

from pyrometer.accounts.plan_schema import Node, NodeMetric, Sql
from pyrometer.compare.plan_changes import plan_changes
from pyrometer.compare.runs import compare_runs
from pyrometer.compare.side_by_side import side_by_side
from pyrometer.compare.sides import Side
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary

Capture = pytest.CaptureFixture[str]
BASE = Job(conf={"spark.sql.shuffle.partitions": "200", "spark.app.id": "a-1"})
OTHER = Job(
    executors=2,
    conf={"spark.sql.shuffle.partitions": "8", "spark.app.id": "a-2", "spark.my.password": "k1!x"},
)


def of(job: Job, folder: Path) -> Summary:
    with Run.open(job.write(folder)) as run:
        return summary(run)


def test_settings_and_executors_that_differ_are_listed_and_no_others(tmp_path: Path) -> None:
    a, b = of(BASE, tmp_path / "a"), of(OTHER, tmp_path / "b")
    found = {one.name: one for one in side_by_side(Side("a", [a]), Side("b", [b]))}
    partitions = found["spark.sql.shuffle.partitions"]
    assert (partitions.of, partitions.a, partitions.b) == ("setting", "200", "8")
    assert (found["executors"].a, found["executors"].b) == ("4", "2")
    assert "spark.app.id" not in found
    assert "tasks" not in found
    assert "k1!x" not in json.dumps([one.model_dump() for one in found.values()])
    assert side_by_side(Side("a", [a]), Side("b", [a])) == []


def test_what_one_log_does_not_say_is_no_difference(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a, b = of(BASE, tmp_path / "a"), of(BASE, tmp_path / "b")
    a.apps[0].java_version = "17.0.9"
    sides = Side("a", [a]), Side("b", [b])
    b.apps[0].executor_memory = None
    assert [one.name for one in side_by_side(*sides)] == ["memory of an executor"]
    b.apps[0].settings = []
    assert side_by_side(*sides) == []
    known = {tmp_path / "a": a, tmp_path / "b": b}
    monkeypatch.setattr("pyrometer.compare.runs.summary_of", known.__getitem__)
    for given, told in (("ab", ["B"]), ("ba", ["A"]), ("bb", []), ("aa", [])):
        first, second = ([tmp_path / name] for name in given)
        found = compare_runs(first, second, margin=0.02).explanation.cannot_tell
        lines = [line for line in found if "settings" in line]
        assert lines == [
            f"{one} has no settings in its event log: none is compared" for one in told
        ]


def sql(*nodes: tuple[str, str], sql_id: int = 0) -> Sql:
    return Sql(
        app_index=0,
        sql_id=sql_id,
        description="show at q.py:3",
        duration_ns=10**9,
        plan_versions_count=1,
        nodes=[
            Node(node_id=n, depth=n, name=name, simple_string=text)
            for n, (name, text) in enumerate(nodes)
        ],
    )


def test_a_lost_pushdown_and_another_join_are_named_and_numbers_are_not(tmp_path: Path) -> None:
    one = of(BASE, tmp_path / "a")
    scan = "FileScan parquet [x#1] PushedFilters: {}, ReadSchema: struct<x:int>"
    before = sql(
        ("BroadcastHashJoin", "BroadcastHashJoin [x#1]"),
        ("Scan parquet", scan.format("[IsNotNull(x)]")),
    )
    renumbered = sql(
        ("BroadcastHashJoin", "BroadcastHashJoin [x#71]"),
        ("Scan parquet", scan.replace("#1", "#71").format("[IsNotNull(x)]")),
    )
    after = sql(
        ("SortMergeJoin", "SortMergeJoin [x#5]"),
        ("Sort", "Sort [x#5]"),
        ("Scan parquet", scan.format("[]")),
    )
    a, b, same = (
        Side("s", [one.model_copy(update={"sql": [it]})]) for it in (before, after, renumbered)
    )
    assert plan_changes(a, same) == []
    (change,) = plan_changes(a, b)
    assert {(node.a is None, node.b is None, node.operator) for node in change.nodes} == {
        (False, False, "SortMergeJoin"),
        (True, False, "Sort"),
        (False, False, "Scan parquet"),
    }


def test_a_side_that_reads_no_files_with_sql_reads_0(tmp_path: Path) -> None:
    rdd, empty = of(BASE, tmp_path / "a"), of(Job(stages=()), tmp_path / "b")
    scan = sql(("Scan parquet", "FileScan parquet [x#1]"))
    scan.nodes[0].metrics = [NodeMetric(metric="number of files read", value_sum=12)]
    reads, second = (
        rdd.model_copy(update={"sql": [one]})
        for one in (scan, sql(("BatchScan t", "BatchScan t[x#1]")))
    )
    for other, told in ((rdd, [("12", "0")]), (second, []), (empty, [])):
        found = side_by_side(Side("a", [reads]), Side("b", [other]))
        assert [(one.a, one.b) for one in found if one.name == "files read by SQL"] == told


def test_the_command_answers_first_and_has_the_whole_in_json(
    tmp_path: Path, capsys: Capture
) -> None:
    a = BASE.write(tmp_path / "a")
    slow = replace(BASE.stages[1], rows=8_000_000)
    b = replace(BASE, stages=(BASE.stages[0], slow, BASE.stages[2])).write(tmp_path / "b")
    done = inside(capsys, "compare", str(a), str(b), "--json")
    assert done.code == 0, done.stderr
    assert "reads 4.0 times the rows" in " ".join(done.stderr.split()[:30])
    data = json.loads(done.stdout)
    found = data["explanation"]
    assert found["causes"][0]["cause"] == "input"
    total = sum(one["seconds"] for one in found["causes"])
    assert total == pytest.approx(found["seconds"], abs=1e-6)
    assert found["seconds"] == pytest.approx(sum(d["seconds"] for d in data["differences"]))
    same = inside(capsys, "compare", str(a), str(a))
    assert "Nothing changed" in same.stdout
