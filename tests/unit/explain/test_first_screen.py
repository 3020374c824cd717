"""The best findings in a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.explain.findings import (
    S,
    a_finding,
    estimate,
    invented,
    invented_log,
    some_findings,
)

from pyrometer.cli.shared.finding import Finder
from pyrometer.explain.first_screen import MOST, first_lines
from pyrometer.explain.kept import findings_of
from pyrometer.explain.schema import Judgement, Proof
from pyrometer.explain.words import conclusion
from pyrometer.summary.kept import summary_of


def test_the_whole_stands_first_and_no_more_than_three_follow(tmp_path: Path) -> None:
    found = invented(tmp_path)
    (nothing, whole), *each = first_lines(found)
    shown = [one for one in found.findings if one.shown and one.muted is None]
    assert nothing == ""
    assert whole.startswith(f"{len(shown)} finding")
    assert " save" in whole
    assert len(whole) <= 80
    assert 0 < len(each) <= MOST
    pairs = zip(each, shown[:MOST], strict=True)
    assert all(what.startswith(one.title) for (_, what), one in pairs)


def test_of_one_finding_what_it_saves_is_said_once() -> None:
    one = a_finding()
    found = some_findings(one, joint_saving=one.saving)
    (_, whole), (saves, what) = first_lines(found)
    assert whole.startswith("1 finding saves 2.00 s of ")
    assert (saves, what.split(":")[0]) == ("", one.title)


def test_nothing_to_gain_is_said_with_the_noise() -> None:
    found = some_findings(conclusion="Nothing worth more than 5.00 %, the noise of this run.")
    assert first_lines(found) == [("", found.conclusion)]


def test_where_nothing_could_be_judged_nothing_is_said() -> None:
    found = some_findings(unjudged=("gc.full",), rules_count=1)
    assert first_lines(found) == []


def test_what_was_tried_is_told_with_its_verdict() -> None:
    one = a_finding(proof=Proof(verdict="proven", measured=estimate(1.5 * S)))
    (_, whole), (_, what) = first_lines(some_findings(one))
    assert whole == (
        "1 finding saves 2.00 s of 10.0 s (1.80 s to 2.20 s); measured: 1.50 s (1.35 s to 1.65 s)"
    )
    assert what == "Title (proven): stage 1"
    (_, whole), (saves, _), _ = first_lines(some_findings(one, a_finding("gc.b", 1.0)))
    assert "; measured, of 1 of them: 1.50 s (1.35 s to 1.65 s)" in whole
    assert saves == "2.00 s (1.80 s to 2.20 s); measured: 1.50 s (1.35 s to 1.65 s)"


@pytest.mark.parametrize("verdict", ["refuted", "no_difference"])
def test_what_was_tried_without_a_gain_is_no_advice(verdict: Judgement) -> None:
    one = a_finding(proof=Proof(verdict=verdict, measured=estimate(-S)))
    found = some_findings(one)
    found.conclusion = conclusion(found)
    ((_, line),) = first_lines(found)
    assert line.startswith("Nothing else worth more than 2.00 %")
    named = f"1 tried without a gain (gc.heap, 2.00 s: {verdict.replace('_', ' ')}: −1.00 s"
    assert named in line
    other = a_finding("gc.b", 1.0)
    assert [what for _, what in first_lines(some_findings(one, other))[1:]] == ["Title: stage 1"]


def test_what_is_muted_is_left_out() -> None:
    found = some_findings(a_finding(muted="known"))
    found.conclusion = conclusion(found)
    ((_, line),) = first_lines(found)
    assert line == (
        "Nothing else worth more than 2.00 %, the noise of this run: 5 of 5 rules could be applied;"
        " 1 muted finding (gc.heap, 2.00 s: known)."
    )


def test_a_failure_is_a_line_and_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyrometer.explain.kept.findings_of", lambda *_, **__: 1 / 0)
    run = invented_log(tmp_path / "run")
    ((_, line),) = Finder().lines_of_run(run, None, summary_of(run))
    assert line == "findings could not be computed: ZeroDivisionError: division by zero"


def test_of_very_many_tasks_those_that_are_kept_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyrometer.explain.kept.MOST_TASKS", 1)
    run = invented_log(tmp_path / "run")
    ((_, line),) = Finder().lines_of_run(run, None, summary_of(run))
    assert line.endswith("tasks are not computed here: pyrometer explain RUN, once, keeps them")
    ((_, line),) = Finder().lines_of_run(run, "application", summary_of(run, "application"))
    assert line.endswith(": pyrometer explain RUN --window application, once, keeps them")
    findings_of(run)
    assert len(Finder().lines_of_run(run, None, summary_of(run))) > 1
