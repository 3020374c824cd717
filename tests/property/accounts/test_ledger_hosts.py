"""The ledger of two hosts: what one clock had shown, no host's time in another's, and their sum."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.examples import examples
from tests.support.hosts.two_hosts import BOUND, ELSEWHERE, GC, JIT, WEST, TwoHosts, WestClock
from tests.support.tables import HOST, MS, PID, S, StageSpec

from pyrometer.accounts.ledger import by_host, together
from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.accounts.ledger.schema import HostLedger, LedgerReport, View
from pyrometer.store import Run

STAGES = [
    StageSpec([400, 300, 500, 200, 350, 450, 250, 300, 410, 390]),
    StageSpec([300, 300, 300, 300, 300]),
]


def account(two: TwoHosts) -> LedgerReport:
    with tempfile.TemporaryDirectory() as folder, Run.open(two.write(Path(folder))) as run:
        return ledger_report(run)


@cache
def shown_by_one_clock() -> LedgerReport:
    return account(TwoHosts(STAGES))


@cache
def west_ahead(probe: bool = True) -> LedgerReport:
    """Give the ledger of a west whose clock is 2 s ahead, made once; with its probe or without."""
    return account(TwoHosts(STAGES, WestClock(2 * S), probe=probe))


def values(view: View) -> dict[str, int]:
    return {row.path: row.value_ns for row in view.rows if row.value_ns is not None}


def by_name(report: LedgerReport) -> dict[str, HostLedger]:
    return {one.host: one for one in report.hosts}


@given(
    ahead_ns=st.sampled_from([50 * MS, -50 * MS, 2 * S, -2 * S]),
    drift_ppm=st.sampled_from([0.0, 200.0, -200.0]),
)
@example(ahead_ns=-2 * S, drift_ppm=200.0)
@settings(max_examples=examples(1, 6), deadline=None)
def test_a_clock_that_is_off_changes_no_row_by_more_than_its_bound(
    ahead_ns: int, drift_ppm: float
) -> None:
    moved = account(TwoHosts(STAGES, WestClock(ahead_ns, drift_ppm)))
    truth = shown_by_one_clock()
    for mine, right in ((moved.slot_view, truth.slot_view), (moved.core_view, truth.core_view)):
        assert mine.total_ns == right.total_ns
        found, expected = values(mine), values(right)
        assert found.keys() == expected.keys()
        for path, value in expected.items():
            # Each of the 15 spans has two ends.
            assert found[path] == pytest.approx(value, abs=30 * BOUND), path
        assert mine.closure_ratio == pytest.approx(right.closure_ratio, abs=1e-3)


def test_hosts_add_up_to_the_whole() -> None:
    report = account(TwoHosts(STAGES, WestClock(2 * S, 200)))
    hosts = by_name(report)
    assert list(hosts) == [HOST, WEST]
    for name in ("core_view", "slot_view"):
        views = [getattr(one, name) for one in report.hosts]
        whole = getattr(report, name)
        assert sum(view.total_ns for view in views) == whole.total_ns
    cores = values(report.core_view)
    for path, value in cores.items():
        assert value == sum(values(one.core_view).get(path, 0) for one in report.hosts), path
    for row in report.core_view.rows:
        counts = [one.n for host in report.hosts for one in host.core_view.rows
                  if one.path == row.path and one.n is not None]  # fmt: skip
        assert row.n == (sum(counts) if counts else None), row.path
    for path in ("task", "task/on_cpu", "idle"):
        parts = sum(values(one.slot_view)[path] for one in report.hosts)
        assert parts == pytest.approx(values(report.slot_view)[path], abs=1000), path
    for one in report.hosts:
        assert abs(one.core_view.closure_ratio or 0) < 1e-4
        assert abs(one.slot_view.closure_ratio or 0) < 5e-3
    assert abs(report.core_view.closure_ratio or 0) < 1e-4


@pytest.mark.parametrize("since_ms", [200, pytest.param(900, marks=pytest.mark.slow)])
def test_time_before_a_hosts_probe_is_a_row_and_no_others(since_ms: int) -> None:
    late = account(TwoHosts(STAGES, WestClock(2 * S), since_ms=since_ms))
    truth = west_ahead()
    views = [by_name(report)[WEST].core_view for report in (late, truth)]
    found, expected = map(values, views)
    assert "no_probe" not in expected
    assert 0 < found["no_probe"] <= 4 * since_ms * MS
    # Threads are known from their begin on: only what they leave of the CPUs is not.
    assert found["task"] == pytest.approx(expected["task"], abs=BOUND)
    left = ("idle", "other_processes", "no_probe")
    parts = [sum(one.get(path, 0) for path in left) for one in (found, expected)]
    assert parts[0] == pytest.approx(parts[1], abs=4 * BOUND)
    assert views[0].closure_ratio == pytest.approx(0, abs=1e-3)
    assert values(late.core_view)["no_probe"] == found["no_probe"]
    assert late.core_view.closure_ratio == pytest.approx(0, abs=1e-3)


def test_each_host_has_its_own_time_alone() -> None:
    two = TwoHosts(STAGES, WestClock(-2 * S, -200))
    hosts = by_name(account(two))
    for name in (HOST, WEST):
        found = values(hosts[name].core_view)
        assert found["task"] == pytest.approx(two.task_cpu(name), abs=MS)
        assert found["gc"] == pytest.approx(GC, abs=MS)
        assert found["jit"] == pytest.approx(JIT, abs=MS)
        assert found["other_processes"] == pytest.approx(ELSEWHERE, abs=MS)
        assert hosts[name].observed
    assert hosts[HOST].bound_ns == 0
    assert 0 < (hosts[WEST].bound_ns or 0) < BOUND


def test_the_same_number_of_a_process_on_both_hosts_changes_nothing() -> None:
    same, other = (account(TwoHosts(STAGES, WestClock(2 * S), west_pid=p)) for p in (PID, 77_777))

    def told(report: LedgerReport) -> Any:
        plain = report.model_dump(mode="json")
        for name in ("run", "doubts"):
            del plain[name]
        return plain

    assert told(same) == told(other)


def test_a_host_without_a_probe_is_a_row_without_a_value_and_keeps_the_account_open() -> None:
    two = TwoHosts(STAGES, WestClock(2 * S), probe=False)
    report = west_ahead(probe=False)
    rows = {row.path: row for row in report.core_view.rows}
    for path in ("not_observed", f"not_observed/{WEST}"):
        assert rows[path].method == "unavailable"
        assert rows[path].value_ns is None
    assert "4 CPUs" in rows[f"not_observed/{WEST}"].source
    assert WEST in (report.core_view.reason or "")
    # Half of all CPUs are nobody's: nothing of it is in a row of the other host.
    assert report.core_view.closure_ratio == pytest.approx(-0.5, abs=1e-3)
    assert values(report.core_view)["task"] == two.task_cpu(HOST)
    west = by_name(report)[WEST]
    assert not west.observed
    assert west.core_view.total_ns is None
    assert west.core_view.reason
    # Its slots are known by the event log.
    assert west.slot_view.total_ns == by_name(report)[HOST].slot_view.total_ns


def test_what_a_probe_did_not_see_of_tasks_is_not_counted_as_nothing() -> None:
    one = west_ahead(probe=False)
    queue = next(row for row in one.slot_view.rows if row.path == "task/run_queue")
    assert f"without that of tasks on {WEST}" in queue.source
    (west,) = [host for host in one.hosts if host.host == WEST]
    queue = next(row for row in west.slot_view.rows if row.path == "task/run_queue")
    assert (queue.method, queue.value_ns) == ("unavailable", None)
    # Nobody watched any host on which tasks ran.
    two = TwoHosts(STAGES, WestClock(2 * S))
    two.rows["thread_counters"] = [
        {**row, "host": HOST, "pid": 1} for row in two.rows["thread_counters"]
        if row["host"] == HOST
    ]  # fmt: skip
    for table in ("spans", "samples", "thread_counters"):
        for row in two.rows[table]:
            row["host"] = (
                "east" if row["host"] == HOST and table != "thread_counters" else row["host"]
            )
    for row in two.rows["processes"]:
        if row["executor_id"] == "1":
            row["host"] = "east"
    report = account(two)
    queue = next(row for row in report.slot_view.rows if row.path == "task/run_queue")
    assert (queue.method, queue.value_ns) == ("unavailable", None)


def test_without_the_number_of_its_cpus_no_closure_is_said() -> None:
    two = TwoHosts(STAGES, probe=False)
    for row in two.rows["processes"]:
        if row["host"] == WEST:
            row["facts"] = None
    report = account(two)
    assert report.core_view.closure_ratio is None
    assert report.core_view.total_ns == by_name(report)[HOST].core_view.total_ns
    assert "number of CPUs of west is not known" in (report.core_view.reason or "")


def test_an_executor_on_a_host_that_wrote_nothing_is_named_as_the_event_log_does() -> None:
    two = TwoHosts(STAGES)
    for table, rows in two.rows.items():
        if table not in ("tasks", "executors"):
            two.rows[table] = [row for row in rows if row.get("host") != WEST]
    report = account(two)
    assert [(one.host, one.observed) for one in report.hosts] == [(HOST, True), ("10.0.0.2", False)]
    assert [one.cpus_count for one in report.hosts] == [two.cpus, None]
    assert report.core_view.closure_ratio is None
    assert "10.0.0.2" in (report.core_view.reason or "")


def test_a_run_of_one_host_has_no_list_of_hosts() -> None:
    two = TwoHosts(STAGES)
    for table, rows in two.rows.items():
        two.rows[table] = [row for row in rows if row.get("host") not in (WEST, "10.0.0.2")]
    report = account(two)
    assert report.hosts == []
    assert report.core_view.total_ns


def test_a_bound_that_is_wider_than_a_tick_is_a_doubt() -> None:
    narrow = west_ahead()
    two = TwoHosts(STAGES, WestClock(2 * S), answer_ns=40 * MS)
    for row in two.rows["processes"]:
        # Of no application, whose tasks would bound the clock.
        row["app_id"] = None
    wide = account(two)
    assert "clock_bound_wide" not in {doubt.code for doubt in narrow.doubts}
    (doubt,) = [doubt for doubt in wide.doubts if doubt.code == "clock_bound_wide"]
    assert WEST in doubt.message


@pytest.mark.parametrize("since_ms", [0, 700])
def test_hosts_that_are_accounted_for_together_are_their_sum(
    since_ms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    two = TwoHosts(STAGES, WestClock(2 * S, 200), since_ms=since_ms)
    apart = account(two)
    monkeypatch.setattr(by_host, "groups", lambda *_: [[HOST, WEST]])
    joined = account(two)
    (one,) = joined.hosts
    assert (one.host, one.together) == ("2 hosts together", [HOST, WEST])
    assert one.cpus_count == sum(host.cpus_count or 0 for host in apart.hosts)
    assert joined.core_view.total_ns == apart.core_view.total_ns
    found, expected = values(joined.core_view), values(apart.core_view)
    assert found.keys() == expected.keys()
    assert ("no_probe" in found) == bool(since_ms)
    for path, value in expected.items():
        # Parts of a row are shares of samples, of each host or of both.
        within = {"rel": 1e-3} if "/" in path else {"abs": 1000}
        assert found[path] == pytest.approx(value, **within), path
    assert joined.core_view.closure_ratio == pytest.approx(apart.core_view.closure_ratio, abs=1e-6)


class OfMany:
    """Tables of many hosts, by what is asked of them: the last one is busy with others."""

    def __init__(self, hosts: list[str]) -> None:
        self.hosts, self.tables = hosts, self

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        if "growth" in sql:
            busy = {self.hosts[-1]: 10_000}
            return [(h, n, busy.get(h, n), 1) for n, h in enumerate(self.hosts)]
        if "psi_irq_full_ns" in sql:
            return [(h, n % 2 == 0, True, True) for n, h in enumerate(self.hosts)]
        return []


def test_of_very_many_hosts_those_that_matter_have_accounts_of_their_own() -> None:
    hosts = [f"h{n:03}" for n in range(300)]
    cpus: dict[str, int | None] = dict.fromkeys(hosts, 4)
    cpus["h007"] = None
    scope: Any = OfMany(hosts)
    found = together.groups(scope, hosts, cpus, {})
    assert sorted(host for group in found for host in group) == hosts
    own = {group[0] for group in found if len(group) == 1}
    # The axis, one whose CPUs are not known, those that worked most, and the busy one.
    assert {"h000", "h007", "h299", "h298"} <= own
    assert len(own) <= together.MOST_OWN + 1
    # Hosts with and without a counter of interrupts are not added up.
    kinds = [{int(host[1:]) % 2 for host in group} for group in found if len(group) > 1]
    assert sorted(kinds, key=min) == [{0}, {1}]
    assert together.groups(scope, hosts[:9], cpus, {}) == [[host] for host in hosts[:9]]
