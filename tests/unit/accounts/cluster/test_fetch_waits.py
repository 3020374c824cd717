"""Waits for shuffle blocks: of which side, and what those who serve blocks did meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.hosts.serving import BEGINS_MS, PLANTED, WAIT_MS, serves, waiting_elsewhere
from tests.support.hosts.two_hosts import WEST
from tests.support.tables import HOST, MS, PID, StageSpec, World, mono, write_tables

from pyrometer.accounts.ledger.cluster import serving
from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.accounts.ledger.schema import Row
from pyrometer.store import Run

LOG = {"apps", "executors", "stages", "tasks"}
SERVICE_PID = 900
REMOTE = "shuffle_fetch/remote"


def fetches(folder: Path) -> dict[str, Row]:
    with Run.open(folder) as run:
        memos = ledger_report(run).slot_view.memos
    return {row.path: row for row in memos if row.path.startswith("shuffle_fetch")}


@pytest.mark.parametrize("most_rows", [serving.MOST_ROWS, 3])
def test_waits_for_another_host_are_divided_by_what_its_serving_threads_did(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_rows: int
) -> None:
    # Whatever is looked at together, it is the same.
    monkeypatch.setattr(serving, "MOST_ROWS", most_rows)
    two = waiting_elsewhere()
    serves(two, HOST, PID, BEGINS_MS, PLANTED)
    # Those of the own host serve others.
    serves(two, WEST, PID, BEGINS_MS, {"on_cpu": 1.0})
    found = fetches(two.write(tmp_path))
    whole = 2 * WAIT_MS * MS
    assert found[REMOTE].value_ns == whole
    parts = {path.rpartition("/")[2]: row for path, row in found.items() if path.count("/") == 2}
    assert set(parts) == {*PLANTED, "network_or_unknown"}
    assert sum(row.value_ns or 0 for row in parts.values()) == whole
    # Waits are seen every 5 ms, and the other host's clock is known to a millisecond.
    for name, share in {**PLANTED, "network_or_unknown": 0.15}.items():
        row = parts[name]
        assert row.low_ns is not None
        assert row.high_ns is not None
        assert abs((row.value_ns or 0) / whole - share) < 0.02, name
        assert row.low_ns <= share * whole <= row.high_ns, name
        assert row.method == "apportioned"
    # A thread that was at work may have served another task.
    assert parts["disk"].low_ns == 0
    assert parts["network_or_unknown"].high_ns == whole


def test_pauses_of_the_collector_there_are_no_network(tmp_path: Path) -> None:
    two = waiting_elsewhere()
    serves(two, HOST, PID, BEGINS_MS, {})
    two.add("gc_pauses", host=HOST, pid=PID, gc_id=1, start_mono_ns=mono(BEGINS_MS),
            duration_ns=WAIT_MS * MS // 2, collector="G1", kind="full")  # fmt: skip
    pause = fetches(two.write(tmp_path))[f"{REMOTE}/gc_pause"]
    assert abs((pause.value_ns or 0) / (2 * WAIT_MS * MS) - 0.5) < 0.02


@pytest.mark.parametrize(
    ("conf", "observed", "messages", "why"),
    [
        ({}, False, True, "not observed, or on a clock without a bound: 1 on lab"),
        ({}, True, False, "not observed, or on a clock without a bound: 2 on 10.0.0.2"),
        ({"spark.shuffle.service.enabled": "true"}, True, True, "1 on lab (its shuffle service)"),
    ],
)
def test_where_a_server_was_not_observed_nothing_is_divided_and_it_is_said_who(
    tmp_path: Path, conf: dict[str, str], observed: bool, messages: bool, why: str
) -> None:
    two = waiting_elsewhere(conf)
    serves(two, HOST if observed else WEST, PID, BEGINS_MS, PLANTED)
    if observed:
        serves(two, WEST, PID, BEGINS_MS, {})
    if not messages:
        two.pings = False
        two.rows["spans"] = [row for row in two.rows["spans"] if row["host"] == HOST]
    found = fetches(two.write(tmp_path))
    assert [path for path in found if path.startswith(f"{REMOTE}/")] == [f"{REMOTE}/not_observed"]
    row = found[f"{REMOTE}/not_observed"]
    assert (row.value_ns, row.method) == (None, "unavailable")
    assert why in row.source


def test_an_external_shuffle_service_serves_for_the_executors_of_its_host(tmp_path: Path) -> None:
    two = waiting_elsewhere({"spark.shuffle.service.enabled": "true"})
    serves(two, HOST, SERVICE_PID, BEGINS_MS, PLANTED)
    serves(two, WEST, SERVICE_PID, BEGINS_MS, {})
    found = fetches(two.write(tmp_path))
    assert abs((found[f"{REMOTE}/disk"].value_ns or 0) / (2 * WAIT_MS * MS) - 0.5) < 0.02


def test_what_is_not_observed_of_a_wait_is_a_part_of_its_own(tmp_path: Path) -> None:
    two = waiting_elsewhere()
    serves(two, HOST, PID, BEGINS_MS, {"disk": 1.0})
    # The probe there ended half way.
    middle = mono(0) + round((BEGINS_MS + WAIT_MS / 2) * MS)
    rows = [row for row in two.rows["thread_states"] if row["begin_mono_ns"] < middle]
    for row in rows:
        row["end_mono_ns"] = min(row["end_mono_ns"], middle)
        row["weight_ns"] = row["end_mono_ns"] - row["begin_mono_ns"]
    two.rows["thread_states"] = rows
    found = fetches(two.write(tmp_path))
    whole = 2 * WAIT_MS * MS
    for name in ("disk", "not_observed"):
        assert abs((found[f"{REMOTE}/{name}"].value_ns or 0) / whole - 0.5) < 0.02, name


def test_waits_that_a_jvm_did_not_record_to_the_end_are_not_divided(tmp_path: Path) -> None:
    two = waiting_elsewhere()
    serves(two, HOST, PID, BEGINS_MS, PLANTED)
    serves(two, WEST, PID, BEGINS_MS, {})
    for row in two.rows["processes"]:
        if row["executor_id"] == "1":
            row["recorded_until_mono_ns"] = mono(BEGINS_MS)
    found = fetches(two.write(tmp_path))
    assert [path for path in found if path.startswith(f"{REMOTE}/")] == [f"{REMOTE}/not_observed"]
    assert "was not recorded to the end of this window" in found[f"{REMOTE}/not_observed"].source


def log_of(folder: Path, waits: list[dict[str, Any]]) -> dict[str, Row]:
    made = World([StageSpec([400] * len(waits))], slots=2)
    made.rows["apps"][0]["master"] = "yarn"
    for row, wait in zip(made.rows["tasks"], waits, strict=True):
        row |= wait
    write_tables(folder, made.rows, LOG)
    return fetches(folder)


def wait(ms: int, far: int, near: int, requests_ms: int | None = None) -> dict[str, Any]:
    return {"shuffle_fetch_wait_time_ns": ms * MS, "shuffle_read_remote_bytes": far,
            "shuffle_read_local_bytes": near,
            "shuffle_remote_requests_duration_ns": requests_ms and requests_ms * MS}  # fmt: skip


def test_a_wait_longer_than_all_remote_requests_was_for_the_own_host_beyond_them(
    tmp_path: Path,
) -> None:
    found = log_of(tmp_path, [wait(40, 9, 9, 30), wait(20, 9, 9, 25), wait(7, 0, 9), wait(5, 9, 0)])
    values = {path: row.value_ns for path, row in found.items() if row.value_ns is not None}
    assert values == {
        "shuffle_fetch": 72 * MS, "shuffle_fetch/local": 17 * MS, REMOTE: 5 * MS,
        "shuffle_fetch/both": 50 * MS,
    }  # fmt: skip
    assert "no probe saw what threads did" in found[f"{REMOTE}/not_observed"].source


def test_a_log_that_has_no_durations_of_requests_says_less(tmp_path: Path) -> None:
    found = log_of(tmp_path, [wait(40, 9, 9), wait(20, 9, 9, 5)])
    assert found["shuffle_fetch/both"].value_ns == 45 * MS
    assert "which they waited for is not in the log" in found["shuffle_fetch/both"].source
