"""The heat map of samples in a real browser: what is selected is what the flame graph shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from tests.browser.conftest import Browser
from tests.support.report_fixture import (
    ITERATIONS,
    MONO0,
    WALL0,
    S,
    manifest,
    run_rows,
    write_tables,
)
from tests.support.summary_fixture import summary

from pyrometer.pages.page import ReportData
from pyrometer.report.data import build
from pyrometer.store import Tables

pytestmark = pytest.mark.browser

ROWS = run_rows()
BUCKET_NS = 20_000_000
ANY = object()
MEASURED = {i for i, warmup, _, _ in ITERATIONS if not warmup}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReportData]:
    folder = tmp_path_factory.mktemp("tables")
    stages = [
        {
            "app_index": 0, "stage_id": 2 * i, "stage_attempt": 0, "name": "count at scan.py:1",
            "submit_wall_ns": int(WALL0 + begin * S), "complete_wall_ns": int(WALL0 + end * S),
            "status": "success",
        }
        for i, _, begin, end in ITERATIONS
    ]  # fmt: skip
    write_tables(folder, ROWS | {"stages": stages})
    with Tables(folder) as tables:
        yield build(summary(), manifest(), tables)


@pytest.fixture
def page(browser: Browser, data: ReportData) -> Browser:
    opened = browser.open(data)
    opened.driver.find_element(By.CSS_SELECTOR, "#heat summary").click()
    opened.until(lambda: opened.js("return document.getElementById('heat-canvas').clientWidth > 0"))
    return opened


def test_it_opens_on_demand_and_tells_a_selection_in_any_case(
    browser: Browser, data: ReportData
) -> None:
    page = browser.open(data)
    assert not page.js("return document.getElementById('heat').open")
    assert not page.driver.find_element(By.ID, "heat-status").is_displayed()
    drag(page, '[data-track="stages"]', (0.7, 0.5), (0.7, 0.5))
    assert page.driver.find_element(By.ID, "heat-status").is_displayed()
    assert page.text("#heat-status").startswith("Selected 25.000 s – 31.400 s")
    page.driver.find_element(By.ID, "heat-clear").click()
    assert not page.driver.find_element(By.ID, "heat-status").is_displayed()


def told_range(page: Browser) -> tuple[int, int]:
    told = page.text("#heat-status")
    times = re.match(r"Selected ([\d.]+) s – ([\d.]+) s", told)
    assert times, told
    return round(float(times[1]) * 1e9), round(float(times[2]) * 1e9)


def samples_in(low: int, high: int, **wanted: Any) -> int:
    """CPU samples of tasks in measured iterations in the buckets from `low` to `high` (ns)."""
    wanted = {"role": "task"} | wanted
    return sum(
        1
        for s in ROWS["samples"]
        if s["event"] == "cpu"
        and s["iteration"] in MEASURED
        and (s["t_ns"] - MONO0) // BUCKET_NS * BUCKET_NS < high
        and ((s["t_ns"] - MONO0) // BUCKET_NS + 1) * BUCKET_NS > low
        and all(value is ANY or s.get(key) == value for key, value in wanted.items())
    )


def counted(page: Browser, where: str) -> int:
    found = re.search(r"in ([\d ]+) samples", page.text(where))
    assert found, page.text(where)
    return int(found[1].replace(" ", ""))


def drag(
    page: Browser, selector: str, start: tuple[float, float], end: tuple[float, float]
) -> None:
    """Drag between two places of an element, in shares of its size."""
    element = page.driver.find_element(By.CSS_SELECTOR, selector)
    page.js("arguments[0].scrollIntoView({block: 'center'})", element)
    width, height = element.size["width"], element.size["height"]
    at = [((x - 0.5) * width, (y - 0.5) * height) for x, y in (start, end)]
    chain = ActionChains(page.driver).move_to_element_with_offset(element, *map(int, at[0]))
    if start != end:
        chain = chain.click_and_hold().move_by_offset(
            int(at[1][0]) - int(at[0][0]), int(at[1][1]) - int(at[0][1])
        )
        chain.release().perform()
    else:
        chain.click().perform()


def test_a_dragged_time_is_what_the_flame_graph_shows(page: Browser) -> None:
    whole = page.text("#flame-status")
    assert page.text("#heat-status") == "The whole run is selected."
    drag(page, "#heat-canvas", (0.55, 0.5), (0.62, 0.3))
    told = page.text("#heat-status")
    assert told.startswith("Selected ")
    assert (
        counted(page, "#heat-status")
        == counted(page, "#flame-status")
        == samples_in(*told_range(page))
        > 100
    )
    assert page.text("#flame-status") != whole

    page.driver.find_element(By.CSS_SELECTOR, '[data-keep="link"]').click()
    assert "time=" in page.js("return location.hash")
    selected = page.text("#flame-status"), told
    page.driver.refresh()
    page.until(lambda: page.js("return document.documentElement.dataset.ready"))
    assert counted(page, "#flame-status") == samples_in(*told_range(page))
    assert page.text("#heat-status") == selected[1]

    page.driver.find_element(By.ID, "heat-canvas").send_keys(Keys.ESCAPE)
    assert page.text("#flame-status") == whole
    assert page.complaints() == []


def test_what_was_zoomed_into_stays_while_times_are_selected(page: Browser) -> None:
    flame = page.driver.find_element(By.ID, "flame-canvas")
    flame.send_keys(Keys.ARROW_DOWN * 3 + Keys.ENTER)
    before = page.text("#flame-status")
    name = before.split(" · ")[0]
    assert name.endswith("GeneratedIteratorForCodegenStage1.processNext")
    drag(page, "#heat-canvas", (0.55, 0.5), (0.62, 0.3))
    assert page.text("#heat-status").startswith("Selected ")
    assert page.text("#flame-status").startswith(f"{name} · total ")
    assert page.text("#flame-status") != before
    assert not page.js("return document.getElementById('flame-reset').disabled")
    page.driver.find_element(By.ID, "heat-canvas").send_keys(Keys.ESCAPE)
    assert page.text("#flame-status") == before
    assert page.complaints() == []


def test_rows_of_roles_select_time_and_role_by_keyboard(page: Browser) -> None:
    Select(page.driver.find_element(By.CSS_SELECTOR, '[data-name="serves"]')).select_by_value("")
    Select(page.driver.find_element(By.CSS_SELECTOR, '[data-name="heat-rows"]')).select_by_value(
        "role"
    )
    canvas = page.driver.find_element(By.ID, "heat-canvas")
    # Rows stand by weight: tasks first. The second half of the run, cell by cell.
    canvas.send_keys(*[Keys.ARROW_RIGHT] * 200, *[Keys.ARROW_UP])
    assert "row task" in page.text("#heat-status")
    ActionChains(page.driver).key_down(Keys.SHIFT).send_keys(Keys.ARROW_RIGHT * 60).key_up(
        Keys.SHIFT
    ).perform()
    told = page.text("#heat-status")
    assert "· role task (" in told
    assert counted(page, "#heat-status") == samples_in(*told_range(page), role="task")
    assert 0 < samples_in(*told_range(page), role="task") < samples_in(*told_range(page), role=ANY)
    assert counted(page, "#flame-status") == counted(page, "#heat-status")


def test_tasks_stages_and_pauses_of_the_timeline_select_their_time(page: Browser) -> None:
    drag(page, '[data-track="tasks"]', (0.55, 0.25), (0.55, 0.25))
    found = re.search(r"· task (\d+) \(", page.text("#heat-status"))
    assert found, page.text("#heat-status")
    number = int(found[1])
    task = next(t for t in ROWS["tasks"] if t["task_attempt_id"] == number)
    told = page.text("#heat-status")
    assert f"Selected {(task['launch_wall_ns'] - WALL0) / 1e9:.3f} s" in told
    assert (
        counted(page, "#flame-status") == samples_in(*told_range(page), task_attempt_id=number) > 5
    )

    drag(page, '[data-track="stages"]', (0.7, 0.5), (0.7, 0.5))
    assert "25.000 s – 31.400 s · stage 4 (" in page.text("#heat-status")
    assert counted(page, "#flame-status") == samples_in(*told_range(page), stage_id=4) > 500

    pauses = ROWS["gc_pauses"]
    pause = next(p for p in pauses if p["start_mono_ns"] > MONO0 + 26 * S)
    share = (pause["start_mono_ns"] - MONO0) / (40 * S)
    drag(page, '[data-track="pauses"]', (share, 0.25), (share, 0.25))
    assert f"Selected {(pause['start_mono_ns'] - MONO0) / 1e9:.3f} s" in page.text("#heat-status")
    begin = pause["start_mono_ns"] - MONO0
    assert counted(page, "#flame-status") == samples_in(begin, begin + pause["duration_ns"]) > 0

    page.driver.find_element(By.CSS_SELECTOR, '[data-drag="select"]').click()
    shown = page.text("#timeline-range")
    drag(page, '[data-track="cpu0"]', (0.5, 0.5), (0.6, 0.5))
    assert page.text("#timeline-range") == shown
    assert counted(page, "#flame-status") == samples_in(*told_range(page)) > 300
    assert page.complaints() == []


def test_what_filters_leave_out_of_a_selection_is_told(page: Browser) -> None:
    drag(page, '[data-track="stages"]', (0.3, 0.5), (0.3, 0.5))
    assert "stage 0" in page.text("#heat-status")
    assert "without the filters above" in page.text("#heat-status")
    assert page.text("#flame-status") == "No samples match these filters."
