"""Applications one after the other in a JVM that has no agent, as in a notebook."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from pyrometer import _artifacts
from pyrometer.collect.probes.plugin import records
from pyrometer.workloads.spark import find_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# What the application that starts the JVM is given, all others inherit: it is given nothing.
APP = """
import json, sys
from pyspark.sql import SparkSession
def plain():
    return SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
plain().getOrCreate().stop()
for given in map(json.loads, sys.argv[1:]):
    builder = plain().config("spark.plugins", "org.pyrometer.plugin.PyrometerPlugin")
    for key, value in given.items():
        builder = builder.config("spark.pyrometer." + key, value)
    spark = builder.getOrCreate()
    print(spark.range(10).count())
    spark.stop()
"""


def test_settings_that_an_application_before_it_decided_are_named(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.mkdir()
    second.mkdir()
    # Without a place to ship to, nothing is shipped.
    one = {"raw.dir": str(first), "ship.driver": "on", "ship.probe": "off"}
    another_folder = {"raw.dir": str(second), "ship.driver": "on"}
    another_probe = one | {"ship.probe": "on"}
    applications = map(json.dumps, [one, one, another_folder, another_probe])
    (tmp_path / "app.py").write_text(APP)
    spark = find_spark()
    env = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(spark.home),
        "PYSPARK_PYTHON": spark.python,
        "PYSPARK_SUBMIT_ARGS": f"--driver-class-path {_artifacts.plugin_jar()} pyspark-shell",
    }
    done = subprocess.run(
        [spark.python, "app.py", *applications],
        cwd=tmp_path, env=env, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "10\n" * 4), done.stderr[-3000:]
    assert list(second.iterdir()) == []
    (file,) = first.glob("plugin-driver-*.ndjson")
    errors = records(file, "error")
    ignored, by_driver = (e["message"] for e in errors if "settings/" in e["where"])
    assert ignored.endswith("of this one have no effect: raw.dir, ship.probe")
    assert by_driver.endswith("only executors obey this one's: ship.probe")
