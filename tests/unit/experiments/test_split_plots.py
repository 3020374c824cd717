"""Split plots: what is dear to change stays for several trials, and has an error of its own."""

from __future__ import annotations

import math
from itertools import groupby

import numpy as np
import pytest
from tests.support import experiments

from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.run.environment import held_switches
from pyrometer.experiments.run.loop import begin, carry_out
from pyrometer.experiments.run.planned import plan_of
from pyrometer.statistics.factorial import Cell, factorial
from pyrometer.trial.factors import factors

# Yates 1935, "Complex experiments": yields of oats by block, variety (whole plots) and manure.
OATS = {
    ("I", "Victory"): (111, 130, 157, 174),
    ("I", "Golden rain"): (117, 114, 161, 141),
    ("I", "Marvellous"): (105, 140, 118, 156),
    ("II", "Victory"): (74, 89, 81, 122),
    ("II", "Golden rain"): (64, 103, 132, 133),
    ("II", "Marvellous"): (70, 89, 104, 117),
    ("III", "Victory"): (61, 91, 97, 100),
    ("III", "Golden rain"): (70, 108, 126, 149),
    ("III", "Marvellous"): (96, 124, 121, 144),
    ("IV", "Victory"): (62, 90, 100, 116),
    ("IV", "Golden rain"): (80, 82, 94, 126),
    ("IV", "Marvellous"): (63, 70, 109, 99),
    ("V", "Victory"): (68, 64, 112, 86),
    ("V", "Golden rain"): (60, 102, 89, 96),
    ("V", "Marvellous"): (89, 129, 132, 124),
    ("VI", "Victory"): (53, 74, 118, 113),
    ("VI", "Golden rain"): (89, 82, 86, 104),
    ("VI", "Marvellous"): (97, 99, 119, 121),
}
# The analysis is one of logarithms: what is given to it are exponentials of the yields.
CELLS = [
    Cell({"variety": variety, "manure": str(at)}, math.exp(value / 100), block)
    for (block, variety), values in OATS.items()
    for at, value in enumerate(values)
]


def test_the_oats_of_yates_come_out_as_published():
    """R: summary(aov(Y ~ N*V + Error(B/V), oats))."""
    found = factorial(CELLS, split=["variety"])
    variety, manure, both = found.effects
    assert (variety.factors, variety.error) == (["variety"], "whole plots")
    assert (variety.freedom, found.whole_freedom) == (2, 10)
    assert round(variety.f, 3) == 1.485
    assert round(variety.p, 3) == 0.272
    assert (manure.factors, manure.error, found.freedom) == (["manure"], "trials", 45)
    assert round(manure.f, 2) == 37.69
    assert (both.factors, both.freedom, round(both.f, 3)) == (["variety", "manure"], 6, 0.303)
    assert round(both.p, 3) == 0.932
    # Mean squares of 601.3 (of plots' means: a quarter) and 177.1, in hundredths.
    assert found.whole_noise_sd == pytest.approx(math.sqrt(601.3 / 4) / 100, rel=1e-3)
    assert found.noise_sd == pytest.approx(math.sqrt(177.1) / 100, rel=1e-3)


def test_noise_of_whole_plots_makes_no_effect():
    draw, naive, right = np.random.default_rng(2), 0, 0
    for _ in range(80):
        cells = []
        for block in range(5):
            for whole in "xy":
                plot = draw.normal(0, 0.05)
                for sub in "abc":
                    value = math.exp(plot + draw.normal(0, 0.01))
                    cells.append(Cell({"w": whole, "s": sub}, value, str(block)))
        naive += factorial(cells).effects[0].p < 0.05
        right += factorial(cells, split=["w"]).effects[0].p < 0.05
    # 5 % of 80, and 3 deviations.
    assert right <= 9
    assert naive > 20


def test_canaries_are_not_held_equal_as_if_whole_plots_had_no_noise(tmp_path):
    """The interval of one noise for all would miss 18 % of the time."""
    names = {f"os.smt={w}, data.codec={s}": (w, s) for w in ("on", "off") for s in ("none", "zstd")}
    plan = experiments.plan(names, 6, 1)
    for one in plan.treatments:
        one.varied = dict(zip(("os.smt", "data.codec"), names[one.name], strict=True))
    for split, told in (
        (["os.smt"], "trials of the same os.smt ran together"),
        (["os.smt", "data.codec"], None),  # Each whole plot is one trial.
    ):
        root = tmp_path / str(len(split))
        plan.split = split
        begin(root, plan)
        entries = carry_out(root, actions=experiments.Machine(1, 24).actions())
        canaries = experiment_report(plan, entries).canaries
        assert (canaries.reason or "").startswith(told or "")
        assert bool(canaries.pairs) == (told is None)


def test_whole_plots_that_hold_different_treatments_and_few_blocks_are_told():
    lacking = [one for one in CELLS if one.levels != {"variety": "Victory", "manure": "3"}]
    assert factorial(lacking, split=["variety"]).reason.startswith("whole plots hold different")
    two = [one for one in CELLS if one.block in ("I", "II")]
    found = factorial(two, split=["variety"])
    assert [one.factors for one in found.effects] == [["manure"], ["variety", "manure"]]
    assert "too few" in found.reason


def test_factors_that_are_known_to_be_dear_stay_together_unless_told_otherwise(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("pyrometer.experiments.run.planned.honoured", lambda made, *_: made)
    assert {"os.smt", "os.lru_gen"} <= {one.name for one in factors() if one.dear}
    text = (
        "name: e\nworkload: parquet-scan\nscale: test\nblocks: 3\n"
        "matrix: {os.lru_gen: [0, 7], codec: [snappy, none, zstd]}\n"
    )
    path = tmp_path / "e.yaml"
    path.write_text(text)
    plan = plan_of(path, tmp_path)
    assert plan.split == ["os.lru_gen"]
    levels = {one.name: one.levels["os.lru_gen"] for one in plan.treatments}
    pieces = [len(list(g)) for _, g in groupby((o.block, levels[o.treatment]) for o in plan.trials)]
    assert pieces == [3] * 6
    for design in ("{split: []}", "{kind: fixed-order}"):
        path.write_text(f"{text}design: {design}\n")
        assert plan_of(path, tmp_path).split == []
    path.write_text(text + "design: {split: [codec]}\n")
    assert plan_of(path, tmp_path).split == ["data.codec"]


def test_switches_of_disks_are_left_to_trials_which_know_their_data() -> None:
    with held_switches({"os.io_scheduler": "bfq", "jvm.gc": "g1"}) as doubts:
        assert doubts == []
