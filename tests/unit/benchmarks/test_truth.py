"""The sweep of declared shares: what is run and fitted, what is said where nothing is known."""

from __future__ import annotations

import json
import random
import subprocess
from typing import Any, ClassVar

import pytest
from benchmarks import truth as sweeping
from benchmarks.truth import Fit, Point, fit, programs, sweep, table
from tests.support.toy_workload import Toy

from pyrometer.workloads import registry
from pyrometer.workloads.values import Truth, Variant, WorkloadSpec

PATH = "gc.pauses_count"


class Declared(Toy):
    name = "truth-toy"
    group = "truth"
    variants: ClassVar = {
        "workload.cause": Variant({"on": "on", "off": "off"}, "on", "Whether."),
        "workload.share": Variant({"50": "half"}, "50", "How much.", integer=True),
    }

    def truth(self, spec: WorkloadSpec) -> Truth:
        value = int(spec.levels["workload.share"]) / 100
        return Truth("share", "here", value, "share", 0.05, "gc.part", "gc.whole")


class Unmeasured(Declared):
    name = "truth-dark"

    def truth(self, spec: WorkloadSpec) -> Truth:
        return Truth("share", "here", 0.5, "share", 0.05, reason="nothing sees it")


@pytest.fixture(autouse=True)
def only_toys(monkeypatch):
    toys = {c.name: f"{c.__module__}:{c.__name__}" for c in (Toy, Declared, Unmeasured)}
    monkeypatch.setattr(registry, "entries", lambda: toys)


def exact(name: str, levels: dict[str, str]) -> dict[str, Any]:
    return {"gc": {"part": int(levels["workload.share"]), "whole": 100}}


def test_only_what_is_declared_and_measured_is_swept():
    assert programs() == ["truth-toy"]


def test_sweep_runs_with_the_cause_on_and_pairs_declared_with_measured():
    seen = []

    def show(name: str, levels: dict[str, str]) -> dict[str, Any]:
        seen.append(levels)
        return exact(name, levels)

    points = sweep("truth-toy", (10, 50, 90), "test", show)
    assert points == [Point(x, x) for x in (0.1, 0.5, 0.9)]
    assert {levels["workload.cause"] for levels in seen} == {"on"}
    line = fit(points)
    assert line.slope == pytest.approx(1)
    assert line.intercept == pytest.approx(0)


def test_failed_run_is_said_and_left_out_of_the_fit():
    def show(name: str, levels: dict[str, str]) -> dict[str, Any]:
        if levels["workload.share"] == "50":
            raise subprocess.CalledProcessError(1, ["pyrometer"])
        return exact(name, levels)

    points = sweep("truth-toy", (10, 30, 50, 70), "test", show)
    assert [p.measured is None for p in points] == [False, False, True, False]
    assert points[2].reason == "the run failed: exit code 1"
    assert fit(points).slope == pytest.approx(1)
    assert "exit code 1" in str(fit(points[1:3]).reason)


def test_interval_of_the_slope_covers_the_truth_as_often_as_it_says():
    draw = random.Random(7)
    shares = (0.1, 0.3, 0.5, 0.7, 0.9)
    covered = 0
    for _ in range(1000):
        line = fit([Point(x, 0.02 + 0.9 * x + draw.gauss(0, 0.03)) for x in shares])
        covered += line.low <= 0.9 <= line.high
    assert 925 <= covered <= 975


def test_table_says_why_there_is_no_slope():
    text = table(
        [
            ("a", Fit(1.02, 0.98, 1.06, -0.01), [Point(0.1, 0.1, None, 0.97), Point(0.9, 0.9)]),
            ("b", Fit(None, reason="no probe"), []),
        ]
    )
    assert "97.0 %" in text
    assert "1.020     [0.980, 1.060]     -0.010" in text
    assert "no probe" in text


def test_command_prints_the_table_and_writes_the_points(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(sweeping, "run_and_show", lambda scale, iterations: exact)
    output = tmp_path / "truth.json"
    assert sweeping.main(["--shares", "10,50,90", "-o", str(output)]) == 0
    assert "truth-toy" in capsys.readouterr().out
    written = json.loads(output.read_text())
    assert written["programs"]["truth-toy"]["fit"]["slope"] == pytest.approx(1)
    assert list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["--shares", "10,x"], "whole numbers"), (["--only", "truth-dark"], "truth-toy")],
)
def test_bad_arguments_are_refused(arguments, said, capsys):
    with pytest.raises(SystemExit) as ended:
        sweeping.main(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
