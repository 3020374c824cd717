"""Findings on the page: what they save at once, what speaks for them in place, what to type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Browser
from tests.support.explain.findings import HOSTILE, a_finding, some_findings

from pyrometer.accounts.window import open_scope
from pyrometer.core.estimate import Estimate
from pyrometer.explain.facts import exactly
from pyrometer.explain.schema import Evidence, Findings, Note, Place, Proof, Remedy, Saving
from pyrometer.pages.page import ReportData
from pyrometer.report.page import page_data
from pyrometer.store import Run
from pyrometer.summary.summary import summarise

pytestmark = pytest.mark.browser

EXAMPLE = Path("examples/slow-job")
CARD = ".finding[data-code='{}']"


def page_of(findings: Findings | None) -> ReportData:
    with Run.open(EXAMPLE) as run:
        scope = open_scope(run, None)
        summary = summarise(scope)
        return (
            page_data(scope, summary)
            if findings is None
            else page_data(scope, summary, lambda *_: findings)
        )


@pytest.fixture(scope="module")
def found() -> ReportData:
    return page_of(None)


def opened(browser: Browser, data: ReportData, code: str) -> Browser:
    page = browser.open(data)
    page.js(f"""document.querySelector("{CARD.format(code)} > summary").click()""")
    return page


def test_the_first_finding_stands_on_the_first_screen_with_its_seconds(
    browser: Browser, found: ReportData
) -> None:
    page = browser.open(found)
    page.driver.set_window_size(1280, 900)
    page.js("scrollTo(0, 0)")
    (card, *_) = page.all_texts(".findings > li > .finding > summary")
    assert "A Python function does what an expression could" in card
    (first, *_) = found.content["findings"]["findings"]
    assert f"{first['saving']['elapsed_ns']['value'] / 1e9:.2f} s" in card
    assert "BatchEvalPython (node 13)" in card
    bottom = page.js("return document.querySelector('.finding').getBoundingClientRect().bottom")
    assert bottom < page.js("return innerHeight")
    assert page.complaints() == []


def test_evidence_opens_its_operator_in_the_plan(browser: Browser, found: ReportData) -> None:
    page = opened(browser, found, "python.instead-of-builtin")
    link = f"{CARD.format('python.instead-of-builtin')} a[href='#plans']"
    page.js("document.querySelector(arguments[0]).click()", link)
    chosen = "return document.querySelector('#plans [aria-selected=\"true\"]').id"
    assert page.js(chosen).endswith("-13")
    assert page.js("return document.activeElement.closest('#plans') !== null")


@pytest.mark.slow
def test_evidence_opens_the_tasks_of_its_stage(browser: Browser) -> None:
    one = a_finding("skew.time")
    one.evidence = [
        Evidence(what="longest task", estimate=one.saving.elapsed_ns, unit="ns", table="tasks",
                 link="/stage/1/0")
    ]  # fmt: skip
    page = opened(browser, page_of(some_findings(one)), "skew.time")
    page.js("document.querySelector(\".finding a[href='#stages']\").click()")
    opener = "return document.querySelector('.stage-open[data-stage=\"1\"]').ariaExpanded"
    assert page.js(opener) == "true"


def follow(browser: Browser, section: str, *pieces: Evidence, **place: Any) -> Browser:
    """Open a page with a finding of these pieces of evidence, and follow the link to a section."""
    one = a_finding("gc.a")
    one.evidence = list(pieces)
    one.place = one.place.model_copy(update=place)
    page = opened(browser, page_of(some_findings(one)), "gc.a")
    page.js(f"document.querySelector(\".finding a[href='#{section}']\").click()")
    return page


def piece(link: str) -> Evidence:
    return Evidence(what="this", estimate=exactly(1.0), unit="ns", table="t", link=link)


@pytest.mark.slow
def test_a_stage_that_is_not_found_is_named(browser: Browser) -> None:
    page = follow(browser, "stages", piece("/stage/999/0"))
    assert page.text("#stages .not-here") == "Not found on this page: stage 999."


@pytest.mark.slow
def test_what_was_not_found_is_named_until_the_next_link_is_followed(browser: Browser) -> None:
    page = follow(browser, "stages", piece("/stage/999/0"), piece("/ledger/task/run_queue"))
    assert len(page.all_texts(".not-here")) == 1
    page.js("document.querySelector(\".finding a[href='#ledger']\").click()")
    assert page.all_texts(".not-here") == []


@pytest.mark.slow
def test_of_a_stage_without_tasks_evidence_leads_to_its_row(browser: Browser) -> None:
    one = a_finding("skew.time")
    one.evidence = [piece("/stage/1/0")]
    data = page_of(some_findings(one))
    for stage in data.content["summary"]["stages"]:
        stage["tasks"] = None
    page = opened(browser, data, "skew.time")
    page.js("document.querySelector(\".finding a[href='#stages']\").click()")
    assert page.js("return document.querySelector('#stages .not-here') === null")
    assert page.until(
        lambda: page.js(
            "const row = document.querySelector('#stages [data-stage=\"1\"]').closest('tr');"
            "const { top, bottom } = row.getBoundingClientRect();"
            "return top >= 0 && bottom <= innerHeight"
        )
    )


@pytest.mark.slow
def test_evidence_opens_its_range_of_the_timeline(browser: Browser) -> None:
    whole = browser.open(page_of(some_findings())).text("#timeline-range")
    page = follow(browser, "timeline", piece("/timeline"), stage_id=1, stage_attempt=0)
    assert page.text("#timeline-range") != whole
    assert "timeline, " in page.text(".finding a[href='#timeline']")


def test_evidence_opens_its_row_of_the_ledger(browser: Browser) -> None:
    page = follow(browser, "ledger", piece("/ledger/task/on_cpu/codegen/Code generation"))
    row = "return document.activeElement.dataset.row"
    assert page.js(row) == "task/on_cpu/codegen/Code generation"
    assert page.js("return document.activeElement.offsetHeight") > 0
    page = follow(browser, "ledger", piece("/ledger/task/run_queue/not_there"))
    assert page.js(row) == "task/run_queue"


@pytest.mark.slow
def test_evidence_opens_its_subtree_of_the_flame_graph(browser: Browser) -> None:
    page = follow(browser, "flame", piece("/flame?event=alloc&find=UTF8String"),
                  stage_id=1, stages_count=1)  # fmt: skip
    assert page.js("return document.querySelector('[data-event=alloc]').ariaPressed") == "true"
    assert page.js("return document.getElementById('flame-search').value") == "UTF8String"
    assert "matched" in page.text("#flame-share")
    assert page.js("return document.querySelector('[data-name=stage]').selectedOptions[0].text") \
        .endswith("1")  # fmt: skip


@pytest.mark.slow
def test_evidence_lights_its_kind_of_work(browser: Browser) -> None:
    page = follow(browser, "flame", piece("/flame?what=decompression"))
    pressed = "return document.querySelector('#flame .legend [aria-pressed=true]')?.textContent"
    assert page.js(pressed) == "decompression"
    assert "highlighted" in page.text("#flame-share")


@pytest.mark.slow
def test_of_several_applications_evidence_opens_its_own(browser: Browser) -> None:
    one = a_finding("gc.a")
    one.evidence = [piece("/sql/0/13")]
    one.place = one.place.model_copy(update={"app": 1})
    data = page_of(some_findings(one))
    (query, *_), stages = data.content["summary"]["sql"], data.content["summary"]["stages"]
    data.content["summary"]["sql"] = [query, {**query, "app_index": 1}]
    data.content["summary"]["stages"] = [*stages, *({**each, "app_index": 1} for each in stages)]
    page = opened(browser, data, "gc.a")
    page.js("document.querySelector(\".finding a[href='#plans']\").click()")
    chosen = "return document.querySelector('#plans [aria-selected=\"true\"]').id"
    assert page.js(chosen) == "op-1-0-13"


@pytest.mark.slow
@pytest.mark.parametrize(("apps", "opens"), [((1,), "1"), ((0, 1), "1·1"), ((0,), None)])
def test_evidence_opens_the_stage_of_its_application_alone(
    browser: Browser, apps: tuple[int, ...], opens: str | None
) -> None:
    one = a_finding("gc.a")
    one.evidence = [piece("/stage/1/0")]
    one.place = one.place.model_copy(update={"app": 1})
    data = page_of(some_findings(one))
    summary = data.content["summary"]
    summary["stages"] = [{**each, "app_index": app} for app in apps for each in summary["stages"]]
    page = opened(browser, data, "gc.a")
    page.js("document.querySelector(\".finding a[href='#stages']\").click()")
    stage = "return document.querySelector('.stage-open[aria-expanded=true]')?.dataset.stage"
    assert page.js(stage) == opens


def test_a_remedy_is_copied(browser: Browser) -> None:
    one = a_finding("gc.heap-too-small")
    one.remedies = [
        Remedy(kind="factor", text="more heap", factor="spark.driver.memory", level="2g")
    ]
    page = opened(browser, page_of(some_findings(one)), "gc.heap-too-small")
    page.js(
        "navigator.clipboard.writeText = async (text) => { window.copied = text; };"
        "document.querySelector('.finding .copy').click()"
    )
    page.until(lambda: page.text(".finding .copy") == "copied")
    assert page.js("return window.copied") == "--conf spark.driver.memory=2g"


@pytest.mark.slow
def test_nothing_to_gain_is_an_answer(browser: Browser) -> None:
    nothing = some_findings(
        unjudged=("gc.full", "gc.young"), rules_count=9,
        conclusion="Nothing worth more than 5.00 %, the noise of this run.",
    )  # fmt: skip
    page = browser.open(page_of(nothing))
    assert page.text("#findings .joint").startswith("Nothing worth more than 5.00 %")
    assert "2 of 9 rules could not judge this run" in page.text("#findings")


@pytest.mark.slow
def test_weak_muted_and_noted_are_folded(browser: Browser) -> None:
    note = Note(code="config.no-effect", title="Settings without effect",
                place=Place(layer="setting"), mechanism="No shuffle.",
                settings={"spark.sql.shuffle.partitions": "8"})  # fmt: skip
    page = browser.open(
        page_of(some_findings(
            a_finding("gc.a"), a_finding("gc.b", 0.1, shown=False),
            a_finding("gc.c", muted="agreed"),
            notes=[note],
        ))
    )  # fmt: skip
    folds = page.all_texts("#findings > .more-findings > summary")
    assert any("1 more, not above the noise" in one for one in folds)
    assert any("1 muted by the project" in one for one in folds)
    assert any("1 note" in one for one in folds)
    assert page.js("return document.querySelectorAll('#findings > .findings > li').length") == 1


@pytest.mark.slow
def test_what_may_be_worth_it_stands_below_what_is_sure_with_its_interval(
    browser: Browser,
) -> None:
    def ratio(value: float, low: float, high: float) -> dict[str, Any]:
        ends = {"level": 0.9, "n": 8, "method": "t"}
        saving = Estimate(value=value * 1e10, low=low * 1e10, high=high * 1e10, **ends)
        return {
            "saving": Saving(elapsed_ns=saving, core_ns=saving), "shown": False,
            "saving_ratio": Estimate(value=value, low=low, high=high, **ends),
        }  # fmt: skip

    page = browser.open(
        page_of(some_findings(
            a_finding("gc.sure"), a_finding("gc.weak", **ratio(0.004, 0.001, 0.01)),
            a_finding("gc.may", title="Unsure", **ratio(0.15, 0.0, 0.3)),
        ))
    )  # fmt: skip
    seen = page.all_texts("#findings > .findings > li > .finding > summary")
    assert len(seen) == 2
    assert "Unsure" in seen[1]
    assert "may save 0 s to 3.00 s" in seen[1]
    assert "may be worth it" in page.text("#findings .may-be")
    (folded,) = page.all_texts("#findings > .more-findings > summary")
    assert folded.startswith("1 more, not above the noise")
    alone = browser.open(page_of(some_findings(a_finding(**ratio(0.15, 0.0, 0.3)))))
    assert alone.text("#findings .may-be").startswith("Not sure, but may be worth it")


@pytest.mark.slow
def test_a_proven_finding_says_so_before_it_is_opened(browser: Browser) -> None:
    measured = Estimate(value=1.9e9, low=1.5e9, high=2.2e9, level=0.95, n=5, method="t")
    page = browser.open(
        page_of(some_findings(
            a_finding("gc.a", proof=Proof(verdict="proven", measured=measured)),
            a_finding("gc.b", proof=Proof(verdict="not_testable", reason="too little time")),
        ))
    )  # fmt: skip
    proven, other = page.all_texts("#findings > .findings > li > .finding > summary")
    assert "proven: 1.90 s (1.50 s to 2.20 s) measured" in proven
    assert "too little time" not in other
    page.js(f"""document.querySelector("{CARD.format("gc.b")} > summary").click()""")
    assert "Tried: cannot be tried here (too little time)" in page.text(
        f"{CARD.format('gc.b')} .finding-body"
    )


def test_what_a_log_says_is_text(browser: Browser) -> None:
    one = a_finding("gc.a")
    one.mechanism, one.title = HOSTILE, HOSTILE
    page = opened(browser, page_of(some_findings(one)), "gc.a")
    assert HOSTILE[:20] in page.text(".finding")
    assert page.js("return document.querySelector('#findings .finding-body b') === null")


def test_a_phone_scrolls_downwards_alone(browser: Browser, found: ReportData) -> None:
    page = opened(browser, found, "python.instead-of-builtin")
    page.driver.set_window_size(360, 800)
    page.js("document.querySelectorAll('#findings details').forEach((one) => { one.open = true; })")
    width = page.js("return document.documentElement.scrollWidth - innerWidth")
    page.driver.set_window_size(1400, 1000)
    assert width <= 0


@pytest.mark.slow
def test_rules_that_break_leave_the_page_and_say_so(
    browser: Browser,
) -> None:
    with Run.open(EXAMPLE) as run:
        scope = open_scope(run, None)
        page = browser.open(page_data(scope, summarise(scope), lambda *_: 1 / 0))
    assert "Findings could not be computed: ZeroDivisionError" in page.text("#findings")
    assert page.text("#stages") != ""
