"""The page of a tuning in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import Browser
from tests.browser.test_experiment_browser import OUTSIDE
from tests.browser.test_report_browser import NASTY
from tests.support.tuning import COLLECTOR, PARTITIONS, Simulated, tuning
from tests.unit.tune.test_stand_ins import SCALE, Cheap, _seconds

from pyrometer.core.estimate import Estimate
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.tune.carry import confirm_winner, search
from pyrometer.tune.judge.page import write_tuning
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.judge.schema import Recommendation, ScreenedReport, TuningReport
from pyrometer.tune.trials.folder import begin
from pyrometer.tune.trials.records import Similar

pytestmark = pytest.mark.browser

SECTIONS = (
    "verdict", "doubts", "before", "confirmation", "why", "trace", "parallel", "influence",
    "factors", "fronts", "trials", "stand-ins", "discarded",
)  # fmt: skip


def _tuned(root: Path) -> Simulated:
    """Search with a stand-in, a trial that fails and one that does not fit; then confirm."""
    begin(root, tuning("30", workload="tpch", fidelities=[SCALE]))

    def behaviour(levels, count):  # type: ignore[no-untyped-def]
        return Attempt("failed", reason="exit code 9") if count == 9 else None

    machine = Simulated(behaviour, seconds=_seconds, metrics={"peak_memory": 3e9})
    search(root, lambda one: Cheap(one.seed), actions=machine.actions())
    confirm_winner(root, actions=machine.actions())
    return machine


def _report(root: Path, machine: Simulated) -> TuningReport:
    found = tuning_report(root, measure=machine.actions().measure)
    saving = Estimate(value=0.2, low=0.1, high=0.3, level=0.95, n=5, method="simulated")
    found.before = [
        Recommendation(
            finding="tiny-tasks", title="Tasks too small", text="2 ms each", trials=[2],
            levels={PARTITIONS: "8"}, saving_ratio=saving,
        )
    ]  # fmt: skip
    found.elsewhere_reason = "not confirmed with a fifth more data"
    found.screened = [ScreenedReport(factor="jvm.heap", level="4g", effect=saving, dropped=True)]
    found.similar = [
        Similar(of="/runs/other", job="other", distance=0.1, trials=9, differs=["the machine"])
    ]
    found.stand_ins[0].correlation = Estimate(
        value=0.9, low=0.6, high=0.98, level=0.95, n=6, method="simulated"
    )
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TuningReport]:
    root = tmp_path_factory.mktemp("tuning") / "t"
    machine = _tuned(root)
    return root, _report(root, machine)


@pytest.fixture
def page(browser: Browser, made: tuple[Path, TuningReport], tmp_path: Path) -> Browser:
    return browser.go(write_tuning(made[0], tmp_path / "page.html", report=made[1]))


def test_opens_clean_and_asks_for_nothing(page: Browser) -> None:
    page.assert_clean("Tuning of simulated", SECTIONS)


def test_the_verdict_and_every_trial_are_told(
    page: Browser, made: tuple[Path, TuningReport]
) -> None:
    report = made[1]
    assert report.told in page.text("#main")
    assert len(page.all_texts("#trials tbody tr")) == len(report.trials)
    failed = [one for one in report.trials if one.failed]
    assert failed
    assert "exit code 9" in page.text("#discarded")
    fidelities = {one.fidelity for one in report.trials}
    assert fidelities == {"full", "scale"}
    confirmed = report.confirmation
    assert confirmed is not None
    assert confirmed.told in page.text("#confirmation")


def test_stand_ins_and_what_was_known_before_stand_apart(
    page: Browser, made: tuple[Path, TuningReport]
) -> None:
    (one,) = made[1].stand_ins
    cells = page.all_texts("#stand-ins tbody td")
    assert cells[0] == "scale: scale 100 instead of 1000"
    assert cells[2].startswith("0.90")
    assert str(one.trials) in cells
    assert "jvm.heap=4g" in cells
    assert "not confirmed with a fifth more data" in page.text("#confirmation")
    before = page.text("#before")
    assert f"{PARTITIONS}=8" in before
    assert (
        "Known from other (/runs/other): 9 trials, distance 0.10; differs in the machine" in before
    )


def test_nothing_is_drawn_beyond_an_edge_and_marks_are_reached_by_keys(page: Browser) -> None:
    assert page.js(OUTSIDE) == []
    for plot in ("#trace", "#parallel", "#factors"):
        stops = f"return document.querySelectorAll('{plot} .mark[tabindex=\"0\"]').length"
        drawings = page.js(f"return document.querySelectorAll('{plot} .drawing').length")
        assert page.js(stops) == drawings > 0, plot


@pytest.mark.parametrize("kind", NASTY)
def test_names_are_shown_literally(
    browser: Browser, made: tuple[Path, TuningReport], tmp_path: Path, kind: str
) -> None:
    name = NASTY[kind]
    report = made[1].model_copy(deep=True)
    report.name = report.workload = name
    report.conditions = [name]
    report.shared = {name: name}
    for trial in report.trials:
        trial.why = name
        trial.configuration = {COLLECTOR: name} if trial.configuration else {}
        trial.failed = name if trial.failed else None
    report.discarded[0].reason = name
    report.before[0].title = name
    report.similar[0].job = name
    report.stand_ins[0].summary = name
    report.stand_ins[0].left_out = name
    page = browser.go(write_tuning(made[0], tmp_path / "nasty.html", report=report))
    assert page.complaints() == []
    assert page.requests() == []
    assert page.js("return document.querySelectorAll('img').length") == 0
    assert page.text("h1") == f"Tuning of {name}"
    assert name in page.text("#stand-ins")
    assert name in page.text("#before")
    assert name in page.text("#discarded")


def test_a_tuning_that_has_just_begun_has_a_page(browser: Browser, tmp_path: Path) -> None:
    begin(tmp_path / "t", tuning())
    page = browser.go(write_tuning(tmp_path / "t"))
    assert page.complaints() == []
    assert "This section failed" not in page.text("#main")
    assert "No trial has finished" in page.text("#trace")
