"""The static flame graph: what is drawn without a script, and zoom and search with one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from pyrometer import _core

STACKS = "main;work;Alpha.a 60\nmain;work;Beta.b;Alpha.a 20\nmain;rest 20\n"
SHOWN = """
    return [...document.querySelectorAll('#frames .f:not(.hidden)')].map((g) => [
        g.querySelector('title').textContent.split('\\n')[0],
        Math.round(g.querySelector('rect').getAttribute('width')),
        g.querySelector('text')?.textContent ?? '',
    ])
"""


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Any:
    (tmp_path / "a.folded").write_text(STACKS)
    options = {"source": {"format": "folded"}, "svg": {"title": "Work"}}
    _core.render_svg(str(tmp_path / "a.folded"), str(tmp_path / "a.svg"), json.dumps(options))
    return browser.go(tmp_path / "a.svg")


def click(page: Any, name: str) -> None:
    for box in page.driver.find_elements(By.CSS_SELECTOR, "#frames .f"):
        if box.find_element(By.TAG_NAME, "title").get_attribute("textContent").startswith(name):
            box.find_element(By.TAG_NAME, "rect").click()
            return
    raise AssertionError(f"no box {name}")


def test_zoom_by_click_and_back(page: Any) -> None:
    everything = page.js(SHOWN)
    assert [name for name, *_ in everything] == [
        "all",
        "main",
        "rest",
        "work",
        "Alpha.a",
        "Beta.b",
        "Alpha.a",
    ]
    assert {name: width for name, width, _ in everything}["work"] == round(0.8 * 1180)
    click(page, "Beta.b")
    shown = page.js(SHOWN)
    assert [(name, width) for name, width, _ in shown] == [
        ("all", 1180),
        ("main", 1180),
        ("work", 1180),
        ("Beta.b", 1180),
        ("Alpha.a", 1180),
    ]
    page.driver.find_element(By.ID, "reset").click()
    assert page.js(SHOWN) == everything
    assert page.complaints() == []
    assert page.requests() == []


def test_search_marks_frames_and_counts_each_part_once(page: Any) -> None:
    page.driver.find_element(By.ID, "search").click()
    prompt = page.driver.switch_to.alert
    prompt.send_keys("^Alpha")
    prompt.accept()
    assert page.text("#matched") == "matched: 80.0 %"
    assert len(page.js("return document.querySelectorAll('.match')")) == 2
    click(page, "Beta.b")
    assert page.text("#matched") == "matched: 100.0 %"
    page.js("dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert page.text("#matched").strip() == ""
