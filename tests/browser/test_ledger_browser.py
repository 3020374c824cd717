"""From the stages of a report down to one task, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from tests.browser.conftest import Browser
from tests.support.tables import StageSpec, World

from pyrometer.accounts.window import open_scope
from pyrometer.pages.page import ReportData
from pyrometer.report.page import page_data
from pyrometer.store import Run
from pyrometer.summary.summary import summarise

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> ReportData:
    stages = [StageSpec([300, 310, 290, 305, 900]), StageSpec([200, 100]), StageSpec([50])]
    folder = World(stages).write(tmp_path_factory.mktemp("run"))
    with Run.open(folder) as run:
        scope = open_scope(run, None)
        return page_data(scope, summarise(scope))


@pytest.fixture
def page(browser: Browser, data: ReportData) -> Browser:
    return browser.open(data)


def press(page: Browser, selector: str, text: str) -> None:
    """Press the button with that text by the keyboard."""
    buttons = page.driver.find_elements(By.CSS_SELECTOR, selector)
    found = next(b for b in buttons if text in (b.get_attribute("aria-label") or "") + b.text)
    found.send_keys(Keys.ENTER)


def test_the_keyboard_leads_from_stages_to_the_slowest_task(page: Browser) -> None:
    lines = page.all_texts("#ledger-parts .stack-line .name")
    assert lines == ["stage 0: stage 0", "stage 1: stage 1", "stage 2: stage 2"]
    press(page, "#ledger-parts button.stack-line", "stage 0")
    assert page.text("#ledger-parts h3").startswith("Stages › Stage 0")
    assert page.all_texts("#ledger-parts .stack-line .name")[0] == "task 4 of stage 0"
    press(page, "#ledger-parts .tabs button", "Slowest")
    assert page.text("#ledger-parts .why li").startswith("task 4 of stage 0 took 904 ms")
    assert page.all_texts("#ledger-parts .stack-line .name")[1].startswith("mean of ")
    press(page, "#ledger-parts .tabs button", "Operators")
    assert set(page.all_texts("#ledger-parts .stack-line .name")) == {
        "Filter", "Scan", "no operator",
    }  # fmt: skip
    assert page.complaints() == []


def test_an_operator_leads_to_its_tasks_and_each_to_its_rows(page: Browser) -> None:
    press(page, "#ledger-parts button.stack-line", "stage 0")
    press(page, "#ledger-parts .tabs button", "Operators")
    press(page, "#ledger-parts button.stack-line", "Scan")
    assert page.text("#ledger-parts h3").startswith("Stages › Stage 0 › Scan")
    names = page.all_texts("#ledger-parts .stack-line .name")
    assert names[0] == "task 4 of stage 0"
    assert len(names) == 5
    press(page, "#ledger-parts button.stack-line", "task 2 ")
    assert page.text("#ledger-parts h3").startswith("Stages › Stage 0 › Scan › task 2")
    assert "on cpu" in page.text("#ledger-parts .rows")
    link = page.js("return location.hash")
    press(page, "#ledger-parts button.crumb", "Scan")
    assert len(page.all_texts("#ledger-parts .stack-line .name")) == 5
    page.js("location.hash = arguments[0]", link)
    page.until(lambda: "task 2" in page.text("#ledger-parts h3"))
    assert page.complaints() == []


def test_a_link_restores_what_was_looked_at(page: Browser, data: ReportData) -> None:
    press(page, "#ledger-parts button.stack-line", "stage 0")
    press(page, "#ledger-parts button.stack-line", "task 4 ")
    assert "task 4" in page.text("#ledger-parts h3")
    link = page.js("return location.hash")
    page.js("location.hash = '#ledger?stage=none'")
    page.until(lambda: page.text("#ledger-parts h3").startswith("Stages?"))
    page.js("location.hash = arguments[0]", link)
    page.until(lambda: "task 4" in page.text("#ledger-parts h3"))
    assert page.js("return document.querySelectorAll('#ledger-parts .rows tbody tr').length") > 5


def test_every_bar_has_its_numbers_in_words(page: Browser) -> None:
    labels = page.js(
        "return [...document.querySelectorAll('#ledger-parts .stack-line')]"
        ".map((line) => line.getAttribute('aria-label'))"
    )
    assert all("on cpu" in label and "%" in label for label in labels)
    assert labels[0].endswith("Open")


def test_a_report_without_the_walk_says_nothing_of_it(browser: Browser, data: ReportData) -> None:
    bare = ReportData(data.title, {**data.content, "ledger_walk": None}, data.packs)
    page = browser.open(bare)
    assert page.js("return document.getElementById('ledger-parts')") is None
    assert page.complaints() == []


def test_the_walk_stays_small(data: ReportData, tmp_path: Path) -> None:
    walk = data.content["ledger_walk"]
    assert [len(stage["view"]["rows"]) < 40 for stage in walk["stages"]] == [True] * 3
    assert len(str(walk)) < 60_000
