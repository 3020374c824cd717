"""Numbers that another source contradicts: marked, with the better one."""

from __future__ import annotations

import copy
import io
from pathlib import Path

import pytest
from rich.console import Console
from tests.support.tables import MS, PID, StageSpec, World, mono

from pyrometer.accounts.waits.schema import WaitShare
from pyrometer.core import schema
from pyrometer.core.estimate import Estimate
from pyrometer.store import Run, elsewhere
from pyrometer.summary import disputed as rules
from pyrometer.summary import terminal
from pyrometer.summary.disputed import about, disputed, mark
from pyrometer.summary.schema import Disputed, Summary
from pyrometer.summary.summary import summary

MB = 1_000_000


def world(tail_ms: int = 5) -> World:
    stages = [StageSpec([400, 300, 500, 200]), StageSpec([400, 400])]
    return World(stages, tail_ms=tail_ms, now_ms=0)


def shown(made: World, folder: Path) -> Summary:
    with Run.open(made.write(folder)) as run:
        return summary(run, "application")


def found(made: World, folder: Path, field: str) -> Disputed | None:
    return about(shown(made, folder).disputed, field)


def scanning(spark: int, process: int, files: int) -> World:
    made = world()
    for task in made.rows["tasks"]:
        task.update(input_bytes=spark // 6, input_records_count=2000)
    made.rows["node_metrics"][0]["value_sum"] = files
    for row in made.rows["os_series"]:
        if row["scope"] == f"process/{PID}" and row["name"] == "rchar_bytes" and row["value"]:
            row["value"] = process
    return made


def paused(milliseconds: int, spark_ms: int) -> World:
    made = world()
    made.add(
        "gc_pauses", pid=PID, gc_id=0, start_mono_ns=mono(200),
        duration_ns=milliseconds * MS, collector="G1", kind="young",
    )  # fmt: skip
    for task in made.rows["tasks"]:
        task["jvm_gc_time_ns"] = spark_ms * MS
    return made


def test_what_agrees_is_not_disputed(tmp_path: Path) -> None:
    assert shown(scanning(600 * MB, 620 * MB, 600 * MB), tmp_path).disputed == []


@pytest.mark.parametrize(
    ("process", "better", "source"),
    [(640 * MB, 600 * MB, "in the scan's files"), (400 * MB, None, "by read calls")],
)
def test_input_that_spark_undercounts_has_the_trusted_one_beside_it(
    process: int, better: int | None, source: str, tmp_path: Path
) -> None:
    made = shown(scanning(6 * MB, process, 600 * MB), tmp_path)
    one = about(made.disputed, "totals.input_bytes")
    assert one is not None
    assert one.value == made.totals["input_bytes"] == 6 * MB
    assert one.better == (better or made.io.process_read_chars_bytes)
    assert (one.better_source, one.doubt) == (source, "input_bytes_undercounted")


def test_stages_that_lack_input_have_the_size_of_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = shown(scanning(6 * MB, 640 * MB, 600 * MB), tmp_path)
    made.sql[0].nodes[0].stage_ids = [0]
    made.sql[0].nodes[0].metrics = copy.deepcopy(
        next(n.metrics for q in made.sql for n in q.nodes if n.metrics)
    )
    for node in made.sql[0].nodes[1:]:
        node.metrics = []
    one = about(disputed(made), "stages.totals.input_bytes")
    assert one is not None
    assert [(stage.stage_id, stage.better) for stage in one.stages] == [(0, 600 * MB)]
    monkeypatch.setattr(rules, "MAX_STAGES", 0)
    cut = about(disputed(made), "stages.totals.input_bytes")
    assert cut is not None
    assert (cut.stages, cut.stages_count) == ([], 1)
    made.sql[0].nodes[0].stage_ids = [0, 1]
    assert about(disputed(made), "stages.totals.input_bytes") is None, "of which is not known"


@pytest.mark.parametrize(("log_ms", "spark_ms"), [(50, 40), (90, 2)])
def test_gc_time_by_task_gives_way_to_the_pauses_of_the_log(
    log_ms: int, spark_ms: int, tmp_path: Path
) -> None:
    one = found(paused(log_ms, spark_ms), tmp_path, "totals.jvm_gc_time_ns")
    assert one is not None
    assert (one.value, one.better) == (6 * spark_ms * MS, log_ms * MS)
    assert mark(one) == f"✗ {log_ms:.1f} ms of pauses by the GC log"


def test_gc_time_of_executors_is_not_held_against_the_drivers_log(tmp_path: Path) -> None:
    made = paused(90, 2)
    text = "2 executor(s) could not write to the raw folder: …"
    made.add("ingest_doubts", code=elsewhere.CODE, severity="error", message=text, count=1)
    assert found(made, tmp_path, "totals.jvm_gc_time_ns") is None


def test_gc_time_within_its_resolution_is_not_disputed(tmp_path: Path) -> None:
    # Six tasks in whole milliseconds leave 6 ms open.
    assert found(paused(11, 1), tmp_path, "totals.jvm_gc_time_ns") is None


def test_a_stage_that_collects_for_longer_than_it_runs(tmp_path: Path) -> None:
    made = world()
    made.rows["tasks"][0]["jvm_gc_time_ns"] = 2000 * MS
    one = found(made, tmp_path, "stages.totals.jvm_gc_time_ns")
    assert one is not None
    assert [(stage.stage_id, stage.better) for stage in one.stages] == [(0, 1400 * MS)]


def test_task_cpu_of_tasks_without_metrics(tmp_path: Path) -> None:
    made = world()
    whole = sum(task["executor_cpu_time_ns"] for task in made.rows["tasks"])
    for name in ("executor_cpu_time_ns", "executor_deserialize_cpu_time_ns"):
        made.rows["tasks"][0][name] = None
    one = found(made, tmp_path, "totals.executor_cpu_time_ns")
    assert one is not None
    assert one.better == pytest.approx(whole, rel=0.01)
    assert (one.value or 0) < 0.9 * whole


def test_task_cpu_without_python_workers(tmp_path: Path) -> None:
    made = shown(world(), tmp_path)
    threads = made.cpu_base.task_threads_ns
    assert threads
    made.cpu_base.workers_ns, made.cpu_base.total_ns = threads * 3, threads * 4
    one = about(disputed(made), "totals.executor_cpu_time_ns")
    assert one is not None
    assert (one.better, one.better_source) == (threads * 4, "with Python workers")
    assert about(disputed(made), "stages.totals.executor_cpu_time_ns") is not None


def test_elapsed_of_stages_is_not_that_of_the_window(tmp_path: Path) -> None:
    made = shown(world(tail_ms=900), tmp_path)
    one = about(made.disputed, "totals.elapsed_ns")
    assert one is not None
    assert one.better == made.window.length_ns


def test_waits_for_shuffle_blocks_that_spark_does_not_count(tmp_path: Path) -> None:
    made = shown(world(), tmp_path)
    share = Estimate(value=0.5, low=0.5, high=0.5, level=0.95, n=9, method="exact")
    made.extended_stacks.classes.append(
        WaitShare(wait_class="shuffle_fetch", asleep_ns=900 * MS, joined_ns=900 * MS,
                  share=share, episodes_count=9)
    )  # fmt: skip
    one = about(disputed(made), "totals.shuffle_fetch_wait_time_ns")
    assert one is not None
    assert (one.value, one.better) == (0, 900 * MS)


def test_the_peak_of_a_task_is_no_less_than_that_of_an_operator(tmp_path: Path) -> None:
    made = world()
    row = dict(made.rows["node_metrics"][0])
    made.add(
        "node_metrics",
        **{**row, "metric": "peak memory", "accumulator_id": 99, "value_max": 64 << 20},
    )
    one = found(made, tmp_path, "totals.peak_execution_memory_max_bytes")
    assert one is not None
    assert (one.value, one.better) == (1 << 20, 64 << 20)


def test_a_log_that_lacks_tasks_counts_too_few(tmp_path: Path) -> None:
    made = shown(world(), tmp_path)
    made.doubts.append(schema.doubt("eventlog_compacted", "Jobs 0 to 9 are gone."))
    one = about(disputed(made), "totals.tasks_count")
    assert one is not None
    assert (one.better, one.doubt) == (None, "eventlog_compacted")
    assert mark(one) == "✗ too low, by how much is not known"


@pytest.mark.parametrize(("width", "encoding"), [(80, "utf-8"), (60, "utf-8"), (80, "ascii")])
def test_the_mark_stands_at_the_number(width: int, encoding: str, tmp_path: Path) -> None:
    made = shown(scanning(6 * MB, 640 * MB, 600 * MB), tmp_path)
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    console = Console(file=file, width=width, highlight=False, color_system=None)
    terminal.show_sections(console, made, ["totals", "io"])
    lines = [" ".join(line.split()) for line in raw.getvalue().decode(encoding).splitlines()]
    cross = "!" if encoding == "ascii" else "✗"
    if width < 72:
        assert f"input 5.72 MiB {cross}" in lines
        assert f"{cross} input: 572 MiB in the scan's files" in lines
    else:
        assert f"input 5.72 MiB {cross} 572 MiB in the scan's files" in lines
    assert any(line.startswith("Spark's") and line.endswith("too low") for line in lines)
