"""Treatments across workloads: tests of ranks against published output, and the verb."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pyrometer.cli.main import run_verb
from pyrometer.core.errors import UsageError
from pyrometer.statistics.suites import Measured, across, friedman, quade

# Hollander and Wolfe (1973), rounding first base; as ?friedman.test of R has it.
ROUNDING = """
5.40 5.50 5.55 5.85 5.70 5.75 5.20 5.60 5.50 5.55 5.50 5.40 5.90 5.85 5.70 5.45 5.55 5.60
5.40 5.40 5.35 5.45 5.50 5.35 5.25 5.15 5.00 5.85 5.80 5.70 5.25 5.20 5.10 5.65 5.55 5.45
5.60 5.35 5.45 5.05 5.00 4.95 5.50 5.50 5.40 5.45 5.55 5.50 5.55 5.55 5.35 5.45 5.50 5.55
5.50 5.45 5.25 5.65 5.60 5.40 5.70 5.65 5.55 6.30 6.30 6.25
"""
# Conover (1999), hand lotion sold in seven stores; as ?quade.test of R has it.
LOTION = """
5 4 7 10 12 1 3 1 0 2 16 12 22 22 35 5 4 3 5 4 10 9 7 13 10 19 18 28 37 58 10 7 6 8 7
"""


def table(text: str, columns: int) -> np.ndarray:
    return np.array([float(one) for one in text.split()]).reshape(-1, columns)


def test_friedman_is_that_of_r() -> None:
    found = friedman(table(ROUNDING, 3))
    assert found is not None
    # R prints chi-squared = 11.143, df = 2: its F is (N - 1) chi / (N (k - 1) - chi).
    assert found.f == pytest.approx(21 * 11.143 / (44 - 11.143), abs=1e-3)
    assert found.freedom == (2, 42)
    assert found.p == pytest.approx(float(stats.f.sf(found.f, 2, 42)))


def test_quade_is_that_of_r() -> None:
    found = quade(table(LOTION, 5))
    assert found is not None
    assert (round(found.f, 4), found.freedom, round(found.p, 5)) == (3.8293, (4, 24), 0.01519)


def test_ranks_that_are_all_alike_have_their_exact_chance() -> None:
    # Three treatments have six orders; the first workload may have any of them.
    for found in (friedman(np.array([[1.0, 2.0, 9.0]] * 4)), quade(np.array([[1.0, 2, 3]] * 4))):
        assert found is not None
        assert (found.f, found.p) == (None, pytest.approx(6**-3))
    tied = friedman(np.array([[1.0, 2.0, 2.0]] * 3))
    assert tied is not None
    assert tied.p == pytest.approx(3**-2)


def test_ranks_that_do_not_vary_are_not_tested() -> None:
    assert quade(np.array([[1.0, 1.0, 1.0]] * 4)) is None
    assert friedman(np.array([[1.0, 1.0, 1.0]] * 4)) is None


def made(effects: dict[str, float], noise: float = 0.01) -> list[Measured]:
    draw = np.random.default_rng(1)
    return [
        Measured(f"q{query}", name, (query + 1) * effect * math.exp(draw.normal(0, noise)))
        for query in range(6)
        for name, effect in effects.items()
        for _ in range(4)
    ]


def test_a_planted_effect_is_found_over_all_workloads() -> None:
    found = across(made({"a": 1.0, "b": 0.9, "c": 1.0}), what="t", margin=0.02)
    pairs = {(pair.a, pair.b): pair for pair in found.pairs}
    assert [pairs[one].verdict for one in (("a", "b"), ("a", "c"), ("b", "c"))] == [
        "faster", "same", "slower",
    ]  # fmt: skip
    faster = pairs["a", "b"]
    assert faster.change.low is not None
    assert faster.change.high is not None
    assert faster.change_of_all.low is not None
    assert faster.change.low < -0.1 < faster.change.high
    assert faster.change_of_all.low < faster.change.low
    assert faster.faster_count == 6
    assert found.mean_ranks["b"] == 1
    assert found.friedman is not None
    assert found.friedman.p < 0.05


def test_workloads_that_one_treatment_lacks_are_told() -> None:
    trials = made({"a": 1.0, "b": 0.9})
    trials = [one for one in trials if (one.workload, one.treatment) != ("q5", "b")]
    found = across(trials, what="t", margin=0.02, control="b")
    assert found.left_out == ["q5"]
    assert found.workloads_count == 5
    assert found.reason == "tests of ranks need three treatments and two workloads"
    with pytest.raises(UsageError, match="no treatment is called x"):
        across(trials, what="t", margin=0.02, control="x")
    with pytest.raises(UsageError, match="no workload"):
        across([Measured("q", "a", 1), Measured("r", "b", 1)], what="t", margin=0.02)
    with pytest.raises(UsageError, match="b, q: 0 is not a positive number"):
        across([Measured("q", "a", 1), Measured("q", "b", 0)], what="t", margin=0.02)


def test_treatments_that_are_all_alike_are_not_tested_and_that_is_told() -> None:
    found = across(
        [Measured(work, name, 2.0) for work in "qr" for name in "abc"], what="t", margin=0.02
    )
    assert (found.friedman, found.quade) == (None, None)
    assert found.reason == "all treatments took the same time in each workload"


def test_the_verb_takes_the_column_of_workloads(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "times.csv"
    rows = [f"{one.workload},{one.treatment},{one.value}" for one in made({"a": 1.0, "b": 0.8})]
    file.write_text("query,treatment,value\n" + "\n".join(rows) + "\n")
    command = ["compare", "--csv", str(file), "--suite", "query"]
    assert run_verb([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["schema"] == "pyrometer/compare-suite/1"
    assert found["pairs"][0]["verdict"] == "faster"
    assert run_verb(command) == 0
    assert "6 of 6" in capsys.readouterr().out
    assert run_verb([*command, "--block", "query"]) == 2
    assert run_verb(["compare", "a", "b", "--suite", "query"]) == 2
    assert run_verb([*command, "run"]) == 2
