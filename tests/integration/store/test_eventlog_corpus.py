"""Event logs of real applications: what the reader makes of them equals a straightforward count."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.support.eventlog.count import MAXIMA, METRICS, Count, count, plain_lines
from tests.support.eventlog.recorded import each_log, parts_of

from pyrometer import _core


def _table(out: Path, name: str) -> Any:
    return pq.read_table(out / f"{name}.parquet")


@pytest.mark.parametrize("log", each_log())
def test_a_recorded_log_is_counted_right(log: Path, tmp_path: Path) -> None:
    report = json.loads(_core.ingest_eventlogs([str(log)], str(tmp_path)))
    lines = [line for part in parts_of(log) for line in plain_lines(part.read_bytes())]
    naive = count(lines)
    stats = report["stats"]
    assert stats["lines_count"] - stats["blank_lines_count"] == naive.lines
    assert stats["events_count"] + stats["unreadable_lines_count"] == naive.lines
    assert stats["unreadable_lines_count"] == naive.bad_lines
    doubted = ("eventlog_line_unreadable", "eventlog_truncated")
    told = sum(d["count"] for d in report["doubts"] if d["code"] in doubted)
    assert told == stats["unreadable_lines_count"]
    _same_tasks(naive, _table(tmp_path, "tasks"))
    _same_stages(naive, tmp_path)
    _same_plans(naive, tmp_path)
    executors = {e["executor_id"] for e in _table(tmp_path, "executors").to_pylist()}
    assert executors >= naive.executors


def _same_tasks(naive: Count, tasks: Any) -> None:
    by_status = {
        row["status"]: row["count_all"]
        for row in tasks.group_by("status").aggregate([([], "count_all")]).to_pylist()
    }
    expected = dict(naive.tasks)
    if naive.never_ended:
        expected["running"] = naive.never_ended
    assert by_status == expected
    success = pc.equal(tasks["status"].cast("string"), "success")
    for group, rows in (
        ("success", tasks.filter(success)),
        ("other", tasks.filter(pc.invert(success))),
    ):
        for column in METRICS:
            figure = pc.max(rows[column]) if column in MAXIMA else pc.sum(rows[column])
            assert (figure.as_py() or 0) == naive.totals[group][column], (group, column)


def _same_stages(naive: Count, out: Path) -> None:
    stages = _table(out, "stages").to_pylist()
    done = [s for s in stages if s["status"] in ("succeeded", "failed")]
    assert {(s["stage_id"], s["stage_attempt"]) for s in done} >= set(naive.stages)
    spans = [
        (s["submit_wall_ns"], s["complete_wall_ns"])
        for s in done
        if s["submit_wall_ns"] and s["complete_wall_ns"]
    ]
    assert len(spans) == len(naive.stages)
    assert sum(end - start for start, end in spans) == naive.stage_duration_ns
    elapsed = max(e for _, e in spans) - min(s for s, _ in spans) if spans else None
    assert elapsed == naive.elapsed_ns
    assert len({(s["stage_id"], s["stage_attempt"]) for s in stages}) == len(stages)
    assert {j["job_id"] for j in _table(out, "jobs").to_pylist()} >= naive.jobs


def _same_plans(naive: Count, out: Path) -> None:
    executions = _table(out, "sql_executions").to_pylist()
    assert {e["sql_id"] for e in executions} == naive.sql
    nodes = _table(out, "plan_nodes").to_pylist()
    for execution in executions:
        sizes = naive.plans.get(execution["sql_id"], [])
        assert execution["plan_versions_count"] == len(sizes)
        of_sql = [n for n in nodes if n["sql_id"] == execution["sql_id"]]
        for version, size in enumerate(sizes):
            of_version = [n for n in of_sql if n["plan_version"] == version]
            assert [n["node_id"] for n in of_version] == list(range(size))
            assert {n["is_final"] for n in of_version} == {version == len(sizes) - 1}
            for node in of_version:
                parent = node["parent_node_id"]
                assert (parent is None) == (node["node_id"] == 0)
                assert parent is None or of_version[parent]["depth"] == node["depth"] - 1
    sums: dict[tuple[int, int], int] = {}
    seen = set()
    for row in _table(out, "node_metrics").to_pylist():
        # A reused exchange shows the same updates at a second node.
        key = (row["sql_id"], row["accumulator_id"], row["stage_id"], row["stage_attempt"])
        if key in seen:
            continue
        seen.add(key)
        sums[key[:2]] = sums.get(key[:2], 0) + row["value_sum"]
    assert sums == naive.sums
