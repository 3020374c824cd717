"""Random schedules of executors, stages and attempts within some milliseconds."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st
from tests.support.tables import MS, WALL0, Rows, wall

END = 60


@st.composite
def schedules(draw: st.DrawFn) -> Rows:
    """Executors that come and go, overlapping stages, attempts that fail or have copies."""
    rows: Rows = {"apps": [], "executors": [], "stages": [], "tasks": []}
    rows["apps"].append(
        {
            "app_index": 0,
            "app_id": "a",
            "start_wall_ns": wall(0),
            "end_wall_ns": wall(END),
            "spark_conf": '{"spark.task.cpus": "2"}' if draw(st.booleans()) else "{}",
            "source_files": "[]",
            "events_count": 1,
            "uncompressed_bytes": 1,
        }
    )
    for number in range(draw(st.integers(1, 3))):
        since = draw(st.integers(0, END - 1))
        until = draw(st.none() | st.integers(since, END))
        rows["executors"].append(
            {
                "app_index": 0,
                "executor_id": str(number),
                "cores_count": draw(st.integers(1, 4)),
                "add_wall_ns": wall(since),
                "remove_wall_ns": None if until is None else wall(until),
            }
        )
    for stage in range(draw(st.integers(0, 3))):
        since = draw(st.integers(0, END - 1))
        until = draw(st.integers(since, END))
        planned = draw(st.integers(0, 6))
        rows["stages"].append(
            {
                "app_index": 0,
                "stage_id": stage,
                "stage_attempt": 0,
                "parent_ids": [],
                "planned_tasks_count": planned,
                "submit_wall_ns": wall(since),
                "complete_wall_ns": wall(until),
                "status": "succeeded",
            }
        )
        for index in range(draw(st.integers(0, planned))):
            launch = draw(st.integers(since, until))
            finish = draw(st.integers(launch, END))
            attempt: dict[str, Any] = {
                "app_index": 0,
                "stage_id": stage,
                "stage_attempt": 0,
                "task_attempt_id": len(rows["tasks"]),
                "task_index": index,
                "executor_id": str(draw(st.integers(0, len(rows["executors"]) - 1))),
                "speculative": draw(st.booleans()),
                "status": draw(st.sampled_from(["success", "failed", "killed"])),
                "launch_wall_ns": wall(launch),
                "finish_wall_ns": wall(finish),
                "has_metrics": False,
            }
            rows["tasks"].append(attempt)
            if draw(st.booleans()):
                rows["tasks"].append(attempt | draw(_copies(len(rows["tasks"]), launch, until)))
    return rows


@st.composite
def _copies(draw: st.DrawFn, number: int, since: int, until: int) -> dict[str, Any]:
    """Give what a speculative copy of an attempt has of its own."""
    launch = draw(st.integers(since, until))
    return {
        "task_attempt_id": number,
        "speculative": True,
        "status": draw(st.sampled_from(["success", "killed"])),
        "launch_wall_ns": wall(launch),
        "finish_wall_ns": wall(draw(st.integers(launch, END))),
    }


def put_back(rows: Rows, attempt: dict[str, Any]) -> int | None:
    """When an attempt, or a copy beside it, put its task back; ``None``: it was done."""
    beside = [
        x
        for x in rows["tasks"]
        if (x["stage_id"], x["task_index"]) == (attempt["stage_id"], attempt["task_index"])
        and attempt["launch_wall_ns"] <= x["finish_wall_ns"]
        and x["launch_wall_ns"] < attempt["finish_wall_ns"]
    ]
    if any(x["status"] == "success" for x in (attempt, *beside)):
        return None
    return ms(max(x["finish_wall_ns"] for x in (attempt, *beside)))


def ms(value: int) -> int:
    return (value - WALL0) // MS
