"""What a design is worth: false positives, coverage and power, on simulated machines."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from tests.support import experiments
from tests.support.experiments import Machine

from pyrometer.cli.main import run_verb
from pyrometer.experiments.folder import ExperimentPaths
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.statistics.blocks import paired
from pyrometer.statistics.power import power

BLOCKS = 10


def show(root, capsys):
    """What the command line says of an experiment."""
    assert run_verb(["experiment", "show", str(root), "--json"]) == 0
    return json.loads(capsys.readouterr().out.splitlines()[-1])


def a_against_a(tmp_path, capsys, number, kind):
    """Run experiments with two equal treatments: false positives, intervals that cover, doubts."""
    found = []
    for seed in range(number):
        root = tmp_path / f"{kind}-{seed}"
        plan = experiments.plan(["a", "same as a"], BLOCKS, seed, kind)
        begin(root, plan)
        # An hour's drift of a tenth, neighbours alike by 0.4, three outliers in a hundred.
        carry_out(root, actions=Machine(seed, len(plan.trials)).actions())
        found.append(show(root, capsys))
    pairs = [one["comparison"]["pairs"][0] for one in found]
    wrong = sum(pair["verdict"] in ("faster", "slower") for pair in pairs)
    covered = sum(pair["change"]["low"] <= 0 <= pair["change"]["high"] for pair in pairs)
    warned = sum("order_fixed" in {one["code"] for one in report["doubts"]} for report in found)
    print(f"{kind}: {wrong} false positives, {covered} intervals cover, of {number}")
    return wrong / number, covered / number, warned / number


@pytest.mark.slow
def test_equal_treatments_differ_rarely_in_blocks_and_often_in_a_fixed_order(tmp_path, capsys):
    with capsys.disabled():
        print()
    interleaved = a_against_a(tmp_path, capsys, 200, "randomized-blocks")
    fixed = a_against_a(tmp_path, capsys, 200, "fixed-order")
    with capsys.disabled():
        print(f"wrong, covered, warned: in blocks {interleaved}, in a fixed order {fixed}")
    assert interleaved[0] <= 0.05
    assert interleaved[1] >= 0.93
    assert fixed[0] > 0.3
    assert fixed[2] == 1
    assert not interleaved[2]


def test_a_few_equal_treatments_already_show_it(tmp_path, capsys):
    interleaved = a_against_a(tmp_path, capsys, 8, "randomized-blocks")
    fixed = a_against_a(tmp_path, capsys, 4, "fixed-order")
    assert interleaved[0] <= 1 / 8
    assert fixed[0] >= 2 / 4
    assert (interleaved[2], fixed[2]) == (0, 1)


@pytest.mark.parametrize("effect", [0.02, 0.05])
def test_power_is_what_the_plan_promises(effect):
    """A planted effect is found as often as the forecast says, within five points."""
    draw = np.random.default_rng(int(effect * 1000))
    sd, blocks, rounds = 0.03, 8, 400
    found = 0
    for _ in range(rounds):
        machine = draw.normal(0, 0.2, blocks)
        a = np.exp(machine + draw.normal(0, sd, blocks))
        b = np.exp(machine + math.log1p(effect) + draw.normal(0, sd, blocks))
        p = paired(list(a), list(b)).p
        found += p is not None and p < 0.05
    promised = power(math.log1p(effect), sd, blocks, blocks=True)
    assert found / rounds == pytest.approx(promised, abs=0.05)


def test_a_planted_null_is_told_as_the_same(tmp_path, capsys):
    root = tmp_path / "null"
    plan = experiments.plan(["a", "b"], 20, 3)
    begin(root, plan)
    quiet = Machine(3, len(plan.trials), sd=0.005, drift=0.02, outliers=0)
    carry_out(root, actions=quiet.actions())
    assert show(root, capsys)["comparison"]["pairs"][0]["verdict"] == "same"
    assert ExperimentPaths(root).journal.is_file()
