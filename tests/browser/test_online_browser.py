"""The page of a recurring job in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import Browser
from tests.browser.test_experiment_browser import OUTSIDE
from tests.browser.test_report_browser import NASTY
from tests.support.tuning import COLLECTOR, Simulated, seconds_of, tuning

from pyrometer.experiments.run.attempt import Attempt
from pyrometer.tune.online.page import write_online
from pyrometer.tune.online.report import OnlineReport, online_report
from pyrometer.tune.online.run import step
from pyrometer.tune.trials.folder import OnlineTerms, begin

pytestmark = pytest.mark.browser

SECTIONS = ("verdict", "doubts", "nights", "risk", "decisions", "runs")
TERMS = OnlineTerms(risk=0.2, runs=30, limit=1.5, first=5, control=8)


def nightly(root: Path, nights: int = 60) -> OnlineReport:
    """A job with steps that help, one that fails, one that is killed, and a roll-back."""
    begin(root, tuning("30", online=TERMS, canaries="none"))
    worse = [False]

    def behaviour(levels, count):  # type: ignore[no-untyped-def]
        if count == 8:
            return Attempt("failed", reason="exit code 9")
        if count == 12 and levels:
            return Attempt(
                "failed", reason="it ended", outside="ended by SIGTERM, sent from outside"
            )
        return None

    def seconds(levels):  # type: ignore[no-untyped-def]
        return 13.0 if worse[0] and levels else seconds_of(levels)

    machine = Simulated(behaviour, seconds=seconds, noise=0.02)
    for night in range(nights):
        worse[0] = night >= nights - 15
        step(root, actions=machine.actions())
    return online_report(root)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, OnlineReport]:
    root = tmp_path_factory.mktemp("online") / "nightly"
    return root, nightly(root)


@pytest.fixture
def page(browser: Browser, made: tuple[Path, OnlineReport], tmp_path: Path) -> Browser:
    return browser.go(write_online(made[0], tmp_path / "page.html", report=made[1]))


def test_opens_clean_and_asks_for_nothing(page: Browser) -> None:
    page.assert_clean("Recurring job simulated", SECTIONS)


def test_every_night_and_decision_is_told_with_its_reason(
    page: Browser, made: tuple[Path, OnlineReport]
) -> None:
    report = made[1]
    assert {"adopted", "rolled back", "barred", "not counted"} <= {
        one.what for one in report.decisions
    }
    assert report.told in page.text("#main")
    assert len(page.all_texts("#runs tbody tr")) == len(report.runs)
    assert len(page.all_texts("#decisions tbody tr")) == len(report.decisions)
    decided = page.text("#decisions")
    assert "exit code 9" in decided
    assert "ended by SIGTERM, sent from outside" in decided
    # A mark for each run, and one for each adoption and roll-back.
    turns = [one for one in report.decisions if one.what in ("adopted", "rolled back")]
    marks = page.js("return document.querySelectorAll('#nights .mark').length")
    assert marks == len(report.runs) + len(turns)
    assert report.lost_runs < 0
    assert f"Time saved by now: {-report.lost_runs:.2f}"[:-1] in page.text("#risk")


def test_nothing_is_drawn_beyond_an_edge_and_marks_are_reached_by_keys(page: Browser) -> None:
    assert page.js(OUTSIDE) == []
    assert page.js("return document.querySelectorAll('#nights .mark[tabindex=\"0\"]').length") == 1


@pytest.mark.parametrize("kind", NASTY)
def test_names_are_shown_literally(
    browser: Browser, made: tuple[Path, OnlineReport], tmp_path: Path, kind: str
) -> None:
    name = NASTY[kind]
    report = made[1].model_copy(deep=True)
    report.name = report.workload = report.space = report.next = report.told = name
    report.command = [name]
    report.incumbent = {COLLECTOR: name}
    for one in report.runs:
        one.why = name
        one.configuration = {COLLECTOR: name} if one.configuration else {}
        one.failed = name if one.failed else None
    for decision in report.decisions:
        decision.why = name
        decision.configuration = {name: name}
    page = browser.go(write_online(made[0], tmp_path / "nasty.html", report=report))
    assert page.complaints() == []
    assert page.requests() == []
    assert page.js("return document.querySelectorAll('img').length") == 0
    assert page.text("h1") == f"Recurring job {name}"
    assert name in page.text("#decisions")
    assert name in page.text("#runs")


def test_a_job_that_has_not_run_yet_has_a_page(browser: Browser, tmp_path: Path) -> None:
    begin(tmp_path / "t", tuning("30", online=TERMS, canaries="none"))
    page = browser.go(write_online(tmp_path / "t"))
    assert page.complaints() == []
    assert "This section failed" not in page.text("#main")
    assert "Nothing has run yet" in page.text("#nights")
