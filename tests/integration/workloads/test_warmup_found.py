"""``run --warmup auto``: which iterations are warm-up is found as experiments find it."""

from __future__ import annotations

import json

import pytest
from tests.support.cli import pyrometer

from pyrometer.experiments.history.stored_runs import iterations_of
from pyrometer.experiments.run.attempt import read
from pyrometer.store.manifest import read_manifest

SLEEPER = """
import time

from pyrometer.workloads.contract import Workload
from pyrometer.workloads.values import IterationResult, Prepared


class Sleeper(Workload):
    name = "sleeper"
    summary = "Sleeps as long as it is told"
    description = source = expectation = "For tests."
    engine = "process"
    scales = {"test": 1, "default": 1, "seed": 1}
    scale_unit = "things"

    def prepare(self, spec, cache, progress=None):
        return Prepared()

    def setup(self, spark, prepared, spec):
        self.left = [TIMES]

    def run(self, spark, prepared, spec):
        time.sleep(self.left.pop(0))
        return IterationResult(1, "1")

    def verify(self, result, prepared, spec):
        return None
"""
SETTLES = "0.5, 0.3, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1"
FALLS = "0.64, 0.48, 0.36, 0.27, 0.2, 0.15, 0.11, 0.08"


def ran(tmp_path, times, *options):
    (tmp_path / "sleeper.py").write_text(SLEEPER.replace("[TIMES]", f"[{times}]"))
    count = times.count(",")
    return pyrometer(
        "run", "sleeper.py", "--json", "--no-report", "--profile", "off", "-o", "run",
        "--iterations", str(count), *options, cwd=tmp_path,
    )  # fmt: skip


@pytest.mark.slow
def test_all_iterations_before_the_steady_ones_are_warm_up_and_the_reason_is_told(tmp_path):
    done = ran(tmp_path, SETTLES)
    assert done.json["warmup"] == {
        "taken": 3, "declared": 1, "of": 9, "shape": "warm-up",
        "why": "the iterations before were slower",
    }  # fmt: skip
    assert "warm-up: 3 of 9 iterations" in done.stderr
    manifest = read_manifest(tmp_path / "run")
    assert [one.warmup for one in manifest.results] == [True] * 3 + [False] * 6
    # What an experiment makes of the same run is the same, and so is the history's mean.
    facts = read(tmp_path / "run").facts
    assert facts is not None
    assert (facts.counted_from, facts.shape) == (3, "warm-up")
    assert iterations_of(tmp_path / "run") == pytest.approx(facts.iterations_s)
    shown = json.loads(pyrometer("show", "run", "--json", cwd=tmp_path).stdout)
    assert [one["warmup"] for one in shown["iterations"]] == [True] * 3 + [False] * 6


@pytest.mark.slow
def test_what_never_settles_ends_after_the_iterations_asked_for_with_a_doubt(tmp_path):
    done = ran(tmp_path, FALLS)
    assert (done.json["warmup"]["taken"], done.json["warmup"]["shape"]) == (1, "not steady")
    assert len(read_manifest(tmp_path / "run").results) == FALLS.count(",") + 1
    assert "not_settled" in {one["code"] for one in done.json["doubts"]}


@pytest.mark.slow
def test_a_number_is_taken_as_it_is(tmp_path):
    done = ran(tmp_path, "0.5, 0.3, 0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1", "--warmup", "1")
    assert done.json["warmup"] is None
    warmup = [one.warmup for one in read_manifest(tmp_path / "run").results]
    assert warmup == [True] + [False] * 8
