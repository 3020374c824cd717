"""A run of two applications whose drivers are on different hosts, with clocks that are planted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.hosts.clocks import MS, PPM, PlantedClock, S, delays

from pyrometer.core.doubt import Doubt
from pyrometer.store.axis.times import write_times
from pyrometer.store.axis.write import write_axis
from pyrometer.store.paths import RunPaths
from pyrometer.store.run import Run
from pyrometer.store.tables import Tables
from pyrometer.store.write_tables import write_rows

FRONT, BACK = "front", "back"
START, WALL, LENGTH = 900_000 * S, 1_700_000_000 * S, 60
BACK_BEHIND = 3 * S
"""What the wall clock of the second driver's host is behind that of the first's."""
CLOCKS = {
    FRONT: PlantedClock(START, 0, [], [0.0]),
    BACK: PlantedClock(70 * S, START - 70 * S, [], [0.0]),
    "east": PlantedClock(5_000 * S, START - 5_000 * S, [], [40 * PPM]),
    "west": PlantedClock(31 * S, START - 31 * S, [], [-60 * PPM]),
}
"""Each against that of the first driver, which is the true time."""


@dataclass
class TwoDrivers:
    """Tasks and round trips of a minute: of each application, on the hosts of its executors.

    Attributes
    ----------
    hosts : dict of str to list of str
        By the host of a driver, those of its executors.
    """

    hosts: dict[str, list[str]]
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    pings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    doubts: list[Doubt] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(7)
        for number, (driver, executors) in enumerate(self.hosts.items()):
            self._add("apps", app_index=number, app_id=driver, source_files="[]",
                      start_wall_ns=self._wall(driver, 0),
                      end_wall_ns=self._wall(driver, LENGTH * S))  # fmt: skip
            self._add("stages", app_index=number, stage_id=0, stage_attempt=0, status="succeeded",
                      submit_wall_ns=self._wall(driver, 0),
                      complete_wall_ns=self._wall(driver, LENGTH * S))  # fmt: skip
            self._process(driver, driver, "driver", 1)
            for place, host in enumerate(executors):
                self._process(driver, host, str(place), 2 + number)
                self._tasks(number, driver, host, str(place))
        for host in {one for driver, hosts in self.hosts.items() for one in (driver, *hosts)}:
            for at in range(-1, LENGTH + 2):
                mono = self._shown(host, at * S)
                self._add("clock_pairs", host=host, source="plugin", mono_ns=mono,
                          wall_ns=self._wall(host, at * S, 1))  # fmt: skip

    def _add(self, table: str, **row: Any) -> None:
        self.rows.setdefault(table, []).append(row)

    @staticmethod
    def _shown(host: str, since_ns: int) -> int:
        """What the monotonic clock of a host shows so long after the begin."""
        clock = CLOCKS[host]
        return clock.start_ns + round(since_ns / (1 + clock.rates[0]))

    @staticmethod
    def _wall(host: str, since_ns: int, grain_ns: int = MS) -> int:
        shown = WALL + since_ns - (BACK_BEHIND if host == BACK else 0)
        return shown - shown % grain_ns

    def _process(self, app: str, host: str, executor: str, pid: int) -> None:
        role = "driver" if executor == "driver" else "executor"
        self._add("processes", host=host, role=role, executor_id=executor, pid=pid, app_id=app,
                  start_mono_ns=self._shown(host, -S))  # fmt: skip

    def _tasks(self, number: int, driver: str, host: str, executor: str) -> None:
        begin = np.sort(self.random.integers(0, (LENGTH - 3) * S, 100))
        lag = delays(self.random, 100, 0.5 * MS, 3.0).astype(np.int64)
        for index, (at, late) in enumerate(zip(begin.tolist(), lag.tolist(), strict=True)):
            task = {"stage_id": 0, "stage_attempt": 0, "executor_id": executor, "host": host,
                    "task_attempt_id": int(executor) * 100 + index,
                    "status": "success"}  # fmt: skip
            self._add("spans", **task, pid=2 + number, tid=3, start_mono_ns=self._shown(host, at),
                      end_mono_ns=self._shown(host, at + S))  # fmt: skip
            self._add("tasks", **task, app_index=number, partition=index, task_index=index,
                      attempt=0, speculative=False, has_metrics=False,
                      launch_wall_ns=self._wall(driver, at - late),
                      finish_wall_ns=self._wall(driver, at + S + late))  # fmt: skip
        self.pings[f"{driver}-{executor}-{host}"] = [
            {"k": "process", "host": host, "role": "executor", "app_id": driver},
            *({"k": "ping", "sent_mono_ns": self._shown(host, at * S - MS),
               "driver_mono_ns": self._shown(driver, at * S),
               "received_mono_ns": self._shown(host, at * S + MS)}
              for at in range(0, LENGTH, 10)),
        ]  # fmt: skip

    def write(self, root: Path, launch_host: str | None = None) -> Run:
        """Write the tables on one axis, and open them."""
        paths = RunPaths(root)
        for folder in (paths.tables, paths.raw):
            folder.mkdir(parents=True)
        for table, values in self.rows.items():
            write_rows(paths.tables, table, values)
        files = []
        for name, lines in self.pings.items():
            files.append(paths.raw / f"plugin-executor-{name}.ndjson")
            text = "".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines)
            files[-1].write_text(text)
        self.doubts = write_axis(paths.tables, files, launch_host)
        write_times(paths.tables)
        return Run(paths, Tables(paths.tables), None)
