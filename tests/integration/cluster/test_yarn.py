"""YARN over three hosts: applications of the machine, and wholly on the cluster."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster import hosts, yarn
from tests.cluster.__main__ import environments, specs
from tests.cluster.yarn import Yarn
from tests.support import needs

from pyrometer.core.errors import CapabilityError
from pyrometer.store import Run
from pyrometer.workloads.spark import find_spark

ROOT = Path(__file__).parents[3]
APPLICATION = """
import socket, sys
from pyspark.sql import SparkSession
context = SparkSession.builder.getOrCreate().sparkContext
total = context.parallelize(range(40), 8).map(lambda n: (socket.gethostname(), n * n)).collect()
with open(sys.argv[1], "w") as out:
    out.write(f"{socket.gethostname()} {sorted({host for host, _ in total})}"
              f" {sum(square for _, square in total)}")
context.stop()
"""

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Yarn]:
    if lack := hosts.lacking():
        needs.machine_lacks(lack)
    try:
        yarn.jars()
    except CapabilityError as error:
        needs.missing(error.message, error.remedy or "")
    with hosts.network(
        "ityarn", specs(3, 1.0, 3072), shared=environments(), hidden=[str(ROOT)]
    ) as up:
        yield yarn.start(up, find_spark(ROOT / ".venv"))
    assert hosts.leftovers("ityarn") == []


def submit(
    cluster: Yarn, mode: str, folder: Path, out: str, before: tuple[str, ...] = (), **more: str
) -> None:
    (folder / "app.py").write_text(APPLICATION)
    env = {**os.environ, **cluster.submit_environment(), **more}
    if mode == "cluster":
        del env["SPARK_LOCAL_IP"]
    done = subprocess.run(
        [*before, str(cluster.spark.home / "bin" / "spark-submit"), *cluster.submit_options(),
         "--deploy-mode", mode, "--num-executors", "1", "--executor-memory", "600m",
         "--driver-memory", "600m", "--conf", "spark.ui.enabled=false",
         str(folder / "app.py"), out],
        env=env, capture_output=True, text=True, timeout=400, check=False,
    )  # fmt: skip
    assert done.returncode == 0, f"{done.stderr[-3000:]}\n{room(cluster)}"


def room(cluster: Yarn) -> str:
    """Say what room each host has where containers are localised."""
    looked = [
        host.run(["sh", "-c", f"hostname; df -h {yarn.WORK}; ls -la {yarn.WORK}"], check=False)
        for host in cluster.network.hosts
    ]  # fmt: skip
    return "\n".join(one.stdout + one.stderr for one in looked)


def test_tasks_of_an_application_here_run_on_a_node(cluster: Yarn, tmp_path: Path) -> None:
    submit(cluster, "client", tmp_path, str(tmp_path / "out"))
    here, where, total = (tmp_path / "out").read_text().rsplit(" ", 2)
    assert here == os.uname().nodename
    assert where in ("['ityarn-2']", "['ityarn-3']")
    assert total == "20540"


def test_a_driver_runs_on_a_node(cluster: Yarn, tmp_path: Path) -> None:
    submit(cluster, "cluster", tmp_path, "/var/tmp/out")
    files = [host.path("/var/tmp/out") for host in cluster.network.hosts]
    (text,) = [file.read_text() for file in files if file.exists()]
    assert text.split(" ")[0] in ("ityarn-2", "ityarn-3")
    assert text.endswith(" 20540")


def test_a_run_has_what_a_driver_on_a_node_and_its_executor_recorded(
    cluster: Yarn, tmp_path: Path
) -> None:
    # The folder of the bed is on every host.
    store = cluster.network.bed.folder / "shipped"
    store.mkdir()
    store.chmod(0o1777)
    run_dir = tmp_path / "run"
    submit(
        cluster, "cluster", tmp_path, "/var/tmp/out-of-run",
        before=(sys.executable, "-m", "pyrometer", "run", "-o", str(run_dir), "--"),
        PYROMETER_SHIP_TO=str(store),
    )  # fmt: skip
    with Run.open(run_dir) as run:
        assert run.manifest is not None
        doubts = {doubt.code: doubt.message for doubt in run.manifest.doubts}
        assert "driver_unreachable" not in doubts, doubts
        assert "Probe python" in doubts["probe_left_out"]
        roles = run.tables.query(
            "SELECT role, count(DISTINCT pid) FROM processes WHERE app_id IS NOT NULL"
            " AND role IN ('driver', 'executor') GROUP BY 1 ORDER BY 1"
        )
        assert roles == [("driver", 1), ("executor", 1)]
        counted = run.tables.query(
            "SELECT (SELECT count(*) FROM tasks), (SELECT count(*) FROM spans),"
            " (SELECT count(*) FROM apps WHERE end_wall_ns IS NOT NULL)"
        )
        assert counted == [(8, 8, 1)]
    for verb in ("show", "ledger", "explain"):
        subprocess.run(
            [sys.executable, "-m", "pyrometer", verb, "--json", str(run_dir)],
            check=True, capture_output=True,
        )  # fmt: skip
