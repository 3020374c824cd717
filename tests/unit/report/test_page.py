"""The page of a run: parts of it are collected beside its findings, where the run is small."""

from __future__ import annotations

from pathlib import Path

from pyrometer.accounts.window import open_scope
from pyrometer.report.page import page_data, parts_beside
from pyrometer.store import Run
from pyrometer.summary.summary import summarise

SLOW_JOB = Path("examples/slow-job")


def test_a_page_whose_parts_are_collected_beside_is_the_same() -> None:
    with Run.open(SLOW_JOB) as run:
        scope = open_scope(run, None)
        summary = summarise(scope)
        with parts_beside(run, summary) as collected:
            assert collected is not None
            beside = page_data(scope, summary, collected=collected)
        assert beside == page_data(scope, summary)


def test_parts_of_a_large_run_are_not_held_in_memory_twice() -> None:
    with Run.open(SLOW_JOB) as run:
        summary = summarise(open_scope(run, None))
        run.tables.is_small = False
        with parts_beside(run, summary) as collected:
            assert collected is None
