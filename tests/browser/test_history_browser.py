"""The page of a history in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.browser.conftest import Browser
from tests.browser.test_report_browser import NASTY
from tests.unit.experiments.test_history import runs

from pyrometer.experiments.history.history import history, write_history

pytestmark = pytest.mark.browser


@pytest.mark.parametrize("kind", ["script", "right to left"])
def test_levels_and_changes_are_drawn_and_told(browser: Browser, tmp_path: Path, kind: str) -> None:
    name = NASTY[kind]
    facts = {10.0: {"java": "17"}, 11.0: {"java": name}}
    made = history(runs({10.0: 12, 11.0: 9}, facts), unread={name: name})
    page = browser.go(write_history(made, tmp_path / "history.html"))
    assert page.complaints() == []
    assert page.requests() == []
    assert page.js("return document.querySelectorAll('#series .mark').length") == 21
    assert page.js("return document.querySelectorAll('#series .level-mean').length") == 2
    cells = page.all_texts("#series tbody td")
    assert cells[1] == "13 (12 to 14)"
    assert cells[3] == "slower"
    assert page.all_texts("#series tbody li") == [f"java: 17 → {name}"]
    assert page.all_texts("#unread tbody td") == [name, name]
    assert "1 change, 1 to a level that is slower still" in page.text("#history")
