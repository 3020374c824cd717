"""Flame graph and timeline of a report in a real browser: search, zoom, links, keys, tables."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from tests.browser.conftest import Browser, hover, press
from tests.browser.test_report_browser import EVIL
from tests.support.report_fixture import manifest, run_rows, write_tables
from tests.support.summary_fixture import summary

from pyrometer.report.data import build
from pyrometer.store import Tables

pytestmark = pytest.mark.browser


def test_names_of_frames_and_tasks_are_text(browser: Browser, tmp_path: Path) -> None:
    rows = run_rows()
    for frame in rows["frames"]:
        frame["method"] = f"{EVIL}{frame['method']}"
    for task in rows["tasks"]:
        task["executor_id"] = EVIL
    write_tables(tmp_path / "tables", rows)
    with Tables(tmp_path / "tables") as tables:
        page = browser.open(build(summary(), manifest(), tables))
    page.until(lambda: EVIL in page.text("#flame tbody .frame"))
    hover(page, '[data-track="tasks"]', 0.5, 0.2)
    assert page.js("return document.scripts.length") == 5
    assert page.complaints() == []


def test_search_tells_the_share_of_what_matched(full: Browser) -> None:
    box = full.driver.find_element(By.ID, "flame-search")
    box.send_keys("rawUncompress|InternalUncompress")
    share = full.until(lambda: full.text("#flame-share"))
    full.until(lambda: full.all_texts("#flame .scroll tbody tr"))
    expected = full.js(
        """const rows = [...document.querySelectorAll('#flame .scroll tbody tr')];
        const name = 'snappy::InternalUncompressAllTags<>';
        const row = rows.find((r) => r.firstChild.textContent === name);
        return row.children[4].textContent;"""
    )
    assert share == f"{expected} matched (2 frames)"
    box.clear()
    box.send_keys("no such frame")
    full.until(lambda: full.text("#flame-share") == "0 % matched (0 frames)")
    box.send_keys("(")
    assert full.complaints() == []


def test_click_zooms_back_and_reset_return(full: Browser) -> None:
    whole = full.text("#flame-status")
    assert "samples" in whole
    hover(full, "#flame-canvas", 0.06, 0.97)
    assert re.search(r"share of all shown[\d.]+ % \(95 %: [\d.]+ % – [\d.]+ %\)", full.text("#tip"))
    ActionChains(full.driver).click().perform()
    assert full.text("#flame-status").startswith("copy_page_to_iter · total")
    zoomed = full.text("#flame-status")
    assert zoomed != whole
    press(full, "#flame-back")
    assert full.text("#flame-status") != zoomed
    assert full.js("return document.getElementById('flame-back').disabled")
    ActionChains(full.driver).move_to_element(
        full.driver.find_element(By.ID, "flame-canvas")
    ).click().perform()
    press(full, "#flame-reset")
    assert full.js("return document.getElementById('flame-reset').disabled")


@pytest.mark.slow
def test_events_and_filters_change_the_picture(full: Browser) -> None:
    texts = set()
    for event in ("cpu", "wall", "alloc"):
        full.driver.find_element(By.CSS_SELECTOR, f'[data-event="{event}"]').click()
        texts.add(full.text("#flame-status"))
    assert len(texts) == 3
    assert any("MiB in" in text for text in texts)
    select = full.driver.find_element(By.CSS_SELECTOR, 'select[data-name="iteration"]')
    select.find_element(By.XPATH, "option[text()='iteration 2']").click()
    assert full.text("#flame-status") not in texts


@pytest.mark.slow
def test_stacks_are_ordered_as_asked(full: Browser) -> None:
    def choose(name: str, text: str) -> None:
        path = f"//select[@data-name='{name}']/option[contains(text(), '{text}')]"
        full.driver.find_element(By.XPATH, path).click()

    def whole() -> str:
        full.driver.find_element(By.ID, "flame-canvas").send_keys(Keys.ESCAPE)
        return full.text("#flame-status")

    before = whole()
    choose("group1", "Stage")
    choose("inverted", "from the leaf")
    assert whole() == before
    choose("weight", "critical")
    critical = whole()
    assert critical != before
    choose("group0", "nothing")
    assert whole() == critical
    choose("weight", "time")
    choose("inverted", "from the root")
    choose("group0", "Thread role")
    assert whole() == before


@pytest.mark.slow
def test_a_link_brings_back_the_view(full: Browser) -> None:
    def choose(name: str, text: str) -> None:
        path = f"//select[@data-name='{name}']/option[contains(text(), '{text}')]"
        full.driver.find_element(By.XPATH, path).click()

    choose("group1", "Stage")
    full.driver.find_element(By.CSS_SELECTOR, "[data-event=wall]").click()
    canvas = full.driver.find_element(By.ID, "flame-canvas")
    canvas.send_keys(Keys.ARROW_DOWN + Keys.ARROW_DOWN + Keys.ENTER)
    shown = full.text("#flame-status")
    press(full, "[data-keep=link]")
    assert "#flame?event=wall&by=operator%2Cstage" in full.driver.current_url
    assert "serves=%22tasks%22" in full.driver.current_url
    full.driver.refresh()
    full.until(lambda: full.js("return document.documentElement.dataset.ready"))
    assert full.text("#flame-status") == shown
    assert full.text("[data-event=wall][aria-pressed=true]") == "Wall"
    svg = full.js(
        "window.kept = null; HTMLAnchorElement.prototype.click = () => {};"
        "URL.createObjectURL = (blob) => { blob.text().then((t) => { window.kept = t; });"
        " return '#kept'; };"
        "document.querySelector('[data-keep=svg]').click(); return true"
    )
    assert svg
    text = full.until(lambda: full.js("return window.kept"))
    assert text.startswith("<svg ")
    assert text.count("<title>") > 3
    full.js("history.replaceState(null, '', location.pathname)")
    full.driver.refresh()
    full.until(lambda: full.js("return document.documentElement.dataset.ready"))


def test_the_flame_graph_works_by_keyboard(full: Browser) -> None:
    canvas = full.driver.find_element(By.ID, "flame-canvas")
    full.js("arguments[0].focus()", canvas)
    keys = ActionChains(full.driver)
    keys.send_keys(Keys.ARROW_DOWN).perform()
    assert full.text("#flame-status").startswith("Scan parquet · total")
    ActionChains(full.driver).send_keys(Keys.ARROW_DOWN).perform()
    assert full.text("#flame-status").startswith("Spark's task runner (7 frames) · folded")
    # Enter opens what is folded; the box that it becomes is zoomed into by another.
    ActionChains(full.driver).send_keys(Keys.ENTER).perform()
    assert full.text("#flame-status").startswith("java.lang.Thread.run · total")
    assert full.js("return document.getElementById('flame-reset').disabled")
    ActionChains(full.driver).send_keys(Keys.ENTER).perform()
    assert not full.js("return document.getElementById('flame-reset').disabled")
    ActionChains(full.driver).send_keys(Keys.ESCAPE).perform()
    assert full.js("return document.getElementById('flame-reset').disabled")
    ActionChains(full.driver).send_keys("/").perform()
    assert full.js("return document.activeElement.id") == "flame-search"


@pytest.mark.slow
def test_the_timeline_zooms_by_brush_button_and_key(full: Browser) -> None:
    def shown() -> str:
        return full.text("#timeline-range")

    whole = shown()
    track = full.driver.find_element(By.CSS_SELECTOR, '[data-track="cpu0"]')
    full.js("arguments[0].scrollIntoView({block: 'center'})", track)
    ActionChains(full.driver).move_to_element_with_offset(
        track, -200, 0
    ).click_and_hold().move_by_offset(150, 0).release().perform()
    brushed = shown()
    assert brushed != whole
    full.js("arguments[0].focus()", track)
    ActionChains(full.driver).send_keys("+").perform()
    assert shown() not in (whole, brushed)
    ActionChains(full.driver).send_keys("0").perform()
    assert shown() == whole
    full.driver.find_element(By.XPATH, "//button[text()='Measured']").click()
    assert shown().startswith("18.0 s – 38.5 s")


def test_hover_tells_the_task_and_the_values(full: Browser) -> None:
    hover(full, '[data-track="tasks"]', 0.55, 0.15)
    full.until(lambda: "task" in full.text("#tip"))
    assert "stage" in full.text("#tip")
    hover(full, '[data-track="cpu0"]', 0.55, 0.5)
    value = full.until(lambda: full.text('#timeline .track:has([data-track="cpu0"]) .legend b'))
    assert 0.5 < float(value) < 2


@pytest.mark.slow
def test_a_track_shows_its_numbers_as_a_table(full: Browser) -> None:
    assert full.js("return document.getElementById('timeline-table').hidden")
    press(full, "#timeline-as-table")
    path = "//select[@data-name='timeline-series']/option[text()='CPU']"
    full.driver.find_element(By.XPATH, path).click()
    assert full.all_texts("#timeline-table th button")[:3] == [
        "From",
        "user (CPUs)",
        "system (CPUs)",
    ]
    rows = full.js(
        "return [...document.querySelectorAll('#timeline-table tbody tr')]"
        ".map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    assert len(rows) == 40
    # Of two CPUs no part has more, and busy ones have nearly all.
    used = [sum(float(value) for value in row[1:5] if value != "–") for row in rows]
    assert 1.7 < max(used) <= 2.0
    assert {row[-1] for row in rows} == {"2.00"}
    track = full.driver.find_element(By.CSS_SELECTOR, '[data-track="cpu0"]')
    full.js("arguments[0].focus()", track)
    ActionChains(full.driver).send_keys("+").perform()
    first = full.until(
        lambda: (
            full.text("#timeline-table tbody td") != rows[0][0]
            and full.text("#timeline-table tbody td")
        )
    )
    assert first == "10.0 s"
    press(full, "#timeline-as-table")
    assert full.js("return document.getElementById('timeline-table').hidden")
