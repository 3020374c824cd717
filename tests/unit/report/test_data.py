"""From tables to report data: clocks, downsampling, folding, bounds, figures."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.report_fixture import (
    CPU_PATHS,
    ITERATIONS,
    TASK_ROOT,
    WALL0,
    S,
    manifest,
    run_rows,
    write_tables,
)
from tests.support.summary_fixture import eventlog_only_summary, summary

from pyrometer.accounts.io import COUNTED, ESTIMATED
from pyrometer.accounts.stage_tasks import MAX_STAGES
from pyrometer.flame import facts
from pyrometer.flame import pack as report_flame
from pyrometer.pages.axis import Axis, gauge_line, occupancy, rate_line
from pyrometer.pages.page import ReportData
from pyrometer.report import data as report_data
from pyrometer.report.data import build, key_figures
from pyrometer.store import Tables
from pyrometer.timeline import pauses
from pyrometer.timeline import timeline as report_timeline

ROWS = run_rows()
DTYPES = {"u8": "u1", "u16": "<u2", "u32": "<u4", "i32": "<i4", "f32": "<f4", "f64": "<f8"}


def unpack(data: ReportData, name: str) -> dict[str, Any]:
    raw = zlib.decompress(base64.b64decode(data.packs[name]))
    return {
        key: np.full(c["length"], c["fill"], DTYPES[c["type"]])
        if "fill" in c
        else np.frombuffer(raw, DTYPES[c["type"]], c["length"], c["offset"])
        for key, c in data.content[name]["columns"].items()
    }


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tables]:
    folder = tmp_path_factory.mktemp("tables")
    write_tables(folder, ROWS)
    with Tables(folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def data(tables: Tables) -> ReportData:
    return build(summary(), manifest(), tables)


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Tables]:
    with Tables(tmp_path) as opened:
        yield opened


def track(data: ReportData, name: str) -> dict[str, Any]:
    return next(t for t in data.content["timeline"]["tracks"] if t["id"] == name)


# --- the axis ---


def test_rates_keep_the_total() -> None:
    axis = Axis(0, 10 * S, {})
    t = np.array([0.0, 900.0, 1_000.0, 7_450.0, 10_000.0])
    counted = np.array([0.0, 5.0, 40.0, 41.0, 90.0])
    line = rate_line(axis, t, counted)
    assert line.value.size == 100
    assert np.nansum(line.value) * axis.step_ms / 1e3 == pytest.approx(90)


def test_rates_are_not_extrapolated() -> None:
    axis = Axis(0, 10 * S, {})
    line = rate_line(axis, np.array([2_000.0, 4_000.0]), np.array([0.0, 10.0]))
    assert np.isnan(line.value[:20]).all()
    assert np.isnan(line.value[40:]).all()
    assert line.value[20:40] == pytest.approx(5.0)


def test_downsampled_gauges_keep_their_extremes() -> None:
    axis = Axis(0, 3_600 * S, {})
    t = np.arange(0, 3_600_000, 50, dtype=float)
    level = np.full(t.size, 10.0)
    level[12_345] = 99.0
    level[54_321] = 1.0
    line = gauge_line(axis, t, level)
    assert line.value.size == axis.count <= 1500
    assert line.high is not None
    assert line.low is not None
    assert np.nanmax(line.high) == 99
    assert np.nanmin(line.low) == 1


def test_occupancy_is_exact() -> None:
    axis = Axis(0, 1 * S, {})
    running = occupancy(axis, np.array([50.0, 50.0, 410.0]), np.array([250.0, 150.0, 420.0]))
    assert running == pytest.approx([1.0, 1.5, 0.5, 0, 0.1, 0, 0, 0, 0, 0])


def test_monotonic_times_land_on_the_wall(data: ReportData) -> None:
    columns = unpack(data, "timeline")
    first = track(data, "pauses")["columns"]["start"]
    # The first invented pause begins 6 s after the start, on the monotonic clock.
    assert columns[first].min() == pytest.approx(6_000, abs=0.01)
    assert data.content["timeline"]["t0_wall_ns"] == WALL0
    marks = data.content["timeline"]["marks"]
    assert [m["start_ms"] for m in marks] == [i[2] * 1e3 for i in ITERATIONS]


def test_unjoined_clocks_are_told(tmp_path: Path) -> None:
    write_tables(tmp_path, {k: v for k, v in ROWS.items() if k != "clock_pairs"})
    with Tables(tmp_path) as tables:
        made = build(summary(), manifest() | {"clock_pairs": []}, tables)
    assert "clock to Unix time" in track(made, "cpu")["reason"]
    assert "no usable time" in track(made, "pauses")["reason"]


# --- tasks ---


def test_every_task_is_drawn_in_a_lane_of_its_own(data: ReportData) -> None:
    tasks, columns = track(data, "tasks"), unpack(data, "timeline")
    start, length, lane = (columns[tasks["columns"][c]] for c in ("start", "length", "lane"))
    assert start.size == len(ROWS["tasks"])
    assert len(tasks["lanes"]) == 3
    for one in range(3):
        mine = np.argsort(start[lane == one])
        begin, end = start[lane == one][mine], (start + length)[lane == one][mine]
        overlap = end[:-1] - begin[1:]
        assert (overlap <= np.minimum(200, 0.1 * (end - begin)[:-1]) + 0.01).all()
    failed = columns[tasks["columns"]["status"]] == tasks["statuses"].index("failed")
    assert failed.sum() == 1


def test_caps_are_told(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(report_timeline, "MAX_TASKS", 20)
    monkeypatch.setattr(report_timeline, "MAX_LANES", 1)
    monkeypatch.setattr(pauses, "MAX_PAUSES", 5)
    monkeypatch.setattr(report_data, "MAX_STAGES", 3)
    monkeypatch.setattr(report_data, "MAX_EXECUTIONS", 1)
    made = build(summary(), manifest(), tables)
    total = len(ROWS["tasks"])
    assert f"longest 20 of {total}" in track(made, "tasks")["note"]
    assert "1 of 2 lanes" in track(made, "tasks")["note"]
    assert "longest 5 of" in track(made, "pauses")["note"]
    assert len(made.content["summary"]["stages"]) == 3
    assert sum(bool(e["nodes"]) for e in made.content["summary"]["sql"]) == 1
    assert len(made.content["cuts"]) == 2
    # The count of running tasks is over all of them, drawn or not.
    running = unpack(made, "timeline")[track(made, "running")["series"][0]["value"]]
    busy = sum(t["finish_wall_ns"] - t["launch_wall_ns"] for t in ROWS["tasks"]) / 1e6
    assert running.sum() * made.content["timeline"]["step_ms"] == pytest.approx(busy, rel=1e-3)


# --- series ---


def test_cpu_is_in_cpus(data: ReportData) -> None:
    cpu, columns = track(data, "cpu0"), unpack(data, "timeline")
    assert cpu["capacity"] == {"label": "2 CPUs", "value": 2}
    whole = np.nansum([columns[s["value"]] for s in cpu["series"]], axis=0)
    assert 0 < whole.max() <= 2.05
    assert [s["label"] for s in cpu["series"]] == ["user", "system", "iowait", "steal"]


def test_heap_memory_and_reads_are_there(data: ReportData) -> None:
    assert [s["label"] for s in track(data, "heap")["series"]] == ["used", "committed"]
    assert track(data, "memory0")["capacity"]["value"] == 2.5e10
    labels = [s["label"] for s in track(data, "disk0")["series"]]
    assert labels == ["read calls of the application", "disk reads"]


# --- flame graph ---


def test_critical_time_on_wall_is_the_time_with_tasks(data):
    flame, columns = data.content["flame"], unpack(data, "flame")
    assert flame["critical"] == ["cpu", "wall", "state"]
    running = {}
    for sample in ROWS["samples"]:
        if sample["event"] == "wall" and sample.get("task_attempt_id") is not None:
            beside = sum(
                span["start_mono_ns"] <= sample["t_ns"] < span["end_mono_ns"]
                for span in ROWS["spans"]
            )
            running[id(sample)] = sample["weight"] / max(beside, 1)
    wall = columns["flame.event"] == flame["event_names"].index("wall")
    assert columns["flame.critical"][wall].sum() == pytest.approx(sum(running.values()))
    assert 0 < sum(running.values()) < columns["flame.weight"][wall].sum()


def test_fold_keeps_every_weight(data: ReportData) -> None:
    flame, columns = data.content["flame"], unpack(data, "flame")
    for place, event in enumerate(flame["event_names"]):
        folded = columns["flame.weight"][columns["flame.event"] == place].sum()
        assert folded == sum(s["weight"] for s in ROWS["samples"] if s["event"] == event)
    assert columns["flame.n"].sum() == len(ROWS["samples"]) == flame["samples_count"]


def test_lines_of_one_method_are_one_node(data: ReportData) -> None:
    columns = unpack(data, "flame")
    cpu_leaves = {
        tuple(f"{c}.{m}" if c else m for c, m, _ in [*TASK_ROOT, *path]) for path, *_ in CPU_PATHS
    }
    text = columns["flame.strings.bytes"].tobytes()
    ends = columns["flame.strings.ends"].tolist()
    starts = [0, *ends[:-1]]
    names = [text[a:b].decode() for a, b in zip(starts, ends, strict=True)]
    frames = iter(columns["flame.frame"].tolist())
    paths, open_frames = set(), []
    for run, depth in zip(columns["flame.run"], columns["flame.depth"], strict=True):
        open_frames[depth:] = [names[next(frames)] for _ in range(run)]
        paths.add(tuple(open_frames))
    assert next(frames, None) is None
    assert cpu_leaves <= paths
    assert (np.diff(columns["flame.node"].astype(int)) >= 0).all()


def test_allocations_end_in_their_class(data: ReportData) -> None:
    text = unpack(data, "flame")["flame.strings.bytes"].tobytes().decode()
    assert "byte[]" in text
    assert data.content["flame"]["events"]["alloc"]["unit"] == "bytes"


def test_light_stacks_are_summed_beyond_the_cap(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facts, "MAX_FACTS", 10)
    made = build(summary(), manifest(), tables)
    columns = unpack(made, "flame")
    assert columns["flame.weight"].sum() == sum(s["weight"] for s in ROWS["samples"])
    assert "heaviest" in made.content["flame"]["note"]
    assert "by task, too" in made.content["flame"]["note"]
    assert "pyrometer flame RUN" in made.content["flame"]["note"]
    assert made.content["flame"]["dimensions"]["task"] == [None]
    assert report_flame.REST in columns["flame.strings.bytes"].tobytes().decode()


def test_samples_without_stacks_are_kept(tmp_path: Path) -> None:
    write_tables(tmp_path, {"samples": ROWS["samples"][:50], "apps": ROWS["apps"]})
    with Tables(tmp_path) as tables:
        made = build(summary(), manifest(), tables)
    assert unpack(made, "flame")["flame.n"].sum() == 50
    assert made.content["flame"]["nodes_count"] >= 1


# --- what is missing ---


def test_event_log_alone(tmp_path: Path) -> None:
    write_tables(tmp_path, {k: ROWS[k] for k in ("apps", "tasks")})
    with Tables(tmp_path) as tables:
        made = build(eventlog_only_summary(), {}, tables)
    assert made.title == "parquet-scan"
    assert "samples" in made.content["flame"]["reason"]
    assert track(made, "tasks")["kind"] == "tasks"
    assert not [t for t in made.content["timeline"]["tracks"] if "reason" in t]
    assert len(made.content["timeline"]["needs_run"]) == 9


def test_nothing_at_all(empty: Tables) -> None:
    made = build({}, {}, empty)
    assert made.content["timeline"]["reason"]
    assert made.content["flame"]["reason"]
    assert all(f["value"] is None and f["reason"] for f in made.content["figures"])


# --- key figures ---


def figure(name: str, source: dict[str, Any]) -> dict[str, Any]:
    return next(f for f in key_figures(source) if f["label"] == name)


def test_elapsed_has_a_t_interval_over_measured_iterations() -> None:
    elapsed = figure("Elapsed per iteration", summary())
    values = np.array([b - a for _, warm, a, b in ITERATIONS if not warm])
    # 4.303 is the 97.5 % quantile of t with two degrees of freedom.
    half = 4.3026527 * values.std(ddof=1) / np.sqrt(3)
    assert elapsed["value"] == pytest.approx(values.mean() * S)
    assert elapsed["low"] == pytest.approx((values.mean() - half) * S, rel=1e-6)
    assert elapsed["high"] == pytest.approx((values.mean() + half) * S, rel=1e-6)
    assert elapsed["n"] == 3


def test_no_elapsed_time_is_below_zero() -> None:
    source = summary()
    source["iterations"] = [
        {**one, "elapsed_ns": ns}
        for one, ns in zip(source["iterations"][1:3], (S, 5 * S), strict=True)
    ]
    assert figure("Elapsed per iteration", source)["low"] == 0


def test_one_iteration_has_no_interval() -> None:
    source = summary()
    source["iterations"] = source["iterations"][:2]
    elapsed = figure("Elapsed per iteration", source)
    assert elapsed["n"] == 1
    assert elapsed["low"] is None


def test_what_is_estimated_of_the_page_cache_says_so() -> None:
    source = summary()
    for told, ending in ((ESTIMATED, "from page cache, estimated"), (COUNTED, "from page cache")):
        source["io"] |= {"page_cache_ratio": 0.5, "page_cache": {"ratio": 0.5, "source": told}}
        assert str(figure("Bytes processed", source)["note"]).endswith(f"50.0 % {ending}")


def test_nothing_is_read_from_the_page_cache_where_nothing_is_read() -> None:
    source = summary()
    source["io"] |= {"page_cache_ratio": 1.0, "bytes_source": None, "input_bytes": 0}
    assert "page cache" not in str(figure("Bytes processed", source)["note"])


def test_a_figure_that_is_disputed_has_the_better_number() -> None:
    source = summary()
    assert all(made["disputed"] is None for made in key_figures(source))
    told = {"better": 9, "better_source": "with Python workers", "why": "Spark counts the JVM."}
    source["disputed"] = [{"field": "totals.executor_cpu_time_ns", "value": 1, **told}]
    assert figure("Task CPU", source)["disputed"] == told
    assert figure("Bytes processed", source)["disputed"] is None


def test_missing_figures_say_why() -> None:
    for made in key_figures(eventlog_only_summary()):
        assert (made["value"] is None) == (made["reason"] is not None)
    assert "event log only" in figure("Process CPU", eventlog_only_summary())["reason"]


# --- bounds ---


def test_tasks_are_on_the_page_with_their_zeros_and_without_what_is_not_known() -> None:
    source = summary()
    task = {"task_attempt_id": 0, "task_index": 0, "speculative": False, "input_bytes": None}
    row = {"host": "a", "tasks_count": 3, "failed_tasks_count": 0, "max_ns": 5, "input_bytes": None}
    tasks = {"quantiles": [], "slowest": [task], "hosts": [row], "hosts_count": 1}
    (stage, *_) = source["stages"]
    source["stages"] = [stage | {"stage_id": n, "tasks": tasks} for n in range(MAX_STAGES)]
    made = build(source, {}, None).content["summary"]["stages"]
    assert len(made) == MAX_STAGES
    for stage in made:
        assert stage["tasks"]["slowest"] == [{"task_attempt_id": 0, "task_index": 0}]
        (host,) = stage["tasks"]["hosts"]
        assert host == {"host": "a", "tasks_count": 3, "failed_tasks_count": 0, "max_ns": 5}


def test_probes_of_many_executors_take_little_of_the_page(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report_data, "MAX_LIST", 300)
    events = [{"event": f"event {n}", "counted": False, "reason": "no PMU"} for n in range(40)]
    probe = {"name": "os", "host": "h", "got": "9 rows", "counters": {"events": events}}
    probes = [{**probe, "executor_id": str(number)} for number in range(400)]
    made = build(summary(), manifest() | {"probes": probes}, tables)
    shown = made.content["manifest"]["probes"]
    assert [one["executor_id"] for one in shown] == [str(number) for number in range(300)]
    assert shown[7] == {k: v for k, v in probes[7].items() if k != "counters"}
    assert "probes: the first 300 of 400" in made.content["cuts"]
    assert len(json.dumps(shown)) < 300 * 200


def test_long_strings_are_cut_and_say_so(tables: Tables) -> None:
    source = summary()
    source["sql"][0]["nodes"][0]["simple_string"] = "x" * 100_000
    made = build(source, manifest(), tables)
    text = made.content["summary"]["sql"][0]["nodes"][0]["simple_string"]
    assert len(text) < 5_000
    assert text.endswith("(cut: 100,000 characters)")


def test_not_a_number_is_nothing(tables: Tables) -> None:
    source = summary()
    source["io"]["mb_per_s_per_core"] = float("nan")
    source["cpu"]["ratio"] = float("inf")
    made = build(source, manifest(), tables)
    assert json.dumps(made.content, allow_nan=False)


def test_a_late_note_of_an_end_opens_no_lane(tmp_path: Path) -> None:
    def task(number: int, start: float, end: float) -> dict[str, Any]:
        row = ROWS["tasks"][0] | {"task_attempt_id": number}
        return row | {
            "launch_wall_ns": int(WALL0 + start * S),
            "finish_wall_ns": int(WALL0 + end * S),
        }

    # The second begins 20 ms before the end of the first is noted; the third runs beside it.
    write_tables(tmp_path, {"tasks": [task(0, 0, 1), task(1, 0.98, 2), task(2, 1.2, 1.9)]})
    with Tables(tmp_path) as tables:
        made = build(summary(), {}, tables)
    columns, drawn = unpack(made, "timeline"), track(made, "tasks")
    assert columns[drawn["columns"]["lane"]].tolist() == [0, 0, 1]


# --- the CPU of each task thread ---


def test_task_threads_are_placed_on_their_cpus(tmp_path: Path) -> None:
    spans = [row | {} for row in ROWS["spans"]]
    first = spans[0]
    key = {name: first[name] for name in ("host", "pid", "tid")}
    common = {**key, "comm": "Executor task l", "run_ns": 0, "run_delay_ns": 0}
    common |= {"timeslices_count": 1, "first": False, "last": False}
    rows = [
        common | {"t_mono_ns": first["start_mono_ns"] + step * 10**9, "cpu": cpu}
        for step, cpu in enumerate((0, 3, 3, None))
    ]
    wanted = {k: ROWS[k] for k in ("apps", "tasks", "spans", "clock_pairs")}
    write_tables(tmp_path, {**wanted, "thread_counters": rows})
    with Tables(tmp_path) as tables:
        made = build(summary(), manifest(), tables)
    drawn, columns = track(made, "places"), unpack(made, "timeline")
    assert (drawn["kind"], drawn["cpus"], drawn["threads"]) == ("places", [0, 3], [key])
    assert "nodes" not in drawn
    assert columns["places.cpu"].tolist() == [0, 3, 3]
    assert np.diff(columns["places.time"]).tolist() == pytest.approx([1000, 1000])
