"""A driver that a manager starts sends what it records: the run has it as one in client mode."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support import needs
from tests.support.cli import environment, opened, pyrometer

from pyrometer import _artifacts
from pyrometer.collect.launch.cluster import alive_workers, master_command, worker_command
from pyrometer.store import Run
from pyrometer.store.chunks import join_chunks
from pyrometer.store.paths import RunPaths
from pyrometer.workloads.spark import SparkInstall, find_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ADDRESS = "127.0.0.1"
PATIENCE_S = 90.0
SECRET = "hunter2+hunter2"
OPENED = [
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("sun.nio.ch", "java.nio", "java.lang", "java.util", "java.lang.invoke")
]
SOURCE = Path(__file__).parents[2] / "support" / "java" / "CountApp.java"


@dataclass(frozen=True)
class Standalone:
    url: str
    app: Path
    spark: SparkInstall


def free_port() -> int:
    with socket.create_server((ADDRESS, 0)) as listening:
        return int(listening.getsockname()[1])


@pytest.fixture(scope="module", params=["4.x", "3.5"])
def standalone(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Standalone]:
    folder = tmp_path_factory.mktemp("standalone")
    spark = find_spark(needs.spark35() if request.param == "3.5" else None)
    classes = folder / "classes"
    subprocess.run(
        ["javac", "--release", "11", "-cp", f"{spark.home}/jars/*", "-d", classes, SOURCE],
        check=True, capture_output=True,
    )  # fmt: skip
    subprocess.run(["jar", "cf", folder / "count.jar", "-C", classes, "."], check=True)
    port, web = free_port(), free_port()
    script, url = str(spark.home / "bin" / "spark-class"), f"spark://{ADDRESS}:{port}"
    env = {
        **os.environ, "SPARK_HOME": str(spark.home), "SPARK_LOCAL_IP": ADDRESS,
        "SPARK_DAEMON_MEMORY": "384m",
    }  # fmt: skip
    env.pop("PYROMETER_RUN_DIR", None)
    if request.param == "3.5":
        # Its drivers in cluster mode lack what Java 17 wants: they do not start, measured or not.
        env["JDK_JAVA_OPTIONS"] = " ".join(OPENED)
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        for command in (
            master_command(script, ADDRESS, port, web),
            worker_command(script, ADDRESS, url, cores=3, memory_mib=3072, work=folder / "work"),
        ):
            log = (folder / f"{len(daemons)}.log").open("wb")
            daemons.append(subprocess.Popen(command, env=env, stdout=log, stderr=log))
        deadline = time.monotonic() + PATIENCE_S
        while alive_workers(ADDRESS, web) != 1:
            assert time.monotonic() < deadline, (folder / "1.log").read_text()
            time.sleep(0.2)
        yield Standalone(url, folder / "count.jar", spark)
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            daemon.wait()


def submitted(standalone: Standalone) -> list[str]:
    """Words that have the master start the driver."""
    return [
        str(standalone.spark.home / "bin" / "spark-submit"), "--master", standalone.url,
        "--deploy-mode", "cluster", "--driver-memory", "600m", "--executor-memory", "600m",
        "--total-executor-cores", "1", "--conf", "spark.ui.enabled=false",
        "--conf", f"spark.hadoop.fs.azure.account.key.box={SECRET}",
        "--class", "CountApp", standalone.app.as_uri(),
    ]  # fmt: skip


def test_a_run_has_what_its_driver_elsewhere_recorded(
    standalone: Standalone, tmp_path: Path
) -> None:
    store, run_dir, counted = tmp_path / "store", tmp_path / "run", tmp_path / "counted"
    store.mkdir()
    jar = f"local://{_artifacts.plugin_jar()}"
    done = pyrometer(
        "run", "--profile", "light", "-o", run_dir, "--", *submitted(standalone), counted,
        cwd=tmp_path, env=environment(PYROMETER_PLUGIN_JAR=jar, PYROMETER_SHIP_TO=str(store)),
    )  # fmt: skip
    assert done.code == 0, done.stderr[-3000:]
    assert counted.read_text().endswith(" 30")
    manifest, paths = opened(run_dir), RunPaths(run_dir)
    (shipped,) = manifest.shipped
    assert shipped.to == str(store)
    codes = {doubt.code for doubt in manifest.doubts}
    assert not codes & {"driver_unreachable", "no_spark_jvm", "chunks_unjoined"}, manifest.doubts
    assert manifest.driver is not None
    assert manifest.driver.to == str(store)
    assert manifest.started_mono_ns is None
    assert not manifest.clock_pairs
    assert manifest.versions["spark"]
    # Spark's own pattern does not know the name: what left the host is without it all the same.
    join_chunks(store, tmp_path / "sent")
    (sent,) = (tmp_path / "sent").glob("*/driver/*/*/eventlog/*")
    assert "fs.azure.account.key.box" in sent.read_text()
    assert SECRET not in sent.read_text()
    assert paths.eventlogs() == [log for log in paths.eventlogs() if "driver" in log.parts]
    with Run.open(run_dir) as run:
        tables = run.tables
        ((app, started, ended),) = tables.query(
            "SELECT app_id, start_wall_ns, end_wall_ns FROM apps"
        )
        assert app == shipped.app_id
        assert ended is not None, "its log has the events that were still queued when it ended"
        assert (manifest.started_wall_ns, manifest.ended_wall_ns) == (started, ended)
        roles = tables.query(
            "SELECT role, count(*) FROM processes WHERE app_id IS NOT NULL GROUP BY 1 ORDER BY 1"
        )
        assert roles == [("driver", 1), ("executor", 1)]
        # The plugin saw all tasks of the log, and the probe beside the driver its threads.
        ((tasks, spans),) = tables.query(
            "SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM spans)"
        )
        assert tasks == spans > 0
        drivers = tables.query("SELECT DISTINCT pid FROM processes WHERE role = 'driver'")
        counters = tables.query("SELECT DISTINCT pid FROM thread_counters")
        assert set(drivers) <= set(counters)
    for verb in ("show", "explain"):
        read = pyrometer(verb, run_dir, "--json", cwd=tmp_path)
        assert read.code == 0, read.stderr
    # The probe came seconds after the application began: that is said, and the account closes.
    cores = pyrometer("ledger", run_dir, "--json", cwd=tmp_path).json["core_view"]
    assert "no_probe" in {row["path"] for row in cores["rows"]}
    assert abs(cores["closure_ratio"]) < 0.1
    assert run_dir.joinpath("report.html").is_file()
