"""A measured run on hosts whose clocks are hours apart, which the bed knows to the nanosecond."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

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
        "itaxis", specs(3, 1.0, 3072), shared=environments(), hidden=[str(ROOT)]
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
        capture_output=True, text=True, timeout=200, check=False,
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


def test_the_ledger_names_hosts_that_no_probe_saw(run: Path) -> None:
    said = subprocess.run(
        [sys.executable, "-m", "pyrometer", "ledger", "--json", str(run)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    report = json.loads(said.stdout)
    observed = {one["host"]: one["observed"] for one in report["hosts"]}
    assert len(observed) == 3
    assert sum(observed.values()) == 1
    slots = [one["slot_view"]["total_ns"] or 0 for one in report["hosts"]]
    assert sum(slots) == report["slot_view"]["total_ns"] > 0
    paths = {row["path"] for row in report["core_view"]["rows"]}
    assert {f"not_observed/{host}" for host, seen in observed.items() if not seen} <= paths
