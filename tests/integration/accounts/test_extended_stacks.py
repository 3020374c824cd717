"""States of threads joined with Java stacks, of a real application."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.support.cli import pyrometer

from pyrometer.accounts.waits.extended_stacks import extended_stacks
from pyrometer.accounts.window import open_scope
from pyrometer.store import Run

pytestmark = [pytest.mark.spark, pytest.mark.slow]

# Tasks wait for their Python worker, which sleeps for 60 to 150 ms a row.
APP = """
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
rows = spark.sparkContext.parallelize(range(80), 4)
print(rows.map(lambda x: time.sleep(0.06 + 0.01 * (x % 10)) or x).count())
"""


def test_tasks_that_wait_for_python_have_stacks_of_both_halves(tmp_path: Path) -> None:
    app = tmp_path / "app.py"
    app.write_text(APP)
    done = pyrometer("run", "-o", tmp_path / "run", "--", sys.executable, app, cwd=tmp_path)
    assert done.code == 0, done.stderr
    with Run.open(tmp_path / "run") as run:
        assert "ingest_source_failed" not in {doubt.code for doubt in run.doubts}
        told = extended_stacks(open_scope(run, None))
        whole = run.tables.query(
            "SELECT (SELECT sum(weight_ns) FROM thread_states)::BIGINT,"
            " (SELECT sum(weight) FROM samples WHERE event = 'state')::BIGINT"
        )[0]
        frames = run.tables.query(
            "SELECT DISTINCT f.kind FROM (SELECT unnest(frame_ids) AS frame_id FROM stacks"
            "  WHERE stack_id IN (SELECT whole_stack FROM samples WHERE wait_class = 'helper'))"
            " JOIN frames f USING (frame_id)"
        )
    assert whole[0] == whole[1]
    python = next(wait for wait in told.classes if wait.wait_class == "python_workers")
    assert python.share.value is not None
    assert python.share.value > 0.5
    assert python.joined_ns > 0.8 * python.asleep_ns
    assert {"kernel", "native"} <= {kind for (kind,) in frames}
