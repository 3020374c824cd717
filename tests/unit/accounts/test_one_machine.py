"""Two hosts of a run that are one machine: its CPUs count once, and nobody is blamed for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.hosts.two_hosts import WEST, TwoHosts, WestClock, one_machine
from tests.support.tables import HOST, S, StageSpec

from pyrometer.accounts.contention import ONE_MACHINE
from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.accounts.ledger.schema import LedgerReport
from pyrometer.store import Run
from pyrometer.summary.summary import summary

STAGES = [StageSpec([400, 300, 500, 200, 350, 450])]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return one_machine(STAGES).write(tmp_path)


def account(run: Path) -> LedgerReport:
    with Run.open(run) as opened:
        return ledger_report(opened)


def test_its_cpus_count_once_and_the_account_stays_open(run: Path) -> None:
    report = account(run)
    first, second = report.hosts
    assert (first.host, first.observed, first.same_machine) == (HOST, True, [WEST])
    assert (second.host, second.observed, second.same_machine) == (WEST, False, [HOST])
    assert second.core_view.reason is not None
    assert report.core_view.total_ns == first.core_view.total_ns
    assert report.core_view.closure_ratio is None
    assert f"not observed apart: {WEST}" in (report.core_view.reason or "")
    (row,) = [one for one in report.core_view.rows if one.path == f"not_observed/{WEST}"]
    assert row.value_ns is None
    # Slots are counted by the event log: all of them are there.
    slots = [one.slot_view.total_ns or 0 for one in report.hosts]
    assert sum(slots) == report.slot_view.total_ns


def test_what_others_took_of_it_is_not_known(run: Path) -> None:
    with Run.open(run) as opened:
        found = summary(opened, "application")
    assert found.contention.reason == ONE_MACHINE
    assert found.contention.others_ratio is None
    assert "host_contended" not in {one.code for one in found.doubts}


def test_the_ingest_doubts_it_and_not_hosts_with_clocks_of_their_own(tmp_path: Path) -> None:
    apart = TwoHosts(STAGES, WestClock(2 * S))
    for two, doubted in ((one_machine(STAGES), True), (apart, False)):
        two.write(tmp_path / str(doubted))
        assert ("hosts_of_one_machine" in {one.code for one in two.doubts}) is doubted
