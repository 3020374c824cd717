"""The page of an experiment in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from tests.browser.conftest import Browser
from tests.browser.test_report_browser import NASTY
from tests.unit.experiments.test_page import folder

from pyrometer.experiments.judge.page import write_experiment

pytestmark = pytest.mark.browser

SECTIONS = (
    "verdict", "doubts", "matrix", "comparisons", "factors", "order", "trials", "cost", "plan",
)  # fmt: skip
OUTSIDE = """
return [...document.querySelectorAll('.drawing svg')].flatMap((drawing) => {
  const whole = drawing.getBoundingClientRect();
  return [...drawing.querySelectorAll('path, circle, text, line')].filter((part) => {
    const { left, right, top, bottom } = part.getBoundingClientRect();
    return left < whole.left - 2 || right > whole.right + 2 || top < whole.top - 2 || bottom > whole.bottom + 2;
  }).map((part) => part.outerHTML.slice(0, 120));
});
"""  # noqa: E501
"""What is drawn beyond the edges of its drawing."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folder(tmp_path_factory.mktemp("experiment") / "out")


@pytest.fixture
def page(browser: Browser, made: Path) -> Browser:
    return browser.go(write_experiment(made))


def test_opens_clean_and_asks_for_nothing(page: Browser) -> None:
    page.assert_clean("simulated", SECTIONS)
    assert "20 of 20" in page.text(".head")


def test_the_matrix_tells_times_gaps_and_leads_to_the_trials(page: Browser) -> None:
    cells = page.all_texts("#matrix td")[1:]
    assert len(cells) == 6
    assert cells.count("not run") == 1
    assert sum("slower" in cell for cell in cells) == 2
    assert sum("faster" in cell for cell in cells) == 1
    page.js("document.querySelectorAll('#matrix td button')[1].click()")
    assert page.js("return document.activeElement.id") == "trials-pick"
    chosen = page.js("return document.getElementById('trials-pick').value")
    assert {*page.all_texts("#trials tbody td.name")} == {chosen}
    assert page.js("return document.querySelectorAll('#trials tbody tr').length") == 4


def test_marks_are_reached_by_keys_and_tell_their_numbers(page: Browser) -> None:
    for plot in ("#comparisons", "#factors", "#order"):
        stops = f"return document.querySelectorAll('{plot} .mark[tabindex=\"0\"]').length"
        drawings = page.js(f"return document.querySelectorAll('{plot} .drawing').length")
        assert page.js(stops) == drawings > 0
    page.js("document.querySelector('#order .mark').focus()")
    ActionChains(page.driver).send_keys(Keys.ARROW_RIGHT).perform()
    label = page.js("return document.activeElement.getAttribute('aria-label')")
    assert label.startswith("Trial 2, block 1, ")
    assert "finished" in label
    assert "Trial 2" in page.text("#tip")
    ActionChains(page.driver).send_keys(Keys.END).perform()
    assert page.js("return document.activeElement.getAttribute('aria-label')").startswith(
        "Trial 20, block 4"
    )


def test_a_mark_without_a_report_leads_to_the_trials_of_its_treatment(page: Browser) -> None:
    page.js("document.querySelector('#order .mark').focus()")
    label = page.js("return document.activeElement.getAttribute('aria-label')")
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    chosen = page.js("return document.getElementById('trials-pick').value")
    assert chosen
    assert f", {chosen}: finished" in label
    assert page.complaints() == []


def test_everything_drawn_has_a_name_and_lies_inside(page: Browser) -> None:
    names = page.js(
        'return [...document.querySelectorAll("svg[role=group]")].map((e) => e.ariaLabel)'
    )
    assert all(names)
    assert page.js(OUTSIDE) == []
    assert page.js("return document.body.scrollWidth <= window.innerWidth")


def test_colours_of_cells_read_in_both_themes(page: Browser) -> None:
    contrast = """
      const light = (text) => {
        const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((c) => c / 255).map((c) => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      return [...document.querySelectorAll('#matrix td button')].map((button) => {
        const filled = button.closest('td').style.background;
        const panel = getComputedStyle(document.querySelector('.scroll')).backgroundColor;
        const [a, b] = [getComputedStyle(button).color, filled ? getComputedStyle(button.closest('td')).backgroundColor : panel].map(light).sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
      });
    """  # noqa: E501
    for _ in range(2):
        assert min(page.js(contrast)) >= 4.5
        page.js("document.getElementById('theme').click()")


@pytest.mark.parametrize("kind", NASTY)
def test_names_are_shown_literally(browser: Browser, tmp_path: Path, kind: str) -> None:
    name = NASTY[kind]
    root = folder(tmp_path / "out", baseline=f"codec=snappy, tasks=1{name}", evil=name)
    page = browser.go(write_experiment(root))
    assert page.complaints() == []
    assert page.requests() == []
    assert f"none{name}" in page.all_texts("#matrix th bdi")
    assert f"no CPUs{name}" in page.all_texts("#plan tbody td")
    assert page.js("return document.querySelectorAll('main img, main script').length") == 0


def test_an_experiment_without_trials_says_so(browser: Browser, tmp_path: Path) -> None:
    from tests.support import experiments

    from pyrometer.experiments.run.loop import begin

    begin(tmp_path / "out", experiments.plan(["a", "b"], 2, 1))
    page = browser.go(write_experiment(tmp_path / "out"))
    assert page.complaints() == []
    assert "This section failed" not in page.text("#main")
    assert "Nothing can be compared" in page.text("#verdict")
    assert page.text("#order .missing") == "No trial has ended yet."


def test_layouts_that_were_told_stand_on_the_page(browser: Browser, tmp_path: Path) -> None:
    from pyrometer.experiments.judge.files import keep_layouts
    from pyrometer.layouts.schema import LayoutReport

    root = folder(tmp_path / "out")
    time = {"value": 2.0, "low": 1.5, "high": 2.5, "level": 0.95, "n": 3, "method": "t"}
    executors = [{"executor_id": str(at), "pid": at, "cpus": str(at)} for at in range(2)]
    made = {
        "experiment": "e", "folder": str(root), "workload": "w", "scale": "test", "margin": 0.02,
        "trials_count": 20, "done_count": 20, "missing": {"remote_share": "no counter"},
        "layouts": [
            {"treatment": "t", "place": "2C", "layout": "2×1", "jvms": 2, "slots": 1,
             "heap_bytes": 1 << 30, "elapsed_s": time, "measures": {"gc_share": time},
             "trials": [{"trial": 1, "block": 1, "executors": executors}]},
        ],
        "places": [{"place": "2C", "what": "2 CPUs", "layouts": ["2×1"], "reason": "one layout"}],
        "changes": [
            {"a": "NB", "b": "2C", "layout_a": "1×2", "layout_b": "2×1", "speedup": time,
             "p": 0.01, "verdict": "faster"},
            {"a": "1C", "b": "2C", "reason": "no block"},
        ],
    }  # fmt: skip
    keep_layouts(root, LayoutReport.model_validate(made))
    page = browser.go(write_experiment(root))
    assert page.complaints() == []
    assert "This section failed" not in page.text("#main")
    rows = page.all_texts("#layout tbody tr")
    assert ["0 | 1" in row for row in rows] == [True, False, False], rows
    assert "2.00× (1.50× to 2.50×)" in rows[1]
    assert "no block" in rows[2]
    assert "remote share: no counter" in page.text("#layout")
    assert "#layout" in page.js("return [...document.querySelectorAll('nav a')].map((a) => a.hash)")
    assert page.js("return document.body.scrollWidth <= window.innerWidth")
