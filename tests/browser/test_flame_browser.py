"""The flame graph as a page of its own, in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from tests.browser.conftest import Browser
from tests.support.report_fixture import manifest, run_rows, write_tables

from pyrometer.flame import pack
from pyrometer.flame.page import write_flame
from pyrometer.flame.selection import Selection
from pyrometer.statistics.shares import wilson

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("run")
    write_tables(run / "tables", run_rows())
    (run / "manifest.json").write_text(json.dumps(manifest() | {"schema_version": 1}))
    write_flame(run, run / "flame.html", Selection("both", ("state",), "measured"))
    return run / "flame.html"


@pytest.fixture
def flame(browser: Browser, page: Path) -> Iterator[Browser]:
    opened = browser.go(page)
    opened.until(lambda: opened.all_texts("#flame [data-frame]"))
    yield opened
    assert opened.complaints() == []
    assert opened.requests() == []


def choose(page: Browser, name: str, text: str) -> None:
    path = f"//select[@data-name='{name}']/option[contains(text(), '{text}')]"
    page.driver.find_element(By.XPATH, path).click()


def test_it_opens_at_what_was_asked_for(flame: Browser) -> None:
    assert flame.text("h1") == "parquet-scan"
    assert flame.text("[data-event=both][aria-pressed=true]") == "CPU + waiting"
    assert flame.js("return !document.getElementById('flame-both').hidden")
    group = flame.driver.find_element(By.CSS_SELECTOR, "select[data-name=group0]")
    assert group.get_attribute("value") == "state"
    canvas = flame.driver.find_element(By.ID, "flame-canvas")
    canvas.send_keys(Keys.ARROW_DOWN)
    assert flame.text("#flame-status").startswith("on CPU · total")
    # The root below: what stood above is reached by the other key.
    choose(flame, "upright", "upwards")
    canvas.send_keys(Keys.ESCAPE + Keys.ARROW_UP + Keys.ARROW_UP)
    assert flame.text("#flame-status").startswith("Spark's task runner (7 frames)")


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page as it opens when nothing is asked for."""
    run = tmp_path_factory.mktemp("plain")
    write_tables(run / "tables", run_rows())
    (run / "manifest.json").write_text(json.dumps(manifest() | {"schema_version": 1}))
    write_flame(run, run / "flame.html")
    return run / "flame.html"


def row_of(page: Browser, frame: str) -> list[str]:
    return page.until(
        lambda: page.js(
            "const row = [...document.querySelectorAll('#flame .scroll tbody tr')]"
            ".find((r) => r.firstChild.textContent.endsWith(arguments[0]));"
            "return row && [...row.children].map((cell) => cell.textContent)",
            frame,
        )
    )


def percent(text: str) -> float:
    return float(text.removesuffix(" %")) / 100


def test_share_and_interval_after_a_zoom_are_of_the_same(browser: Browser, plain: Path) -> None:
    page = browser.go(plain)
    canvas = page.driver.find_element(By.ID, "flame-canvas")
    frame = "SnappyDecompressor.decompress"
    page.driver.find_element(By.ID, "flame-find").send_keys("SnappyDecompressor")

    def agrees() -> tuple[float, int]:
        share, told = row_of(page, frame)[4:6]
        n = int(page.text("#flame-base").split("n = ")[1].rstrip(".").replace(" ", ""))
        low, high = (percent(end) for end in told.split(" – "))
        assert low < percent(share) < high
        # The same interval as statistics.shares gives, from the n that is told.
        assert (low, high) == pytest.approx(wilson(percent(share) * n, n), abs=6e-4)
        return percent(share), n

    whole = agrees()
    assert page.text("#flame-base").split(";")[0].endswith(" shown")
    # Into the operator of the scan, then a filter on top.
    canvas.send_keys(Keys.ARROW_DOWN + Keys.ENTER)
    page.until(lambda: "in Scan parquet" in page.text("#flame-base"))
    zoomed = agrees()
    assert zoomed[0] > whole[0] * 1.2
    assert zoomed[1] < whole[1]
    choose(page, "iteration", "iteration 2")
    page.until(lambda: f"n = {zoomed[1]:,}".replace(",", " ") not in page.text("#flame-base"))
    assert agrees()[1] < zoomed[1] / 2
    assert page.complaints() == []


def test_it_opens_on_tasks_with_runners_folded(browser: Browser, plain: Path) -> None:
    page = browser.go(plain)

    def value(name: str) -> str:
        return page.driver.find_element(By.CSS_SELECTOR, f"select[data-name={name}]").get_attribute(
            "value"
        )

    assert value("group0") == "operator"
    assert (
        page.js(
            "const threads = document.querySelector('select[data-name=serves]');"
            "return threads.selectedOptions[0].textContent"
        )
        == "for tasks"
    )
    assert not page.js("return document.getElementById('heat').open")
    canvas = page.driver.find_element(By.ID, "flame-canvas")
    canvas.send_keys(Keys.ARROW_DOWN * 2)
    told = page.text("#flame-status")
    assert told.startswith("Spark's task runner (7 frames)")
    weight = told.split("total ")[1].split(" · ")[0]
    canvas.send_keys(Keys.ARROW_DOWN)
    assert "GeneratedIteratorForCodegenStage1.processNext" in page.text("#flame-status")
    # A search reaches what is folded, and counts it.
    page.driver.find_element(By.ID, "flame-search").send_keys("TaskRunner")
    assert page.text("#flame-share").startswith("100 % matched")
    page.js("document.getElementById('flame-search').value = ''")
    # A click opens it: the first of its frames weighs the same, and zooming goes on from there.
    canvas.send_keys(Keys.ARROW_UP + Keys.ENTER)
    assert page.text("#flame-status").startswith(f"java.lang.Thread.run · total {weight}")
    canvas.send_keys(Keys.ARROW_DOWN + Keys.ENTER)
    inside = page.text("#flame-status")
    assert inside.startswith("java.util.concurrent.ThreadPoolExecutor$Worker.run")
    # A link to a frame that is folded when the page opens leads to it.
    page.driver.find_element(By.CSS_SELECTOR, '[data-keep="link"]').click()
    assert "zoom=" in page.driver.current_url
    assert "runners" not in page.driver.current_url
    page.driver.refresh()
    page.until(lambda: page.js("return document.documentElement.dataset.ready"))
    assert page.text("#flame-status") == inside
    choose(page, "runners", "shown")
    assert page.text("#flame-status") == inside
    page.driver.find_element(By.ID, "flame-canvas").send_keys(Keys.ESCAPE + Keys.ARROW_DOWN * 2)
    assert page.text("#flame-status").startswith("java.lang.Thread.run · total")
    page.driver.get("about:blank")
    assert page.complaints() == []


def linked_from_the_leaf(browser: Browser, run: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Link to a zoom from the leaf on a page whose light frames come later; what it zooms to."""
    monkeypatch.setattr(pack, "MANY_FRAMES", 0)
    monkeypatch.setattr(pack, "LIGHT", 0.05)
    write_tables(run / "tables", run_rows())
    (run / "manifest.json").write_text(json.dumps(manifest() | {"schema_version": 1}))
    write_flame(run, run / "flame.html")
    page = browser.go(run / "flame.html")
    page.until(lambda: page.all_texts("#flame [data-frame]"))
    choose(page, "inverted", "from the leaf")
    canvas = page.driver.find_element(By.ID, "flame-canvas")
    canvas.send_keys(Keys.ARROW_DOWN * 2 + Keys.ENTER)
    zoomed = page.text("#flame-status")
    page.driver.find_element(By.CSS_SELECTOR, '[data-keep="link"]').click()
    assert "stacks=leaf&zoom=" in page.driver.current_url
    return zoomed


def test_a_link_from_the_leaf_keeps_its_zoom_where_light_frames_come_later(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoomed = linked_from_the_leaf(browser, tmp_path, monkeypatch)
    browser.driver.refresh()
    browser.until(lambda: browser.all_texts("#flame [data-frame]"))
    assert browser.text("#flame-status") == zoomed
    browser.driver.get("about:blank")
    assert browser.complaints() == []


# Runs when the page stands, and before its light frames come: makes a link, then presses keys.
AT_ONCE = """
new MutationObserver((_, watch) => {
  watch.disconnect();
  document.querySelector('[data-keep="link"]').click();
  window.linkedAtOnce = location.href;
  const canvas = document.getElementById("flame-canvas");
  for (const key of KEYS) canvas.dispatchEvent(new KeyboardEvent("keydown", { key }));
}).observe(document, { subtree: true, attributeFilter: ["data-ready"] });
"""


@pytest.mark.parametrize("keys", [["Escape"], ["ArrowDown", "Enter"]])
def test_until_light_frames_come_a_link_keeps_its_zoom_and_the_reader_may_leave_it(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keys: list[str]
) -> None:
    zoomed = linked_from_the_leaf(browser, tmp_path, monkeypatch)
    box = browser.driver.current_url.split("&zoom=")[1]
    source = {"source": AT_ONCE.replace("KEYS", json.dumps(keys))}
    script = browser.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", source)
    browser.driver.refresh()
    browser.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
    browser.until(lambda: browser.all_texts("#flame [data-frame]"))
    assert browser.js("return window.linkedAtOnce").endswith(f"&zoom={box}")
    assert browser.text("#flame-status") != zoomed
    browser.driver.get("about:blank")
    assert browser.complaints() == []


def test_a_frame_stands_between_its_callers_and_callees(flame: Browser) -> None:
    box = flame.driver.find_element(By.ID, "flame-find")
    box.send_keys("readBatch$")
    rows = flame.all_texts("#flame [data-frame]")
    assert len(rows) == 1
    row = flame.driver.find_element(By.CSS_SELECTOR, "#flame [data-frame]")
    row.send_keys(Keys.ENTER)
    assert flame.js("return !document.querySelector('.flame-around').hidden")
    assert "in the frame and its callees" in flame.text("#flame-around-status")
    assert flame.text(".flame-around b") == rows[0]
    callees = flame.driver.find_element(By.ID, "flame-callees")
    callees.send_keys(Keys.ARROW_DOWN + Keys.ARROW_DOWN)
    told = flame.text("#flame-around-status")
    callees.send_keys(Keys.ENTER)
    chosen = flame.text(".flame-around b")
    assert chosen != rows[0]
    assert told.startswith(chosen)
    flame.driver.find_element(By.ID, "flame-callers").send_keys(Keys.ARROW_UP + Keys.ARROW_UP)
    assert flame.text("#flame-around-status").startswith(rows[0])
    ActionChains(flame.driver).send_keys(Keys.ESCAPE).perform()
    assert flame.js("return document.querySelector('.flame-around').hidden")


def test_a_colour_of_the_legend_highlights_its_boxes(flame: Browser) -> None:
    choose(flame, "colour", "kind of code")
    keys = flame.driver.find_elements(By.CSS_SELECTOR, ".legend .key")
    (key,) = [key for key in keys if key.text == "kernel"]
    key.click()
    assert key.get_attribute("aria-pressed") == "true"
    share = flame.text("#flame-share")
    assert share.endswith("% highlighted")
    assert 0 < float(share.split()[0]) < 20
    colours = flame.js(
        """const canvas = document.getElementById('flame-canvas');
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        const seen = new Set();
        for (let at = 0; at < data.length; at += 4)
          seen.add(`rgb(${data[at]}, ${data[at + 1]}, ${data[at + 2]})`);
        const swatch = document.querySelector('.legend .key[aria-pressed=true] .swatch');
        return [[...seen], getComputedStyle(swatch).backgroundColor];"""
    )
    assert colours[1] in colours[0]
    flame.driver.find_element(By.ID, "flame-search").send_keys("ksys_read|filemap")
    assert "matched (4 frames)" in flame.text("#flame-share")


def test_colours_and_dimensions_of_every_kind_draw(flame: Browser) -> None:
    for name in ("colour", "group0", "group1"):
        select = flame.driver.find_element(By.CSS_SELECTOR, f"select[data-name={name}]")
        for option in select.find_elements(By.TAG_NAME, "option"):
            option.click()
    choose(flame, "inverted", "from the leaf")
    canvas = flame.driver.find_element(By.ID, "flame-canvas")
    canvas.send_keys(Keys.ARROW_DOWN * 4)
    assert "self" in flame.text("#flame-status")
