"""Studies whose experiments cannot be run, or whose files were edited since they were."""

from __future__ import annotations

import json
from contextlib import nullcontext

from tests.support.experiments import CALM, HEAD, Machine, napping

from pyrometer.cli.main import run_verb
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.studies.experiments import run_experiments
from pyrometer.experiments.studies.plan import read_study

STUDY = "title: T\nsource: S\nmachine: M\n"


def test_an_experiment_that_cannot_be_run_is_a_failure_beside_one_that_was(tmp_path, capsys):
    napping(tmp_path)
    never = tmp_path / "never.yaml"
    never.write_text(HEAD + CALM + "matrix: {host.cpus: [0-999]}\n")
    (tmp_path / "study.yaml").write_text(
        STUDY + "experiments: {naps: {file: naps.yaml}, never: {file: never.yaml}}\n"
    )
    command = ["study", "run", str(tmp_path / "study.yaml"), "-o", str(tmp_path / "out"), "--json"]
    assert run_verb([*command, "--blocks", "1"]) == 1
    naps, left = json.loads(capsys.readouterr().out.splitlines()[-1])["experiments"]
    assert (naps["done_count"], naps["reason"]) == (2, None)
    assert left["folder"] is None
    assert "no treatment can be run here" in left["reason"]


def gone_on_with(tmp_path, text):
    """A study with an experiment of that text: gives what runs it, and says why it did not."""
    path = tmp_path / "s.yaml"
    path.write_text(STUDY + "experiments: {naps: {file: naps.yaml}}\n")
    napping(tmp_path, text)
    machine = Machine(1, 2)

    def made(**levels):
        (fact,) = run_experiments(
            read_study(str(path)), path, tmp_path / "out", screen=nullcontext,
            find_knobs=lambda file, folder: [], actions=machine.actions(),
            levels={"naps": levels} if levels else None,
        ).facts  # fmt: skip
        return fact.reason

    return made


def test_what_this_host_can_honour_is_not_asked_again(tmp_path, monkeypatch):
    matrix = "matrix: {workload.time: [short, long], host.cpus: [1, 99999]}\n"
    text = HEAD + CALM + matrix + "baseline: {workload.time: short}\nblocks: 1\n"
    text += "constraints: [mem_total > 1m]\n"
    made = gone_on_with(tmp_path, text)
    assert made() is None
    # Else two treatments would have the levels of the baseline.
    assert made() is None
    less = {"mem_total": 0.0, "swap_total": 0.0, "cpus": 1.0, "numa_nodes": 1.0}
    monkeypatch.setattr("pyrometer.experiments.run.planned.host_facts", lambda: dict(less))
    assert made() is None
    assert len(read_journal(tmp_path / "out" / "naps").ended) == 2


def test_an_experiment_whose_file_was_edited_is_not_gone_on_with(tmp_path):
    text = HEAD + CALM + "matrix: {workload.time: [short, long]}\nblocks: 1\n"
    made = gone_on_with(tmp_path, text)
    assert made() is None
    assert made() is None
    for edited, what in (
        (text + "margin: 5%\n", "margin"),
        (text.replace("[short, long]", "[short]"), "set of treatments"),
        (text + "set: {spark.my.level: low}\n", "set of levels"),
        (text + "baseline: {workload.time: long}\n", "baseline"),
    ):
        napping(tmp_path, edited)
        assert f"was planned with another {what} than {tmp_path / 'naps.yaml'} now has" in made()
    napping(tmp_path, "description: Naps.\n" + text)
    assert made() is None
    assert len(read_journal(tmp_path / "out" / "naps").ended) == 2


def test_levels_of_the_command_line_are_not_taken_for_those_of_the_file(tmp_path):
    text = HEAD + CALM + "matrix: {workload.time: [short, long]}\nblocks: 1\n"
    made = gone_on_with(tmp_path, text)
    first = {"spark.my.level": "low"}
    assert made(**first) is None
    assert made(**first) is None
    same = f"was planned with another set of levels than {tmp_path / 'naps.yaml'} now has"
    for given, how in (
        ({}, "without --set"),
        ({"spark.my.level": "high"}, "with --set of spark.my.level"),
    ):
        why = made(**given)
        assert f"{same} {how}" in why
        assert "give --set as when it was planned, or another folder with -o" in why
