"""Files of an experiment for other programs, ``--fail-if``, and what is refused before it runs."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from tests.support import experiments
from tests.support.experiments import Machine, napping

from pyrometer.cli.main import run_verb
from pyrometer.experiments.folder import ExperimentPaths, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.experiments.run.loop import begin, carry_out

RULE = ["--fail-if", "regression(wall) > 3%"]


def fine(planned):
    return Attempt("finished", 10.0 + planned.number / 10)


def planned(root, names="ab", **more):
    plan = experiments.plan(names, 3, 1).model_copy(update={"canaries": "none", **more})
    begin(root, plan)
    return root


def carried(root, how=fine, retry=False):
    """Carry an experiment out; how its trials end is simulated."""
    by_folder = {one.folder: one for one in read_plan(root).trials}
    actions = replace(
        Machine(1, 1).actions(),
        run_trial=lambda trial, watch: how(by_folder[trial.run_dir.name.partition(".")[0]]),
    )
    carry_out(root, actions=actions, retry=retry)
    return root


def first_fails(one):
    return Attempt("timeout", censored_s=60.0) if one.number == 1 else fine(one)


def test_trials_that_failed_are_left_out_of_the_comparison_of_the_file(tmp_path, capsys):
    root, table = carried(planned(tmp_path / "out"), first_fails), tmp_path / "t.csv"
    assert run_verb(["experiment", "show", str(root), "--csv", str(table)]) == 0
    capsys.readouterr()
    compare = ["compare", "--csv", str(table), "--value", "seconds"]
    assert run_verb([*compare, "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert sum(len(one["values"]) for one in found["treatments"]) == 5
    (told,) = (one["message"] for one in found["doubts"] if one["code"] == "trials_censored")
    name = read_plan(root).trials[0].treatment
    assert told == f"1 of 6 rows have no seconds and are left out ({name}: 1)"
    assert run_verb([*compare, "--suite", "block"]) == 0
    assert told in " ".join(capsys.readouterr().out.split())
    assert run_verb([*compare, "--suite", "block", "--json"]) == 0
    (doubted,) = json.loads(capsys.readouterr().out.splitlines()[-1])["doubts"]
    assert (doubted["code"], doubted["message"]) == ("trials_censored", told)


def test_a_file_without_any_time_is_an_error(tmp_path, capsys):
    table = tmp_path / "t.csv"
    table.write_text("treatment,value\na,\nb, \n")
    assert run_verb(["compare", "--csv", str(table)]) == 2
    assert "value is empty in every row" in " ".join(capsys.readouterr().err.split())


def test_a_trial_that_was_retried_stands_where_it_ran(tmp_path):
    root, table = carried(planned(tmp_path / "out"), first_fails), tmp_path / "t.csv"
    carried(root, retry=True)
    assert run_verb(["experiment", "show", str(root), "--csv", str(table)]) == 0
    numbers = [line.partition(",")[0] for line in table.read_text().splitlines()[1:]]
    assert numbers == ["2", "3", "4", "5", "6", "1"]
    report = experiment_report(read_plan(root), read_journal(root))
    of = {one.name: one.values for one in report.treatments}
    assert of[read_plan(root).trials[0].treatment][-1] == 10.1


def test_where_no_block_is_whole_nothing_can_be_compared_and_that_fails(tmp_path, capsys):
    fails = {"a": 1, "b": 2, "c": 3}

    def how(one):
        return Attempt("failed") if fails[one.treatment] == one.block else fine(one)

    root, file = carried(planned(tmp_path / "out", "abc"), how), tmp_path / "j.xml"
    command = ["experiment", "show", str(root), *RULE, "--junit", str(file), "--json"]
    assert run_verb(command) == 1
    told = capsys.readouterr()
    found = json.loads(told.out.splitlines()[-1])
    assert found["comparison"] is None
    assert found["fail_if"]["failed"] == ["a", "b", "c"]
    assert "nothing could be compared: no block has a finished trial of each" in told.err
    suite = ElementTree.parse(file).getroot()
    assert (suite.get("tests"), suite.get("errors")) == ("3", "3")


def test_junit_without_a_rule_is_refused_before_the_first_trial(tmp_path, capsys):
    root = tmp_path / "out"
    command = ["experiment", "run", str(napping(tmp_path)), "-o", str(root)]
    assert run_verb([*command, "--junit", str(tmp_path / "j.xml")]) == 2
    assert "--junit needs --fail-if" in capsys.readouterr().err
    assert not root.exists()


@pytest.mark.parametrize(
    ("more", "words", "said"),
    [
        ({"baseline": None}, RULE, "was planned without a baseline"),
        ({}, ["--junit", "j.xml"], "--junit needs --fail-if"),
        ({"kind": "corun"}, RULE, "is of workloads that run together"),
        ({"kind": "bisect"}, RULE, "is a bisection"),
        ({"kind": "bisect"}, ["--csv", "t.csv"], "is a bisection"),
    ],
)
def test_what_cannot_be_judged_in_the_end_is_not_resumed(tmp_path, capsys, more, words, said):
    root = planned(tmp_path / "out", **more)
    assert run_verb(["experiment", "resume", str(root), *words]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert said in told
    assert "without them" not in told
    assert not ExperimentPaths(root).journal.exists()


def test_without_a_baseline_a_control_is_named_when_all_has_run(tmp_path):
    root = carried(planned(tmp_path / "out", baseline=None))
    assert run_verb(["experiment", "show", str(root), *RULE]) == 2
    assert run_verb(["experiment", "show", str(root), "--control", "a", *RULE]) == 0
