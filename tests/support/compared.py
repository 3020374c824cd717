"""Invented event logs that differ in what a test plants: a job of stages, scheduled on slots."""

from __future__ import annotations

import heapq
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.support.simulation.simulated import Log
from tests.support.tables import MS


@dataclass(frozen=True)
class Planned:
    """A stage: its tasks and what each of them does; times in ms."""

    tasks: int = 16
    rows: int = 2_000_000
    cpu_per_row_ms: float = 0.001
    gc_ms: int = 0
    wait_ms: int = 0
    fetch_ms: int = 0
    task_ms: int = 15
    spilled_bytes: int = 0
    name: str = "collect at job.py:7"
    skew: float = 1.0
    retries: int = 0
    retried_ms: int = 4_000


@dataclass(frozen=True)
class Job:
    """Stages one after the other, with the driver's pauses before them."""

    stages: tuple[Planned, ...] = (
        Planned(name="parquet at job.py:3"), Planned(), Planned(name="save at job.py:9"),
    )  # fmt: skip
    executors: int = 4
    cores: int = 2
    pause_ms: int = 300
    startup_ms: int = 500
    slow_host: float = 1.0
    conf: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """Write the tables of its event log."""
        folder.mkdir(parents=True)
        now = self.startup_ms
        log = Log(0, **self.conf)
        for number in range(self.executors):
            log.executor(str(number), self.cores, add_ms=self.startup_ms)
        for number, stage in enumerate(self.stages):
            submit = now + self.pause_ms
            now = self._stage(log, number, stage, submit)
            log.job(number, submit, now, [number])
        end = log.rows["apps"][0]
        end["end_wall_ns"] = end["start_wall_ns"] + (now + 100) * MS
        return log.write(folder)

    def _stage(self, log: Log, number: int, stage: Planned, submit: int) -> int:
        free = [(submit, e, s) for e in range(self.executors) for s in range(self.cores)]
        heapq.heapify(free)
        waiting = list(range(stage.tasks))
        attempts: dict[int, int] = {}
        done = submit
        even = stage.rows / (stage.tasks - 1 + stage.skew)
        while waiting:
            index = waiting.pop(0)
            at, executor, slot = heapq.heappop(free)
            attempt = attempts[index] = attempts.get(index, -1) + 1
            again = index < stage.retries and attempt == 0
            rows = round(even * (stage.skew if index == stage.tasks - 1 else 1))
            slow = self.slow_host if executor == 0 else 1.0
            # One task is never quite like another, nor the same of another stage.
            unlike = Random(f"{number}/{index}").uniform(0.98, 1.02)
            cpu = round(rows * stage.cpu_per_row_ms * slow * unlike)
            wait = round(stage.wait_ms * slow)
            run = cpu + stage.gc_ms + wait + stage.fetch_ms
            length = stage.retried_ms if again else run + stage.task_ms
            metrics = {} if again else {
                "has_metrics": True,
                "executor_run_time_ns": run * MS,
                "executor_cpu_time_ns": cpu * MS,
                "executor_deserialize_time_ns": stage.task_ms // 2 * MS,
                "result_serialization_time_ns": 0,
                "jvm_gc_time_ns": stage.gc_ms * MS,
                "shuffle_fetch_wait_time_ns": stage.fetch_ms * MS,
                "input_records_count": rows,
                "input_bytes": rows * 50,
                "disk_spilled_bytes": stage.spilled_bytes,
            }  # fmt: skip
            log.task(
                number, at, length, executor_id=str(executor), host=f"host-{executor}",
                **{"task_index": index, "attempt": attempt,
                   "status": "failed" if again else "success", **metrics},
            )  # fmt: skip
            if again:
                waiting.insert(0, index)
            heapq.heappush(free, (at + length, executor, slot))
            done = max(done, at + length)
        done += 5
        log.stage(number, submit, done, [number - 1] if number else [])
        log.rows["stages"][-1] |= {
            "name": stage.name,
            "job_id": number,
            "planned_tasks_count": stage.tasks,
            "rdd_names": json.dumps([{"name": "FileScanRDD", "scope": {"name": "Scan parquet"}}]),
        }
        return done
