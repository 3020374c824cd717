"""A workload.yaml: what it may say, what becomes of it, and what is said of a mistake."""

from __future__ import annotations

import json
from unittest.mock import MagicMock

import jsonschema
import pytest
import yaml

from pyrometer.cli.measure.run import make_trial
from pyrometer.collect.launch import launch
from pyrometer.collect.launch.workload_command import result_of_command
from pyrometer.collect.probes.base import Needs
from pyrometer.core.errors import UsageError
from pyrometer.core.schema import schema_folder
from pyrometer.store.paths import RunPaths
from pyrometer.trial.trial import Trial
from pyrometer.workloads import registry
from pyrometer.workloads.custom.yaml import Unrepeated
from pyrometer.workloads.data_cache import DataCache
from pyrometer.workloads.launch import launch_spec
from pyrometer.workloads.values import IterationResult, PartResult, no_progress

COMMAND = """\
name: count-words
summary: Count words
command: [python, "{folder}/app.py", "{data.words}", "{mode}", "{run}/out"]
data:
  words: {path: words.txt}
conf: {spark.sql.shuffle.partitions: 4, spark.ui.enabled: false}
variants:
  mode:
    doc: How.
    default: fast
    levels:
      fast: {doc: the fast way}
      slow:
        doc: the slow way
        argv: [--slow, "$(touch x); {data.words}"]
        conf: {spark.sql.shuffle.partitions: 8}
        env: {WORDS: "{data.words}"}
verify: {rows: 2, output: "{run}/out"}
"""
SQL = """\
name: sales
summary: Add up sales
sql: sales.sql
parameters: {day: 2024-01-01}
data:
  sales: {path: words.txt, format: csv, options: {header: true}}
variants:
  codegen:
    doc: Whole-stage code.
    default: "on"
    levels:
      on: {doc: with}
      off: {doc: without, conf: {spark.sql.codegen.wholeStage: false}}
verify: {rows: 1, checksum: 0123456789abcdef}
"""


@pytest.fixture
def write(tmp_path):
    (tmp_path / "words.txt").write_text("a\nb\n")
    (tmp_path / "sales.sql").write_text("select 1 where :day = :day")

    def write(text):
        (tmp_path / "workload.yaml").write_text(text)
        return str(tmp_path)

    return write


def test_levels_give_words_settings_and_variables_and_nothing_is_read_by_a_shell(write, tmp_path):
    name = write(COMMAND)
    run = tmp_path / "run"
    plain = registry.get(name).command(registry.resolve(name, {}), run)
    words = str(tmp_path / "words.txt")
    assert plain.argv == ("python", f"{tmp_path}/app.py", words, f"{run}/out")
    assert plain.conf == {"spark.sql.shuffle.partitions": "4", "spark.ui.enabled": "false"}
    slow = registry.get(name).command(registry.resolve(name, {"mode": "slow"}), run)
    assert slow.argv[3:] == ("--slow", f"$(touch x); {words}", f"{run}/out")
    assert slow.conf["spark.sql.shuffle.partitions"] == "8"
    assert slow.env == {"WORDS": words}
    with pytest.raises(UsageError, match="no level 'slwo', did you mean 'slow'"):
        registry.resolve(name, {"mode": "slwo"})


@pytest.mark.parametrize(
    ("text", "code", "status", "error"),
    [
        ("a\nb\n", 0, "ok", None),
        ("a\n", 0, "wrong_result", "rows: expected 2, got 1"),
        (None, 0, "wrong_result", "No such file"),
        ("a\nb\n", 7, "failed", None),
    ],
)
def test_output_and_exit_code_are_judged(write, tmp_path, text, code, status, error):
    name = write(COMMAND)
    command = registry.get(name).command(registry.resolve(name, {}), tmp_path)
    if text is not None:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "part-0").write_text(text)
        (tmp_path / "out" / "_SUCCESS").write_text("not a row")
    judged = result_of_command(command, code)
    assert judged.status == status
    assert error is None or error in str(judged.error)


def test_what_sparks_readers_skip_holds_no_rows(write, tmp_path):
    name = write(COMMAND)
    command = registry.get(name).command(registry.resolve(name, {}), tmp_path)
    for path in (
        "_day=1/part-0", "_day=2/part-0", "_spark_metadata/0", "_delta_log/0.json",
        "_temporary/0/part-0", ".hive-staging/part-0",
    ):  # fmt: skip
        file = tmp_path / "out" / path
        file.parent.mkdir(parents=True)
        file.write_text("a line\n")
    assert result_of_command(command, 0).status == "ok"


def test_an_exit_code_other_than_0_can_be_the_right_one(write, tmp_path):
    name = write('name: a\nsummary: b\ncommand: ["false"]\nverify: {exit_code: 1}\n')
    command = registry.get(name).command(registry.resolve(name, {}), tmp_path)
    assert result_of_command(command, 1).status == "ok"
    assert "exit code: expected 1, got 0" in str(result_of_command(command, 0).error)


def test_a_command_is_one_iteration_and_its_folder_names_the_run(write, tmp_path):
    trial = make_trial([write(COMMAND)], False, ["mode=slow"], 3, "auto", "off", "default", None)
    assert (trial.iterations, trial.warmup, trial.label) == (1, 0, tmp_path.name)
    assert Trial(name="a/b/q.sql").label == "q"
    assert Trial(name="a/sales/workload.yaml").label == "sales"


def test_variables_of_a_level_stay_beside_what_instruments_the_job(write, tmp_path):
    name = write(
        "name: a\nsummary: b\ncommand: ['true', '{way}']\nvariants:\n"
        "  way: {doc: How., default: one, levels: {one: {doc: It., env: {\n"
        "    SPARK_SUBMIT_OPTS: '-Dmine=1', PYTHONPATH: mine, OTHER: here}}}}\n"
    )
    trial = make_trial([name], False, [], 1, "auto", "off", "default", None)
    needs = Needs(jvm_options=("-javaagent:ours.jar",), python_path=("ours",))
    env = launch.launch_of(trial, needs, RunPaths(tmp_path / "run"), no_progress).env
    assert env["SPARK_SUBMIT_OPTS"] == "-Dmine=1 -javaagent:ours.jar"
    assert (env["PYTHONPATH"], env["OTHER"]) == ("ours:mine", "here")


@pytest.mark.parametrize(
    "text",
    [
        "name: a\nsummary: b\ncommand: ['true', '{way}']\nvariants:\n"
        "  way: {doc: How., default: one, levels: {one: {doc: It., env: {\n"
        "    PYSPARK_SUBMIT_ARGS: --executor-memory 4g pyspark-shell}}}}\n",
        SQL + "conf: {spark.executor.memory: 4g}\n",
    ],
    ids=["command", "sql"],
)
def test_workers_have_room_for_the_executors_that_the_file_asks_for(write, tmp_path, text):
    paths = RunPaths(tmp_path / "run")
    paths.raw.mkdir(parents=True)

    def launched(*levels):
        levels = ["layout.executors=2", "layout.cores_per_executor=1", *levels]
        trial = make_trial([write(text)], False, levels, 1, "auto", "off", "default", None)
        return launch.launch_of(trial, Needs(), paths, no_progress)

    assert launched().agent["force.spark.master"] == "local-cluster[2,1,4096]"
    found = launched("layout.cluster=standalone")
    assert found.cluster.memory_mib == 4096
    assert found.agent["force.spark.executor.memory"] == "4g"
    found = launched("layout.cluster=standalone", "spark.executor.memory=3g")
    assert found.cluster.memory_mib == 3072
    assert found.agent["force.spark.executor.memory"] == "3g"


def test_sql_takes_tables_settings_parameters_and_the_right_result(write, tmp_path):
    name = write(SQL)
    (tmp_path / "raw").mkdir()
    made = launch_spec(
        name, {"codegen": "off", "sql.day": "2024-02-02"}, raw_dir=tmp_path / "raw", iterations=1
    )
    told = json.loads((tmp_path / "raw" / "workload.json").read_text())
    assert told["spark_conf"]["spark.sql.codegen.wholeStage"] == "false"
    facts = told["prepared"]["facts"]
    assert facts["statements"][0]["arguments"] == {"day": "2024-02-02"}
    assert facts["tables"] == {"sales": {"format": "csv", "options": {"header": "true"}}}
    assert [file["path"] for file in told["prepared"]["files"]] == ["words.txt"]
    workload = registry.get(name)
    parts = [PartResult("statement-1", 1, "")]

    def verdict(rows, checksum):
        result = IterationResult(rows, checksum, parts=parts)
        return workload.verify(result, made.prepared, made.workload)

    assert verdict(1, "0123456789abcdef") is None
    assert str(verdict(2, "0123456789abcdef")) == "rows: expected 1, got 2"
    assert verdict(1, "0" * 16).what == "checksum"
    other = write(SQL.replace("verify: {", "verify: {repeats: false, "))
    assert isinstance(registry.get(other), Unrepeated)


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("command:", "comand:", "3:1", "unknown key 'comand'"),
        ("argv:", "agrv:", "15:9", "unknown key 'agrv'"),
        ("{data.words}", "{data.word}", "3:38", "{data.word} means nothing"),
        ('"{mode}"', '"--m={mode}"', "3:54", "must be a word of its own"),
        ('"{mode}"', '"x"', "15:9", "no word of the command is {mode}"),
        ("default: fast", "default: quick", "10:5", "'quick' is not a level of mode"),
        ("rows: 2", "rows: two", "18:10", "verify.rows"),
        ("spark.ui.enabled", "sparkui", "6:41", "conf.sparkui"),
        (', output: "{run}/out"', "", "18:1", "rows and checksum of a command"),
        ("command:", "sql: x.sql\ncommand:", "1:1", "either command or sql"),
    ],
)
def test_a_mistake_is_shown_where_it_stands(write, old, new, place, message):
    assert old in COMMAND
    with pytest.raises(UsageError) as caught:
        registry.get(write(COMMAND.replace(old, new, 1)))
    assert message in caught.value.message
    assert f"workload.yaml:{place}: " in caught.value.message


def test_the_published_schema_knows_what_a_file_may_say():
    schema = json.loads((schema_folder() / "workload.schema.json").read_text())
    value = yaml.safe_load(COMMAND)
    jsonschema.validate(value, schema)
    with pytest.raises(jsonschema.ValidationError, match="comand"):
        jsonschema.validate({**value, "comand": []}, schema)


@pytest.mark.parametrize(
    ("kind", "read"), [("csv", r"g\[1\]{\,}2"), ("Parquet", r"g\[1\]{\,}2"), ("delta", "g[1],2")]
)
def test_a_path_is_a_pattern_only_to_formats_that_take_it_for_one(write, tmp_path, kind, read):
    (tmp_path / "g[1],2").mkdir()
    name = write(SQL.replace("words.txt, format: csv", f"'g[1],2', format: {kind}"))
    workload, spec, spark = registry.get(name), registry.resolve(name, {}), MagicMock()
    workload.setup(spark, workload.prepare(spec, DataCache(tmp_path)), spec)
    (load,) = [call for call in spark.mock_calls if call[0].endswith(".load")]
    assert load.args == (str(tmp_path / read),)


def test_missing_data_is_named(write, tmp_path):
    name = write(COMMAND.replace("words.txt", "none.txt"))
    with pytest.raises(UsageError, match=r"data words: there is no .*none\.txt"):
        registry.get(name).command(registry.resolve(name, {}), tmp_path)
