"""Hosts of which there is nothing but an event log: slots, task sums, and which is uneven."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from tests.support.explain.explained import Job
from tests.support.tables import MS, mono, wall

from pyrometer.accounts.hosts import work
from pyrometer.accounts.ledger.report import ledger_report
from pyrometer.accounts.ledger.terminal import ledger
from pyrometer.pages.axis import find_axis
from pyrometer.pages.columns import Pack
from pyrometer.store import Run
from pyrometer.summary import screen, terminal
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary
from pyrometer.timeline.timeline import build_timeline

HOSTS = ["host-1", "host-2", "host-3"]
SLOW, LARGE = "host-3", "host-1"


def cluster() -> Job:
    """Three hosts of two slots: on the third tasks take twice as long, the first reads most."""
    job = Job(executors=3)
    placed: list[str] = []

    def length_on(length: int, executor: str) -> int:
        placed.append(f"host-{executor}")
        return length * (2 if placed[-1] == SLOW else 1)

    for _ in range(2):
        job.stage([900, 1_000, 1_100, 1_000] * 9, gap_ms=100, length_on=length_on)
    for row, host in zip(job.log.rows["tasks"], placed, strict=True):
        took = row["executor_run_time_ns"]
        row.update(
            executor_cpu_time_ns=took // 2, jvm_gc_time_ns=took // 10,
            shuffle_fetch_wait_time_ns=took // 5, input_bytes=5_000 if host == LARGE else 1_000,
            disk_spilled_bytes=0,
        )  # fmt: skip
    job.log.rows["tasks"][0]["status"] = "failed"
    return job


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(cluster(), tmp_path_factory.mktemp("hosts"))


@pytest.fixture(scope="module")
def known(run_dir: Path) -> Summary:
    with Run.open(run_dir) as run:
        return summary(run)


def written(job: Job, folder: Path) -> Path:
    start = job.log.rows["apps"][0]["start_wall_ns"]
    job.log.rows["apps"][0]["end_wall_ns"] = start + (job.now_ms + 50) * MS
    return job.log.write(folder)


def printed(draw: Any) -> str:
    written_to = io.StringIO()
    draw(Console(file=written_to, width=100))
    return written_to.getvalue()


def test_slots_of_hosts_add_up_to_those_of_the_run_and_close(known: Summary) -> None:
    hosts = known.ledger.hosts
    assert [one.host for one in hosts] == HOSTS
    whole = known.ledger.slot_view
    assert sum(one.slot_view.total_ns or 0 for one in hosts) == whole.total_ns
    for one in hosts:
        assert one.slot_view.closure_ratio == pytest.approx(0, abs=1e-9)
        assert not one.observed
        assert one.core_view.total_ns is None
        assert one.core_view.reason == "not observed: no agent on this host"
    for path in ("task/on_cpu", "task/shuffle_fetch", "idle"):
        parts = [row.value_ns or 0 for one in hosts for row in one.slot_view.rows
                 if row.path == path]  # fmt: skip
        [row] = [row for row in whole.rows if row.path == path]
        assert sum(parts) == row.value_ns


def test_sums_of_hosts_are_those_of_the_run(known: Summary) -> None:
    hosts = {one.host: one for one in known.hosts.hosts}
    assert sorted(hosts) == HOSTS
    for name in ("tasks_count", "executor_cpu_time_ns", "jvm_gc_time_ns", "input_bytes"):
        assert sum(one.totals[name] or 0 for one in hosts.values()) == known.totals[name]
    assert sum(one.failed.totals["tasks_count"] or 0 for one in hosts.values()) == 1
    for one in hosts.values():
        assert (one.executors_count, one.cores_count, one.slots_count) == (1, 2, 2)
        assert one.slots_ns == (one.used_ns or 0) + (one.idle_ns or 0)


def test_the_slow_host_and_the_one_that_reads_most_are_told_with_intervals(
    known: Summary,
) -> None:
    ratios = {one.host: one.task_time_ratio for one in known.hosts.hosts}
    slow, usual = ratios[SLOW], ratios["host-2"]
    assert slow is not None
    assert usual is not None
    assert slow.low is not None
    assert slow.high is not None
    assert 1.5 < slow.low < 2 < slow.high < 2.5
    assert (usual.low or 0) < 1
    [read] = [one for one in known.hosts.skew if one.measure == "input_bytes"]
    assert read.host == LARGE
    assert (read.ratio.low or 0) > 2
    assert read.slots_ratio == pytest.approx(1)
    assert known.hosts.uneven[0].startswith(f"longest tasks: on {SLOW} a task takes")
    assert any(text.startswith(f"input: {LARGE} has") for text in known.hosts.uneven)
    assert not any("spilled" in text for text in known.hosts.uneven)


def test_show_and_ledger_say_that_the_core_view_was_not_observed(
    known: Summary, run_dir: Path
) -> None:
    words = "not observed, no agent on these hosts"
    first = printed(lambda console: screen.show(console, known))
    assert f"3 hosts: core view {words}" in first
    assert f"longest tasks: on {SLOW}" in first
    section = printed(lambda console: terminal.show_sections(console, known, ["hosts"]))
    assert f"core view: {words}" in section
    assert all(host in section for host in HOSTS)
    assert (known.ledger.core_view.reason or "").startswith(words)
    with Run.open(run_dir) as run:
        report = ledger_report(run)
    assert f"core view: {words}" in printed(lambda console: ledger(console, report))


def test_slots_of_each_host_are_drawn_over_time(run_dir: Path) -> None:
    with Run.open(run_dir) as run:
        axis = find_axis(run.tables, {})
        tracks = build_timeline(run.tables, axis, Pack())["tracks"]
    drawn = {track["title"]: track for track in tracks}
    assert [title for title in drawn if title.startswith("Running tasks ·")] == [
        f"Running tasks · {host}" for host in HOSTS
    ]
    assert all(drawn[f"Running tasks · {host}"]["capacity"]["label"] == "slots" for host in HOSTS)


def test_without_cores_slots_are_not_known_and_the_reason_is_said(tmp_path: Path) -> None:
    job = cluster()
    for row in job.log.rows["executors"]:
        row["cores_count"] = None
    with Run.open(written(job, tmp_path)) as run:
        found = summary(run)
    assert {one.host: one.slots_ns for one in found.hosts.hosts} == dict.fromkeys(HOSTS)
    assert all(one.task_ns > 0 for one in found.hosts.hosts)
    assert all("cores" in (one.slot_view.reason or "") for one in found.ledger.hosts)


def test_what_is_on_one_host_alone_is_told_unless_few_tasks_have_it(tmp_path: Path) -> None:
    job = cluster()
    for row in job.log.rows["tasks"]:
        row.update(input_bytes=5_000 * (row["host"] == LARGE), disk_spilled_bytes=1)
    job.log.rows["tasks"][-1]["disk_spilled_bytes"] = 10**9
    with Run.open(written(job, tmp_path)) as run:
        found = summary(run).hosts
    measures = {one.measure: one for one in found.skew}
    assert measures["input_bytes"].ratio.value is None
    assert f"input: {LARGE} has " in " ".join(found.uneven)
    assert "most of the other hosts have none" in " ".join(found.uneven)
    # Another assignment gives the one large task to another host.
    spilled = measures["disk_spilled_bytes"].ratio
    assert (spilled.value or 0) > 10**6
    assert spilled.low == 1
    assert not any("spilled" in text for text in found.uneven)


def test_executors_that_are_warm_have_no_first_tasks_in_a_later_window(tmp_path: Path) -> None:
    job = cluster()
    starts = [0, job.log.rows["stages"][1]["submit_wall_ns"] - wall(0), job.now_ms * MS]
    for number, stage in enumerate(job.log.rows["stages"]):
        stage["iteration"] = number
        since, until = starts[number], starts[number + 1]
        job.log.rows.setdefault("iterations", []).append(
            {"iteration": number, "warmup": False, "status": "success",
             "start_wall_ns": wall(0) + since, "end_wall_ns": wall(0) + until,
             "start_mono_ns": mono(0) + since, "end_mono_ns": mono(0) + until})  # fmt: skip
    with Run.open(written(job, tmp_path)) as run:
        first, second = (summary(run, f"iteration/{n}").hosts.hosts for n in (0, 1))
    ran = {one.host: one.totals["tasks_count"] for one in second}
    compared = {one.host: one.task_time_ratio for one in second}
    assert {host: one and one.n for host, one in compared.items()} == ran
    for one in first:
        assert one.task_time_ratio is not None
        assert one.task_time_ratio.n < (one.totals["tasks_count"] or 0)


def test_of_more_hosts_than_are_listed_all_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "MOST_HOSTS", 1)
    with Run.open(written(cluster(), tmp_path)) as run:
        found = summary(run).hosts
    assert ([one.host for one in found.hosts], found.hosts_count) == ([SLOW], 3)
    assert {one.host for one in found.skew if one.measure == "input_bytes"} == {LARGE}


def test_a_host_that_tasks_call_by_another_name_is_one(tmp_path: Path) -> None:
    job = Job(executors=1)
    job.stage([500] * 4)
    for row in job.log.rows["tasks"]:
        row["host"] = "localhost"
    with Run.open(written(job, tmp_path)) as run:
        found = summary(run)
        tracks = build_timeline(run.tables, find_axis(run.tables, {}), Pack())["tracks"]
    assert (found.hosts.hosts, found.ledger.hosts) == ([], [])
    assert [one["title"] for one in tracks if "Running" in one["title"]] == ["Running tasks"]


def test_one_host_is_not_listed(tmp_path: Path) -> None:
    job = Job(executors=1)
    job.stage([500] * 4)
    with Run.open(written(job, tmp_path)) as run:
        found = summary(run)
    assert found.hosts.hosts == []
    assert found.ledger.hosts == []
