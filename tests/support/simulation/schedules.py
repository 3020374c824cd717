"""Random schedules of executors, stages and attempts within some milliseconds."""

from __future__ import annotations

from hypothesis import strategies as st
from tests.support.tables import MS, WALL0, Rows, wall

END = 60


@st.composite
def schedules(draw: st.DrawFn) -> Rows:
    """Executors that come and go, overlapping stages, attempts that fail or are speculative."""
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
    task = 0
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
            rows["tasks"].append(
                {
                    "app_index": 0,
                    "stage_id": stage,
                    "stage_attempt": 0,
                    "task_attempt_id": task,
                    "task_index": index,
                    "executor_id": str(draw(st.integers(0, len(rows["executors"]) - 1))),
                    "speculative": draw(st.booleans()),
                    "status": draw(st.sampled_from(["success", "failed", "killed"])),
                    "launch_wall_ns": wall(launch),
                    "finish_wall_ns": wall(finish),
                    "has_metrics": False,
                }
            )
            task += 1
    return rows


def ms(value: int) -> int:
    return (value - WALL0) // MS
