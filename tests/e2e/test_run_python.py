"""Python workers of real applications: their CPU at the operator that drove them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support import needs
from tests.support.cli import environment, pyrometer

from pyrometer.store import Run
from pyrometer.workloads.spark import find_spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]


APP = """
import sys, time
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

def spin(ms):
    end = time.thread_time() + ms / 1000
    while time.thread_time() < end:
        sum(range(200))

def slow(n):
    spin(10)
    return n

def quick(n):
    spin(4)
    return n

spark = (SparkSession.builder.appName("workers").master(sys.argv[1])
         .config("spark.ui.enabled", "false").getOrCreate())
frame = spark.range(0, 160, 1, 4).withColumn("a", udf(slow, "bigint")("id"))
rows = frame.where("a >= 0").select(udf(quick, "bigint")("id")).collect()
total = spark.sparkContext.range(0, 100, 1, 2).map(lambda n: (spin(6), n)[1]).sum()
print("rows", len(rows), total)
spark.stop()
"""
NODES_OF = """
    SELECT DISTINCT node_id FROM samples WHERE source = 'python' AND java_stack IN (
        SELECT stack_id FROM (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks)
        JOIN frames USING (frame_id) WHERE kind = 'python' AND method = ?)
"""
SLOW_NS, QUICK_NS, RDD_NS = 1_600_000_000, 640_000_000, 600_000_000
EVALUATE = ("BatchEvalPython", "ArrowEvalPython")
ALIVE = """
    SELECT sum(last - first) FROM (
        SELECT min(t_mono_ns) AS first, max(t_mono_ns) AS last FROM thread_counters
        WHERE tid = pid AND comm LIKE 'python%' GROUP BY pid)
"""
"""Time for which Python processes were there, all together."""


@pytest.mark.parametrize(
    ("spark", "master"), [("4.x", "local-cluster[2,1,1024]"), ("3.5", "local[2]")]
)
def test_workers_cpu_is_at_their_operators(spark: str, master: str, tmp_path: Path) -> None:
    install = find_spark(needs.spark35() if spark == "3.5" else None)
    (tmp_path / "app.py").write_text(APP)
    words = ("run", "--json", "--no-report", "-o", "run", "--", install.python, "app.py", master)
    # Executors of their own take python3 from PATH otherwise, which may lack what the driver has.
    env = environment(PYSPARK_PYTHON=str(install.python))
    done = pyrometer(*words, cwd=tmp_path, env=env)
    assert done.code == 0, done.stderr
    assert "rows 160 4950" in done.stdout
    shown = pyrometer("show", "run", "--json", "--window", "application", cwd=tmp_path).json

    python = shown["python"]
    functions = {f["function"]: f["on_cpu_ns"] for f in python["functions"]}
    assert functions["__main__.slow"] == pytest.approx(SLOW_NS, rel=0.1)
    assert functions["__main__.quick"] == pytest.approx(QUICK_NS, rel=0.15)
    with Run.open(tmp_path / "run") as run:
        nodes = {
            name: [node for (node,) in run.tables.query(NODES_OF, [name])]
            for name in ("slow", "quick")
        }
        alive_ns = run.tables.scalar(ALIVE)
    # Each node has its function's CPU, and what its workers did besides: imports, pickling.
    driven = {(o["operator"], o["node_id"]): o["python_cpu_ns"] for o in shown["operators"]}
    for name, least in (("slow", 0.9 * SLOW_NS), ("quick", 0.85 * QUICK_NS)):
        (node,) = nodes[name]
        # With pandas there, Spark 4.3 hands even plain functions their rows by Arrow.
        (cpu,) = [driven[one, node] for one in EVALUATE if (one, node) in driven]
        assert cpu > least
    assert driven["RDD Python", None] > 0.9 * RDD_NS
    assert python["in_tasks_ns"] == sum(ns for ns in driven.values() if ns)
    assert python["seen_ratio"] == pytest.approx(1, abs=0.15)
    sampler = next(i for i in shown["instruments"] if i["name"] == "sampler in Python")
    # It looks as often in a worker that waits for a CPU; of time it takes 2 % at most by itself.
    assert 0 < sampler["cpu_ns"] < max(0.05 * python["workers_ns"], 0.005 * alive_ns)
    assert {c["category"] for c in shown["categories"]} >= {"python"}
    assert not {"python_unseen", "python_sampler_stopped"} & {d["code"] for d in shown["doubts"]}
    assert python["in_tasks_ns"] > 0.95 * python["workers_ns"]
