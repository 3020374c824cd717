"""Bytes read, three ways, and when Spark's count is not to be trusted."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tables import PID, StageSpec, World, mono

from pyrometer.characterise.queries import characterise
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summary

MB = 1_000_000
LOG_ONLY = {"apps", "executors", "stages", "tasks", "sql_executions", "plan_nodes", "node_metrics"}


def world(spark: int, process: int | None, files: int, records: int = 10_000) -> World:
    """Read ``process`` bytes in 4 tasks of which Spark counts ``spark`` (MB each)."""
    made = World([StageSpec([40, 30, 50, 20], iteration=0), StageSpec([40, 40], iteration=1)])
    for task in made.rows["tasks"]:
        task.update(input_bytes=spark * MB // 6, input_records_count=records // 6)
    made.rows["node_metrics"][0]["value_sum"] = files * MB
    for row in made.rows["os_series"]:
        if row["scope"] == f"process/{PID}" and row["name"] == "rchar_bytes" and row["value"]:
            row["value"] = (process or 0) * MB
    if process is None:
        made.rows = {k: v for k, v in made.rows.items() if k in LOG_ONLY}
    return made


def shown(made: World, folder: Path, window: str = "application") -> Summary:
    with Run.open(made.write(folder)) as run:
        return summary(run, window)


@pytest.mark.parametrize(
    ("spark", "process", "files", "doubted", "trusted"),
    [
        (600, 620, 600, False, "input_bytes"),
        (1, 640, 600, True, "scan_files_size_bytes"),
        (1, 400, 600, True, "process_read_chars_bytes"),
        # Columns pruned: little of the files is read, and Spark says how little.
        (60, 65, 600, False, "input_bytes"),
        # Reads that are no scan: class files, while files are small.
        (1, 20, 600, False, "input_bytes"),
    ],
)
def test_undercounted_input(
    spark: int, process: int, files: int, doubted: bool, trusted: str, tmp_path: Path
) -> None:
    made = shown(world(spark, process, files), tmp_path)
    assert ("input_bytes_undercounted" in {d.code for d in made.doubts}) is doubted
    assert made.io.bytes_source is not None
    assert made.io.bytes_source.startswith(trusted)
    assert made.io.input_bytes == spark * MB // 6 * 6
    assert made.io.scan_files_size_bytes == files * MB
    assert made.io.process_read_chars_bytes == pytest.approx(process * MB, rel=0.01)


@pytest.mark.parametrize("spark", [600, 1])
def test_no_query_has_an_input_that_was_not_counted(spark: int, tmp_path: Path) -> None:
    made_of = world(spark, None, 600, records=90 * MB)
    made_of.rows["jobs"] = [
        {"app_index": 0, "job_id": job, "sql_id": 0, "iteration": job, "status": "succeeded"}
        for job in (0, 1)
    ]
    with Run.open(made_of.write(tmp_path)) as run:
        made = characterise(run)
    assert made.parts
    counted = spark == 600
    assert (made.input_reason is None) is counted
    for part in made.parts:
        assert (part.input_bytes is not None) is counted
        assert (part.shuffle_heavy is not None) is counted
        assert part.shuffle_bytes is not None


def test_with_an_event_log_alone_only_plain_contradictions_are_doubted(tmp_path: Path) -> None:
    many = shown(world(1, None, 600, records=90 * MB), tmp_path / "a")
    assert "input_bytes_undercounted" in {d.code for d in many.doubts}
    few = shown(world(1, None, 600, records=10_000), tmp_path / "b")
    assert "input_bytes_undercounted" not in {d.code for d in few.doubts}
    old = world(1, None, 600, records=90 * MB)
    old.rows["apps"][0]["spark_version"] = "3.5.9"
    assert "input_bytes_undercounted" not in {d.code for d in shown(old, tmp_path / "c").doubts}
    off = world(1, None, 600, records=90 * MB)
    off.rows["apps"][0]["spark_conf"] = (
        '{"spark.hadoop.parquet.hadoop.vectored.io.enabled": "false"}'
    )
    assert "input_bytes_undercounted" not in {d.code for d in shown(off, tmp_path / "d").doubts}


def test_page_cache_share_and_rate_per_core(tmp_path: Path) -> None:
    made = shown(world(600, 620, 600), tmp_path)
    run_s = 0.22
    assert made.io.mb_per_s_per_core == pytest.approx(600 / run_s, rel=0.01)
    assert made.io.page_cache_ratio is not None
    assert 0.99 < made.io.page_cache_ratio <= 1


@pytest.mark.parametrize(("with_jvms", "expected"), [(True, 7), (False, 49)])
def test_bytes_that_a_parent_takes_over_from_its_child_count_once(
    with_jvms: bool, expected: int, tmp_path: Path
) -> None:
    made = world(600, 47, 600)
    series = made.rows["os_series"]

    def seen(scope: int, at: int, name: str, value: int) -> None:
        row = {"host": "lab", "scope": f"process/{scope}", "name": name, "value": value}
        series.append({**row, "t_mono_ns": mono(at)})

    # 5 MB of its own, then 40 MB of a child that it waited for at 60 ms, then 2 MB more.
    seen(PID, 50, "rchar_bytes", 5 * MB)
    seen(PID, 70, "rchar_bytes", 46 * MB)
    seen(77, 10, "start_time_mono_ns", mono(10))
    seen(77, 40, "rchar_bytes", 30 * MB)
    seen(77, 60, "rchar_bytes", 40 * MB)
    seen(77, 60, "parent_pid", PID)
    # One that still runs is nobody's, and one whose parent is not followed is its own.
    for scope in (78, 79):
        seen(scope, 10, "start_time_mono_ns", mono(10))
        seen(scope, 55, "rchar_bytes", MB)
    seen(79, 60, "parent_pid", 1)
    if not with_jvms:
        del made.rows["processes"]
    assert shown(made, tmp_path).io.process_read_chars_bytes == expected * MB


def test_what_a_disk_read_is_no_reading_of_a_process(tmp_path: Path) -> None:
    """Without JVMs all followed processes count; series of disks have the same names."""
    found = []
    for disks in (False, True):
        made = world(600, 620, 600)
        made.rows.pop("processes", None)
        end = max(row["t_mono_ns"] for row in made.rows["os_series"])
        for at, value in ((mono(0), 0), (end, 900 * MB)) if disks else ():
            made.add("os_series", host="h", t_mono_ns=at, scope="disk/vda", name="read_bytes",
                     value=value)  # fmt: skip
        read = shown(made, tmp_path / str(disks)).io
        found.append((read.process_read_chars_bytes, read.process_read_bytes))
    assert found[0] == found[1]
    assert found[0][0] == pytest.approx(620 * MB, rel=0.01)
