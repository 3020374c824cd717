"""A measured run on hosts whose clocks are hours apart, which the bed knows to the nanosecond."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cluster import hosts, standalone
from tests.cluster.__main__ import environments, specs
from tests.cluster.hosts import Network
from tests.cluster.standalone import Standalone
from tests.support import needs

from pyrometer.store import Run
from pyrometer.workloads.spark import find_spark

ROOT = Path(__file__).parents[3]
AHEAD_NS = 10_000 * 10**9
"""By how much the clock of each host is ahead of the one before."""
KERNEL_TYPES = "/sys/kernel/btf"
"""Without it probes are at tier T2, as on most hosts."""
APPLICATION = """
import time
from pyspark.sql import SparkSession
context = SparkSession.builder.getOrCreate().sparkContext
while context._jsc.sc().getExecutorMemoryStatus().size() < 3:
    pass
for _ in range(5):
    context.parallelize(range(40), 40).map(lambda n: sum(range(200_000)) + n).collect()
    time.sleep(0.3)
context.stop()
"""

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def bed() -> Iterator[Network]:
    if lack := hosts.lacking():
        needs.machine_lacks(lack)
    with hosts.network(
        "itaxis", specs(3, 1.0, 3072), shared=environments(), hidden=[str(ROOT), KERNEL_TYPES]
    ) as up:
        yield up


@pytest.fixture(scope="module")
def cluster(bed: Network) -> Iterator[Standalone]:
    try:
        yield standalone.start(bed, find_spark(ROOT / ".venv"))
    finally:
        for host in bed.hosts:
            host.kill(r"deploy\.(master|worker)")


@pytest.fixture(scope="module")
def run(cluster: Standalone, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose raw folder all hosts can write: that of the bed."""
    program = tmp_path_factory.mktemp("app") / "app.py"
    program.write_text(APPLICATION)
    folder = cluster.network.bed.folder / "run"
    script = str(cluster.spark.home / "bin" / "spark-submit")
    done = subprocess.run(
        [sys.executable, "-m", "pyrometer", "run", "--no-report", "-o", str(folder), "--", script,
         "--master", cluster.url, "--executor-memory", "600m", "--conf", "spark.ui.enabled=false",
         "--conf", "spark.pyrometer.ping.interval.ms=500", str(program)],
        env={**os.environ, **cluster.submit_environment()},
        capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


def test_clocks_are_known_within_their_bound(run: Path) -> None:
    with Run.open(run) as opened:
        rows = opened.tables.query(
            "SELECT h.host, h.number, h.clock, h.bound_ns, c.offset_ns, c.bound_ns FROM hosts h"
            " LEFT JOIN host_clocks c ON c.host = h.host AND c.from_mono_ns"
            "  BETWEEN h.first_mono_ns AND h.last_mono_ns ORDER BY 1"
        )
        here = opened.tables.query("SELECT host FROM hosts WHERE number = 0")[0][0]
    workers = {host for host, *_ in rows} - {here}
    assert len(workers) == 2
    for number, name in enumerate(sorted(workers), start=2):
        lines = [row for row in rows if row[0] == name]
        assert {row[2] for row in lines} == {"messages"}
        # The machine's own clock is the driver's: hosts count from it.
        for *_, bound, offset, of_line in lines:
            assert abs(offset + number * AHEAD_NS) <= of_line <= bound < 10**9


def test_tasks_of_all_hosts_lie_within_their_attempts(run: Path) -> None:
    with Run.open(run) as opened:
        bound = opened.tables.scalar("SELECT max(bound_ns) FROM hosts")
        off = opened.tables.query(
            """
            WITH offset_of AS (SELECT median(wall_ns - mono_ns)::BIGINT AS ns FROM clock_pairs
              JOIN hosts USING (host) WHERE number = 0)
            SELECT s.host, count(*), max(t.launch_wall_ns - (s.start_mono_ns + o.ns)),
              max(s.end_mono_ns + o.ns - t.finish_wall_ns)
            FROM spans s JOIN tasks t USING (task_attempt_id), offset_of o GROUP BY ALL
            """
        )
    assert len(off) == 2
    for _, count, before, after in off:
        assert count > 20
        # The event log has whole milliseconds, and readings of both clocks are 10 us apart.
        assert max(before, after) <= bound + 2 * 10**6


def said(run: Path, *verb: str) -> Any:
    """What a verb says of the run, as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "pyrometer", *verb, "--json", str(run)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def test_the_ledger_accounts_for_each_host(run: Path) -> None:
    report = said(run, "ledger")
    hosts_of = {one["host"]: one for one in report["hosts"]}
    assert len(hosts_of) == 3
    assert all(one["observed"] and one["tier"] for one in hosts_of.values())
    assert sorted(one["tier"] for one in hosts_of.values())[1:] == ["T2", "T2"]
    slots = [one["slot_view"]["total_ns"] or 0 for one in report["hosts"]]
    assert sum(slots) == report["slot_view"]["total_ns"] > 0
    views = [report["core_view"], *(one["core_view"] for one in report["hosts"])]
    for view in views:
        assert abs(view["closure_ratio"]) < 0.05
    assert sum(view["total_ns"] for view in views[1:]) == views[0]["total_ns"]
    with Run.open(run) as opened:
        spark = opened.tables.scalar(
            "SELECT sum(executor_cpu_time_ns + executor_deserialize_cpu_time_ns)::BIGINT FROM tasks"
        )
        orphans = opened.tables.query(
            "SELECT x.host, count(*) FROM samples x LEFT JOIN processes p"
            " ON p.host = x.host AND p.pid = x.pid WHERE p.pid IS NULL AND x.role = 'task'"
            " GROUP BY 1"
        )
    (task,) = [row["value_ns"] for row in views[0]["rows"] if row["path"] == "task"]
    # The probe also counts what a thread does between two tasks.
    assert 0.97 * spark <= task <= 1.5 * spark
    assert orphans == []


def test_probes_of_executors_report_as_the_launchers_does(run: Path) -> None:
    shown = said(run, "show")
    costs = {one["host"]: one for one in shown["instruments"] if one["name"] == "probe"}
    assert len(costs) == 3
    assert all(one["cpu_ns"] > 0 and one["tier"] for one in costs.values())
    codes = {doubt["code"] for doubt in shown["doubts"]}
    assert {"executors_unseen", "shipped_not_read", "shipped_other_clock"}.isdisjoint(codes)
    probes = json.loads((run / "manifest.json").read_text())["probes"]
    beside = {one["executor_id"]: one["host"] for one in probes if one.get("executor_id")}
    assert set(beside) == {"0", "1"}
    assert set(beside.values()) < set(costs)


def test_threads_of_executors_elsewhere_have_roles_and_tasks(run: Path) -> None:
    with Run.open(run) as opened:
        seen = opened.tables.query(
            "SELECT x.host, count(DISTINCT x.task_attempt_id) FROM samples x"
            " JOIN processes p ON p.host = x.host AND p.pid = x.pid AND p.role = 'executor'"
            " WHERE x.source = 'probe' AND x.role = 'task' GROUP BY 1"
        )
    assert len(seen) == 2
    assert all(tasks > 5 for _, tasks in seen)
