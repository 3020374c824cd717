"""What threads are said to work for, against the plugin's own spans of their tasks."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tests.support import needs
from tests.support.cli import environment, opened, pyrometer

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
PYTHONS = {
    "4.x": ROOT / ".venv" / "bin" / "python",
    "3.5": ROOT / ".venv-spark35" / "bin" / "python",
}
BURN_NS = 300_000_000
# Passes closer than this to a task's start or end may stand on either side: threads are read one
# after the other. A thread that waits for a CPU may have lost it between the clock's reading, which
# is the span's, and the slot: the border is then as wide as such a wait on a loaded machine.
BORDER_NS = 5_000_000
WAITING_BORDER_NS = 50_000_000

APP = f"""
import sys, time
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf
builder = SparkSession.builder.master(sys.argv[1]).appName("contexts")
builder.config("spark.python.worker.reuse", sys.argv[2]).config("spark.ui.enabled", "false")
spark = builder.config("spark.python.use.daemon", sys.argv[3]).getOrCreate()
sc = spark.sparkContext
def burn(value):
    end = time.thread_time_ns() + {BURN_NS}
    while time.thread_time_ns() < end:
        sum(range(300))
    return int(value)
def burn_array(values):
    burn(0)
    return values
python_tasks = 0
for iteration in range(2):
    sc.setLocalProperty("pyrometer.iteration", str(iteration))
    spark.range(0, 80_000_000, 1, 8).selectExpr("sum(sqrt(id % 7))").collect()
    spark.range(0, 6, 1, 6).select(udf(burn, "int")("id")).collect()
    sc.parallelize(range(4), 4).map(burn).collect()
    python_tasks += 6 + 4
    try:
        from pyspark.sql.functions import arrow_udf
    except ImportError:
        arrow_udf = None  # before Spark 4.1 Arrow needs pandas
    if arrow_udf is not None:
        spark.range(0, 4, 1, 4).select(arrow_udf(burn_array, "long")("id")).collect()
        python_tasks += 4
    sc.setLocalProperty("pyrometer.iteration", None)
try:
    spark.range(0, 2, 1, 2).selectExpr("if(id = 1, raise_error('no'), id)").collect()
except Exception:
    print(python_tasks)
spark.stop()
"""

KILLED = """
import glob, os, sys, threading, time
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
endless = spark.range(0, 10**13, 1, 2).selectExpr("sum(id % 7)")
threading.Thread(target=lambda: endless.collect(), daemon=True).start()
pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
tracker = spark.sparkContext.statusTracker()
while not any(tracker.getStageInfo(i).numActiveTasks == 2 for i in tracker.getActiveStageIds()):
    time.sleep(0.1)
time.sleep(1)
os.kill(pid, 9)
time.sleep(0.3)
name = os.path.join(os.environ["PYROMETER_CONTEXT_DIR"], f"context-{pid}")
sys.stdout.write(os.path.realpath(name) + " " + open(name, "rb").read().hex())
sys.stdout.flush()
os._exit(5)
"""


def python(version: str) -> Path:
    if not PYTHONS[version].exists():
        needs.missing(f"the environment with Spark {version}", "make setup-test")
    return PYTHONS[version]


def rows(run: Path, query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        for name in ("thread_states", "thread_counters", "spans", "processes"):
            file = run / "tables" / f"{name}.parquet"
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{file}')")
        return connection.execute(query).fetchall()


AGREEMENT = f"""
WITH threads AS (SELECT DISTINCT pid, tid FROM spans),
states AS (
  SELECT s.* FROM thread_states s JOIN threads USING (pid, tid)
), judged AS (
  SELECT s.passes_count AS passes, s.task_attempt_id IS NOT NULL AS told,
    EXISTS (SELECT 1 FROM spans p WHERE p.pid = s.pid AND p.tid = s.tid AND least(
      abs(p.start_mono_ns - s.begin_mono_ns), abs(p.end_mono_ns - s.begin_mono_ns),
      abs(p.start_mono_ns - s.end_mono_ns), abs(p.end_mono_ns - s.end_mono_ns)
    ) < if(s.state = 'run_queue', {WAITING_BORDER_NS}, {BORDER_NS})) AS border,
    CASE WHEN s.task_attempt_id IS NULL THEN NOT EXISTS (
      SELECT 1 FROM spans p WHERE p.pid = s.pid AND p.tid = s.tid
        AND p.start_mono_ns <= s.end_mono_ns AND p.end_mono_ns >= s.begin_mono_ns)
    ELSE EXISTS (
      SELECT 1 FROM spans p WHERE p.pid = s.pid AND p.tid = s.tid
        AND p.start_mono_ns <= s.begin_mono_ns AND p.end_mono_ns >= s.end_mono_ns
        AND p.task_attempt_id = s.task_attempt_id AND p.stage_id = s.stage_id
        AND p.stage_attempt = s.stage_attempt AND p.sql_id IS NOT DISTINCT FROM s.sql_id)
    END AS agrees
  FROM states s)
SELECT sum(passes), sum(passes) FILTER (agrees),
  sum(passes) FILTER (NOT border), sum(passes) FILTER (agrees AND NOT border),
  sum(passes) FILTER (told)
FROM judged
"""

# Of Python workers, by task: whether it ran when a state was first seen, in a stage and query as
# said. A state may last longer: of a process that stands still nothing is read.
WORKERS = f"""
SELECT s.task_attempt_id, sum(s.passes_count),
  sum(s.passes_count) FILTER (p.task_attempt_id IS NOT NULL)
FROM thread_states s LEFT JOIN spans p ON p.task_attempt_id = s.task_attempt_id
  AND p.stage_id = s.stage_id AND p.stage_attempt = s.stage_attempt
  AND p.sql_id IS NOT DISTINCT FROM s.sql_id
  AND p.start_mono_ns <= s.begin_mono_ns + {BORDER_NS}
  AND p.end_mono_ns + {BORDER_NS} >= s.begin_mono_ns
WHERE s.task_attempt_id IS NOT NULL AND s.pid NOT IN (SELECT pid FROM processes)
GROUP BY ALL ORDER BY ALL
"""

# CPU time of the workers by what was seen of them, in tasks and out of them, and by the kernel's
# own counters. It is more than they burn: a new worker imports, and unpickles in its task.
WORKERS_CPU = """
WITH workers AS (
  SELECT DISTINCT pid, tid FROM thread_states
  WHERE task_attempt_id IS NOT NULL AND pid NOT IN (SELECT pid FROM processes))
SELECT
  (SELECT sum(weight_ns) FROM thread_states JOIN workers USING (pid, tid) WHERE state = 'on_cpu'),
  (SELECT sum(run_ns) FROM (
    SELECT max(run_ns) - min(run_ns) AS run_ns FROM thread_counters JOIN workers USING (pid, tid)
    GROUP BY pid, tid))
"""

DRIVER = """
SELECT count(DISTINCT sql_id) FROM thread_states
WHERE task_attempt_id IS NULL AND sql_id IS NOT NULL
  AND pid IN (SELECT pid FROM processes WHERE role = 'driver')
"""


@pytest.mark.parametrize(
    ("version", "master", "reuse"),  # every pair of values once
    [
        ("4.x", "local[2]", "true"),
        ("4.x", "local-cluster[2,1,1024]", "false"),
        ("3.5", "local[2]", "false"),
        ("3.5", "local-cluster[2,1,1024]", "true"),
    ],
)
def test_threads_and_workers_are_said_to_do_what_they_do(
    version: str, master: str, reuse: str, tmp_path: Path
) -> None:
    (tmp_path / "app.py").write_text(APP)
    program = python(version)
    # Within its budget the probe may miss a task of tenths of a second.
    done = pyrometer(
        "run", "--profile", "light", "--probe-budget", "none", "--no-report", "-o", "run", "--",
        program, "app.py", master, reuse, "true", cwd=tmp_path,
        env=environment(PYSPARK_PYTHON=str(program)), timeout=300,
    )  # fmt: skip
    assert done.code == 0, done.stderr[-3000:]
    run = tmp_path / "run"
    ((passes, agree, inner, inner_agree, told),) = rows(run, AGREEMENT)
    print(f"\n{version} {master}: {passes} passes over task threads, {agree} agree", end="; ")
    print(f"{inner} of them outside borders, {inner_agree} agree", end="; ")
    assert told > 100
    assert inner > 0.5 * passes
    # A handful may be askew: one of about a thousand was, once, on a loaded machine.
    assert inner_agree / inner > 0.995
    workers = rows(run, WORKERS)
    python_tasks = int(done.stdout)
    assert python_tasks == (28 if version == "4.x" else 20)
    assert len(workers) == python_tasks
    all_, right = (sum(worker[column] or 0 for worker in workers) for column in (1, 2))
    print(f"{right} of the {all_} passes over Python workers lie in their tasks", end="; ")
    assert right / all_ > 0.98
    ((seen, counted),) = rows(run, WORKERS_CPU)
    print(f"{seen / 1e9:.2f} s on a CPU by states, {counted / 1e9:.2f} s by counters")
    assert counted > 0.5 * python_tasks * BURN_NS
    assert abs(seen - counted) < 0.3 * counted
    ((queries,),) = rows(run, DRIVER)
    assert queries >= 3
    left_nothing(run)


def left_nothing(run: Path) -> None:
    assert not list((run / "raw").glob("context-*"))
    (entry,) = [probe for probe in opened(run).probes if probe.name == "os"]
    assert not entry.dropped


def test_a_killed_jvm_leaves_its_slots_readable_and_the_run_removes_them(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(KILLED)
    done = pyrometer(
        "run", "--profile", "light", "--no-report", "-o", "run", "--",
        python("4.x"), "app.py", cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert done.code == 5  # the application's own
    path, content = done.stdout.split()
    file = bytes.fromhex(content)
    assert file.startswith(b"PYROCTX\x01")
    (used,) = struct.unpack_from("<i", file, 16)
    phases = [struct.unpack_from("<i", file, (1 + slot) * 128 + 20)[0] for slot in range(used)]
    assert phases.count(1) == 2  # both tasks
    assert 2 in phases  # and the thread that waits for them
    assert not Path(path).exists()
    left_nothing(tmp_path / "run")
    told = rows(
        tmp_path / "run",
        "SELECT DISTINCT task_attempt_id, sql_id FROM thread_states "
        "WHERE task_attempt_id IS NOT NULL",
    )
    assert sorted(told) == [(0, 0), (1, 0)]


@pytest.mark.skipif(os.geteuid() != 0, reason=f"{needs.LACKS}root, to mount a full /dev/shm")
def test_where_no_memory_can_be_had_the_application_goes_on(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from pyspark.sql import SparkSession\n"
        "spark = SparkSession.builder.master('local[1]').getOrCreate()\n"
        "print(spark.range(10).count(), spark.sparkContext.parallelize([1]).count())\n"
    )
    # Neither JVM nor Python can make a file of slots.
    env = environment(PYSPARK_PYTHON=str(python("4.x")))
    done = pyrometer(
        "run", "--profile", "light", "--no-report", "-o", "run", "--", "unshare", "--mount", "sh",
        "-c", f"mount -t tmpfs -o size=4k none /dev/shm && exec {python('4.x')} app.py",
        cwd=tmp_path, env=env, timeout=300,
    )  # fmt: skip
    assert (done.code, done.stdout) == (0, "10 1\n"), done.stderr[-2000:]
    errors = [line for f in (tmp_path / "run" / "raw").glob("plugin-*") for line in f.open()]
    (said,) = [line for line in errors if '"where":"context"' in line]
    assert "No space left" in said
    left_nothing(tmp_path / "run")
