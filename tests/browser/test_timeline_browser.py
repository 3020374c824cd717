"""Drags over the timeline in a real browser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.conftest import Browser
from tests.support.report_fixture import manifest, run_rows, write_tables
from tests.support.summary_fixture import summary

from pyrometer.pages.page import ReportData
from pyrometer.report.data import build
from pyrometer.store import Tables

pytestmark = pytest.mark.browser

# Chromium can capture no pointer of an invented event.
SEND = """
const [selector, button, events] = arguments;
const canvas = document.querySelector(selector);
canvas.setPointerCapture = () => {};
const { left, top, width, height } = canvas.getBoundingClientRect();
for (const [type, share] of events) {
  const at = { clientX: left + share * width, clientY: top + height / 2 };
  canvas.dispatchEvent(new PointerEvent(type, { button, bubbles: true, ...at }));
}
"""
TRACK, STRIP = '[data-track="cpu0"]', ".timeline .strip canvas"
BEGIN = [("pointerdown", 0.3), ("pointermove", 0.4)]
END = [("pointermove", 0.6), ("pointerup", 0.6)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportData]:
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder, run_rows())
    with Tables(folder) as tables:
        yield build(summary(), manifest(), tables)


@pytest.mark.parametrize("where", [TRACK, STRIP])
def test_only_the_first_button_drags(browser: Browser, data: ReportData, where: str) -> None:
    page = browser.open(data)
    whole = page.text("#timeline-range")
    page.js(SEND, where, 2, BEGIN + END)
    assert page.text("#timeline-range") == whole
    page.js(SEND, where, 0, BEGIN + END)
    assert page.text("#timeline-range") != whole
    assert page.complaints() == []


@pytest.mark.parametrize("where", [TRACK, STRIP])
def test_a_cancelled_drag_is_over(browser: Browser, data: ReportData, where: str) -> None:
    page = browser.open(data)
    page.js(SEND, where, 0, [*BEGIN, ("pointercancel", 0.4)])
    shown = page.text("#timeline-range")
    page.js(SEND, where, 0, END)
    assert page.text("#timeline-range") == shown
    assert page.complaints() == []
