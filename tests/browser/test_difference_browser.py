"""The page of a difference of profiles in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import Browser
from tests.support.generated import add_plan, add_samples, add_source
from tests.support.tables import StageSpec, World

from pyrometer.flame.difference.page import write_difference

pytestmark = pytest.mark.browser

KINDS = [(10, "cast", "WholeStageCodegen"), (13, "operator", "WholeStageCodegen")]


def world(task_ms: int) -> World:
    made = World([StageSpec([task_ms] * 4, iteration=i) for i in range(3)])
    add_plan(made, 40)
    add_samples(made, KINDS)
    add_source(made, 0)
    return made


def test_the_page_draws_both_sides_swaps_them_and_zooms(browser: Browser, tmp_path: Path) -> None:
    a, b = (world(ms).write(tmp_path / str(ms)) for ms in (900, 1800))
    page = tmp_path / "diff.html"
    write_difference([a], [b], page)
    browser.go(page)
    # 4 tasks of 0.9 s and of 1.8 s, 70 % of it on a CPU.
    assert browser.text("h1") == "CPU time per iteration: 2.52 s → 5.04 s"
    assert browser.text("#flame .flame-status") == "A 2.52 s, B 5.04 s per iteration."
    assert "B less than A by" in browser.text("#difference-legend")
    assert len(browser.all_texts("#operators tbody tr")) > 1

    def colours() -> set[str]:
        """Colours at the middle of the rows of the picture."""
        return set(browser.js(
            "const c = document.getElementById('difference-canvas'), x = c.getContext('2d');"
            "return [3, 21, 39].map((y) => [...x.getImageData(c.width / 2, y, 1, 1).data].join())"
        ))  # fmt: skip

    more = colours()
    browser.js("document.getElementById('difference-swap').click()")
    assert "A less than B by" in browser.text("#difference-legend")
    assert not more & colours()
    browser.js("document.getElementById('difference-canvas').focus()")
    for key in ("ArrowDown", "ArrowDown", "Enter"):
        browser.js(
            "document.getElementById('difference-canvas').dispatchEvent("
            "new KeyboardEvent('keydown', {key: arguments[0], bubbles: true}))", key
        )  # fmt: skip
    status = browser.text("#flame .flame-status")
    assert "WholeStageCodegen[HashAggregate ← Project ← BroadcastNestedLoopJoin]" in status
    assert "A − B −2.52 s" in status
    assert "verdict faster" in status
    # Reading back what was drawn, as above, is what Chromium advises about.
    assert [c for c in browser.complaints() if "readback" not in c] == []
