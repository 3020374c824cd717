"""Iterations within trials: canaries before each, which of them count, and what is doubted."""

from __future__ import annotations

import dataclasses
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support import experiments
from tests.support.experiments import CALM, HEAD, Machine, napping

from pyrometer.cli.main import run_verb
from pyrometer.experiments.folder import read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.experiments.run.planned import plan_of
from pyrometer.statistics.regression import Observed, adjust
from pyrometer.statistics.warmup import counting
from pyrometer.workloads import canary

SEEN = '{"alu_ns": [1, 3, 2], "latency_ns": [90], "copy_bytes_per_s": [1e9, 1e9]}'


def test_a_canary_is_measured_by_a_command_and_its_failure_is_told():
    found = canary.measure([sys.executable, "-S", "-c", f"print('''{SEEN}''')"])
    assert found == {"alu_ns": 2.0, "latency_ns": 90.0, "copy_bytes_per_s": 1e9}
    for command in (["/nowhere/probe"], ["true"], ["echo", "{}"], ["echo", "[]"], ["false"]):
        assert list(canary.measure(command)) == ["reason"]


@pytest.mark.parametrize(
    ("more", "before"),
    [
        ("", "iteration"),
        ("canaries: trial\n", "trial"),
        ("canaries: none\n", "none"),
        # What limits the workload limits its canaries, too.
        ("set: {cpu.quota: 1}\n", "trial"),
        ("set: {host.cpus: 1}\n", "iteration"),
    ],
)
def test_canaries_are_measured_where_the_treatment_does_not_reach_them(
    tmp_path, monkeypatch, more, before
):
    monkeypatch.setattr("pyrometer.experiments.run.planned.honoured", lambda made, *_: made)
    path = tmp_path / "e.yaml"
    text = "name: e\nworkload: parquet-scan\nscale: test\nmatrix: {codec: [snappy, none]}\n"
    path.write_text(text + more)
    assert plan_of(path, tmp_path).canaries == before
    path.write_text(text.replace("{codec: [snappy, none]}", "{host.cpus: [1, 2]}"))
    assert plan_of(path, tmp_path).canaries == "trial"


def test_canaries_of_a_command_are_measured_before_the_trial(tmp_path):
    text = HEAD + "matrix: {workload.time: [short, long]}\n"
    assert plan_of(napping(tmp_path, text), tmp_path).canaries == "trial"


def test_a_plan_of_the_first_version_is_read(tmp_path):
    begin(tmp_path / "out", experiments.plan(["a", "b"], 1, 1))
    path = tmp_path / "out" / "experiment.json"
    for was, now in ((True, "trial"), (False, "none")):
        path.write_text(json.dumps({**json.loads(path.read_text()), "canaries": was}))
        assert read_plan(tmp_path / "out").canaries == now


def test_a_covariate_that_treatments_move_is_not_held_equal():
    import numpy as np

    draw = np.random.default_rng(3)
    trials = []
    for block in range(12):
        for name, shift in (("a", 0.0), ("b", 0.3)):
            speed = draw.normal(0, 0.05)
            seen = {
                "alu_ns": float(np.exp(speed)),
                "latency_ns": float(np.exp(shift + draw.normal(0, 0.05))),
            }
            time = float(np.exp(speed + shift + draw.normal(0, 0.01)))
            trials.append(Observed(name, str(block), time, seen))
    found = adjust(trials, [("a", "b")])
    assert not isinstance(found, str)
    assert (found.names, found.moved) == (("alu_ns",), ("latency_ns",))
    assert found.changes["a", "b"].low < np.expm1(0.3) < found.changes["a", "b"].high
    assert found.sd.high < found.plain_sd.low
    assert found.variance_ratio == pytest.approx((found.sd.value / found.plain_sd.value) ** 2)
    only = [
        dataclasses.replace(one, covariates={"latency_ns": one.covariates["latency_ns"]})
        for one in trials
    ]
    assert adjust(only, [("a", "b")]) == (
        "treatments move latency_ns: held equal, that would hide their effect"
    )


@given(
    st.lists(st.floats(0.1, 100), min_size=1, max_size=30),
    st.integers(0, 5),
    st.booleans(),
)
def test_what_counts_is_after_the_declared_warm_up_and_never_nothing(times, declared, detected):
    declared = min(declared, len(times) - 1)
    shape, start = counting(times, declared, detected)
    assert declared <= start < len(times)
    assert detected or start == declared
    if shape in ("not steady", "too short", "flat"):
        assert start == declared


def series(kinds):
    """Hands whose trials have series of a shape, by the number of the trial."""
    shapes = {
        "flat": (1.0, 1.01, 0.99, 1.0, 1.0),
        "warm-up": (6.3, 2.1, 1.02, 1.0, 0.99, 1.01, 1.0),
        "not steady": (8.0, 6.0, 4.5, 3.4, 2.5),
        "too short": (1.0, 1.0),
    }

    def make(trial, watch):
        times = shapes[next(kinds)]
        shape, start = counting(times, 1)
        counted = times[start:]
        seconds = sum(counted) / len(counted)
        facts = TrialFacts(counted, seconds, 1, "00", "p", times, start, shape, {"alu_ns": 2.0})
        return Attempt("finished", seconds=seconds, facts=facts)

    return dataclasses.replace(Machine(1, 40).actions(), run_trial=make)


@pytest.mark.parametrize(
    ("kinds", "told"),
    [
        (["flat", "warm-up"] * 4, None),
        (["not steady"] * 3 + ["flat"] * 5, None),
        (["not steady"] * 8, "a: not steady in 4 of 4 trials; b: not steady in 4 of 4 trials"),
        (["too short"] * 8, "a: too short in 4 of 4 trials"),
    ],
)
def test_series_that_never_settle_are_doubted_and_what_counts_is_told(
    tmp_path, capsys, kinds, told
):
    root = tmp_path / "out"
    plan = experiments.plan(["a", "b"], 4, 2)
    plan.warmup, plan.iterations, plan.canaries = "auto", 4, "iteration"
    begin(root, plan)
    carry_out(root, actions=series(iter(kinds)))
    found = experiment_report(read_plan(root), read_journal(root))
    doubts = [one.message for one in found.doubts if one.code == "not_settled"]
    assert [told in one for one in doubts] == ([True] if told else [])
    ended = read_journal(root).ended.values()
    # What was seen before the iterations that count is the covariate of the trial.
    assert {one.canaries.alu_ns for one in ended} == {2.0}
    assert all(one.iterations_s == one.series_s[one.counted_from :] for one in ended)
    assert run_verb(["experiment", "show", str(root)]) == 0
    shown = capsys.readouterr().out
    last = 3 if "warm-up" in kinds else 2
    assert f"iterations count from number {last} of" in shown or f"2–{last} of" in shown


def test_a_number_for_warm_up_is_taken_as_it_is(tmp_path):
    root = tmp_path / "out"
    plan = experiments.plan(["a", "b"], 4, 2)
    plan.warmup, plan.canaries = 1, "iteration"
    begin(root, plan)
    carry_out(root, actions=series(iter(["not steady"] * 8)))
    found = experiment_report(read_plan(root), read_journal(root))
    assert "not_settled" not in {one.code for one in found.doubts}


def test_the_plan_says_before_what_canaries_are_measured(tmp_path, capsys):
    path = napping(tmp_path, HEAD + "matrix: {workload.time: [short, long]}\n")
    assert run_verb(["experiment", "plan", str(path)]) == 0
    assert "canaries before each trial" in capsys.readouterr().out
    path = napping(tmp_path, HEAD + CALM + "matrix: {workload.time: [short, long]}\n")
    assert run_verb(["experiment", "plan", str(path)]) == 0
    assert "canaries" not in capsys.readouterr().out
