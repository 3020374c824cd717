"""``pyrometer scale``: an experiment over one factor, from its file to the curve that is told."""

from __future__ import annotations

import json
import os
from itertools import pairwise

import pytest
import yaml
from tests.support import experiments

from pyrometer.cli.compare.experiment import show_plan
from pyrometer.cli.main import run_verb
from pyrometer.cli.shared.experiment_file import begin_written
from pyrometer.experiments.folder import read_plan
from pyrometer.experiments.judge.files import kept_curve, outdated
from pyrometer.experiments.plan.source import read_source
from pyrometer.experiments.run.loop import begin
from pyrometer.scaling.plan import default_levels, scaling_file


def told(capsys, *arguments):
    """Run the verb: its JSON, and its text."""
    assert run_verb(["scale", *map(str, arguments), "--json"]) == 0
    done = capsys.readouterr()
    return json.loads(done.out.splitlines()[-1]), done.err


def refused(capsys, *arguments):
    assert run_verb(["scale", *map(str, arguments)]) == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.fixture
def naps(tmp_path, monkeypatch):
    """Give a folder with a workload that sleeps, as long on one CPU as on two."""
    monkeypatch.chdir(tmp_path)
    experiments.napping(tmp_path)
    return tmp_path


def test_its_file_is_its_owners_alone_as_levels_may_be_secrets(tmp_path, capsys):
    secret = {"spark.my.password": "plum"}
    text = scaling_file("parquet-scan", "layout.tasks", ["1", "2"], secret, scale="test")
    before = os.umask(0)
    try:
        plan = begin_written(tmp_path / "curve", text, dry=True)
    finally:
        os.umask(before)
    show_plan(plan, [], as_json=False)
    said = capsys.readouterr()
    assert "plum" not in said.out + said.err
    file = tmp_path / "curve.yaml"
    assert "plum" in file.read_text()
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_a_curve_is_an_experiment_that_can_be_told_again(naps, capsys):
    report, text = told(
        capsys, naps / "workload.yaml", "--over", "host.cpus", "--levels", "1,2", "--blocks", 1,
        "--profile", "off", "--seed", 1, "-o", naps / "curve", "--predict", 4, "--guard", "flag",
    )  # fmt: skip
    assert (report["factor"], report["done_count"], report["trials_count"]) == ("host.cpus", 2, 2)
    assert [one["level"] for one in report["levels"]] == [1, 2]
    assert all(one["elapsed_s"]["n"] == 1 for one in report["levels"])
    laws = {one["name"]: one["reason"] for one in report["fit"]["laws"]}
    assert laws["amdahl"] is None
    assert laws["usl"] == "3 levels are needed, there are 2"
    assert set(report["missing"]) >= {"cpu_time_s", "ipc", "memory_bytes_per_s"}
    assert "2 of 2 trials" in text
    source = read_source(naps / "curve.yaml")
    assert source.experiment.matrix.factors == {"host.cpus": ["1", "2"]}
    assert read_plan(naps / "curve").baseline == "host.cpus=1"
    assert kept_curve(naps / "curve") == report
    assert str(naps / "curve" / "report.html") in text
    again, _ = told(capsys, naps / "curve", "--predict", 4)
    assert again == report
    message = refused(capsys, naps / "workload.yaml", "-o", naps / "curve")
    assert "is not an empty folder" in message


@pytest.mark.slow
def test_a_factor_without_workers_is_told_without_laws(naps, capsys):
    report, _ = told(
        capsys, naps / "workload.yaml", "--over", "jvm.heap", "--levels", "1g,512m",
        "--blocks", 1, "--profile", "off", "-o", naps / "heap", "--guard", "flag",
    )  # fmt: skip
    assert report["fit"] is None
    assert report["reason"] == "jvm.heap counts no workers: laws of scaling do not speak of it"
    assert [one["name"] for one in report["levels"]] == ["512m", "1g"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--over", "jvm.heap"], "jvm.heap: which levels?"),
        (["--over", "jvm.gc", "--levels", "g1,z"], "jvm.gc=g1: not a number"),
        (["--over", "layout.taks"], "unknown factor 'layout.taks'"),
        (["--over", "spark.executor.instances"], "how many has the cluster?"),
        (["--levels", "2,2"], "a curve needs at least two levels"),
        (["--levels", "2,x"], "not a number of slots"),
        (["--levels", "1,2", "--dense"], "--dense is for levels by the number of CPUs"),
        (["--over", "spark.executor.instances", "--dense"], "no effect over spark.executor.inst"),
        (["--set", "jvm.heap"], "is not of the form factor=level"),
        (["--predict", "-1"], "--predict -1: -1 must be above zero"),
    ],
)
def test_mistakes_are_refused_before_anything_runs(naps, capsys, options, message):
    assert message in refused(capsys, naps / "workload.yaml", *options)
    assert not (naps / "pyrometer-runs").exists()


def test_the_file_of_a_curve_that_cannot_be_planned_does_not_stay(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    told = refused(capsys, "parquet-scam")
    assert "unknown workload 'parquet-scam'" in told
    assert ".yaml" not in told, "a file that is not kept is no place to look at"
    assert list(tmp_path.rglob("*.yaml")) == []


def test_an_experiment_with_two_factors_is_no_curve(tmp_path, capsys):
    plan = experiments.plan(["a", "b"], 1, 0)
    for at, one in enumerate(plan.treatments):
        one.varied = {"host.cpus": str(at + 1), "jvm.heap": "1g"}
    begin(tmp_path / "two", plan)
    assert "varies 2 factors: host.cpus, jvm.heap" in refused(capsys, tmp_path / "two")


@pytest.mark.parametrize("verb", ["scale", "layout", "corun"])
def test_what_is_reported_again_takes_no_options_of_a_run(verb, tmp_path, capsys):
    begin(tmp_path / "e", experiments.plan(["a", "b"], 1, 0))
    assert run_verb([verb, str(tmp_path / "e"), "--json", "--blocks", "3"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "--blocks is for" in told
    assert "which is only reported" in told


def test_a_curve_that_was_not_kept_or_cut_is_none(tmp_path):
    assert kept_curve(tmp_path) is None
    (tmp_path / "curve.json").write_text('{"schema": "pyrometer/scale/1", "exp')
    assert kept_curve(tmp_path) is None


def test_a_curve_of_other_trials_says_so(tmp_path):
    curve = {"done_count": 4}
    assert outdated(None, tmp_path, 4) is None
    assert outdated(curve, tmp_path, 4) is None
    note = outdated(curve, tmp_path, 6)
    assert note is not None
    assert "4 finished trials; there are 6 now" in note


def test_levels_are_spaced_about_equally_on_a_logarithmic_axis():
    levels = [int(one) for one in default_levels("layout.tasks", 64)]
    assert (levels[0], levels[-1]) == (1, 96)
    assert len(levels) == 10
    assert all(b / a <= 2 for a, b in pairwise(levels))
    assert len(default_levels("layout.tasks", 64, dense=True)) == 96


def test_the_file_of_a_curve_says_what_was_asked_for():
    made = yaml.safe_load(
        scaling_file(
            "parquet-scan", "layout.tasks", ["4", "1"], {"jvm.heap": "1g"}, blocks=5, seed=None
        )
    )
    assert made["baseline"] == {"layout.tasks": "1"}
    assert made["set"] == {"jvm.heap": "1g"}
    assert made["blocks"] == 5
    assert "seed" not in made


@pytest.mark.parametrize("levels", ["1,2", "nonsense"])
def test_a_file_of_somebody_else_is_not_touched(naps, capsys, levels):
    theirs = naps / "curve.yaml"
    theirs.write_text("# a month's work\n")
    message = refused(
        capsys, naps / "workload.yaml", "--over", "host.cpus", "--levels", levels,
        "-o", naps / "curve",
    )  # fmt: skip
    assert theirs.read_text() == "# a month's work\n"
    assert not (naps / "curve").exists()
    assert "curve.yaml exists" in message or "nonsense" in message
