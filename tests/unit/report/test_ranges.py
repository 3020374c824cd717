"""Evidence that leads to the timeline opens the time it is about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.explain.findings import RULES, a_finding, invented_log, some_findings
from tests.support.simulation.simulated import Log
from tests.support.tables import wall

from pyrometer.accounts.window import open_scope
from pyrometer.explain.facts import exactly
from pyrometer.explain.findings import explain
from pyrometer.explain.schema import Evidence, Place
from pyrometer.report.findings import findings_data
from pyrometer.store import Run
from pyrometer.summary.summary import summarise


def opened(run: Path, link: str, **place: Any) -> dict[str, Any]:
    """Give a piece of evidence as the page has it."""
    one = a_finding("gc.a", place=Place(layer="stage", **place))
    one.evidence = [
        Evidence(what="this", estimate=exactly(1.0), unit="ns", table="t", link=link)
    ]  # fmt: skip
    with Run.open(run) as opened_run:
        scope = open_scope(opened_run, None)
        found = findings_data(scope, summarise(scope), lambda *_: some_findings(one))
    assert found is not None
    piece: dict[str, Any] = found["findings"][0]["evidence"][0]
    return piece


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return invented_log(tmp_path)


def test_its_own_range_comes_first(run: Path) -> None:
    piece = opened(run, f"/timeline/{wall(300)}/{wall(1_300)}", stage_id=1, stage_attempt=0)
    since, until = piece["range_ms"]
    assert until - since == pytest.approx(1_000)


def test_else_it_is_the_time_of_the_stage(run: Path) -> None:
    since, until = opened(run, "/timeline", stage_id=1, stage_attempt=0)["range_ms"]
    assert until - since == pytest.approx(12_000)


@pytest.mark.parametrize(
    ("link", "place"),
    [("/timeline", {}), ("/timeline", {"stage_id": 9}), ("/timeline", {"sql_id": 9}),
     ("/stage/1/0", {"stage_id": 1})],
)  # fmt: skip
def test_without_a_time_there_is_no_range(run: Path, link: str, place: dict[str, Any]) -> None:
    assert "range_ms" not in opened(run, link, **place)


def two_applications(folder: Path) -> Path:
    """The second application is the invented one; the first has a stage of the same number."""
    log = Log(30_000)
    log.executor("1", 8)
    log.job(0, 100, 500, [1])
    log.stage(1, 100, 500, [])
    log.task(1, 100, 400)
    whole = Log(60_000)
    whole.executor("1", 8)
    whole.job(0, 35_000, 52_000, [0, 1])
    whole.stage(0, 35_000, 40_000, [])
    whole.task(0, 35_000, 5_000)
    whole.stage(1, 40_000, 52_000, [0])
    for length in (12_000, *[4_000] * 7):
        whole.task(1, 40_000, length)
    for table, rows in whole.rows.items():
        log.rows[table] += [{**row, "app_index": 1} for row in rows]
    for number, row in enumerate(log.rows["tasks"]):
        row["task_attempt_id"] = number
    return log.write(folder)


def test_of_several_applications_a_finding_is_in_one(tmp_path: Path) -> None:
    path = two_applications(tmp_path)
    rules = [one for one in RULES if one.code == "skew.planted"]
    with Run.open(path) as run:
        found = explain(run, app_index=1, rules=[*rules], window="application")
        assert [one.place.app for one in found.findings] == [1]
        scope = open_scope(run, "application")
        assert len(summarise(scope).apps) == 2
    since, until = opened(path, "/timeline", stage_id=1, stage_attempt=0, app=1)["range_ms"]
    assert until - since == pytest.approx(12_000)


def test_of_one_application_its_number_is_left_out(run: Path) -> None:
    with Run.open(run) as one:
        found = explain(one, rules=RULES)
    assert {each.place.app for each in found.findings} == {None}
