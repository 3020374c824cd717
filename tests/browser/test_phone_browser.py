"""No page scrolls sideways on a phone: what is wide scrolls in its own box."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.conftest import Browser
from tests.browser.test_difference_browser import world as sampled
from tests.support.report_fixture import manifest, run_rows, write_tables
from tests.support.summary_fixture import eventlog_only_summary, summary
from tests.unit.corun.test_corun import ran, told, two_cpus
from tests.unit.experiments.test_history import runs
from tests.unit.experiments.test_page import folder

from pyrometer.corun.page import write_corun
from pyrometer.experiments.history.history import history, write_history
from pyrometer.experiments.judge.page import write_experiment
from pyrometer.flame.difference.page import write_difference
from pyrometer.flame.page import write_flame
from pyrometer.pages.page import write_page
from pyrometer.report.data import build
from pyrometer.store import Tables

pytestmark = pytest.mark.browser

WIDTH = 360
WIDE = """
const page = document.documentElement;
const clipped = (node) => node && node !== document.body
  && (getComputedStyle(node).overflowX !== 'visible' || clipped(node.parentElement));
return page.scrollWidth <= page.clientWidth ? [] : [...document.querySelectorAll('body *')]
  .filter((node) => node.getBoundingClientRect().right > page.clientWidth + 1)
  .filter((node) => !clipped(node.parentElement))
  .map((node) => `${node.tagName}.${node.className} of ${node.closest('section')?.id}`);
"""
"""What makes the page wider than the screen."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("pages")
    write_tables(root / "tables", run_rows())
    with Tables(root / "tables") as tables:
        write_page(build(summary(), manifest(), tables), root / "report.html")
        write_page(build(eventlog_only_summary(), {}, tables), root / "log.html")
    a, b = (sampled(ms).write(root / str(ms)) for ms in (900, 1800))
    write_difference([a], [b], root / "difference.html")
    write_flame(b, root / "flame.html")
    with pytest.MonkeyPatch.context() as patch:
        two_cpus(patch)
        together = ran(root / "corun")
        corun = write_corun(together, report=told(together))
    past = history(runs({10.0: 12, 11.0: 9}, {10.0: {"java": "17"}, 11.0: {"java": "21"}}))
    return {
        "report": root / "report.html",
        "event log": root / "log.html",
        "flame": root / "flame.html",
        "difference": root / "difference.html",
        "experiment": write_experiment(folder(root / "experiment" / "out")),
        "corun": corun,
        "history": write_history(past, root / "history.html"),
    }


@pytest.fixture
def phone(browser: Browser) -> Iterator[Browser]:
    size = {"width": WIDTH, "height": 740, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    yield browser
    browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["report", "event log", "flame", "difference", "experiment", "corun", "history"]
)
def test_no_page_scrolls_sideways_on_a_phone(
    phone: Browser, pages: dict[str, Path], name: str
) -> None:
    page = phone.go(pages[name])
    assert page.js("return document.documentElement.clientWidth") == WIDTH
    assert page.js(WIDE) == []
    page.js("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.js(WIDE) == []
    assert page.js("return document.documentElement.scrollWidth") <= WIDTH
