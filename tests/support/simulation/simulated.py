"""Invented runs for the simulator: tables of an event log alone, in milliseconds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.tables import MS, Rows, wall, write_tables

from pyrometer.simulation.analysis import Question, analyse
from pyrometer.simulation.measured import Measured, measured_of
from pyrometer.simulation.schema import SimulationReport
from pyrometer.store import Run
from pyrometer.window.windows import choose


class Log:
    """An event log that a test writes: jobs of stages of tasks."""

    def __init__(self, end_ms: int, **conf: str) -> None:
        self.rows: Rows = {"apps": [], "executors": [], "jobs": [], "stages": [], "tasks": []}
        self.rows["apps"].append(
            {
                "app_index": 0,
                "app_id": "a",
                "app_name": "invented",
                "master": "yarn",
                "spark_version": "3.5.0",
                "start_wall_ns": wall(0),
                "end_wall_ns": wall(end_ms),
                "spark_conf": json.dumps({"spark.executor.memory": "4g", **conf}),
                "source_files": "[]",
                "events_count": 1,
                "uncompressed_bytes": 1,
            }
        )

    def executor(self, name: str, cores: int, add_ms: int = 0, **columns: Any) -> None:
        """Add an executor on a host of its own."""
        row = {"app_index": 0, "executor_id": name, "host": f"host-{name}", "cores_count": cores}
        self.rows["executors"].append({**row, "add_wall_ns": wall(add_ms), **columns})

    def job(self, job: int, submit_ms: int, end_ms: int, stages: list[int]) -> None:
        """Add a job."""
        self.rows["jobs"].append(
            {
                "app_index": 0,
                "job_id": job,
                "submit_wall_ns": wall(submit_ms),
                "end_wall_ns": wall(end_ms),
                "status": "succeeded",
                "stage_ids": stages,
            }
        )

    def stage(self, stage: int, submit_ms: int, complete_ms: int, parents: list[int]) -> None:
        """Add a stage attempt."""
        self.rows["stages"].append(
            {
                "app_index": 0,
                "stage_id": stage,
                "stage_attempt": 0,
                "name": f"stage {stage}",
                "parent_ids": parents,
                "submit_wall_ns": wall(submit_ms),
                "complete_wall_ns": wall(complete_ms),
                "status": "succeeded",
            }
        )

    def task(self, stage: int, launch_ms: int, length_ms: int, **columns: Any) -> None:
        """Add a task attempt; IDs count up."""
        number = len(self.rows["tasks"])
        self.rows["tasks"].append(
            {
                "app_index": 0,
                "stage_id": stage,
                "stage_attempt": 0,
                "task_attempt_id": number,
                "task_index": number,
                "attempt": 0,
                "executor_id": "1",
                "speculative": False,
                "status": "success",
                "launch_wall_ns": wall(launch_ms),
                "finish_wall_ns": wall(launch_ms + length_ms),
                "has_metrics": False,
                **columns,
            }
        )

    def write(self, folder: Path) -> Path:
        """Write the tables."""
        write_tables(folder, self.rows)
        return folder


def measured(folder: Path) -> Measured:
    """Read what a scheduler can know."""
    with Run.open(folder) as run:
        return measured_of(run, choose(run, None))


def simulated(folder: Path, **asked: Any) -> SimulationReport:
    """Simulate a run."""
    with Run.open(folder) as run:
        window = choose(run, None)
        return analyse(measured_of(run, window), window, "", Question(**asked))


def ms(ns: float | None) -> float | None:
    """Give milliseconds."""
    return None if ns is None else ns / MS
