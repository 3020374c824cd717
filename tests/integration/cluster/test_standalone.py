"""Spark's own cluster manager over three hosts: applications of the machine, and on the cluster."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import hosts, standalone
from tests.cluster.__main__ import environments, specs
from tests.cluster.hosts import Host, Network
from tests.cluster.standalone import Standalone
from tests.support import needs

from pyrometer.store import Run
from pyrometer.workloads.spark import find_spark

ROOT = Path(__file__).parents[3]
PATIENCE_S = 60.0
APPLICATION = """
import socket
from pyspark.sql import SparkSession
context = SparkSession.builder.getOrCreate().sparkContext
while context._jsc.sc().getExecutorMemoryStatus().size() < 3:
    pass
where = context.parallelize(range(40), 40).map(lambda n: (socket.gethostname(), n * n)).collect()
print(sorted({host for host, _ in where}), sum(square for _, square in where))
context.stop()
"""

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def bed() -> Iterator[Network]:
    if lack := hosts.lacking():
        needs.machine_lacks(lack)
    with hosts.network(
        "itspark", specs(3, 1.0, 3072), shared=environments(), hidden=[str(ROOT)]
    ) as up:
        yield up
    assert hosts.leftovers("itspark") == []


@pytest.fixture(scope="module", params=[".venv", ".venv-spark35"], ids=["4.x", "3.5"])
def cluster(bed: Network, request: pytest.FixtureRequest) -> Iterator[Standalone]:
    folder = ROOT / request.param if request.param == ".venv" else needs.spark35()
    try:
        yield standalone.start(bed, find_spark(folder))
    finally:
        for host in bed.hosts:
            host.kill(r"deploy\.(master|worker)")


def submit(cluster: Standalone, *words: str, before: tuple[str, ...] = ()) -> str:
    env = {**os.environ, **cluster.submit_environment()}
    if "--deploy-mode" in words:
        # Spark hands the environment to the driver, which has another address.
        del env["SPARK_LOCAL_IP"]
    script = str(cluster.spark.home / "bin" / "spark-submit")
    done = subprocess.run(
        [*before, script, "--master", cluster.url, "--executor-memory", "600m",
         "--conf", "spark.ui.enabled=false", *words],
        env=env, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_tasks_of_an_application_here_run_on_all_workers(
    cluster: Standalone, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    said = submit(cluster, str(tmp_path / "app.py"))
    assert said == "['itspark-2', 'itspark-3'] 20540\n"


def test_a_driver_runs_on_a_worker(cluster: Standalone, tmp_path: Path) -> None:
    classes = tmp_path / "classes"
    source = ROOT / "tests" / "support" / "java" / "CountApp.java"
    jars = f"{cluster.spark.home}/jars/*"
    subprocess.run(
        ["javac", "--release", "11", "-cp", jars, "-d", classes, source], check=True,
        capture_output=True,
    )  # fmt: skip
    # The folder of the bed is on every host.
    jar = cluster.network.bed.folder / "count.jar"
    subprocess.run(["jar", "cf", jar, "-C", classes, "."], check=True)
    submit(
        cluster, "--deploy-mode", "cluster", "--driver-memory", "600m",
        "--total-executor-cores", "1", "--class", "CountApp", jar.as_uri(), "/var/tmp/counted",
    )  # fmt: skip
    # It is not waited for: whoever submits may go away.
    deadline = time.monotonic() + PATIENCE_S
    found: dict[str, str] = {}
    while not any(found.values()) and time.monotonic() < deadline:
        time.sleep(0.2)
        files = {host.name: host.path("/var/tmp/counted") for host in cluster.network.hosts}
        found = {name: file.read_text() for name, file in files.items() if file.exists()}
    assert list(found.values()) == [f"{name} 30" for name in found], said_of(cluster)
    assert set(found) < {"itspark-2", "itspark-3"}, said_of(cluster)
    for name in found:
        files[name].unlink()


def said_of(cluster: Standalone) -> str:
    """What drivers on the cluster and its master wrote last."""
    logs = [
        *cluster.network.bed.folder.glob("logs/*master.log"),
        *(
            log
            for h in cluster.network.hosts
            for log in h.path("/var/tmp").glob("work/driver*/std*")
        ),
    ]
    return "\n".join(f"{log}:\n{log.read_text()[-2000:]}" for log in logs)


def test_a_run_names_executors_whose_files_stayed_on_their_hosts(
    cluster: Standalone, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    run = tmp_path / "run"
    pyrometer = (sys.executable, "-m", "pyrometer")
    submit(
        cluster, str(tmp_path / "app.py"),
        before=(*pyrometer, "run", "--no-report", "-o", str(run), "--"),
    )  # fmt: skip
    shown = subprocess.run(
        [*pyrometer, "show", "--json", str(run)], capture_output=True, text=True, check=True
    )
    doubts = json.dumps(json.loads(shown.stdout)["doubts"])
    assert "2 executor(s) kept their records on their hosts" in doubts
    assert f"cannot write to {run}/raw/chunks from this host" in doubts
    assert "no probe saw 2 of 2 executors that ran tasks" in doubts
    for host in cluster.network.hosts[1:]:
        assert f": {host.name}:/tmp/pyrometer-" in doubts
        assert f"{host.address} (1 executor)" in doubts
        (kept,) = host.path("/tmp").glob("pyrometer-*/plugin-executor-*.ndjson")
        records = [json.loads(line) for line in kept.read_text().splitlines()]
        assert {record["host"] for record in records if record["k"] == "process"} == {host.name}
        assert any(record["k"] == "task" for record in records)
        for file in kept.parent.parent.glob("pyrometer-*"):
            subprocess.run(["rm", "-r", str(file)], check=True)


def test_executors_on_other_hosts_send_what_they_record(
    cluster: Standalone, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APPLICATION)
    # The folder of the bed is on every host.
    run = cluster.network.bed.folder / f"run-{tmp_path.name}"
    submit(
        cluster, str(tmp_path / "app.py"),
        before=(sys.executable, "-m", "pyrometer", "run", "--no-report", "-o", str(run), "--"),
    )  # fmt: skip
    workers = cluster.network.hosts[1:]
    with Run.open(run) as opened:
        spans = opened.tables.query("SELECT count(DISTINCT executor_id), count(*) FROM spans")
        tasks = opened.tables.query("SELECT count(*) FROM tasks")
        hosts_of = opened.tables.query(
            "SELECT DISTINCT host FROM processes WHERE role = 'executor'"
        )
        doubts = opened.tables.query("SELECT code, message FROM ingest_doubts")
    assert spans == [(2, tasks[0][0])]
    assert {host for (host,) in hosts_of} == {host.name for host in workers}
    told = dict(doubts)
    assert {"executor_records_elsewhere", "plugin_error", "clock_unknown"}.isdisjoint(told)
    probed = {stream.parent.name for stream in (run / "raw").rglob("shipped/*/*/*/*/probe-*")}
    assert probed == {host.name for host in workers}
    deadline = time.monotonic() + PATIENCE_S
    while any(left := [folder for host in workers for folder in left_on(host)]):
        assert time.monotonic() < deadline, left
        time.sleep(0.2)
    shutil.rmtree(run)


def left_on(host: Host) -> list[Path]:
    """What the plugin left in the folder for temporary files of a host."""
    return list(host.path("/tmp").glob("pyrometer-*"))
