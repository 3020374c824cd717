"""Parts of a report that only some runs have: suites, plans without samples, disputes, waits."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from tests.browser.conftest import Browser
from tests.browser.test_report_browser import NASTY
from tests.support.report_fixture import manifest
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
from pyrometer.report.data import build
from pyrometer.report.page import page_data
from pyrometer.statistics.warmup import mean_estimate
from pyrometer.store import Run, Tables
from pyrometer.summary.summary import summarise

pytestmark = pytest.mark.browser


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
