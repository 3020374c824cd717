"""JFR recordings against the truth that the recorded program printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from pyrometer import _core

FIXTURES = Path(__file__).parents[2] / "fixtures" / "jfr"
RECORDING = FIXTURES / "profile-burn-20632.jfr"
PID = 20632
INTERVAL_NS = 10_000_000
# Printed by the recorded program: CPU time by ThreadMXBean.
TRUTH = {
    ("burner-1", "spinAlpha"): 1_000_058_033,
    ("burner-2", "spinBeta"): 1_000_018_815,
    ("burner-1", "spinBeta"): 500_029_725,
}
PER_METHOD = """
    SELECT s.thread_name, f.method, sum(s.weight)::BIGINT
    FROM samples s JOIN stacks k ON k.stack_id = s.java_stack
    JOIN frames f ON list_contains(k.frame_ids, f.frame_id)
    WHERE s.event = 'cpu' AND f.method IN ('spinAlpha', 'spinBeta') GROUP BY ALL
"""


class Tables:
    """The tables of one ingest, to be asked in SQL."""

    def __init__(self, out: Path, report: dict[str, Any]) -> None:
        self.report = report
        self.connection = duckdb.connect()
        for name in report["tables"]:
            self.connection.execute(
                f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{out / name}.parquet')"
            )

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.connection.execute(query).fetchall()
        return found


def ingest(out: Path, plugin: list[Path], recording: Path = RECORDING) -> Tables:
    out.mkdir()
    plugins = [str(path) for path in plugin]
    return Tables(out, json.loads(_core.ingest_jfr([str(recording)], plugins, str(out), "box")))


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return ingest(tmp_path_factory.mktemp("jfr") / "out", [])


def test_cpu_time_per_method_equals_what_the_program_measured(tables: Tables) -> None:
    found = {(thread, method): ns for thread, method, ns in tables.rows(PER_METHOD)}
    assert found.keys() == TRUTH.keys()
    for key, ns in TRUTH.items():
        # One interval of phase at either end of a burst, and 2 % for signals that came late.
        assert abs(found[key] - ns) <= INTERVAL_NS + 0.02 * ns, key


def test_times_are_monotonic_and_in_the_recording(tables: Tables) -> None:
    first, last = tables.rows("SELECT min(t_ns), max(t_ns) FROM samples")[0]
    assert tables.rows("SELECT DISTINCT clock, source, host, pid FROM samples") == [
        ("mono", "async-profiler", "box", PID)
    ]
    # The machine had been up for 81 minutes; the program ran for two seconds.
    assert 80 * 60e9 < first < last < 82 * 60e9
    assert last - first < 3e9


def test_waiting_is_told_from_running(tables: Tables) -> None:
    waits = dict(
        tables.rows("""
            SELECT thread_name || '/' || coalesce(wait_class, state), sum(weight)::BIGINT
            FROM samples WHERE event = 'wall' GROUP BY ALL
        """)
    )
    step = 50_000_000
    assert waits["holder/timed_sleep"] == pytest.approx(2e9, abs=2 * step)
    assert waits["burner-2/timed_sleep"] == pytest.approx(0.5e9, abs=2 * step)
    assert waits["burner-2/lock"] == pytest.approx(0.47e9, abs=2 * step)
    assert waits["burner-1/running"] == pytest.approx(1.5e9, abs=3 * step)


def test_allocations_and_locks_weigh_what_they_should(tables: Tables) -> None:
    allocated, unit = tables.rows("""
        SELECT sum(weight)::BIGINT, any_value(unit) FROM samples
        WHERE event = 'alloc' AND thread_name = 'burner-2' AND top_class = '[B'
    """)[0]
    # 4096 arrays of 16 KiB, sampled every 512 KiB.
    assert unit == "bytes"
    assert allocated == pytest.approx(4096 * (16 << 10), rel=0.1)
    lock = tables.rows("SELECT weight, unit, top_class FROM samples WHERE event = 'lock'")
    assert lock == [(472_415_268, "ns", "java.lang.Object")]


def test_the_dictionaries_are_whole(tables: Tables) -> None:
    orphans = tables.rows("""
        SELECT count(*) FROM (SELECT unnest(frame_ids) AS id FROM stacks) u
        ANTI JOIN frames f ON f.frame_id = u.id
    """)
    assert orphans == [(0,)]
    assert tables.rows("SELECT count(*) - count(DISTINCT stack_id) FROM stacks") == [(0,)]
    twins = tables.rows("""
        SELECT class_name, library, method, line, kind FROM frames GROUP BY ALL HAVING count(*) > 1
    """)
    assert twins == []
    kinds = {kind for (kind,) in tables.rows("SELECT DISTINCT kind FROM frames")}
    assert kinds <= {"interpreted", "c1", "c2", "inlined", "native", "cpp", "kernel"}
    assert {"interpreted", "c2", "kernel", "cpp"} <= kinds
    roots = tables.rows("""
        SELECT DISTINCT f.class_name, f.method FROM samples s
        JOIN stacks k ON k.stack_id = s.java_stack JOIN frames f ON f.frame_id = k.frame_ids[1]
        WHERE s.thread_name = 'burner-1' AND s.event = 'wall'
    """)
    assert roots == [("java.lang.Thread", "run")]
    libraries = "SELECT count(*) FROM frames WHERE library IS NOT NULL AND class_name IS NOT NULL"
    assert tables.rows(libraries) == [(0,)]


def test_every_cpu_sample_has_one_category(tables: Tables) -> None:
    assert tables.rows(
        "SELECT count(*) FROM samples WHERE (event = 'cpu') != (category IS NOT NULL)"
    ) == [(0,)]


def spans(path: Path, tid: int, *tasks: tuple[int, int, int | None]) -> Path:
    """Write a plugin file: tasks as (TID, start, end)."""
    head = {"k": "process", "role": "executor", "executor_id": "1", "pid": PID, "host": "box"}
    head |= {"mono_ns": 1, "wall_ns": 2, "jvm_start_wall_ms": 0, "gc_names": []}
    records = [head]
    for task, start, end in tasks:
        shared = {"tid": tid, "start_ns": start, "stage": 4, "stage_attempt": 1, "task": task}
        shared |= {"partition": 0, "attempt": 0, "sql": 6, "iteration": 3}
        records.append({"k": "task_start", **shared})
        if end is not None:
            records.append({"k": "task", **shared, "end_ns": end, "ok": True, "cpu_ns": 1})
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_samples_belong_to_the_task_that_ran(tables: Tables, tmp_path: Path) -> None:
    tid, first, last = tables.rows("""
        SELECT any_value(tid), min(t_ns), max(t_ns) FROM samples
        WHERE thread_name = 'burner-1' AND event = 'cpu'
    """)[0]
    middle, gap = first + (last - first) // 2, 50_000_000
    plugin = spans(
        tmp_path / f"plugin-executor-1-{PID}.ndjson",
        tid,
        (11, first, middle),
        (12, middle + gap, None),
    )
    joined = ingest(tmp_path / "out", [plugin])
    assert joined.report["doubts"] == []
    found = joined.rows("""
        SELECT task_attempt_id, stage_id, stage_attempt, job_id, sql_id, iteration, role,
               min(t_ns), max(t_ns), count(*)
        FROM samples WHERE event = 'cpu' AND thread_name = 'burner-1'
        GROUP BY ALL ORDER BY min(t_ns)
    """)
    ids = [row[:7] for row in found]
    assert ids == [
        (11, 4, 1, None, 6, 3, "task"),
        (None, None, None, None, None, None, "other"),
        (12, 4, 1, None, 6, 3, "task"),
    ]
    assert found[0][8] <= middle < found[1][7]
    assert found[1][8] < middle + gap <= found[2][7]
    # Nothing is gained or lost by the join.
    total = "SELECT event, sum(weight)::BIGINT FROM samples GROUP BY event ORDER BY event"
    assert joined.rows(total) == tables.rows(total)
    others = joined.rows("""
        SELECT count(*) FROM samples WHERE thread_name != 'burner-1' AND task_attempt_id IS NOT NULL
    """)
    assert others == [(0,)]


def test_a_batch_of_sleep_is_split_between_the_tasks(tables: Tables, tmp_path: Path) -> None:
    batch = tables.rows("""
        SELECT tid, t_ns, weight FROM samples
        WHERE thread_name = 'holder' AND event = 'wall' AND state = 'sleeping' ORDER BY weight DESC
    """)[0]
    tid, start, weight = batch
    assert weight > 20 * 50_000_000
    cut = start + weight // 4
    joined = ingest(
        tmp_path / "out",
        [
            spans(
                tmp_path / f"plugin-executor-1-{PID}.ndjson",
                tid,
                (1, start, cut),
                (2, cut + 1, None),
            )
        ],
    )
    parts = dict(
        joined.rows(f"""
            SELECT task_attempt_id, sum(weight)::BIGINT FROM samples
            WHERE tid = {tid} AND event = 'wall' AND t_ns >= {start} GROUP BY ALL
        """)
    )
    assert parts[1] == pytest.approx(weight / 4, abs=2 * 50_000_000)
    assert parts[2] == pytest.approx(weight * 3 / 4, abs=3 * 50_000_000)


def test_a_missing_plugin_is_a_doubt(tables: Tables) -> None:
    doubts = tables.report["doubts"]
    assert [doubt["code"] for doubt in doubts] == ["samples_without_tasks"]
    assert str(PID) in doubts[0]["message"]
    assert tables.rows("SELECT count(*) FROM samples WHERE task_attempt_id IS NOT NULL") == [(0,)]
