"""A run on two hosts that never was: one `World`, its slots dealt to executors of one number."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.tables import (
    HOST,
    MONO0,
    MS,
    PID,
    Rows,
    S,
    StageSpec,
    World,
    mono,
    wall,
    write_tables,
)

from pyrometer.store.axis.times import write_times
from pyrometer.store.axis.write import write_axis

WEST = "west"
DRIVER_PID = 4000
ELSEWHERE = 25 * MS
GC, JIT = 40 * MS, 60 * MS


@dataclass(frozen=True)
class WestClock:
    """The clock of the other host: ahead of the driver's, and ever more so."""

    ahead_ns: int = 0
    drift_ppm: float = 0.0

    def __call__(self, driver_ns: int) -> int:
        """Give what it shows at a time of the driver's."""
        return driver_ns + self.ahead_ns + round((driver_ns - MONO0) * self.drift_ppm * 1e-6)


@dataclass
class TwoHosts:
    """Tables and plugin files of a driver and an executor on one host, an executor on another.

    Attributes
    ----------
    west : WestClock
        Clock of the other host.
    west_pid : int
        Number of the executor's process there; by default that of the first host's executor.
    pings : bool
        Whether the executor asks the driver for its time.
    answer_ns : int
        How long the question and the answer take, each.
    probe : bool
        Whether a probe runs on the other host.
    since_ms : int
        When that begins.
    """

    stages: list[StageSpec]
    west: WestClock = field(default_factory=WestClock)
    west_pid: int = PID
    pings: bool = True
    probe: bool = True
    since_ms: int = 0
    cpus: int = 4
    answer_ns: int = MS // 10

    def __post_init__(self) -> None:
        self.world = World(self.stages, slots=4, cpus=self.cpus)
        self.rows: Rows = {}
        self._tid_of = {row["task_attempt_id"]: row["tid"] for row in self.world.rows["spans"]}
        for table, rows in self.world.rows.items():
            if table not in ("executors", "processes", "clock_pairs", "os_series"):
                self.rows[table] = [self._placed(table, row) for row in rows]
        if not self.probe:
            counters = self.rows["thread_counters"]
            self.rows["thread_counters"] = [row for row in counters if row["host"] == HOST]
        self._processes()
        self._series()

    def _placed(self, table: str, row: dict[str, Any]) -> dict[str, Any]:
        """Move what threads of the upper slots did to the other host, on its clock."""
        tid = self._tid_of.get(row.get("task_attempt_id"), row.get("tid"))
        if table == "tasks":
            return {**row, "executor_id": "2" if tid >= 102 else "1",
                    "host": "10.0.0.2" if tid >= 102 else HOST}  # fmt: skip
        if tid is None or table not in ("spans", "thread_counters", "samples"):
            return row
        moved = {**row, "executor_id": "1"} if table == "spans" else dict(row)
        if 102 <= tid < 200:
            moved |= {"host": WEST, "pid": self.west_pid, "tid": tid - 2}
            if table == "spans":
                moved["executor_id"] = "2"
            for name in ("start_mono_ns", "end_mono_ns", "t_mono_ns", "t_ns"):
                if row.get(name) is not None:
                    moved[name] = self.west(row[name])
        return moved

    def add(self, table: str, **row: Any) -> None:
        """Add a row."""
        self.rows.setdefault(table, []).append(row)

    def _clock(self, host: str) -> Callable[[int], int]:
        return self.west if host == WEST else lambda driver_ns: driver_ns

    def _processes(self) -> None:
        end = self.world.end_ms
        facts = json.dumps({"cpus_count": self.cpus})
        for executor, host, pid in (
            ("driver", HOST, DRIVER_PID), ("1", HOST, PID), ("2", WEST, self.west_pid),
        ):  # fmt: skip
            clock = self._clock(host)
            logged = "10.0.0.2" if host == WEST else HOST
            cores = None if executor == "driver" else 2
            role = "driver" if executor == "driver" else "executor"
            self.add("executors", app_index=0, executor_id=executor, host=logged,
                     cores_count=cores, add_wall_ns=wall(50))  # fmt: skip
            self.add("processes", host=host, pid=pid, executor_id=executor, app_id="local-1",
                     role=role, start_mono_ns=clock(mono(0)), end_mono_ns=clock(mono(end)),
                     facts=facts)  # fmt: skip
        for host in (HOST, WEST):
            for at in range(0, end, 100):
                self.add("clock_pairs", host=host, source="plugin",
                         mono_ns=self._clock(host)(mono(at)), wall_ns=wall(at))  # fmt: skip

    def _series(self) -> None:
        """Write a GC and a JIT thread on each host, and series that add up."""
        end = self.world.end_ms
        watched = (HOST, WEST) if self.probe else (HOST,)
        counters = self.rows["thread_counters"]
        counters[:] = [row for row in counters if row["tid"] < 200]
        for host in watched:
            clock, pid = self._clock(host), self.west_pid if host == WEST else PID
            for tid, comm, used in ((200, "GC Thread#0", GC), (201, "C2 CompilerThre", JIT)):
                for at, value in ((50, 0), (end - 10, used)):
                    self.add("thread_counters", host=host, pid=pid, tid=tid, comm=comm,
                             t_mono_ns=clock(mono(at)), run_ns=value, run_delay_ns=0,
                             timeslices_count=1, first=at == 50, last=False)  # fmt: skip
            process = self.task_cpu(host) + GC + JIT
            busy = process + ELSEWHERE
            for (scope, name), value in {
                ("host", "cpu_user_ns"): busy,
                ("host", "cpu_idle_ns"): self.cpus * end * MS - busy,
                ("host", "cpu_iowait_ns"): 0,
                ("host", "cpu_steal_ns"): 0,
                (f"process/{pid}", "cpu_ns"): process,
                ("probe", "own_cpu_ns"): 0,
            }.items():
                since = self.since_ms if host == WEST else 0
                for at, seen in ((since, value * since // end), (end, value)):
                    self.add("os_series", host=host, scope=scope, name=name, value=seen,
                             t_mono_ns=clock(mono(at)))  # fmt: skip
            self.add("os_series", host=host, scope=f"process/{pid}", name="start_time_mono_ns",
                     value=clock(mono(0)), t_mono_ns=clock(mono(since)))  # fmt: skip
            for at in range(since, end, 50):
                self.add("os_series", host=host, scope="probe", name="passes_count",
                         value=at // 50, t_mono_ns=clock(mono(at)))  # fmt: skip

    def take(self, host: str, part: float) -> None:
        """Let other programs take a part of a host's CPUs all the time."""
        end = self.world.end_ms * MS
        whole = round(self.cpus * end * part) - ELSEWHERE
        begin = self._clock(host)(mono(0))
        for row in self.rows["os_series"]:
            if row["host"] == host and row["scope"] == "host":
                took = whole * (row["t_mono_ns"] - begin) // end
                row["value"] += {"cpu_user_ns": took, "cpu_idle_ns": -took}.get(row["name"], 0)

    def task_cpu(self, host: str) -> int:
        """CPU time of tasks on a host."""
        return sum(row["cpu_ns"] for row in self.rows["spans"] if row["host"] == host)

    def write(self, folder: Path) -> Path:
        """Write a run directory of these tables, on one axis."""
        write_tables(folder, self.rows)
        raw = folder / "raw"
        raw.mkdir(exist_ok=True)
        record = {"k": "process", "host": WEST, "role": "executor", "pid": self.west_pid}
        lines = [record, *(self._ping(at) for at in range(0, self.world.end_ms, 250))]
        if not self.pings:
            lines = [record]
        file = raw / f"plugin-executor-2-{self.west_pid}.ndjson"
        file.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in lines))
        self.doubts = write_axis(folder / "tables", [file], HOST)
        write_times(folder / "tables")
        return folder

    def _ping(self, at_ms: int) -> dict[str, Any]:
        driver = mono(at_ms)
        return {
            "k": "ping",
            "sent_mono_ns": self.west(driver - self.answer_ns),
            "driver_mono_ns": driver,
            "received_mono_ns": self.west(driver + self.answer_ns),
        }


def one_waits(wait_class: str = "timed_sleep") -> TwoHosts:
    """Give a stage whose longest tasks are on the other host; a fifth of their time they wait."""
    two = TwoHosts([StageSpec([1000, 1000, 1600, 1600])], WestClock(2 * S))
    for row in two.rows["samples"]:
        if row.get("wait_class"):
            row["wait_class"] = wait_class if row["host"] == WEST else "timed_sleep"
    return two


BOUND = S // 1000
"""No time of the other host is further off."""


def one_machine(stages: list[StageSpec]) -> TwoHosts:
    """Give two pods on one node: one clock, and the same CPUs, which both of them read."""
    two = TwoHosts(stages)
    end = two.world.end_ms * MS
    for row in two.rows["os_series"]:
        if row["scope"] == "host":
            other = two.task_cpu(HOST if row["host"] == WEST else WEST) + GC + JIT
            used = other * (row["t_mono_ns"] - mono(0)) // end
            row["value"] += {"cpu_user_ns": used, "cpu_idle_ns": -used}.get(row["name"], 0)
    for host in (HOST, WEST):
        for cpu in range(two.cpus):
            for at in (0, two.world.end_ms):
                two.add("os_series", host=host, scope=f"cpu/{cpu}", name="cpu_idle_ns",
                        value=at * MS // 2, t_mono_ns=mono(at))  # fmt: skip
    return two
