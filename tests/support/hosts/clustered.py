"""A run on a driver and executors whose clocks are planted: its tables and plugin files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.hosts.clocks import MS, PlantedClock, S, delays

from pyrometer.store.paths import RunPaths
from pyrometer.store.run import Run
from pyrometer.store.tables import Tables
from pyrometer.store.write_tables import write_rows

DRIVER = "front"
WALL = 1_700_000_000 * S


@dataclass
class Cluster:
    """What is written of a run of ten minutes.

    Attributes
    ----------
    clocks : dict of str to PlantedClock
        Of each executor's host.
    set_at_s, set_by_ns : float, int
        When the driver's wall clock was set, after the beginning, and by how much.
    """

    clocks: dict[str, PlantedClock]
    set_at_s: float = 300.25
    set_by_ns: int = 0
    tasks_count: int = 300
    pings_count: int = 0
    walls: Sequence[str] = ()
    with_driver: bool = True
    attempts_count: int = 1
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(4))

    def wall(self, driver_ns: Any) -> Any:
        """What the driver's wall clock shows."""
        driver_ns = np.asarray(driver_ns)
        begin = next(iter(self.clocks.values()))
        first = begin.start_ns + begin.offset_ns
        return WALL + driver_ns + self.set_by_ns * (driver_ns - first > self.set_at_s * S)

    def write(self, root: Path) -> Run:
        """Write the run's files, and open them."""
        paths = RunPaths(root)
        for folder in (paths.tables, paths.raw):
            folder.mkdir(parents=True)
        rows = self._rows()
        for table, values in rows.items():
            write_rows(paths.tables, table, values)
        for number, (host, clock) in enumerate(self.clocks.items()):
            lines = [{"k": "process", "host": host, "role": "executor"}, *self._pings(clock)]
            text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
            (paths.raw / f"plugin-executor-{number}-{number}.ndjson").write_text(text)
        return Run(paths, Tables(paths.tables), None)

    def _pings(self, clock: PlantedClock) -> list[dict[str, Any]]:
        asked = clock.start_ns + np.arange(self.pings_count) * 10 * S
        there, back = delays(self.random, self.pings_count, 0.1 * MS, 1.5), 100_000
        _, driver = clock.sent(asked, there)
        # Slewed or not, a clock is within a thousandth of the driver's.
        received = asked + np.ceil(1.001 * there).astype(np.int64) + back
        return [
            {"k": "ping", "sent_mono_ns": s, "driver_mono_ns": d, "received_mono_ns": r}
            for s, d, r in zip(asked.tolist(), driver.tolist(), received.tolist(), strict=True)
        ]

    def _rows(self) -> dict[str, list[dict[str, Any]]]:
        rows: dict[str, list[dict[str, Any]]] = {
            "apps": [{"app_index": a, "app_id": "app"} for a in range(self.attempts_count)],
            "stages": [{"app_index": 0, "stage_id": 0, "stage_attempt": 0}],
            "processes": [self._process(DRIVER, "driver", 1, 0)] if self.with_driver else [],
            "tasks": [],
            "spans": [],
            "clock_pairs": [],
        }
        for number, (host, clock) in enumerate(self.clocks.items()):
            rows["processes"].append(self._process(host, str(number), 2, clock.start_ns))
            self._tasks(rows, number, host, clock)
            for at in range(0, 610, 10) if host in self.walls else ():
                mono = clock.start_ns + at * S
                rows["clock_pairs"].append(_pair(host, mono, WALL + mono + clock.offset_ns))
        begin = next(iter(self.clocks.values()))
        driver = begin.start_ns + begin.offset_ns + np.arange(-5, 700) * S
        pairs = zip(driver.tolist(), self.wall(driver).tolist(), strict=True)
        rows["clock_pairs"] += [_pair(DRIVER, *pair) for pair in pairs]
        return rows

    def _process(self, host: str, executor: str, pid: int, start: int) -> dict[str, Any]:
        role = "driver" if executor == "driver" else "executor"
        facts = {"host": host, "role": role, "executor_id": executor, "pid": pid}
        return {**facts, "app_id": "app", "start_mono_ns": start}

    def _tasks(self, rows: Any, number: int, host: str, clock: PlantedClock) -> None:
        count = self.tasks_count
        start = clock.start_ns + np.sort(self.random.integers(0, 600 * S, count))
        end = start + self.random.integers(MS, 2 * S, count)
        launched, _ = clock.received(start, delays(self.random, count, 0.3 * MS, 1.5))
        _, finished = clock.sent(end, delays(self.random, count, 0.3 * MS, 1.5))
        for index in range(count):
            common = {
                "stage_id": 0,
                "stage_attempt": 0,
                "task_attempt_id": number * count + index,
                "partition": index,
                "executor_id": str(number),
                "host": host,
            }
            # What the driver gave up ended at its word, before the executor's.
            lost = index % 50 == 7
            at = int(launched[index]) if lost else int(finished[index])
            rows["tasks"].append(
                common
                | {"app_index": 0, "status": "killed" if lost else "success"}
                | {"launch_wall_ns": _milliseconds(self.wall(launched[index]))}
                | {"finish_wall_ns": _milliseconds(self.wall(at))}
            )
            rows["spans"].append(
                common
                | {"pid": 2, "tid": 3, "status": "failed" if lost else "success"}
                | {"start_mono_ns": int(start[index]), "end_mono_ns": int(end[index])}
            )


def _pair(host: str, mono: int, wall: int) -> dict[str, Any]:
    return {"host": host, "source": "plugin", "mono_ns": mono, "wall_ns": wall}


def _milliseconds(wall_ns: Any) -> int:
    return int(wall_ns) // MS * MS
