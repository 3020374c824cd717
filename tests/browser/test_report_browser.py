"""The report in a real browser."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from tests.browser.conftest import Browser
from tests.support.report_fixture import manifest, run_rows, write_tables
from tests.support.summary_fixture import eventlog_only_summary, summary
from tests.support.tables import StageSpec, World

from pyrometer.accounts.ledger.elapsed.schema import (
    Elapsed,
    Gap,
    HeldStage,
    Kind,
    PathStretch,
)
from pyrometer.accounts.window import open_scope
from pyrometer.characterise.queries import Characterisation, Part
from pyrometer.pages.page import ReportData
from pyrometer.report.data import build
from pyrometer.report.page import page_data
from pyrometer.statistics.warmup import mean_estimate
from pyrometer.store import Run, Tables
from pyrometer.summary.summary import summarise

pytestmark = pytest.mark.browser

EVIL = "<script>alert(1)</script>"
SECTIONS = ("ledger", "cpu", "iterations", "stages", "plans", "timeline", "flame", "environment")
NASTY = {
    "script": EVIL,
    "closing": "x</script><img src=x onerror=alert(2)>",
    "separators": "line\u2028paragraph\u2029end",
    "right to left": "\u202egnp.\u05d0\u05d1\u05d2 app",
    "markup": "<b>&amp;\"'`</b><!-- ${7*7} {{7*7}}",
    "nul": "a\u0000b\u001b[31m",
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder, run_rows())
    with Tables(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def data(tables: Tables) -> ReportData:
    return build(summary(), manifest(), tables)


@pytest.fixture
def full(browser: Browser, data: ReportData) -> Browser:
    return browser.open(data)


def test_opens_clean_and_asks_for_nothing(full: Browser) -> None:
    for name in SECTIONS:
        assert full.js("return document.getElementById(arguments[0]) !== null", name), name
    assert full.text("h1") == "parquet-scan"
    assert full.text("#verdict .badge") == "2 doubts"
    assert full.js("return document.getElementById('queries')") is None
    assert "This section failed" not in full.text("#main")
    assert full.complaints() == []
    assert full.requests() == []


def test_numbers_on_the_page_are_those_of_the_summary(full: Browser) -> None:
    figures = dict(zip(full.all_texts(".figure h3"), full.all_texts(".figure .big"), strict=True))
    assert figures["Task CPU?"] == "33.9 s"
    assert figures["Throughput per core?"] == "92.9 MiB/s"
    assert figures["GC pauses?"] == "305 ms"
    rows = {text.split("?")[0] for text in full.all_texts("#ledger .rows tbody tr")}
    assert any(row.startswith("on cpu33.9 s86.8 %") for row in rows)
    assert "closure −0.05 %" in full.text("#ledger .quality")
    assert "0.18 % has no category" in full.text("#ledger .quality")
    assert full.text("#ledger tr.gone .reason").startswith("needs the kernel's delay accounting")
    cache = full.text("#page-cache")
    assert cache == "Page cache: cold, 0 % to 0.60 % resident before each iteration"
    assert full.all_texts("#counters tbody tr:last-child td") == ["3", "500", "208 µs"]


@pytest.mark.parametrize("kind", NASTY)
def test_names_from_logs_are_shown_literally(browser: Browser, tables: Tables, kind: str) -> None:
    name = NASTY[kind]
    source, facts = copy.deepcopy(summary()), copy.deepcopy(manifest())
    source["apps"][0]["app_name"] = name
    facts["workload"] |= {"name": name, "variant": {name: name}}
    facts["treatment"] = {name: name}
    facts["versions"][name] = name
    facts["probes"][0]["asked"] = name
    for stage in source["stages"]:
        stage["name"] = name
    for execution in source["sql"]:
        execution["description"] = name
        for node in execution["nodes"]:
            node |= {"name": name, "simple_string": name + " " + "plan " * 20_000}
            for metric in node["metrics"]:
                metric["metric"] = name
    source["doubts"][0] |= {"message": name, "remedy": name}
    source["operators"][0]["operator"] = source["categories"][0]["category"] = name
    source["ledger"]["slot_view"]["rows"][0]["source"] = name
    source["verdict"] = name
    page = browser.open(build(source, facts, tables))
    assert page.text("h1") == name
    # The browser itself turns separators and control characters of a title into blanks.
    title = page.js("return document.title")
    assert "".join(filter(str.isprintable, title)).replace("\ufffd", "").replace(" ", "") == (
        "".join(filter(str.isprintable, f"{name}·Pyrometer")).replace(" ", "")
    )
    assert name in page.text("#stages tbody .name")
    assert page.text(".plan-row b") == name
    with pytest.raises(NoAlertPresentException):
        _ = page.driver.switch_to.alert.text
    assert (
        page.js("return document.querySelectorAll('main img, main script, main b b').length") == 0
    )
    assert page.js("return document.scripts.length") == 5
    assert [c for c in page.complaints() if "favicon" not in c] == []
    assert page.requests() == []


def characterisation(*names: str) -> dict[str, Any]:
    """A suite of these queries; the first shuffles more than it reads and warms up."""
    times = [2_000_000_000, 1_000_000_000, 1_010_000_000, 990_000_000, 1_000_000_000, 1_005_000_000]
    made = Characterisation(
        run_dir="/r",
        iterations_count=6,
        parts=[
            Part(
                name=name,
                sql={"joins": 2, "group_bys": 1, "unions": 0},
                operators={"loads": 3, "sort_merge_joins": 2, "limits": 0},
                stages_count=4,
                skipped_stages_count=number,
                tasks_count=10 - number,
                input_bytes=1_000_000,
                shuffle_bytes=3_000_000 if number == 0 else 2_000,
                shuffle_heavy=number == 0,
                times_ns=times,
                warmup="warm-up" if number == 0 else "not steady",
                warmup_iterations=1 if number == 0 else None,
                elapsed_ns=mean_estimate(times[1:]),
                doubts=[] if number == 0 else ["may still be warming up: not steady"],
            )
            for number, name in enumerate(names)
        ],
    )
    return made.model_dump(mode="json", by_alias=True)


@pytest.mark.slow
@pytest.mark.parametrize("kind", NASTY)
def test_a_suite_is_shown_query_by_query(browser: Browser, tables: Tables, kind: str) -> None:
    name = NASTY[kind]
    page = browser.open(build(summary(), manifest(), tables, characterisation(name, "q2")))
    assert page.complaints() == []
    rows = "#queries tbody tr"
    cells = page.all_texts(f"{rows}:first-child td")
    assert cells[:7] == [
        name, "2 joins, 1 group by", "3 loads, 2 sort merge joins", "4", "10",
        "977 KiB", "2.86 MiB",
    ]  # fmt: skip
    assert cells[7].startswith("1.00 s (992 ms – 1.01 s)")
    assert cells[9:] == ["1", "–"]
    assert page.text(f"{rows}:first-child td strong") == "2.86 MiB"
    assert page.js("return document.querySelectorAll('#queries .beats span').length") == 12
    assert page.js("return document.querySelectorAll('#queries .beats .pale').length") == 1
    assert page.all_texts(f"{rows}:last-child td")[-2:] == [
        "not steady", "may still be warming up: not steady",
    ]  # fmt: skip
    assert page.text("#queries .note") == f"6 iterations. Shuffle-heavy: {name}."
    assert "#queries" in page.js(
        "return [...document.querySelectorAll('nav a')].map((a) => a.hash)"
    )
    none = browser.open(build(summary(), manifest(), tables, {"reason": f"no SQL in {name}."}))
    assert none.text("#queries .missing") == f"no SQL in {name}."


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


def hover(page: Browser, selector: str, x: float, y: float) -> None:
    element = page.driver.find_element(By.CSS_SELECTOR, selector)
    page.js("arguments[0].scrollIntoView({block: 'center'})", element)
    size = element.size
    ActionChains(page.driver).move_to_element_with_offset(
        element, int((x - 0.5) * size["width"]), int((y - 0.5) * size["height"])
    ).perform()


def test_theme_follows_the_system_and_the_button(full: Browser) -> None:
    def background() -> str:
        return full.js("return getComputedStyle(document.body).backgroundColor")

    for scheme, other in (("dark", "light"), ("light", "dark")):
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        full.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        full.js("delete document.documentElement.dataset.theme")
        system = background()
        full.driver.find_element(By.ID, "theme").click()
        assert full.js("return document.documentElement.dataset.theme") == other
        assert background() != system
        full.driver.find_element(By.ID, "theme").click()
        assert background() == system


def test_tables_sort_by_value_not_by_text(full: Browser) -> None:
    def column() -> list[str]:
        place = 1 + full.all_texts("#stages thead th").index("Run time?")
        return full.all_texts(f"#stages tbody td:nth-child({place})")

    head = full.driver.find_element(By.XPATH, "//section[@id='stages']//button[text()='Run time']")
    head.click()
    assert column()[:2] == ["16.3 s", "12.7 s"]
    assert head.find_element(By.XPATH, "..").get_attribute("aria-sort") == "descending"
    head.click()
    assert column()[0] == "140 ms"
    assert column()[-1] == "16.3 s"


def press(page: Browser, selector: str) -> None:
    """Click on what may stand under the page's sticky head."""
    button = page.driver.find_element(By.CSS_SELECTOR, selector)
    page.js("arguments[0].scrollIntoView({block: 'center'})", button)
    button.click()


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


def test_plans_open_an_operator_by_click_and_key(full: Browser) -> None:
    assert full.text(".detail h4") == "Scan parquet"
    full.driver.find_element(By.XPATH, "//div[@class='plan-row'][.//b[text()='Filter']]").click()
    assert full.text(".detail h4") == "Filter"
    told = full.text(".detail")
    assert "line of generated code 9" in told
    assert "95 % interval" in told
    assert "cast(ws_sales_price as decimal(20,4))" in told
    box = full.driver.find_element(By.CSS_SELECTOR, ".plan-rows")
    box.send_keys(Keys.ARROW_DOWN)
    assert full.text(".detail h4") == "ColumnarToRow"
    assert "43 163 040" in full.text(".detail table")
    pick = full.driver.find_element(By.ID, "plan-pick")
    pick.find_element(By.XPATH, "option[contains(text(), 'joined')]").click()
    assert full.text(".detail h4") == "BroadcastNestedLoopJoin"
    before = full.text(".plan-row[aria-selected=true] .cpu")
    full.driver.find_element(By.XPATH, "//select[@id='plan-hue']/option[text()='Waiting']").click()
    assert "Tasks waiting" in full.text(".plan-head")
    after = full.text(".plan-row[aria-selected=true] .cpu")
    assert after != before
    assert " ms" in after


def test_help_is_reachable_by_keyboard(full: Browser) -> None:
    full.js("document.querySelector('.skip').focus()")
    for _ in range(20):
        ActionChains(full.driver).send_keys(Keys.TAB).perform()
        if full.js("return document.activeElement.className") == "help":
            break
    assert full.js("return document.activeElement.className") == "help"
    assert full.js("return !document.getElementById('tip').hidden")
    assert len(full.text("#tip")) > 20


def test_what_an_event_log_cannot_have_is_one_line(browser: Browser, tmp_path: Path) -> None:
    rows = run_rows()
    write_tables(tmp_path / "tables", {k: rows[k] for k in ("apps", "tasks")})
    with Tables(tmp_path / "tables") as tables:
        page = browser.open(build(eventlog_only_summary(), {}, tables))
    assert page.complaints() == []
    line = page.text("#absent summary")
    assert line.startswith("Not in an event log: ")
    assert "flame graph" in line
    assert "core view" in line
    assert "; needs pyrometer run." in line
    assert page.all_texts("#ledger .missing") == []
    hidden = ("cpu", "jvm", "waits", "hardware", "flame")
    linked = page.js("return [...document.querySelectorAll('nav a')].map((a) => a.hash.slice(1))")
    for name in hidden:
        assert page.js("return document.getElementById(arguments[0]) === null", name), name
        assert name not in linked
    assert page.js("return document.querySelectorAll('.figure.gone').length") == 0
    assert not page.js("return document.getElementById('absent').open")
    press(page, "#absent summary")
    assert all(len(reason) > 15 for reason in page.all_texts("#absent dd"))
    # What an event log cannot have is one line.
    assert page.all_texts("#timeline .missing") == []
    needs = page.text("#timeline-needs")
    assert needs.startswith("Needs pyrometer run: GC and safepoints · CPU, memory, reads · heap")
    assert needs.count("·") == 8
    assert page.js("""return document.querySelector('[data-track="tasks"]') !== null""")
    assert "17.0.15" in page.text("#environment")
    assert page.all_texts("#environment .missing") == page.all_texts("#plans .missing") == []
    empty = page.js(
        "return [...document.querySelectorAll('main section')]"
        ".filter((s) => s.textContent.length < 60).map((s) => s.id)"
    )
    assert empty == []


def test_the_configuration_is_searched(full: Browser) -> None:
    def names() -> list[str]:
        return full.all_texts("#environment .setting")

    assert names()[:2] == ["spark.sql.shuffle.partitions", "spark.my.password"]
    assert "(redacted)" in full.text("#environment")
    assert "in the driver: 2 cores" in full.text("#environment")
    box = full.driver.find_element(By.ID, "conf-search")
    box.send_keys("ARCH amd")
    assert names() == ["os.arch"]
    box.send_keys(" nothing like it")
    assert names() == []
    assert full.complaints() == []


def exploded() -> dict[str, Any]:
    """A summary without samples, with a join whose rows grew."""
    source = eventlog_only_summary()
    join = source["sql"][-1]
    join["nodes"][0]["metrics"][0]["value_sum"] = 5_240_000_000
    join["explosions"] = [{
        "node_id": 0, "name": join["nodes"][0]["name"], "rows_in_count": 1_000_300,
        "rows_out_count": 5_240_000_000, "factor": 5238.4, "stage_ids": [9],
    }]  # fmt: skip
    return source


def test_a_plan_without_samples_is_coloured_and_marks_what_explodes(browser: Browser) -> None:
    page = browser.open(build(exploded(), {}, None))

    def hues() -> list[str]:
        return page.all_texts("#plan-hue option")

    def filled() -> int:
        return page.js("return document.querySelectorAll('#plans .cell.cpu .fill').length")

    pick = page.driver.find_element(By.ID, "plan-pick")
    pick.find_element(By.XPATH, "option[contains(text(), 'SQL 4')]").click()
    assert page.all_texts(".plan-row .explosion") == ["× 5 238"]
    assert "5.24 G rows out" in page.text(".detail")
    assert hues() == ["Spark's timers", "Rows out", "Bytes"]
    assert page.text(".plan-key").startswith("Colour: Spark's own timers")
    assert filled() == 1
    page.driver.find_element(By.XPATH, "//select[@id='plan-hue']/option[text()='Bytes']").click()
    assert page.text(".plan-key").startswith("Colour: bytes read")
    assert filled() == 2
    assert {"7.63 MiB files", "15.6 KiB in memory"} <= set(page.all_texts(".plan-row .size"))
    pick.find_element(By.XPATH, "option[contains(text(), 'SQL 0')]").click()
    shown = page.all_texts(".plan-rows .plan-row b")
    assert shown[:2] == ["HashAggregate", "Exchange"], "wrappers are folded"
    assert page.complaints() == []


@pytest.mark.slow
def test_disputed_numbers_are_marked_where_they_stand(browser: Browser, tables: Tables) -> None:
    source = summary()
    first = source["stages"][0]
    at = {name: first[name] for name in ("app_index", "stage_id", "stage_attempt")}
    wrong = {"value": None, "better": None, "why": "<b>why</b>", "doubt": None, "stages": []}
    source["disputed"] = [
        wrong | {"field": "totals.executor_cpu_time_ns", "better": 90 * 10**9,
                 "better_source": "with Python workers"},
        wrong | {"field": "stages.totals.executor_cpu_time_ns",
                 "better_source": "without Python workers"},
        wrong | {"field": "stages.totals.input_bytes", "better_source": "at most",
                 "stages": [at | {"better": 1 << 30}]},
        wrong | {"field": "stages.totals.jvm_gc_time_ns", "better_source": "at most",
                 "stages": [at | {"better": first["totals"]["executor_run_time_ns"]}]},
    ]  # fmt: skip
    page = browser.open(build(source, manifest(), tables))
    assert page.text("#figures .disputed") == "✗ 90.0 s with Python workers"
    assert page.js("return document.querySelectorAll('#figures .disputed').length") == 1
    heads = page.all_texts("#stages thead button:not(.help)")
    assert {"CPU ✗", "GC ✗", "Input ✗"} <= {head.strip() for head in heads}
    cells = {text.strip() for text in page.all_texts("#stages tbody .disputed")}
    assert cells == {"✗ ≤ 1.00 GiB", "✗ ≤ 100 %"}
    assert "<b>why</b>" in page.js(
        "return [...document.querySelectorAll('#stages th .help')].map((b) =>"
        " b.getAttribute('aria-label')).join()"
    )
    assert page.complaints() == []
    plain = browser.open(build(summary(), manifest(), tables))
    assert plain.js("return document.querySelectorAll('.disputed').length") == 0
    assert plain.complaints() == []


def test_a_stage_opens_its_tasks(browser: Browser, tables: Tables) -> None:
    source = summary()
    group = {
        "executor_id": "1", "host": "a", "tasks_count": 31, "failed_tasks_count": 1, "median_ns": 4,
        "max_ns": 9, "executor_run_time_ns": 90, "jvm_gc_time_ns": 1, "input_bytes": 5,
        "shuffle_read_bytes": 0, "shuffle_written_bytes": 0, "disk_spilled_bytes": 0,
    }  # fmt: skip
    slow = {name: group.get(name) for name in ("executor_id", "host", "input_bytes")} | {
        "task_attempt_id": 7, "task_index": 3, "attempt": 0, "locality": "ANY",
        "speculative": False, "duration_ns": 900_000_000,
    }  # fmt: skip
    spread = {
        "min": 10**8,
        "p25": 2 * 10**8,
        "median": 3 * 10**8,
        "p75": 4 * 10**8,
        "max": 9 * 10**8,
    }
    for stage in source["stages"]:
        stage["tasks"] = {
            "quantiles": [{"measure": "duration_ns", **spread}],
            "slowest": [slow, slow], "executors": [group], "executors_count": 1,
            "hosts": [group], "hosts_count": 1,
        }  # fmt: skip
    page = browser.open(build(source, manifest(), tables))
    head = "//section[@id='stages']//th[@aria-sort='descending']"
    assert page.driver.find_element(By.XPATH, head).text.startswith("Duration")
    press(page, "#stages .stage-open")
    opened = page.text("#stages .opened")
    for text in ("25 %", "100 ms", "300 ms", "900 ms 3.00 ×", "By executor", "31 +1 failed"):
        assert text in opened
    # An axis with units, and every mark within reach of the keyboard.
    assert "500 ms" in page.all_texts("#stages .opened svg .tick")
    assert page.js("return document.querySelectorAll('#stages .opened svg .mark').length") == 1
    press(page, "#stages .stage-open")
    assert page.js("return document.querySelector('#stages .opened') === null")
    assert page.complaints() == []


def test_an_empty_run_is_a_sensible_page(browser: Browser, tmp_path: Path) -> None:
    with Tables(tmp_path) as tables:
        page = browser.open(build({}, {}, tables))
    assert page.complaints() == []
    assert "No verdict" in page.text("#verdict")
    assert "failed:" not in page.text("#main")


def test_narrow_screens_do_not_scroll_sideways(full: Browser) -> None:
    metrics: dict[str, Any] = {"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    full.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    try:
        wide = full.js("return document.documentElement.scrollWidth")
        assert wide <= 390
    finally:
        full.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def nulled(value: Any, name: str = "") -> Any:
    """The same structure without any number but those that identify."""
    if isinstance(value, dict):
        return {key: nulled(item, key) for key, item in value.items()}
    if isinstance(value, list):
        return [nulled(item, name) for item in value]
    identifies = re.search(r"(_id|_ids|_index|_attempt|^iterations?)$", name)
    return None if type(value) in (int, float) and not identifies else value


def test_a_page_without_any_number_shows_dashes(browser: Browser, tables: Tables) -> None:
    page = browser.open(build(nulled(summary()), nulled(manifest()), tables))
    assert page.complaints() == []
    text = page.text("#main")
    assert "failed:" not in text
    for trace in ("NaN", "undefined", "Infinity", "[object", "null"):
        assert trace not in text, text[max(0, text.find(trace) - 60) : text.find(trace) + 20]


def test_what_the_application_waited_for_is_a_bar_and_tables(
    browser: Browser, tables: Tables
) -> None:
    second = 1_000_000_000

    def part(start: int, end: int, stage: int | None) -> PathStretch:
        kind: Kind = "driver" if stage is None else "stage"
        ends = {"start_ns": start * second, "end_ns": end * second}
        return PathStretch(app_index=0, kind=kind, stage_id=stage, stage_attempt=0, **ends)

    held = HeldStage(
        app_index=0,
        stage_id=7,
        stage_attempt=0,
        name="collect at q.py:3",
        tasks_count=2,
        held_ns=6 * second,
        share=0.6,
        causes={"too_few_tasks": 6 * second},
        slots_count=4,
    )
    path = Elapsed(
        total_ns=10 * second,
        stages_ns=6 * second,
        driver_ns=4 * second,
        stages=[held],
        stages_count=1,
        gaps=[Gap(app_index=0, where="start", start_ns=0, length_ns=3 * second)],
        gaps_count=2,
        path=[part(0, 3, None), part(3, 9, 7), part(9, 10, None)],
    )
    shown = summary() | {"elapsed": path.model_dump(mode="json"), "next_step": "look at stage 7"}
    page = browser.open(build(shown, manifest(), tables))
    assert page.complaints() == []
    parts = page.js(
        "return [...document.querySelectorAll('#elapsed rect.on-path')]"
        ".map((part) => [Number(part.getAttribute('x')), Number(part.getAttribute('width'))])"
    )
    assert [width / sum(w for _, w in parts) for _, width in parts] == pytest.approx(
        [0.3, 0.6, 0.1]
    )
    assert all(a[0] + a[1] == pytest.approx(b[0]) for a, b in pairwise(parts))
    assert page.all_texts("#elapsed .on-path-label") == ["7"]
    assert (
        page.text("#elapsed .quality")
        == "10.0 s: 60.0 % stages (6.00 s), 40.0 % the driver (4.00 s)."
    )
    row = page.all_texts("#elapsed table tbody tr:first-child td")
    assert row[:6] == ["7", "6.00 s", "60.0 %", "fewer tasks than slots 6.00 s", "2", "4"]
    # One stop of the Tab key for all parts of the bar.
    stops = "return document.querySelectorAll('#elapsed rect.on-path[tabindex=\"0\"]').length"
    assert page.js(stops) == 1
    assert page.text("#verdict .next") == "Next: look at stage 7"


def test_a_stage_of_sparks_own_thread_has_a_telling_name(browser: Browser, tmp_path: Path) -> None:
    world = World([StageSpec([40, 30])])
    own = "$anonfun$withThreadLocalCaptured$1 at CompletableFuture.java:1768"
    world.rows["stages"][0]["name"] = own
    world.rows["sql_executions"][0]["description"] = "nightly <b>prices</b>"
    with Run.open(world.write(tmp_path / "run")) as run:
        scope = open_scope(run, None)
        page = browser.open(page_data(scope, summarise(scope)))
    assert "nightly <b>prices</b>" in page.text("#stages tbody")
    assert "anonfun" not in page.text("#stages tbody")
    assert own in page.js("return document.querySelector('#stages tbody .clip').title")
