"""Tab goes from table to table, arrow keys inside; the navigation says where one is."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from tests.browser.conftest import Browser
from tests.support.report_fixture import manifest, run_rows, write_tables
from tests.support.summary_fixture import summary

from pyrometer.pages.page import ReportData
from pyrometer.report.data import build
from pyrometer.store import Tables

pytestmark = pytest.mark.browser

MOST_STOPS = 40
"""Tab stops before the flame graph."""
STOPS = """
const flame = document.getElementById('flame');
return [...document.querySelectorAll(
  "a[href], button, input, select, textarea, summary, [tabindex]")]
  .filter((node) => node.tabIndex >= 0 && !node.disabled && node.checkVisibility())
  .filter((node) => node.compareDocumentPosition(flame) & Node.DOCUMENT_POSITION_FOLLOWING).length;
"""
FOCUSED = "return document.activeElement.textContent"
ROW = "return document.activeElement.dataset.row ?? document.activeElement.textContent"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportData]:
    folder: Path = tmp_path_factory.mktemp("tables")
    write_tables(folder, run_rows())
    source = copy.deepcopy(summary())
    source["ledger"]["slot_view"]["rows"].append(
        {"path": "getting_result", "parent": None, "value_ns": 0, "low_ns": 0, "high_ns": 0, "n": 1,
         "method": "exact", "source": "event log", "share": 0.0}
    )  # fmt: skip
    with Tables(folder) as opened:
        yield build(source, manifest(), opened)


@pytest.fixture
def page(browser: Browser, data: ReportData) -> Browser:
    opened = browser.open(data)
    opened.js("scrollTo(0, 0)")
    return opened


def press(page: Browser, *keys: str) -> None:
    ActionChains(page.driver).send_keys(*keys).perform()


def test_few_tab_stops_precede_the_flame_graph(page: Browser) -> None:
    assert 10 < page.js(STOPS) <= MOST_STOPS
    # What is opened later keeps to it.
    page.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    page.until(lambda: page.js(STOPS) <= MOST_STOPS + 15)


def test_tab_reaches_the_flame_graph_in_as_many_steps(page: Browser) -> None:
    page.js("document.body.focus()")
    for steps in range(1, MOST_STOPS + 1):  # noqa: B007
        press(page, Keys.TAB)
        if page.js("return document.activeElement.closest('#flame') !== null"):
            break
    assert page.js("return document.activeElement.closest('#flame') !== null"), steps


def test_arrow_keys_move_open_and_close_rows_of_the_ledger(page: Browser) -> None:
    table = "document.querySelector('#ledger [role=treegrid]')"
    page.js(f"{table}.querySelector('tr[tabindex=\"0\"]').focus()")
    assert page.js(ROW) == "task"
    press(page, Keys.ARROW_DOWN)
    assert page.js(ROW) == "task/on_cpu"
    stops = f"return [...{table}.querySelectorAll('[tabindex=\"0\"]')]"
    assert page.js(f"{stops}.filter((row) => row.checkVisibility()).length") == 1
    press(page, Keys.ARROW_LEFT)
    assert page.js("return document.activeElement.getAttribute('aria-expanded')") == "false"
    press(page, Keys.ARROW_LEFT)
    assert page.js(ROW) == "task"
    press(page, Keys.ARROW_DOWN, Keys.ARROW_RIGHT, Keys.ARROW_DOWN)
    assert page.js(ROW).startswith("task/on_cpu/")
    assert page.js("return document.activeElement.getAttribute('aria-level')") == "3"
    press(page, Keys.HOME)
    assert page.js(ROW) == "task"
    press(page, Keys.END)
    shown = page.js(f"return [...{table}.querySelectorAll('tbody tr')].filter((r) => !r.hidden)"
                    ".at(-1) === document.activeElement")  # fmt: skip
    assert shown
    assert page.text("#tip") != ""


def test_small_rows_are_in_one_line_and_exact_goes_without_saying(page: Browser) -> None:
    rows = page.js("return [...document.querySelectorAll('#ledger .panel:first-child tbody tr')]"
                   ".map((row) => [row.hidden, row.textContent])")  # fmt: skip
    shown = [text for hidden, text in rows if not hidden]
    assert any("smaller rows, together" in text for text in shown)
    assert not any("exact" in text for _, text in rows)
    assert any("by subtraction" in text for _, text in rows)
    closed = len(shown)
    page.js("document.querySelector('#ledger tr.rest').click()")
    opened = page.js("return [...document.querySelectorAll('#ledger .panel:first-child tbody tr')]"
                     ".filter((row) => !row.hidden).length")  # fmt: skip
    assert opened > closed


def test_arrow_keys_move_between_the_cells_of_a_table(page: Browser) -> None:
    page.js("document.querySelector('#stages thead button').focus()")
    first = page.js(FOCUSED)
    press(page, Keys.ARROW_RIGHT)
    assert page.js(FOCUSED) != first
    assert page.js("return document.activeElement.closest('th') !== null")
    press(page, Keys.ARROW_DOWN)
    assert page.js("return document.activeElement.closest('tbody') !== null")
    stops = "return document.querySelectorAll('#stages table [tabindex=\"0\"]').length"
    assert page.js(stops) == 1


def test_the_navigation_marks_the_section_that_is_read(page: Browser) -> None:
    marked = "return document.querySelector('nav [aria-current]')?.hash"
    assert page.js(marked) == "#verdict"
    for section in ("ledger", "stages"):
        page.js("document.getElementById(arguments[0]).scrollIntoView()", section)
        page.until(lambda: page.js(marked) == f"#{section}", 5)  # noqa: B023
    assert page.js("return document.querySelectorAll('nav [aria-current]').length") == 1
