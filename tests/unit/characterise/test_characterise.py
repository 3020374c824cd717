"""Queries of a run told apart, on tables made by hand, and the verb over them."""

from __future__ import annotations

import csv
import json

import duckdb
import pytest

from pyrometer.characterise.features import features_by_query, plan_features, sql_features
from pyrometer.characterise.queries import characterise
from pyrometer.cli.main import run_verb
from pyrometer.core.errors import UsageError
from pyrometer.store import Run
from pyrometer.store.manifest import (
    ClockPair,
    Host,
    Manifest,
    Result,
    ResultPart,
    Workload,
    write_manifest,
)
from pyrometer.store.write_tables import write_rows

MS = 1_000_000


def node(number, parent, name, text=""):
    return {"node_id": number, "parent_node_id": parent, "name": name, "simple_string": text}


PLAN = [
    node(0, None, "TakeOrderedAndProject"),
    node(1, 0, "HashAggregate", "HashAggregate(keys=[a#1], functions=[sum(b#2)])"),
    node(2, 1, "Exchange"),
    node(3, 2, "HashAggregate", "HashAggregate(keys=[a#1], functions=[partial_sum(b#2)])"),
    node(4, 3, "SortMergeJoin", "SortMergeJoin [a#1], [c#3], LeftOuter"),
    node(5, 4, "Scan parquet "),
    node(6, 4, "HashAggregate", "HashAggregate(keys=[c#3], functions=[])"),
    node(7, 6, "Exchange"),
    node(8, 7, "HashAggregate", "HashAggregate(keys=[c#3], functions=[])"),
    node(9, 8, "BroadcastNestedLoopJoin", "BroadcastNestedLoopJoin BuildRight, LeftAnti"),
    node(10, 9, "Scan parquet "),
    node(11, 9, "Union"),
]


def test_the_operators_of_a_plan_are_counted_once():
    found = {name: count for name, count in plan_features(PLAN).items() if count}
    assert found == {
        "limits": 1,
        "aggregates": 2,
        "sort_merge_joins": 1,
        "outer_joins": 1,
        "nested_loop_joins": 1,
        "anti_joins": 1,
        "loads": 2,
        "unions": 1,
    }


@pytest.fixture
def suite(tmp_path):
    """Six iterations of two queries: q1 warm from the second on, q2 in two executions."""
    folder = tmp_path / "run" / "tables"
    folder.mkdir(parents=True)
    executions, jobs, stages, tasks, nodes = [], [], [], [], []
    q1 = [2000, 1000, 1010, 990, 1000, 1005]
    for iteration in range(6):
        for name, length, read in (
            ("q1", q1[iteration], 500),
            ("q2", 100, 10),
            ("q2", 200, 10),
        ):
            number = len(executions)
            start = number * 10_000 * MS
            executions.append(
                {
                    "app_index": 0,
                    "sql_id": number,
                    "description": name,
                    "start_wall_ns": start,
                    "end_wall_ns": start + length * MS,
                    "plan_versions_count": 1,
                }
            )
            jobs.append(
                {"app_index": 0, "job_id": number, "sql_id": number, "iteration": iteration}
            )
            for stage, status in ((2 * number, "succeeded"), (2 * number + 1, "skipped")):
                stages.append(
                    {
                        "app_index": 0,
                        "stage_id": stage,
                        "stage_attempt": 0,
                        "job_id": number,
                        "status": status,
                    }
                )
            for task in range(3):
                tasks.append(
                    {
                        "app_index": 0,
                        "stage_id": 2 * number,
                        "stage_attempt": 0,
                        "task_attempt_id": 3 * number + task,
                        "status": "success",
                        "input_bytes": read,
                        "shuffle_read_remote_bytes": 0,
                        "shuffle_read_local_bytes": 20,
                        "shuffle_written_bytes": 20,
                    }
                )
            nodes += [
                {"app_index": 0, "sql_id": number, "plan_version": 0, "is_final": True, **one}
                for one in PLAN
            ]
    for table, rows in {
        "sql_executions": executions,
        "jobs": jobs,
        "stages": stages,
        "tasks": tasks,
        "plan_nodes": nodes,
    }.items():
        write_rows(folder, table, rows)
    return folder.parent


def test_queries_are_told_apart_with_volumes_and_warm_up(suite):
    with Run.open(suite) as run:
        made = characterise(run)
    assert made.iterations_count == 6
    q1, q2 = made.parts
    assert (q1.name, q1.warmup, q1.warmup_iterations) == ("q1", "warm-up", 1)
    assert q1.times_ns[0] == 2000 * MS
    assert q1.elapsed_ns.value == pytest.approx(1001 * MS)
    assert q1.elapsed_ns.n == 5
    assert q1.elapsed_ns.low < q1.elapsed_ns.value < q1.elapsed_ns.high
    assert (q1.stages_count, q1.skipped_stages_count, q1.tasks_count) == (1, 1, 3)
    assert (q1.input_bytes, q1.shuffle_bytes, q1.shuffle_heavy) == (1500, 120, False)
    # Two executions of one name are one query: their sums, and from the first's start to the end.
    assert (q2.input_bytes, q2.shuffle_bytes, q2.shuffle_heavy) == (60, 240, True)
    assert q2.times_ns[0] == 10_200 * MS
    assert q2.operators["loads"] == 4
    assert q2.warmup == "flat"


def timed(folder, *iterations):
    """Write down when the runner began and ended q2 in each iteration (ms), and its errors."""
    results = [
        Result(
            iteration=number, status="ok",
            parts=[
                ResultPart(
                    name="q2", rows=0, checksum="0", started_mono_ns=begun * MS,
                    ended_mono_ns=ended * MS, error=error,
                )
                for begun, ended, error in runs
            ],
        )
        for number, runs in enumerate(iterations)
    ]  # fmt: skip
    manifest = Manifest(
        run_id="r", created_wall_ns=0, pyrometer_version="0", workload=Workload(), profile="off",
        host=Host(), results=results, clock_pairs=[ClockPair(mono_ns=0, wall_ns=0)],
    )  # fmt: skip
    write_manifest(folder, manifest)


def timed_twice(folder, iterations):
    """Write down that the runner timed q2 in two streams of each iteration."""
    timed(folder, *[[(0, 110, None), (0, 210, None)]] * iterations)


def test_a_query_of_several_streams_has_the_means_of_its_runs(suite):
    timed_twice(suite, 5)
    with Run.open(suite) as run:
        q1, q2 = characterise(run, []).parts
    # The sixth iteration never ended: how often the query ran in it is not known.
    assert q2.times_ns == [160 * MS] * 5
    assert q2.doubts == [
        "1 iterations never ended: not counted",
        "ran 2 times in an iteration: its numbers there are means",
    ]
    assert (q2.stages_count, q2.tasks_count, q2.operators["loads"]) == (1, 3, 2)
    assert (q2.input_bytes, q2.shuffle_bytes) == (30, 120)
    assert (len(q1.times_ns), q1.doubts) == (6, [])


def fail(folder, numbers):
    """Have Spark say that executions failed."""
    with Run.open(folder) as run:
        executions = run.tables.records("SELECT * FROM sql_executions ORDER BY sql_id")
    for number in numbers:
        executions[number]["error"] = "no"
    write_rows(folder / "tables", "sql_executions", executions)


def test_a_query_of_which_every_run_failed_is_said_so(suite, capsys):
    fail(suite, range(0, 18, 3))
    with Run.open(suite) as run:
        q1, q2 = characterise(run, []).parts
    assert (q1.name, q1.times_ns, q1.operators, q1.tasks_count) == ("q1", [], {}, None)
    assert (q1.doubts, q2.doubts) == (["6 runs failed: not counted"], [])
    fail(suite, range(18))
    assert run_verb(["workloads", "characterise", str(suite)]) == 0
    assert "6 runs failed: not counted: q1, q2" in capsys.readouterr().out


def test_a_failed_execution_without_a_name_has_its_number(tmp_path):
    folder = logged(tmp_path / "run", ["", "count at X.scala:12", ""])
    fail(folder, [1])
    with Run.open(folder) as run:
        parts = characterise(run, []).parts
    assert [(part.name, len(part.times_ns)) for part in parts] == [
        ("sql/1", 1), ("sql/2", 0), ("sql/3", 1),
    ]  # fmt: skip
    assert parts[1].doubts == ["1 run failed: not counted"]


@pytest.mark.parametrize(("error", "count"), [("no", 5), (None, 6)])
def test_a_run_of_several_failed_executions_failed_once_if_the_runner_says_so(suite, error, count):
    runs = [(30_000 * n + 10_000, 30_000 * n + 21_000, None) for n in range(5)]
    timed(suite, *([run] for run in [*runs, (160_000, 171_000, error)]))
    fail(suite, [16, 17])
    with Run.open(suite) as run:
        _, q2 = characterise(run, []).parts
    assert len(q2.times_ns) == count
    assert q2.doubts == ["1 run failed: not counted"][: 6 - count]


@pytest.mark.parametrize("told", [True, False])
def test_a_run_that_failed_in_one_of_two_streams_is_in_no_number(suite, told):
    # Executions 3 n + 1 and 3 n + 2 are those of iteration n; the last one fails.
    runs = [(10_000 * number, 10_000 * number + 200, None) for number in range(17)]
    runs.append((170_000, 170_200, "SparkException: no"))
    timed(suite, *(runs[3 * n + 1 : 3 * n + 3] for n in range(6)))
    if told:
        fail(suite, [17])
    with Run.open(suite) as run:
        q1, q2 = characterise(run, []).parts
    assert q2.times_ns == [200 * MS] * 6
    assert q2.doubts == [
        "1 run failed: not counted",
        "ran 2 times in an iteration: its numbers there are means",
    ]
    assert (q2.stages_count, q2.tasks_count, q2.operators["loads"]) == (1, 3, 2)
    assert (q2.input_bytes, q2.shuffle_bytes) == (30, 120)
    assert q1.doubts == []


def test_operators_of_streams_whose_plans_differ_are_those_of_one_plan(suite):
    timed_twice(suite, 6)
    first = [node(0, None, "SortMergeJoin"), node(1, 0, "Scan parquet ")]
    second = [node(0, None, "BroadcastHashJoin")]
    nodes = [
        {"app_index": 0, "sql_id": number, "plan_version": 0, "is_final": True, **one}
        for number in range(18)
        for one in (second if number % 3 == 2 else first)
    ]
    write_rows(suite / "tables", "plan_nodes", nodes)
    with Run.open(suite) as run:
        _, q2 = characterise(run, []).parts
    found = {name: count for name, count in q2.operators.items() if count}
    assert found == {"sort_merge_joins": 1, "loads": 1}


def test_a_stage_that_one_of_two_streams_skipped_is_counted(suite):
    timed_twice(suite, 6)
    # Stages 2 n and 2 n + 1 are those of execution n.
    status = dict.fromkeys(range(0, 36, 2), "succeeded")
    status |= dict.fromkeys(range(5, 36, 6), "skipped")
    stages = [
        {"app_index": 0, "stage_id": stage, "stage_attempt": 0, "job_id": stage // 2, "status": how}
        for stage, how in status.items()
    ]
    write_rows(suite / "tables", "stages", stages)
    with Run.open(suite) as run:
        q1, q2 = characterise(run, []).parts
    assert (q1.stages_count, q1.skipped_stages_count) == (1, 0)
    assert (q2.stages_count, q2.skipped_stages_count) == (1, 1)


def logged(folder, names):
    """Write what an event log has of executions of 100 ms, one a second: no iterations."""
    tables = folder / "tables"
    tables.mkdir(parents=True)
    numbers = range(len(names))
    executions = [
        {
            "app_index": 0,
            "sql_id": at,
            "description": names[at],
            "start_wall_ns": 1000 * at * MS,
            "end_wall_ns": (1000 * at + 100) * MS,
            "plan_versions_count": 1,
        }
        for at in numbers
    ]
    stage = {"app_index": 0, "stage_attempt": 0, "status": "succeeded"}
    write_rows(tables, "sql_executions", executions)
    write_rows(tables, "jobs", [{"app_index": 0, "job_id": at, "sql_id": at} for at in numbers])
    write_rows(tables, "stages", [{**stage, "stage_id": at, "job_id": at} for at in numbers])
    return folder


def test_a_query_that_comes_again_in_a_log_without_iterations_is_repeated(tmp_path):
    with Run.open(logged(tmp_path, ["q1", "q2"] * 3)) as run:
        made = characterise(run, [])
    assert made.iterations_count == 3
    assert {part.name: part.times_ns for part in made.parts} == {
        "q1": [100 * MS] * 3, "q2": [100 * MS] * 3,
    }  # fmt: skip
    assert not any("in a row" in doubt for part in made.parts for doubt in part.doubts)


def test_executions_in_a_row_in_a_log_without_iterations_are_doubted(tmp_path):
    with Run.open(logged(tmp_path, ["q1", "q1", "q2"])) as run:
        q1, q2 = characterise(run, []).parts
    assert (q1.times_ns, q2.times_ns) == ([1100 * MS], [100 * MS])
    assert "2 executions in a row count as one: the query may have been repeated" in q1.doubts
    assert not any("in a row" in doubt for doubt in q2.doubts)


def test_the_verb_prints_a_table_json_and_csv(suite, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    target = tmp_path / "out.csv"
    words = ["workloads", "characterise", str(suite), "--json", "--csv", str(target)]
    assert run_verb(words) == 0
    out = capsys.readouterr().out
    made = json.loads(out.splitlines()[-1])
    assert made["schema"] == "pyrometer/characterisation/1"
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["query"] for row in rows] == ["q1", "q2"]
    assert rows[0]["input_bytes"] == "1500"
    assert float(rows[0]["elapsed_ns"]) == made["parts"][0]["elapsed_ns"]["value"]


def test_a_run_without_sql_is_said_so(tmp_path):
    (tmp_path / "tables").mkdir()
    write_rows(tmp_path / "tables", "jobs", [])
    with Run.open(tmp_path) as run, pytest.raises(UsageError, match="no SQL execution"):
        characterise(run)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["parquet-scam"], "did you mean 'parquet-scan'?"),
        (["{run}", "--csv", "{run}/none/out.csv"], "no such folder"),
        (["{run}", "--iterations", "3"], "--iterations is for a workload to run"),
        (["{run}", "--set", "jvm.heap=1g"], "--set is for a workload to run"),
        (["{run}", "--scale", "test"], "--scale is for a workload to run"),
        (["{run}", "-o", "out"], "--output is for a workload to run"),
    ],
)
def test_bad_words_are_one_message(suite, capsys, words, message):
    assert run_verb(["workloads", "characterise", *(w.format(run=suite) for w in words)]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_the_text_of_a_query_is_counted():
    text = (
        "with r as (select a, sum(b) s from t group by a) select x.a, count(*) from r x"
        " join u on x.a=u.a left join v on v.a=u.a, w where exists (select 1 from z where z.a=x.a)"
        " and x.s > (select max(s) from r) group by 1 union all select 1, 2 order by 1"
    )
    tree = json.loads(duckdb.execute("SELECT json_serialize_sql(?)", [text]).fetchone()[0])
    assert sql_features(tree) == {
        "group_bys": 2,
        "joins": 3,
        "outer_joins": 1,
        "tables": 5,
        "unions": 1,
        "subqueries": 2,
    }


def test_texts_beside_the_data_and_times_of_the_runner_are_used(suite, tmp_path):
    with Run.open(suite) as run:
        before = characterise(run)
        name = before.parts[0].name
        assert before.parts[0].sql is None
        text = "select `a`, count(*) from t group by `a`"
        (tmp_path / "queries.json").write_text(json.dumps({name: {"sql": text}}))
        run.paths.raw.mkdir(exist_ok=True)
        (run.paths.raw / "workload.json").write_text(
            json.dumps({"prepared": {"root": str(tmp_path)}})
        )
        after = characterise(run)
    assert after.parts[0].sql == {
        "group_bys": 1, "joins": 0, "outer_joins": 0, "tables": 1, "unions": 0, "subqueries": 0,
    }  # fmt: skip
    assert all(part.sql is None for part in after.parts[1:])


def test_texts_of_a_sql_file_are_read_with_their_parameters(suite):
    statements = [
        {"text": "create or replace temporary view t as select 1", "arguments": {}},
        {"text": "select a::int from t join u on t.a = :n", "arguments": {"n": 1}},
    ]
    launched = {"prepared": {"root": "", "facts": {"statements": statements}}}
    with Run.open(suite) as run:
        run.paths.raw.mkdir(exist_ok=True)
        (run.paths.raw / "workload.json").write_text(json.dumps(launched))
        found = features_by_query(run)
    assert list(found) == ["statement-2"]
    assert (found["statement-2"]["joins"], found["statement-2"]["tables"]) == (1, 2)


def test_a_text_that_is_nested_too_deep_is_left_out(suite):
    statements = [{"text": "select " + " + ".join("a" * 200) + " from t"}, {"text": "select 1"}]
    launched = {"prepared": {"root": "", "facts": {"statements": statements}}}
    with Run.open(suite) as run:
        run.paths.raw.mkdir(exist_ok=True)
        (run.paths.raw / "workload.json").write_text(json.dumps(launched))
        assert list(features_by_query(run)) == ["statement-2"]


def test_a_sql_file_that_is_there_is_a_workload_to_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.sql").write_text("select :n")
    assert run_verb(["workloads", "characterise", "q.sql", "-o", "out"]) == 2
    assert "parameter :n has no value" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
