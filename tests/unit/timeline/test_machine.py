"""Tracks of the machine: what they add up never counts a second twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.report_fixture import HOST, MONO0, WALL0, S, write_tables

from pyrometer.pages.axis import Axis, find_axis
from pyrometer.pages.columns import Pack
from pyrometer.store import Tables
from pyrometer.timeline.machine import host_tracks, place_track
from pyrometer.timeline.timeline import build_timeline

SECONDS, CPUS = 10, 2
AXIS = Axis(WALL0, WALL0 + SECONDS * S, {HOST: WALL0 - MONO0})
HOST_CPU = {
    "cpu_user_ns": 1.62, "cpu_system_ns": 0.31, "cpu_softirq_ns": 0.05, "cpu_steal_ns": 0.02,
    "cpu_idle_ns": 0.0, "cpu_iowait_ns": 0.0,
}  # fmt: skip


class Kept(Pack):
    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, Any] = {}

    def add(self, name: str, values: Any) -> str:
        self.values[name] = values
        return super().add(name, values)


def row(at: float, scope: str, name: str, value: float) -> dict[str, Any]:
    return {
        "host": HOST, "t_mono_ns": int(MONO0 + at * S), "scope": scope, "name": name,
        "value": int(value),
    }  # fmt: skip


def counter(scope: str, name: str, rate: float) -> list[dict[str, Any]]:
    """Readings of a counter, 20 in a second."""
    return [row(k / 20, scope, name, rate * S * k / 20) for k in range(SECONDS * 20 + 1)]


def drawn(folder: Path, rows: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    write_tables(folder, {"os_series": rows})
    kept = Kept()
    with Tables(folder) as tables:
        tracks = {track["id"]: track for track in host_tracks(tables, AXIS, kept)}
    return tracks, kept.values


def level(track: dict[str, Any], values: dict[str, Any], label: str) -> Any:
    (one,) = [series for series in track["series"] if series["label"] == label]
    return np.nanmean(values[one["value"]])


def test_a_saturated_host_is_full(tmp_path: Path) -> None:
    saturated = [
        reading for name, rate in HOST_CPU.items() for reading in counter("host", name, rate)
    ]
    # What the kernel counts besides: the same seconds by thread, by guest, by process, by CPU.
    again = [
        *counter("host", "cpu_threads_ns", 1.98),
        *counter("host", "cpu_guest_ns", 0.4),
        *counter("process/7", "cpu_ns", 1.9),
        *counter("cpu/0", "cpu_user_ns", 0.8),
    ]
    tracks, values = drawn(tmp_path, saturated + again)
    cpu = tracks["cpu0"]
    assert cpu["capacity"] == {"label": "2 CPUs", "value": CPUS}
    stack = np.sum([values[series["value"]] for series in cpu["series"]], axis=0)
    assert np.nanmax(stack) <= CPUS * 1.001
    assert np.nanmin(stack) >= CPUS * 0.999


def test_bytes_of_a_child_that_was_waited_for_count_once(tmp_path: Path) -> None:
    gone = [row(k / 20, "process/8", "rchar_bytes", 1e6 * k) for k in range(60)]
    parent = [
        row(k / 20, "process/7", "rchar_bytes", 1e3 * k + (59e6 if k >= 61 else 0))
        for k in range(201)
    ]
    ids = [row(0, "process/7", "parent_pid", 1), row(0, "process/8", "parent_pid", 7)]
    tracks, values = drawn(tmp_path, gone + parent + ids)
    rate = next(one for one in tracks["disk0"]["series"] if one["label"].startswith("read calls"))
    read = np.nansum(values[rate["value"]]) * AXIS.step_ms / 1e3
    assert read == pytest.approx(59e6 + 200e3, rel=0.02)


def test_a_volume_is_not_added_to_the_disk_below_it(tmp_path: Path) -> None:
    readings = [*counter("disk/sda", "read_bytes", 0.1), *counter("disk/dm-0", "read_bytes", 0.1),
                *counter("disk/md127", "read_bytes", 0.1)]  # fmt: skip
    tracks, values = drawn(tmp_path / "both", readings)
    assert level(tracks["disk0"], values, "disk reads") == pytest.approx(1e8, rel=1e-3)
    # A container may see the volume alone.
    tracks, values = drawn(tmp_path / "volume", counter("disk/dm-0", "read_bytes", 0.1))
    assert level(tracks["disk0"], values, "disk reads") == pytest.approx(1e8, rel=1e-3)


def test_running_tasks_stand_below_their_slots(tmp_path: Path) -> None:
    def task(number: int, begin: float, end: float) -> dict[str, Any]:
        return {
            "app_index": 0, "stage_id": 0, "stage_attempt": 0, "task_attempt_id": number,
            "executor_id": "1", "host": HOST, "status": "success",
            "launch_wall_ns": int(WALL0 + begin * S), "finish_wall_ns": int(WALL0 + end * S),
        }  # fmt: skip

    write_tables(tmp_path, {
        "apps": [{"app_index": 0, "app_id": "a", "start_wall_ns": WALL0,
                  "end_wall_ns": WALL0 + 10 * S, "spark_conf": '{"spark.task.cpus": "2"}'}],
        "executors": [
            {"app_index": 0, "executor_id": "1", "cores_count": 4, "add_wall_ns": WALL0 + 2 * S},
            {"app_index": 0, "executor_id": "2", "cores_count": 4, "add_wall_ns": WALL0 + 4 * S,
             "remove_wall_ns": WALL0 + 6 * S},
            {"app_index": 0, "executor_id": "driver", "cores_count": 0},
        ],
        "tasks": [task(0, 2, 8), task(1, 3, 8)],
    })  # fmt: skip
    kept = Kept()
    with Tables(tmp_path) as tables:
        timeline = build_timeline(tables, find_axis(tables, {}), kept)
    running = next(track for track in timeline["tracks"] if track["id"] == "running")
    slots = kept.values[running["capacity"]["value"]]
    assert running["capacity"]["label"] == "slots"
    at = [float(slots[int(second * 1e3 / timeline["step_ms"])]) for second in (1, 3, 5, 7)]
    assert at == pytest.approx([0, 2, 4, 2])
    assert (kept.values[running["series"][0]["value"]] <= slots + 1e-6).all()


def test_an_event_log_names_what_needs_a_run_once(tmp_path: Path) -> None:
    task = {
        "app_index": 0, "stage_id": 0, "stage_attempt": 0, "task_attempt_id": 1, "executor_id": "1",
        "status": "success", "launch_wall_ns": WALL0 + S, "finish_wall_ns": WALL0 + 2 * S,
    }  # fmt: skip
    write_tables(tmp_path, {"tasks": [task]})
    with Tables(tmp_path) as tables:
        timeline = build_timeline(tables, find_axis(tables, {}), Pack())
    assert [track["id"] for track in timeline["tracks"]] == ["tasks", "running"]
    assert {"CPU, memory, reads", "Heap", "Compilations"} < set(timeline["needs_run"])
    # In a run that was measured, each says why it is empty.
    write_tables(tmp_path, {"os_series": counter("host", "cpu_user_ns", 1.0)})
    with Tables(tmp_path) as tables:
        timeline = build_timeline(tables, find_axis(tables, {}), Pack())
    assert timeline["needs_run"] == []
    assert all(track["reason"] for track in timeline["tracks"] if track["kind"] == "missing")


def test_cpus_of_a_node_stand_together(tmp_path: Path) -> None:
    key = {"host": HOST, "pid": 1, "tid": 2}
    seen = [
        {**key, "comm": "Executor task l", "run_ns": 0, "run_delay_ns": 0, "timeslices_count": 1,
         "first": False, "last": False, "t_mono_ns": MONO0 + cpu * S, "cpu": cpu}
        for cpu in (0, 1, 2, 3)
    ]  # fmt: skip
    span = {**key, "stage_id": 0, "stage_attempt": 0, "task_attempt_id": 0,
            "start_mono_ns": MONO0, "end_mono_ns": MONO0 + 4 * S}  # fmt: skip
    # CPUs of two nodes in turn, as firmware of many servers numbers them.
    nodes = [row(0, f"cpu/{cpu}", "numa_node", cpu % 2) for cpu in range(4)]
    for told, expected in (
        (nodes, ([0, 2, 1, 3], [0, 0, 1, 1])),
        (nodes[:0], ([0, 1, 2, 3], None)),
    ):
        folder = tmp_path / str(len(told))
        folder.mkdir()
        write_tables(folder, {"thread_counters": seen, "spans": [span], "os_series": told})
        with Tables(folder) as tables:
            drawn = place_track(tables, AXIS, Kept())
        assert (drawn["cpus"], drawn.get("nodes")) == expected
