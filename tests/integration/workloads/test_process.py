"""The runner process with a real Spark: another Spark's Python, properties, signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.support import needs

from pyrometer.core.liveness import runs
from pyrometer.workloads import registry
from pyrometer.workloads.data_cache import DataCache
from pyrometer.workloads.launch import launch_spec

pytestmark = pytest.mark.spark
ROOT = Path(__file__).parents[3]


def start(made, raw, **env):
    with (raw / "stdout").open("w") as out, (raw / "stderr").open("w") as err:
        return subprocess.Popen(
            made.argv, env={**os.environ, **made.env, **env}, stdout=out, stderr=err, cwd=raw
        )


def lines(raw):
    path = raw / "iterations.ndjson"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


@pytest.mark.slow
@pytest.mark.parametrize("form", ["environment", "home"])
def test_another_spark_runs_it_and_marks_its_jobs(tmp_path, form):
    (home,) = needs.spark35().glob("lib/python3*/site-packages/pyspark")
    (tmp_path / "log").mkdir()
    made = launch_spec(
        "interval-join",
        {"variant": "timestamp"},
        "1000",
        iterations=1,
        warmup=1,
        raw_dir=tmp_path,
        data_cache=DataCache(tmp_path / "cache"),
        spark_home=needs.SPARK35 if form == "environment" else home,
        spark_conf={
            "spark.master": "local[2]",
            "spark.driver.memory": "1g",
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": f"file://{tmp_path}/log",
        },
    )
    child = start(made, tmp_path, SPARK_SUBMIT_OPTS="-Dtold.through.submit.opts=yes")
    assert child.wait(120) == 0, (tmp_path / "stderr").read_text()
    assert [r["status"] for r in lines(tmp_path) if r["k"] == "end"] == ["ok", "ok"]
    (log,) = (tmp_path / "log").iterdir()
    events = [json.loads(line) for line in log.read_text().splitlines()]
    by_name = {event["Event"]: event for event in events}
    assert by_name["SparkListenerLogStart"]["Spark Version"].startswith("3.5")
    system = by_name["SparkListenerEnvironmentUpdate"]["System Properties"]
    assert system["told.through.submit.opts"] == "yes"
    jobs = [e["Properties"] for e in events if e["Event"] == "SparkListenerJobStart"]
    marks = {(p.get("pyrometer.iteration"), p.get("pyrometer.warmup")) for p in jobs}
    # Reading the schema is no part of an iteration.
    assert marks == {(None, None), ("0", "true"), ("1", "false")}


def begun(tmp_path, monkeypatch):
    """Begin a job that lasts."""
    monkeypatch.setitem(registry.BUILTIN, "toy", "tests.support.toy_workload:Toy")
    made = launch_spec(
        "toy",
        {"ending": "sleep"},
        raw_dir=tmp_path,
        data_cache=DataCache(tmp_path / "cache"),
        spark_conf={"spark.master": "local[2]", "spark.driver.memory": "1g"},
    )
    assert made.argv[0] == sys.executable
    return start(made, tmp_path)


def wait_for(met, what):
    until = time.monotonic() + 120
    while not met():
        assert time.monotonic() < until, what
        time.sleep(0.1)


def children(process):
    numbers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(number) for number in numbers]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.slow)]
)
def test_signal_stops_spark_and_keeps_what_happened(tmp_path, monkeypatch, number):
    child = begun(tmp_path, monkeypatch)
    wait_for(lambda: lines(tmp_path) or child.poll() is not None, "no job")
    jvms = children(child)
    time.sleep(1)  # into the job
    child.send_signal(number)
    assert child.wait(120) == 128 + number, (tmp_path / "stderr").read_text()
    start_line, end_line = lines(tmp_path)
    assert (start_line["k"], end_line["status"]) == ("start", "interrupted")
    assert f"ended by {number.name}" in (tmp_path / "stderr").read_text()
    wait_for(lambda: not any(map(runs, jvms)), "the JVM outlives the runner")


def test_a_signal_as_spark_begins_leaves_no_jvm(tmp_path, monkeypatch):
    child = begun(tmp_path, monkeypatch)
    wait_for(lambda: children(child), "no JVM")
    time.sleep(0.5)  # its gateway is not up yet
    jvms = children(child)
    child.send_signal(signal.SIGINT)
    assert child.wait(120) == 128 + signal.SIGINT, (tmp_path / "stderr").read_text()
    wait_for(lambda: not any(map(runs, jvms)), "the JVM outlives the runner")
