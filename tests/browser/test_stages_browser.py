"""Stages and their tasks in a real browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Browser
from tests.support.summary_fixture import summary

from pyrometer.accounts.stage_tasks import MAX_STAGES
from pyrometer.report.data import build
from pyrometer.store import Tables

pytestmark = pytest.mark.browser

OPENED = """
const cells = (row) => [...row.cells].map((cell) => cell.textContent);
return [...document.querySelectorAll("#stages .opened table")]
  .map((table) => [...table.tBodies[0].rows].map(cells));
"""


def tasks_of(slowest: list[dict[str, Any]], executors: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "quantiles": [], "slowest": slowest, "executors": executors,
        "executors_count": len(executors), "hosts": [], "hosts_count": 1,
    }  # fmt: skip


def opened(browser: Browser, folder: Path, source: dict[str, Any]) -> Browser:
    with Tables(folder) as tables:
        return browser.open(build(source, {}, tables))


def test_a_zero_is_a_zero_and_what_is_not_known_a_dash(browser: Browser, tmp_path: Path) -> None:
    first = {"task_attempt_id": 0, "task_index": 0, "duration_ns": 9, "input_bytes": 0}
    second = {"task_attempt_id": 1, "task_index": 1, "duration_ns": 8, "input_bytes": 5}
    failing = {"executor_id": "1", "tasks_count": 0, "failed_tasks_count": 2, "median_ns": None,
               "max_ns": None, "executor_run_time_ns": None, "jvm_gc_time_ns": None}  # fmt: skip
    idle = {"executor_id": "2", "tasks_count": 1, "failed_tasks_count": 0, "median_ns": 9,
            "max_ns": 9, "executor_run_time_ns": 0, "jvm_gc_time_ns": 0}  # fmt: skip
    source = summary()
    for stage in source["stages"]:
        stage["tasks"] = tasks_of(
            [first | {"shuffle_read_bytes": None}, second | {"shuffle_read_bytes": 7}],
            [failing, idle, idle | {"executor_id": "3", "jvm_gc_time_ns": 4}],
        )
    page = opened(browser, tmp_path, source)
    page.js("document.querySelector('#stages .stage-open').click()")
    slowest, executors = page.js(OPENED)
    assert slowest[0][:5] == ["0", "0", "9.00 ns", "0 B", "–"]
    assert executors[0] == ["1", "0 +2 failed or killed", "–", "–", "–", "–"]
    assert executors[1] == ["2", "1", "0 s", "9.00 ns", "9.00 ns", "0 s"]
    assert page.complaints() == []


def test_killed_attempts_are_not_called_failed(browser: Browser, tmp_path: Path) -> None:
    source = summary()
    source["stages"] = source["stages"][:1]
    source["stages"][0].update(failed_tasks_count=0, killed_tasks_count=2)
    page = opened(browser, tmp_path, source)
    assert page.all_texts("#stages .bad") == [" +2 failed or killed"]


def test_stages_whose_tasks_the_page_lacks_are_counted(browser: Browser, tmp_path: Path) -> None:
    source = summary()
    first, *others = source["stages"]
    first["tasks"] = None
    for stage in others:
        stage["tasks"] = tasks_of([], [])
    page = opened(browser, tmp_path, source)
    assert page.text("#stages-open") == (
        f"Tasks can be opened for {len(others)} of {len(others) + 1} stages:"
        f" at most the {MAX_STAGES} longest that ended."
    )
