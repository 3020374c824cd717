"""What failed: the application's own error stands first, in a line, with its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.cli import inside
from tests.support.tables import MS, StageSpec, World

from pyrometer.store.manifest import Exit, Host, Manifest, Workload, write_manifest

Capture = pytest.CaptureFixture[str]
UDF = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent \
call last):
  File "/jobs/q.py", line 7, in price
    raise ValueError("no price")
  File "/x/site-packages/lib.py", line 9, in inner
ValueError: no price for 77 password=hunter2 \x1b[31mred
 SQLSTATE: 38000"""
OLD = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: "
    "Lost task 0.0 in stage 1.0 (TID 3) (lab executor driver): java.lang.IllegalStateException: "
    "no room\n\tat Main.scala:4"
)
ANALYSIS = "[UNRESOLVED_COLUMN.WITH_SUGGESTION] A column `pricee` cannot be resolved.\n'Project"


def world(error: str | None, went_on: bool = False) -> World:
    made = World([StageSpec([400, 300]), StageSpec([200])])
    last = made.rows["stages"][-1]
    last |= {"status": "failed", "failure_reason": error, "name": "collect at /jobs/q.py:10"}
    query = made.rows["sql_executions"][0]
    query |= {"error": error, "description": "collect at /jobs/q.py:10"}
    if went_on:
        later = query["end_wall_ns"] + MS
        made.rows["sql_executions"].append(
            query | {"sql_id": 9, "error": None, "start_wall_ns": later, "end_wall_ns": later + MS}
        )
    return made


def failed(made: World, folder: Path, stdout: str | None = None) -> str:
    run = made.write(folder)
    write_manifest(
        run,
        Manifest(
            run_id="1", created_wall_ns=1, pyrometer_version="0", state="failed",
            exit=Exit(code=1), workload=Workload(command=["spark-submit", "q.py"]),
            profile="full", host=Host(hostname="lab", kernel="6", cpus_count=2),
        ),
    )  # fmt: skip
    if stdout is not None:
        (run / "raw").mkdir(exist_ok=True)
        (run / "raw" / "stdout").write_text(stdout)
    return str(run)


def screen(capsys: Capture, run: str) -> str:
    return " ".join(inside(capsys, "show", run).stdout.split())


def test_the_error_of_a_python_function_is_said_with_line_stage_and_query(
    tmp_path: Path, capsys: Capture
) -> None:
    run = failed(world(UDF), tmp_path / "run")
    shown = screen(capsys, run)
    assert (
        "Failed at q.py:7 in stage 1 of query 0 (collect at q.py:10): ValueError: no price for 77"
        in shown
    )
    assert "hunter2" not in shown
    assert "[31m" not in shown
    found = json.loads(inside(capsys, "show", run, "--json").stdout.splitlines()[-1])["failure"]
    assert (found["error"], found["line"], found["stage_id"]) == ("ValueError", "q.py:7", 1)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OLD, "(collect at q.py:10): IllegalStateException: no room."),
        (ANALYSIS, "UNRESOLVED_COLUMN.WITH_SUGGESTION: A column `pricee` cannot be resolved."),
        ("it broke\nand more", "(collect at q.py:10): it broke."),
    ],
)
def test_errors_of_the_jvm_are_said(tmp_path: Path, capsys: Capture, error: str, said: str) -> None:
    assert said in screen(capsys, failed(world(error), tmp_path / "run"))


def test_an_error_that_the_program_survived_is_not_called_the_cause(
    tmp_path: Path, capsys: Capture
) -> None:
    shown = screen(capsys, failed(world(UDF, went_on=True), tmp_path / "run"))
    assert "Failed with exit code 1: stage 1 of query 0 (collect at q.py:10) had failed" in shown
    assert "ValueError" not in shown


def test_where_nothing_is_known_this_is_said(tmp_path: Path, capsys: Capture) -> None:
    made = World([StageSpec([400, 300])])
    shown = screen(capsys, failed(made, tmp_path / "run"))
    assert "Failed with exit code 1: Spark's log has no failed query, job or stage;" in shown


def test_of_a_command_without_spark_no_log_is_spoken_of(tmp_path: Path, capsys: Capture) -> None:
    made = World([StageSpec([400])])
    made.rows = {name: [] for name in made.rows}
    shown = screen(capsys, failed(made, tmp_path / "run"))
    assert "Failed with exit code 1; the error is in what the command printed. No Spark" in shown


def test_output_that_was_kept_has_the_error_of_the_driver(tmp_path: Path, capsys: Capture) -> None:
    kept = (
        "Traceback (most recent call last):\n"
        '  File "/jobs/q.py", line 4, in <module>\n    df.select("pricee")\n'
        '  File "/v/site-packages/pyspark/sql/dataframe.py", line 9, in select\n'
        "pyspark.errors.exceptions.captured.AnalysisException: [UNRESOLVED] no `pricee`\n'Project\n"
    )
    shown = screen(capsys, failed(World([StageSpec([40])]), tmp_path / "run", kept))
    assert "Failed at q.py:4: AnalysisException: [UNRESOLVED] no `pricee`." in shown


def test_a_run_that_did_not_fail_has_no_failure(tmp_path: Path, capsys: Capture) -> None:
    run = World([StageSpec([40])]).write(tmp_path / "run")
    found = json.loads(inside(capsys, "show", str(run), "--json").stdout.splitlines()[-1])
    assert found["failure"] is None
