"""Trials that were begun when places of the same words shared a folder: not counted, and told."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from tests.support.explain.tried_findings import WORKLOAD, finding

from pyrometer.experiments.run.loop import begin
from pyrometer.explain.schema import Finding
from pyrometer.verification import terminal
from pyrometer.verification.run import Verification, prepare


def prepared(one: Finding, home: Path) -> Verification:
    test = prepare(one, WORKLOAD, run_id="run", noise_ratio=0.02, budget_s=3600.0, home=home)
    assert isinstance(test, Verification)
    return test


def told(test: Verification) -> str:
    console = Console(width=400)
    with console.capture() as shown:
        terminal.planned(console, test)
    return shown.get()


def test_trials_of_a_place_of_the_same_words_are_not_run_again_without_a_word(
    tmp_path: Path,
) -> None:
    one = finding()
    first = prepared(one, tmp_path)
    assert "Earlier trials" not in told(first)
    begin(first.root, first.plan)
    apart = one.model_copy(update={"place": one.place.model_copy(update={"source": "app.py:7"})})
    test = prepared(apart, tmp_path)
    assert test.root != first.root
    said = told(test)
    assert f"Earlier trials of {one.place.words} do not count" in said
    assert str(first.root) in said
    # Once the place has trials of its own, those are gone on with.
    begin(test.root, test.plan)
    assert "Earlier trials" not in told(prepared(apart, tmp_path))
    assert prepared(one, tmp_path).namesake is None
