"""The page of workloads that ran together in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import Browser
from tests.browser.test_experiment_browser import OUTSIDE
from tests.unit.corun.test_corun import ran, told, two_cpus

from pyrometer.corun.page import write_corun
from pyrometer.experiments.folder import read_plan
from pyrometer.experiments.run.loop import begin

pytestmark = pytest.mark.browser

SECTIONS = (
    "verdict", "doubts", "matrix", "advice", "whole", "losses", "times", "order", "trials", "cost",
    "plan",
)  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        two_cpus(patch)
        made: Path = ran(tmp_path_factory.mktemp("corun"))
        return made


def test_the_page_tells_slowdowns_advice_the_whole_and_losses(browser: Browser, root: Path) -> None:
    page = browser.go(write_corun(root, report=told(root)))
    for name in SECTIONS:
        assert page.js("return document.getElementById(arguments[0]) !== null", name), name
    assert page.js("return [...document.querySelectorAll('nav a')].map((a) => a.hash)") == [
        f"#{name}" for name in SECTIONS
    ]
    assert "This section failed" not in page.text("#main")
    assert (page.complaints(), page.requests()) == ([], [])
    assert "together on the same CPUs" in page.text("#verdict")
    assert "2 doubts" in page.text("#verdict")

    assert page.all_texts("#matrix caption") == ["CPUs = shared", "CPUs = own"]
    cells = page.all_texts("#matrix td button")
    assert len(cells) == 6
    assert sum("▲" in cell and "slower" in cell for cell in cells) == 5
    assert all("× to " in cell for cell in cells)
    page.js("document.querySelector('#matrix td button').click()")
    assert page.js("return document.activeElement.id") == "trials-pick"
    chosen = page.js("return document.getElementById('trials-pick').value")
    assert {*page.all_texts("#trials tbody td.name")} == {chosen} == {"parquet-scan beside cpu"}

    marks = page.js(
        "return [...document.querySelectorAll('#whole .mark')].map((one) => one.ariaLabel)"
    )
    assert len(marks) == 6
    assert all("95 % 0." in mark or "95 % 1." in mark for mark in marks)
    assert [text.endswith("✓") for text in page.all_texts("#advice .drawing:first-of-type .mark")][
        :3
    ] == [False, True, False]
    assert page.js("return document.querySelectorAll('#losses .growth.sure').length") == 5
    assert page.js(OUTSIDE) == []
    assert page.js("return document.body.scrollWidth <= window.innerWidth")


def test_one_that_has_not_run_says_so(browser: Browser, root: Path, tmp_path: Path) -> None:
    begin(tmp_path / "none", read_plan(root))
    page = browser.go(write_corun(tmp_path / "none"))
    assert page.complaints() == []
    assert "This section failed" not in page.text("#main")
    assert "Nothing can be compared" in page.text("#verdict")
    assert {*page.all_texts("#matrix td.out")} == {"not run"}
    assert page.text("#losses .missing").startswith("No workload has run both alone")
