"""`pyrometer run --push` around a real Spark application."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.support.cli import environment, opened, pyrometer, start
from tests.support.pyroscope import Fake, fake_pyroscope

from pyrometer.core.liveness import runs
from pyrometer.store import Run
from pyrometer.summary.summary import summary

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APP = """
import sys, time
from pyspark.sql import SparkSession, functions as F
spark = SparkSession.builder.master(sys.argv[1]).appName("pushed").getOrCreate()
until = time.time() + 24
while time.time() < until:
    frame = spark.range(0, 6_000_000, 1, 4).withColumn("k", F.col("id") % 1000)
    frame.groupBy("k").agg(F.sum(F.sqrt("id"))).orderBy("k").collect()
    time.sleep(2)  # a period has at most 24 stages: none becomes "other"
print("done", flush=True)
"""
NAMES = {"cpu": "cpu", "wall": "wall", "alloc": "alloc_space", "lock": "delay"}


def sums(run_dir: Path, column: str) -> dict[str, Counter[str]]:
    """Weights of table `samples` by event and a column's values."""
    found: dict[str, Counter[str]] = {}
    with Run.open(run_dir) as run:
        for event, value, weight in run.tables.query(
            f"SELECT event::VARCHAR, ({column})::VARCHAR, sum(weight)::BIGINT FROM samples"
            " WHERE source NOT IN ('python', 'probe')"
            " GROUP BY ALL"
        ):
            found.setdefault(NAMES[event], Counter())[value] = weight
    return found


def pushed(fake: Fake, label: str) -> dict[str, Counter[str]]:
    """Weights that the server got, by event and a label's values."""
    found: dict[str, Counter[str]] = {}
    for each in fake.taken:
        by_value = found.setdefault(each.profile.sample_types[-1][0], Counter())
        for _, values, labels in each.profile.samples:
            by_value[(each.labels | labels).get(label)] += values[-1]  # type: ignore[index]
    return found


def test_profiles_of_executors_arrive_while_the_application_runs(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    with fake_pyroscope() as fake:
        done = pyrometer(
            "run", "--push", fake.url, "-o", "run", "--json", "--", sys.executable, "app.py",
            "local-cluster[2,1,1024]", cwd=tmp_path,
            env=environment(PYROMETER_PUSH_LABELS="cluster=blue"),
        )  # fmt: skip
        assert done.code == 0, done.stderr
    manifest = opened(tmp_path / "run")
    early = [p for p in fake.taken if p.at_ns < (manifest.ended_wall_ns or 0)]
    assert {p.labels["executor"] for p in early} >= {"0", "1"}
    # The driver works at the begin and at the end: its first period may be sent with its last.
    assert {p.labels["executor"] for p in fake.taken} == {"driver", "0", "1"}
    for p in fake.taken:
        assert p.labels["service_name"] == "pushed"
        assert p.labels["cluster"] == "blue"
        end_ns = p.profile.time_ns + p.profile.duration_ns
        assert end_ns <= p.at_ns
        assert (manifest.started_wall_ns or 0) - 1e9 < p.profile.time_ns < end_ns
        assert end_ns < (manifest.ended_wall_ns or 0) + 5e9
    # Nothing is lost and nothing counted twice: in all, per stage and per operator.
    assert pushed(fake, "stage") == sums(tmp_path / "run", "stage_id")
    assert pushed(fake, "thread_role") == sums(tmp_path / "run", "role")
    operators = pushed(fake, "operator")["cpu"]
    for name, weight in sums(tmp_path / "run", "operator")["cpu"].most_common(3):
        assert operators[name] == weight
    entry = next(probe for probe in manifest.probes if probe.name == "push")
    assert entry.dropped == 0
    assert entry.reason is None
    assert entry.own_cpu_ns is not None
    with Run.open(tmp_path / "run") as run:
        instrument = next(i for i in summary(run).instruments if i.name == "push")
    assert instrument.cpu_ns == entry.own_cpu_ns
    assert "hush" not in done.stderr


def test_the_application_outlives_the_upload_and_the_server(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    with fake_pyroscope() as fake:
        with start(
            "run", "--push", fake.url, "-o", "run", "--no-report", "--", sys.executable, "app.py",
            "local[2]", cwd=tmp_path,
        ) as p:  # fmt: skip
            until = time.monotonic() + 90
            while not fake.taken and time.monotonic() < until:
                time.sleep(0.1)
            killed = followers(tmp_path / "run")
            assert len(killed) == 1
            os.kill(killed[0], signal.SIGKILL)
            assert p.wait(120) == 0
        manifest = opened(tmp_path / "run")
        assert manifest.state == "finished"
        fake.always = 503
        left = pyrometer("push", "run", "--to", fake.url, cwd=tmp_path)
        assert left.code == 3
        fake.always = 200
        rest = pyrometer("push", "run", "--to", fake.url, "--json", cwd=tmp_path)
        fates = rest.json["profiles"]
        # The kill may have fallen between a message and its note: it has arrived, or not.
        assert fates["unsure"] <= 1
        assert rest.code == 0
        arrived, made = pushed(fake, "stage"), sums(tmp_path / "run", "stage_id")
        assert all(weights <= made[event] for event, weights in arrived.items())
        lacking = [event for event in made if arrived.get(event) != made[event]]
        assert len(lacking) <= fates["unsure"]
        assert len({each.uuid for each in fake.taken}) == len(fake.taken)


def followers(run_dir: Path) -> list[int]:
    """Processes that push a run."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if b"push" in words and str(run_dir).encode() in words:
            found.append(int(entry.parent.name))
    return [pid for pid in found if runs(pid)]
