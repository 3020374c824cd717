"""The report in a real browser: numbers, names, tables, plans, configuration, themes."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from selenium.common.exceptions import NoAlertPresentException
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from tests.browser.conftest import Browser, press
from tests.support.report_fixture import manifest, run_rows, write_tables
from tests.support.summary_fixture import eventlog_only_summary, summary

from pyrometer.report.data import build
from pyrometer.store import Tables

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
