"""Reports of real event logs, in a real browser."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.browser.conftest import Browser
from tests.support.eventlog.recorded import name_of, others, parts_of, recorded

from pyrometer.report.page import write_run_report

pytestmark = pytest.mark.browser

# Of others' logs the largest, where they are at hand; of our own every kind, for they are small.
LARGEST = 6


def _size(log: Path) -> int:
    return sum(part.stat().st_size for part in parts_of(log))


LOGS = [*recorded(), *sorted(others(), key=_size)[-LARGEST:]]


@pytest.mark.slow
@pytest.mark.parametrize("log", LOGS, ids=name_of)
def test_a_log_opens_clean(browser: Browser, tmp_path: Path, log: Path) -> None:
    copy = tmp_path / log.name
    (shutil.copytree if log.is_dir() else shutil.copyfile)(log, copy)
    page = browser.go(write_run_report(copy, tmp_path / "report.html"))
    assert page.complaints() == []
    assert page.requests() == []
    text = page.text("#main")
    assert "This section failed" not in text
    for trace in ("NaN", "undefined", "[object"):
        assert trace not in text, text[max(0, text.find(trace) - 60) : text.find(trace) + 20]
    assert page.js("return document.getElementById('absent') !== null")
    assert page.js("return document.querySelectorAll('.figure.gone').length") == 0
    opener = page.js("const b = document.querySelector('.stage-open'); b?.click(); return !!b")
    assert not opener or len(page.text("#stages .opened")) > 100
    assert page.complaints() == []
