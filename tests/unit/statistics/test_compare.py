"""Verdicts, blocks, many treatments and the verb, on lists with known answers."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from tests.support import experiments

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import UsageError
from pyrometer.experiments.run.loop import begin
from pyrometer.statistics.blocks import autocorrelation, drift, order_fixed, paired
from pyrometer.statistics.factorial import Cell, factorial
from pyrometer.statistics.many import adjusted, against_control, all_pairs
from pyrometer.statistics.power import detectable, power
from pyrometer.statistics.suites import geometric_mean
from pyrometer.statistics.treatments import Trial, analyse
from pyrometer.statistics.two import cliff, compare, hedges
from pyrometer.statistics.welch import welch

DRAW = np.random.default_rng(20_241_122)


def times(mean, cv, n):
    return list(mean * np.exp(DRAW.normal(0, cv, n)))


@pytest.mark.slow
def test_an_interval_of_95_per_cent_covers_so_often():
    covered = wrong = 0
    for _ in range(300):
        found = compare(times(10, 0.03, 5), times(10.5, 0.06, 8), permutations=0)
        covered += found.change.low <= 0.05 <= found.change.high
        wrong += found.verdict in ("faster", "same")
    assert 272 <= covered <= 297
    assert wrong <= 6


def test_equal_treatments_are_rarely_called_different():
    different = sum(
        compare(times(10, 0.05, 6), times(10, 0.05, 6), permutations=0).verdict
        in ("faster", "slower")
        for _ in range(200)
    )
    assert different <= 20


@pytest.mark.parametrize(
    ("a", "b", "margin", "verdict"),
    [
        ([10, 10.1, 9.9], [9, 9.1, 8.9], 0.02, "faster"),
        ([9, 9.1, 8.9], [10, 10.1, 9.9], 0.02, "slower"),
        ([10, 10.001, 9.999], [10.01, 10.011, 10.009], 0.02, "same"),
        ([10, 10.001, 9.999], [10.01, 10.011, 10.009], 0.0005, "slower"),
        ([10, 12, 8], [10, 12.1, 8.2], 0.02, "cannot tell"),
        ([10], [12], 0.02, "cannot tell"),
    ],
)
def test_verdicts(a, b, margin, verdict):
    found = compare(a, b, margin=margin)
    assert found.verdict == verdict
    assert (found.trials_needed is not None) == (verdict == "cannot tell" and len(a) > 1)


def test_effect_sizes():
    a, b = [1.0, 2.0, 3.0, 4.0], [2.0, 3.0, 4.0, 5.0]
    # Pooled sd sqrt(5/3), correction 1 - 3/23.
    assert hedges(a, b).value == pytest.approx((1 - 3 / 23) / math.sqrt(5 / 3))
    assert cliff(a, b).value == pytest.approx((10 - 3) / 16)
    assert cliff(a, [9, 9, 9, 9]).high == 1
    with pytest.raises(ValueError, match="positive"):
        compare([1, 0], [1, 2])


def test_blocks_take_away_what_the_machine_does_slowly():
    wave = 10 * np.exp(0.2 * np.sin(np.arange(12)))
    a = list(wave * np.exp(DRAW.normal(0, 0.005, 12)))
    b = list(1.02 * wave * np.exp(DRAW.normal(0, 0.005, 12)))
    inside = paired(a, b, margin=0.005)
    assert inside.verdict == "slower"
    assert inside.sd_ratio < 0.1
    assert compare(a, b).verdict == "cannot tell"
    with pytest.raises(ValueError, match="2 blocks on one side"):
        paired([1, 2], [1])


def test_order_tells_of_drift():
    assert order_fixed(["a", "a", "b", "b", "c", "c"])
    assert order_fixed(["a", "b", "a", "b"])
    assert not order_fixed(["a", "b", "b", "a"])
    assert not order_fixed(["a", "b"])
    assert drift(list(np.arange(10.0)))[1]
    assert drift([1.0, 2.0])[0] is None
    assert autocorrelation([1, 2, 3, 4, 5, 6, 7, 8]) == pytest.approx(0.625)
    assert autocorrelation([1, 1, 1, 1]) is None


def test_many_pairs_are_corrected():
    values = {"a": times(10, 0.01, 6), "b": times(10, 0.01, 6), "c": times(12, 0.01, 6)}
    pairs = {(one.a, one.b): one for one in all_pairs(values)}
    assert set(pairs) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert pairs["a", "c"].change.low < 0.2 < pairs["a", "c"].change.high
    assert pairs["a", "c"].p < 0.001 < 0.05 < pairs["a", "b"].p
    against = {one.b: one for one in against_control(values, "a")}
    assert set(against) == {"b", "c"}
    assert against["c"].change.value == pytest.approx(pairs["a", "c"].change.value)
    with pytest.raises(ValueError, match="no treatment"):
        against_control(values, "z")
    assert adjusted([0.02, 0.02, 0.02]) == pytest.approx([0.06, 0.06, 0.06])


def test_power_and_what_can_be_detected_agree():
    smallest = detectable(5, 0.04)
    assert power(math.log1p(smallest), 0.04, 5) == pytest.approx(0.8, abs=1e-6)
    assert detectable(1, 0.04) is None


def test_a_suite_is_the_geometric_mean_of_its_queries():
    a = {"q1": times(10, 0.02, 8), "q2": times(1, 0.02, 8), "only here": [1.0]}
    b = {"q1": times(5, 0.02, 8), "q2": times(2.2, 0.02, 8)}
    found = geometric_mean(a, b)
    assert found.low < math.sqrt(0.5 * 2.2) - 1 < found.high
    assert found == geometric_mean(a, b)


@pytest.mark.parametrize("queries", [1, 3])
def test_the_interval_of_a_small_suite_holds_as_often_as_it_says(queries):
    draw = np.random.default_rng(4)
    held = 0
    for _ in range(200):
        a, b = (
            {str(q): np.exp(draw.normal(0, 0.05, 2)).tolist() for q in range(queries)}
            for _ in range(2)
        )
        found = geometric_mean(a, b, resamples=400)
        held += found.low <= 0 <= found.high
    # At 95 %, fewer than 181 of 200 have a chance of 0.002.
    assert held >= 181


def test_one_account_of_blocks_and_order():
    names = ["x", "y", "y", "x", "x", "y", "y", "x"]
    trials = [
        Trial(name, 10 * (1.1 if name == "y" else 1) * (1 + 0.001 * at), str(at // 2))
        for at, name in enumerate(names)
    ]
    found = analyse(trials, what="time", unit="s", margin=0.02)
    assert (found.design, found.pairs[0].verdict) == ("blocks", "slower")
    assert found.pairs[0].second_test == "wilcoxon"
    assert not found.order.fixed
    lists = analyse(trials[:7], what="time", unit="s", margin=0.02)
    assert lists.design == "independent"
    apart = sorted(trials, key=lambda trial: trial.treatment)
    codes = [one.code for one in analyse(apart, what="time", unit="s", margin=0.02).doubts]
    assert codes == ["order_fixed"]
    with pytest.raises(UsageError, match="two treatments are needed"):
        analyse(trials[:1], what="time", unit="s", margin=0.02)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "times.csv"
    rows = [("a", 10 + 0.01 * n, n) for n in range(5)] + [("b", 8 + 0.01 * n, n) for n in range(5)]
    path.write_text("what,s,round\n" + "\n".join(f"{a},{b},{c}" for a, b, c in rows) + "\n")
    return path


def test_the_verb_compares_a_file(table, capsys):
    words = ["compare", "--csv", str(table), "--value", "s", "--treatment", "what"]
    assert run_verb([*words, "--json"]) == 0
    out, err = capsys.readouterr()
    made = json.loads(out)
    assert made["schema"] == "pyrometer/compare/1"
    assert made["pairs"][0]["verdict"] == "faster"
    assert made["pairs"][0]["change"]["value"] == pytest.approx(-0.2, abs=0.001)
    assert [one["code"] for one in made["doubts"]] == ["order_fixed"]
    assert "faster" in err
    welch = made["pairs"][0]["welch"]
    assert welch["interval"] == pytest.approx([1.976940, 2.023060], abs=1e-6)
    assert welch["percent_of_a"] == pytest.approx([19.7299, 20.1902], abs=1e-4)
    assert "a b 2 1.97694 … 2.02306 19.73 … 20.19 200 8" in " ".join(err.split())
    assert run_verb([*words, "--block", "round", "--control", "a"]) == 0
    assert "within blocks" in capsys.readouterr().out


def test_a_pair_that_is_sure_only_by_itself_is_told_so(tmp_path, capsys):
    values = {
        "a": (1.00, 1.02, 0.98, 1.01, 0.99),
        "b": (1.02, 1.05, 1.00, 1.03, 1.03),
        "c": (1.01, 0.99, 1.02, 1.00, 1.005),
    }
    path = tmp_path / "times.csv"
    rows = [f"{name},{one}" for name, those in values.items() for one in those]
    path.write_text("treatment,value\n" + "\n".join(rows) + "\n")
    assert run_verb(["compare", "--csv", str(path)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "0.098 cannot tell: p = 0.033 on its own, but it is one of several pairs" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--value", "x"], "no column x"),
        (["--value", "what"], "times.csv:2: what is 'a', not a number"),
        (["--treatment", "round", "--control", "9"], "no treatment is called 9"),
        (["--margin", "200%"], "above 0 and below 50"),
    ],
)
def test_bad_input_is_told_with_its_place(table, words, said, capsys):
    base = ["compare", "--csv", str(table), "--value", "s", "--treatment", "what"]
    assert run_verb([*base, *words]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("row", "words", "column"),
    [
        ("4", [], "treatment"),
        ("4,b", ["--block", "round"], "round"),
        ("4,b", ["--suite", "round"], "round"),
    ],
)
def test_a_row_that_ends_too_early_is_told_with_its_line(tmp_path, capsys, row, words, column):
    path = tmp_path / "times.csv"
    path.write_text(f"value,treatment,round\n1,a,x\n2,b,x\n3,a,y\n{row}\n")
    assert run_verb(["compare", "--csv", str(path), *words]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"times.csv:5: the row ends before column {column}" in told


@pytest.mark.parametrize(
    ("option", "whose"),
    [
        ("--control", "an experiment and for --csv FILE"),
        ("--block", "--csv FILE"),
        ("--treatment", "--csv FILE"),
        ("--value", "--csv FILE"),
    ],
)
def test_options_that_say_nothing_of_runs_are_refused(tmp_path, capsys, option, whose):
    run = str(tmp_path)
    assert run_verb(["compare", run, run, option, "value"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert f"{option} is for {whose}: it has no effect on runs" in told


@pytest.mark.parametrize("suite", [[], ["--suite", "round"]])
def test_causes_are_of_runs_alone(table, tmp_path, capsys, suite):
    words = ["--csv", str(table), "--value", "s", "--treatment", "what", *suite]
    assert run_verb(["compare", *words, "--all"]) == 2
    refused = "--all is for runs: it has no effect on"
    assert f"{refused} --csv FILE" in " ".join(capsys.readouterr().err.split())
    begin(tmp_path / "e", experiments.plan(["a", "b"], 2, 0))
    assert run_verb(["compare", str(tmp_path / "e"), "--all"]) == 2
    assert f"{refused} an experiment" in " ".join(capsys.readouterr().err.split())


def test_two_sides_are_needed(capsys):
    assert run_verb(["compare"]) == 2
    assert "give two sides to compare" in capsys.readouterr().err


@pytest.mark.parametrize("other", [100.0, 103.0])
def test_times_that_do_not_vary_tell_nothing(other, tmp_path, capsys):
    values = {"a": [100.0] * 3, "b": [other] * 3}
    alone, blocks = compare(*values.values()), paired(*values.values())
    for one in (alone, blocks):
        assert (one.verdict, one.p, one.same_p) == ("cannot tell", None, None)
        assert one.change.value == pytest.approx(other / 100 - 1)
        assert (one.change.low, one.change.high) == (None, None)
    assert alone.g.value is None
    rows = [Trial(name, one) for name, those in values.items() for one in those]
    (pair,) = analyse(rows, what="time", unit="s", margin=0.02).pairs
    assert (pair.p, pair.trials_needed, pair.detectable) == (None, None, None)
    values["c"] = [100.0] * 3
    for pair in (*all_pairs(values), *against_control(values, "b")):
        assert (pair.p, pair.change.low, pair.change.high) == (None, None, None)
    assert [(one.a, one.b) for one in against_control(values, "b")] == [("b", "a"), ("b", "c")]
    suite = geometric_mean({"q": values["a"]}, {"q": values["b"]})
    assert (suite.low, suite.high) == (None, None)
    table = tmp_path / "t.csv"
    rows = [f"{name},{one}" for name, those in values.items() for one in those]
    table.write_text("treatment,value\n" + "\n".join(rows) + "\n")
    assert run_verb(["compare", "--csv", str(table)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "cannot tell: the values do not vary" in shown


def test_one_list_that_does_not_vary_is_compared_by_the_other():
    assert compare([2, 2, 2], [3, 3.01, 2.99]).verdict == "slower"
    assert paired([2, 2, 2], [3, 3.01, 2.99]).verdict == "slower"
    assert welch([1], [2, 3]) is None


def cells(effect, blocks=6, cv=0.02, seed=3):
    draw = np.random.default_rng(seed)
    return [
        Cell({"heap": h, "codec": c}, effect(h, c) * (1 + 0.3 * b) * math.exp(draw.normal(0, cv)),
             str(b))
        for b in range(blocks)
        for h in ("1g", "2g", "4g")
        for c in ("none", "zstd")
    ]  # fmt: skip


def test_factors_of_a_matrix_are_told_apart_and_so_is_what_depends_on_both():
    found = factorial(cells(lambda h, c: (1.2 if h == "1g" else 1.0) * (1.1 if c == "zstd" else 1)))
    heap, codec, both = found.effects
    assert (heap.factors, codec.factors, both.factors) == (["heap"], ["codec"], ["heap", "codec"])
    assert heap.adjusted_p < 1e-6
    assert codec.adjusted_p < 1e-6
    assert both.p > 0.01
    assert [(one.a, one.b) for one in heap.levels] == [("1g", "2g"), ("1g", "4g")]
    assert all(one.change.low < 1 / 1.2 - 1 < one.change.high for one in heap.levels)
    # Balanced: the effect of a factor is the plain difference of mean logarithms.
    made = cells(lambda h, c: 1.1 if c == "zstd" else 1.0)
    logs = {c: np.mean([math.log(o.value) for o in made if o.levels["codec"] == c])
            for c in ("none", "zstd")}  # fmt: skip
    change = factorial(made).effects[1].levels[0].change
    assert math.log1p(change.value) == pytest.approx(logs["zstd"] - logs["none"])
    assert found.freedom == 36 - (1 + 5 + 2 + 1 + 2)
    assert found.noise_sd == pytest.approx(0.02, rel=0.4)
    depends = factorial(cells(lambda h, c: 1.2 if (h, c) == ("1g", "zstd") else 1.0))
    assert depends.effects[2].adjusted_p < 1e-6
    beside = factorial(made, {"heap": "4g"}).effects[0].levels
    assert [(one.a, one.b) for one in beside] == [("4g", "1g"), ("4g", "2g")]


def test_factors_without_effect_are_rarely_found():
    wrong = sum(
        one.p < 0.05
        for seed in range(100)
        for one in factorial(cells(lambda h, c: 1.0, seed=seed)).effects
    )
    assert 4 <= wrong <= 28  # of 300


def test_a_matrix_with_holes_says_what_it_cannot_tell():
    whole = cells(lambda h, c: 1.0)
    holes = [o for o in whole if (o.levels["heap"], o.levels["codec"]) != ("4g", "zstd")]
    found = factorial(holes)
    assert [one.factors for one in found.effects] == [["heap"], ["codec"]]
    assert "too few combinations" in found.reason
    diagonal = [o for o in whole if (o.levels["heap"] == "1g") == (o.levels["codec"] == "none")]
    assert "cannot be distinguished" in factorial([
        o for o in diagonal if o.levels["heap"] != "4g"]).reason  # fmt: skip
    assert "fewer than two" in factorial([o for o in whole if o.levels["heap"] == "1g"]).reason
