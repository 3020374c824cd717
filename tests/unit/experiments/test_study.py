"""Studies: files and what is wrong in them, quantities with intervals, runs that are made once."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext

import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.support import experiments
from tests.support.experiments import CALM, Machine, napping
from tests.support.experiments import HEAD as NAPS

from pyrometer.cli.main import run_verb
from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.record import new_manifest
from pyrometer.core.errors import UsageError
from pyrometer.core.schema import schema_folder
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.experiments.run.planned import checked
from pyrometer.experiments.studies import quantities, run
from pyrometer.experiments.studies.effects import compare_effect
from pyrometer.experiments.studies.experiments import run_experiments
from pyrometer.experiments.studies.judge import compare_table, compare_value
from pyrometer.experiments.studies.plan import (
    Effect,
    PublishedTable,
    Study,
    Value,
    known_studies,
    read_study,
)
from pyrometer.statistics.warmup import mean_estimate
from pyrometer.store.manifest import write_manifest

HEAD = "title: T\nsource: S\nmachine: M\n"
RUN = "runs: {warm: {workload: parquet-scan}}\n"


def value(ours, published=2.0, **more):
    return Value(what="w", place="p", published=published, ours=ours, **more)


@pytest.mark.parametrize("name", sorted(known_studies()))
def test_the_studies_that_come_along_can_be_read_and_meet_the_schema(name):
    study = read_study(name)
    assert study.values or study.effects
    for one in study.experiments.values():
        checked(known_studies()[name].parent / one.file)
    schema = json.loads((schema_folder() / "study.schema.json").read_text())
    # As an editor reads it: by YAML's own rules for what is a number.
    Draft202012Validator(schema).validate(yaml.safe_load(known_studies()[name].read_text()))


def test_the_published_schema_is_that_of_the_model():
    schema = json.loads((schema_folder() / "study.schema.json").read_text())
    assert schema == {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Study.model_json_schema(mode="validation"),
    }, "python tools/generate_file_schemas.py writes it"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "runs: {warm: {workloud: x}}\n", ":4:15: unknown key 'workloud'"),
        (HEAD + RUN + "valeus: []\n", ":5:1: unknown key 'valeus'"),
        (HEAD + "runs: {}\n", "a study has runs, experiments, or both"),
        (HEAD + "runs: {../x: {workload: y}}\n", ":4:8: '../x' is not the name of a run"),
        (
            HEAD + RUN + "values:\n  - {what: w, place: p, published: 1, ours: wram.io.x}\n",
            ":6:39: no run 'wram'",
        ),
        (
            HEAD + RUN + "values:\n  - {what: w, place: p, published: x, ours: warm.io.x}\n",
            ":6:25: values.0.published",
        ),
        (
            HEAD + RUN + "values:\n  - {what: w, place: p, published: 1, ours: warm.a + 2}\n",
            ":6:39: values.0.ours",
        ),
        (
            HEAD + RUN + "tables: [{title: t, run: warm, columns: [{name: n, ours: o}],"
            " rows: {q01: [1, 2]}}]\n",
            "2 cells in row q01, 1 columns",
        ),
        (
            HEAD + RUN + "tables: [{title: t, run: warm, columns: [{name: n, ours: o}],"
            " rows: {q01: [many]}}]\n",
            "'many' is not a value of unit ratio",
        ),
    ],
)
def test_what_is_wrong_in_a_study_has_its_place(tmp_path, text, message):
    path = tmp_path / "s.yaml"
    path.write_text(text)
    with pytest.raises(UsageError) as raised:
        read_study(str(path))
    assert message in raised.value.message
    assert raised.value.message.startswith(str(path))


def test_a_ratio_within_a_run_is_that_of_each_iteration():
    # Cost and base vary together: pairs show the ratio without that noise.
    found = quantities.ratio([2.0, 4.0, 8.0], [1.0, 2.0, 4.0], paired=True)
    assert found is not None
    assert (found.value, found.low, found.high, found.n) == (2.0, 2.0, 2.0, 3)


def test_a_ratio_between_runs_has_the_interval_of_log_means():
    a, b = [10.0, 11.0, 12.0, 11.0], [5.0, 5.5, 5.0]
    found = quantities.ratio(a, b, paired=False)
    assert found is not None
    assert found.low is not None
    assert found.high is not None
    assert found.value == pytest.approx(11 / (15.5 / 3))
    assert math.sqrt(found.low * found.high) == pytest.approx(found.value)
    # By hand: variances of the log means 0.001377 (df 3) and 0.001041 (df 2), Welch's df 4.98.
    assert math.log(found.high / found.value) == pytest.approx(0.1266, rel=0.02)


def test_one_observation_has_no_interval_and_nothing_is_divided_by_zero():
    found = quantities.ratio([6.0], [2.0, 4.0], paired=False)
    assert found is not None
    assert (found.value, found.low, found.high) == (2.0, None, None)
    assert quantities.ratio([1.0], [0.0], paired=True) is None
    assert quantities.ratio([1.0], [0.0], paired=False) is None


@pytest.mark.parametrize(
    ("published", "within", "agreed"),
    [(2.0, 0.01, True), (2.4, 0.1, False), (2.4, 0.25, True), ((1.0, 1.9), 0.1, True),
     ((1.0, 1.5), 0.1, False), (9.0, None, None)],
)  # fmt: skip
def test_a_value_agrees_where_it_lies_in_what_was_published(published, within, agreed):
    documents = {"a": {"cpu": {"ratio": 2.0}}}
    made = compare_value(value("a.cpu.ratio", published, within=within), documents)
    assert made.agrees is agreed


@pytest.mark.parametrize(
    ("published", "agreed"), [(-2.1, True), ((-2.5, -2.1), True), (-3.0, False)]
)
def test_a_value_below_zero_agrees_as_one_above_does(published, agreed):
    documents = {"a": {"cpu": {"ratio": -2.0}}}
    made = compare_value(value("a.cpu.ratio", published, within=0.1), documents)
    assert made.agrees is agreed


@pytest.mark.parametrize(
    ("published", "agreed"), [(2.0, True), (2.3, None), (1.7, None), (9.0, False), (0.2, False)]
)
def test_an_interval_that_lies_partly_in_what_agrees_tells_nothing(published, agreed):
    documents = {"a": {"iterations": [{"x_ns": x, "y_ns": 1e9} for x in (1.9e9, 2e9, 2.1e9)]}}
    path = "a.iterations.x_ns / a.iterations.y_ns"
    made = compare_value(value(path, published, within=0.2), documents)
    assert made.ours is not None
    assert (made.ours.low, made.ours.high) == (
        pytest.approx(1.76, abs=0.02),
        pytest.approx(2.26, abs=0.02),
    )
    assert made.agrees is agreed
    assert ("cannot tell" in (made.reason or "")) is (agreed is None)


def test_units_and_the_rest_to_one():
    documents = {"a": {"iterations": [{"x_ns": 6e9, "y_ns": 8e9}, {"x_ns": 6e9, "y_ns": 8e9}]}}
    made = compare_value(value("a.iterations.x_ns", unit="s"), documents)
    assert made.ours is not None
    assert made.ours.value == 6.0
    made = compare_value(value("1 - a.iterations.x_ns / a.iterations.y_ns"), documents)
    assert made.ours is not None
    assert made.ours.value == 0.25


@pytest.mark.parametrize(
    ("ours", "reason"),
    [
        ("b.x", "run b is missing"),
        ("a.cpu.none", "a.cpu.none: no none"),
        ("a.cpu.word", "a.cpu.word: not a number"),
        ("a.cpu.one / a.cpu.zero", "a.cpu.zero is zero"),
    ],
)
def test_a_value_that_cannot_be_had_says_why(ours, reason):
    made = compare_value(value(ours), {"a": {"cpu": {"word": "x", "one": 1, "zero": 0}}})
    assert (made.ours, made.agrees, made.reason) == (None, None, reason)


def test_bytes_that_spark_counted_too_little_are_no_value_and_say_why():
    document = {"iterations": [{"totals": {"input_bytes": n}} for n in (40, 42)]}
    value = Value(
        what="x", place="p", published=1, unit="bytes", ours="a.iterations.totals.input_bytes"
    )
    assert compare_value(value, {"a": document}).ours.value == 41
    told = {"code": "input_bytes_undercounted", "message": "Spark counts 41 B", "remedy": "Set y."}
    made = compare_value(value, {"a": document | {"doubts": [told]}})
    assert made.ours is None
    assert made.reason == "a.iterations.totals.input_bytes: Spark counts 41 B. Set y."


def test_columns_are_compared_as_shares_of_what_both_know():
    table = PublishedTable.model_validate(
        {
            "title": "Table I",
            "run": "a",
            "columns": [
                {"name": "time", "unit": "s", "ours": "t", "compare": "share", "within": 1.5},
                {"name": "heavy", "unit": "truth", "ours": "heavy", "compare": "equal"},
                {"name": "operators", "unit": "text", "ours": "operators"},
            ],
            "rows": {
                "q1": ["10", "true", "1load"],
                "q2": ["30", "false", "2load"],
                "q3": [None, "true", "x"],
                "q4": ["50", "true", "x"],
            },
        }
    )
    t = mean_estimate([1e9, 1e9]).model_dump()
    parts = [
        {"name": "q1", "t": t, "heavy": True, "operators": {"loads": 1, "unions": 0}},
        {"name": "q2", "t": t, "heavy": True, "operators": {"hash_joins": 2}},
        {"name": "q3", "t": t, "heavy": True, "operators": {}},
    ]
    made = {(one.what, one.row): one for one in compare_table(table, {"a": {"parts": parts}})}
    assert (made["time", "q1"].published_share, made["time", "q1"].share) == (0.25, 0.5)
    assert made["time", "q1"].agrees is False
    assert made["time", "q2"].agrees is True
    assert made["time", "q3"].agrees is None
    assert made["time", "q4"].reason == "not in our run"
    assert (made["heavy", "q1"].agrees, made["heavy", "q2"].agrees) == (True, False)
    assert made["operators", "q2"].ours_text == "2 hash joins"
    missing = compare_table(table, {})
    assert {one.reason for one in missing} == {"run is missing"}


def test_a_run_that_needs_something_of_the_user_is_left_out_and_says_what(tmp_path):
    study = read_study("flame-joins")
    made = {order.name: order for order in run.plan_runs(study, tmp_path, scale="test")}
    assert made["older"].trial is None
    assert "--set older.spark.home" in str(made["older"].reason)
    assert made["off"].trial is not None
    assert made["off"].trial.treatment == {"workload.codegen": "off"}
    given = run.plan_runs(
        study, tmp_path, only=("older",), levels={"older": {"spark.home": "/opt/spark"}}
    )
    assert given[0].trial is not None
    assert given[0].trial.treatment["spark.home"] == "/opt/spark"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["cpu-pots"], "unknown study 'cpu-pots'"),
        (["cpu-post", "--only", "wram"], "no run 'wram'"),
        (["cpu-post", "--set", "warm=1"], "not of the form"),
        (["cpu-post", "--set", "warm.jvm.heep=1g"], "run warm: unknown factor"),
        (["cpu-post", "--scale", "huge"], "huge"),
        (["jdks", "--scale", "huge"], "experiment jdks: "),
        (["cpu-post", "--blocks", "2"], "--blocks is for experiments"),
        (["none.yaml"], "cannot be read"),
    ],
)
def test_wrong_words_end_before_any_run(tmp_path, monkeypatch, capsys, words, message):
    monkeypatch.chdir(tmp_path)
    assert run_verb(["study", "run", *words]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_holds_something_is_not_written_to(tmp_path, capsys):
    (tmp_path / "x").touch()
    assert run_verb(["study", "run", "cpu-post", "-o", str(tmp_path)]) == 2
    assert "--resume" in capsys.readouterr().err


def test_a_finished_run_is_of_the_plan_whatever_limits_its_workload_brought(tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(HEAD + "runs: {a: {workload: truth-swap}, b: {workload: truth-swap}}\n")
    wanted = run.plan_runs(read_study(str(path)), tmp_path)
    for order, origin in zip(wanted, ("workload", "user"), strict=True):
        manifest = new_manifest(order.trial, this_host(), [], [])
        manifest.state, manifest.workload.scale = "finished", order.trial.scale
        manifest.treatment["cgroup.memory"] = 1 << 30
        manifest.treatment_origin["cgroup.memory"] = origin
        order.trial.run_dir.mkdir()
        write_manifest(order.trial.run_dir, manifest)
    with pytest.raises(UsageError, match="another treatment than run b"):
        run.run_study(
            "two", read_study(str(path)), wanted, tmp_path, resume=True, watch=lambda _: None
        )


def test_the_example_in_the_docs_is_a_study(tmp_path):
    page = schema_folder().parent / "docs" / "how-to" / "studies.md"
    path = tmp_path / "codecs.yaml"
    path.write_text(page.read_text().split("```yaml\n")[1].split("```")[0])
    study = read_study(str(path))
    made = run.plan_runs(study, tmp_path)
    assert [order.trial is not None for order in made] == [True, True]


@pytest.mark.slow
def test_an_experiment_of_a_study_is_run_resumed_and_set_beside(tmp_path, capsys):
    (tmp_path / "naps").mkdir()
    matrix = "matrix: {workload.time: [short, long], host.cpus: [1, 0-999]}\nblocks: 2\n"
    napping(tmp_path / "naps", NAPS + CALM + matrix)
    (tmp_path / "study.yaml").write_text(
        HEAD + "experiments: {naps: {file: naps/naps.yaml}}\neffects:\n"
        "  - {what: longer, place: p, published: [0.5, 1.5], experiment: naps,"
        " a: {workload.time: short, host.cpus: 1}, b: {workload.time: long, host.cpus: 1}}\n"
        "  - {what: shorter, place: p, published: -0.5, experiment: naps,"
        " a: {workload.time: long, host.cpus: 1}, b: {workload.time: short, host.cpus: 1}}\n"
        "  - {what: many, place: p, published: ~, experiment: naps,"
        " a: {workload.time: short, host.cpus: 1}, b: {workload.time: short, host.cpus: 0-999}}\n"
    )
    command = ["study", "run", str(tmp_path / "study.yaml"), "-o", str(tmp_path / "out"), "--json"]
    assert run_verb([*command, "--blocks", "3"]) == 0
    told = capsys.readouterr()
    found = json.loads(told.out.splitlines()[-1])
    (experiment,) = found["experiments"]
    assert experiment["done_count"] == experiment["trials_count"] == 6
    assert len(experiment["left_out"]) == 2
    longer, shorter, many = found["effects"]
    assert longer["ours"]["value"] > 0 > shorter["ours"]["value"]
    assert longer["ours"]["low"] < longer["ours"]["value"] < longer["ours"]["high"]
    assert shorter["ours"]["low"] < shorter["ours"]["value"] < shorter["ours"]["high"]
    assert (1 + longer["ours"]["value"]) * (1 + shorter["ours"]["value"]) == pytest.approx(1)
    assert "left out: " in many["reason"]
    assert many["agrees"] is None
    assert "left out" in told.err
    assert (tmp_path / "out" / "naps" / "report.html").is_file()
    journal = (tmp_path / "out" / "naps" / "journal.ndjson").read_bytes()
    assert run_verb([*command, "--resume"]) == 0
    assert (tmp_path / "out" / "naps" / "journal.ndjson").read_bytes() == journal
    capsys.readouterr()
    assert run_verb([*command, "--resume", "--blocks", "4"]) == 1
    (experiment,) = json.loads(capsys.readouterr().out.splitlines()[-1])["experiments"]
    assert "was planned with blocks 3, not 4: give another folder" in experiment["reason"]
    assert experiment["done_count"] == 6


def test_an_effect_finds_the_level_whatever_its_knob(tmp_path):
    knobs = {"a": "under@3g", "b": "over@2g"}
    plan = experiments.plan(knobs, 3, 1)
    for one in plan.treatments:
        one.levels = {"memory.condition": knobs[one.name]}
    begin(tmp_path / "out", plan)
    carry_out(tmp_path / "out", actions=Machine(1, 6).actions())
    report = experiment_report(plan, read_journal(tmp_path / "out"))

    def told(a, b):
        sides = {"a": {"memory.condition": a}, "b": {"memory.condition": b}}
        effect = Effect(what="w", place="p", published=0.1, experiment="sort", **sides)
        return compare_effect(effect, {"sort": report})

    assert told("under", "over").ours is not None
    assert told("under@3g", "over").ours is not None
    assert "no treatment has these levels" in told("und", "over").reason


def test_who_stops_a_run_stops_the_experiments(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(HEAD + "experiments: {naps: {file: naps.yaml}}\n")
    napping(tmp_path)
    made = run_experiments(
        read_study(str(path)),
        path,
        tmp_path / "out",
        stopped=True,
        screen=nullcontext,
        find_knobs=lambda file, folder: [],
    )
    assert [one.reason for one in made.facts] == ["not run: the study was interrupted"]
    assert not made.judged
    assert not (tmp_path / "out").exists()


def test_a_study_names_its_experiments(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(HEAD)
    with pytest.raises(UsageError, match="runs, experiments, or both"):
        read_study(str(path))
    effect = "{what: w, place: p, published: 1, experiment: snort, a: {}, b: {}}"
    path.write_text(HEAD + f"experiments: {{sort: {{file: x}}}}\neffects: [{effect}]\n")
    with pytest.raises(UsageError, match="no experiment 'snort'") as caught:
        read_study(str(path))
    assert "sort" in caught.value.remedy
