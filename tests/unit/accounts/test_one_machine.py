"""Two hosts of a run that are one machine: its CPUs count once, and nobody is blamed for them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.hosts.two_hosts import ELSEWHERE, GC, JIT, WEST, TwoHosts, WestClock, one_machine
from tests.support.tables import HOST, MS, S, StageSpec, mono

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


def test_its_cpus_count_once_and_threads_of_all_of_its_pods(run: Path) -> None:
    report = account(run)
    first, second = report.hosts
    assert (first.host, first.observed, first.same_machine) == (HOST, True, [WEST])
    assert (second.host, second.observed, second.same_machine) == (WEST, False, [HOST])
    assert second.core_view.reason is not None
    two = one_machine(STAGES)
    for view in (report.core_view, first.core_view):
        assert view.total_ns == two.cpus * two.world.end_ms * MS
        found = {row.path: row.value_ns for row in view.rows}
        assert found["task"] == pytest.approx(two.task_cpu(HOST) + two.task_cpu(WEST), abs=MS)
        assert found["gc"] == pytest.approx(2 * GC, abs=MS)
        assert found["other_processes"] == pytest.approx(ELSEWHERE, abs=MS)
        assert view.closure_ratio == pytest.approx(0, abs=1e-3)
        assert not [path for path in found if path.startswith("not_observed")]
    # Slots are counted by the event log: all of them are there.
    slots = [one.slot_view.total_ns or 0 for one in report.hosts]
    assert sum(slots) == report.slot_view.total_ns


def test_pods_count_while_the_probe_of_the_first_is_not_there_yet(tmp_path: Path) -> None:
    two, late = one_machine(STAGES), 500 * MS
    end = two.world.end_ms * MS
    own = two.task_cpu(HOST) + two.task_cpu(WEST) + 2 * GC + 2 * JIT + ELSEWHERE
    for row in two.rows["os_series"]:
        if row["host"] == HOST and row["scope"] == "host" and row["t_mono_ns"] == mono(0):
            row["t_mono_ns"] += late
            whole = {"cpu_user_ns": own, "cpu_idle_ns": two.cpus * end - own}
            row["value"] = whole.get(row["name"], 0) * late // end
    view = account(two.write(tmp_path)).core_view
    found = {row.path: row.value_ns or 0 for row in view.rows}
    assert found["task"] == pytest.approx(two.task_cpu(HOST) + two.task_cpu(WEST), abs=MS)
    assert found["other_processes"] == pytest.approx(ELSEWHERE * (end - late) // end, abs=MS)
    # Without what pods used meanwhile, which is theirs.
    unknown = (two.cpus * end - own + ELSEWHERE) * late // end
    assert found["no_probe"] == pytest.approx(unknown, abs=MS)
    assert view.closure_ratio == pytest.approx(0, abs=1e-3)


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
