"""A run on a host that others keep busy says so, with the size and their names."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.cli import pyrometer

pytestmark = [pytest.mark.spark, pytest.mark.slow]

APP = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
for _ in range(3):
    print(spark.range(0, 60_000_000, 1, 8).selectExpr("sum(id * 3 % 7)").first())
"""


@contextlib.contextmanager
def burning(count: int) -> Iterator[set[int]]:
    """Keep CPUs busy with processes that are none of the run's."""
    burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield {burner.pid for burner in burners}
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


def test_a_busy_host_is_a_doubt_and_in_the_verdict(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(APP)
    with burning(2 * (os.cpu_count() or 1)) as pids:
        done = pyrometer(
            "run", "--no-report", "-o", tmp_path / "run", "--", sys.executable, app, cwd=tmp_path
        )
    assert done.code == 0, done.stderr
    shown = json.loads(
        pyrometer("show", tmp_path / "run", "--json", cwd=tmp_path).stdout.splitlines()[-1]
    )
    (doubt,) = (one for one in shown["doubts"] if one["code"] == "host_contended")
    assert doubt["severity"] in ("warning", "error")
    taken = shown["contention"]
    assert taken["others_ratio"] > 0.25
    behind = taken["behind_others_ns"]
    assert 0 <= behind["low"] <= behind["value"] <= behind["high"]
    assert "Other processes took" in shown["verdict"]
    assert pids & {one["pid"] for one in taken["takers"]}
