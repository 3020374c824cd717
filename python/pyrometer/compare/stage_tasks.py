"""Tasks of a run by stage: what the time of each consists of, and how much work it had."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.compare.makespan import Tasks
from pyrometer.compare.slow_hosts import slower
from pyrometer.window.scope import Scope

COLUMNS = (
    "cpu", "gc", "fetch_wait", "shuffle_write", "waits", "slow_host", "retries", "unseen",
    "deserialise", "scheduler_delay", "result",
)  # fmt: skip
"""What the time of a task consists of; the last three it costs however little work it has."""
_PER_TASK = np.array([name in COLUMNS[8:] for name in COLUMNS])
NS = 1e9

Floats = NDArray[np.float64]

_TASKS = """
SELECT t.app_index, t.stage_id, t.task_index, t.status <> 'success' AS lost,
  list_position(?::JSON::VARCHAR[], coalesce(t.host, t.executor_id, '')) - 1 AS host,
  t.has_metrics AS seen,
  t.launch_wall_ns::DOUBLE AS launch, (t.finish_wall_ns - t.launch_wall_ns)::DOUBLE AS duration,
  coalesce(t.finish_wall_ns - t.getting_result_wall_ns, 0)::DOUBLE AS fetching,
  {columns}
FROM tasks t JOIN (SELECT DISTINCT app_index, stage_id FROM w_tasks) USING (app_index, stage_id)
WHERE t.launch_wall_ns IS NOT NULL AND t.finish_wall_ns >= t.launch_wall_ns
  AND NOT (coalesce(t.speculative, false) AND t.status <> 'success')
  AND t.reason IS DISTINCT FROM 'Resubmitted'
  AND app_index * {most} + stage_id BETWEEN ? AND ?
ORDER BY t.app_index, t.stage_id, t.task_index, lost DESC, t.launch_wall_ns
"""
_HOSTS = "SELECT DISTINCT coalesce(host, executor_id, '') AS host FROM tasks ORDER BY host"
_MOST_STAGES = 1 << 31
_STAGES = f"""
SELECT app_index * {_MOST_STAGES} + stage_id AS stage, count(*) AS count
FROM w_tasks GROUP BY ALL ORDER BY ALL
"""
# That many tasks are read at a time, or an eighth of all: what is read lies in memory three times.
_AT_ONCE = 16_384
_PASSES = 8
_READ = {
    "run": "executor_run_time_ns", "cpu": "executor_cpu_time_ns", "gc": "jvm_gc_time_ns",
    "deserialise": "executor_deserialize_time_ns", "serialise": "result_serialization_time_ns",
    "fetch_wait": "shuffle_fetch_wait_time_ns", "shuffle_write": "shuffle_write_time_ns",
    "input_bytes": "input_bytes", "input_rows": "input_records_count",
    "shuffle_bytes": "shuffle_read_local_bytes",
    "shuffle_remote_bytes": "shuffle_read_remote_bytes",
    "shuffle_rows": "shuffle_read_records_count", "spilled_bytes": "disk_spilled_bytes",
    "written_bytes": "shuffle_written_bytes", "output_bytes": "output_bytes",
    "output_rows": "output_records_count",
}  # fmt: skip


def _read(scope: Scope) -> tuple[dict[str, Any], list[str]]:
    """Read the columns of all tasks in order, some stages at a time; hosts by their number."""
    hosts = [name for (name,) in scope.tables.query(_HOSTS)]
    columns = ", ".join(f"coalesce({c}, 0)::DOUBLE AS {name}" for name, c in _READ.items())
    sql = _TASKS.format(columns=columns, most=_MOST_STAGES)
    read: list[dict[str, Any]] = []
    for passed in _passes(scope) or [(0, 0)]:
        found = scope.tables.columns(sql, [json.dumps(hosts), *passed])
        read.append({name: np.ma.getdata(column) for name, column in found.items()})
    return {n: np.concatenate([one.pop(n) for one in read]) for n in list(read[0])}, hosts


def _passes(scope: Scope) -> list[tuple[int, int]]:
    """Split stages, as numbers over all applications, into ranges of not too many tasks."""
    stages = scope.tables.query(_STAGES)
    most = max(_AT_ONCE, sum(count for _, count in stages) // _PASSES)
    found: list[tuple[int, int]] = []
    tasks = most
    for stage, count in stages:
        if tasks + count > most:
            found.append((stage, stage))
            tasks = 0
        found[-1] = (found[-1][0], stage)
        tasks += count
    return found


class TasksOf:
    """Tasks of all stages of a run, by stage."""

    def __init__(self, scope: Scope) -> None:
        self.columns, self.hosts = _read(scope)
        self.host = self.columns.pop("host")
        count = self.columns["launch"].size
        self.stages: dict[tuple[int, int], slice] = {}
        self.number = np.zeros(count, dtype=np.int64)
        if count:
            apps, ids = self.columns["app_index"], self.columns["stage_id"]
            edges = np.flatnonzero((np.diff(apps) != 0) | (np.diff(ids) != 0)) + 1
            bounds = [0, *edges.tolist(), count]
            for n, (since, until) in enumerate(pairwise(bounds)):
                self.stages[int(apps[since]), int(ids[since])] = slice(since, until)
                self.number[since:until] = n
        self.volume = self._volume()
        self.parts, self.slow = self._parts()

    def _volume(self) -> Floats:
        """Give rows of each task, in a stage without them bytes, or else rows written."""
        c, n = self.columns, len(self.stages)
        found = np.zeros(self.number.size)
        for values in (
            c["input_rows"] + c["shuffle_rows"],
            c["input_bytes"] + c["shuffle_bytes"] + c["shuffle_remote_bytes"],
            c["output_rows"],
        ):
            none = np.bincount(self.number, found, n) <= 0
            found = np.where(none[self.number], values, found) if n else found
        return found

    def _parts(self) -> tuple[Floats, set[int]]:
        """Split the time of each attempt; what is split off is never more than what is left."""
        c = self.columns
        parts = np.zeros((c["launch"].size, len(COLUMNS)))
        if not parts.size:
            return parts, set()
        lost, seen = c["lost"].astype(bool), c["seen"].astype(bool)
        good = ~lost & seen
        left = c["duration"] / NS
        parts[lost, COLUMNS.index("retries")] = left[lost]
        parts[~lost & ~seen, COLUMNS.index("unseen")] = left[~lost & ~seen]
        left = np.where(good, left, 0.0)

        def take(column: str, ns: Floats, of: Floats) -> Floats:
            taken = np.minimum(np.maximum(np.where(good, ns / NS, 0.0), 0.0), of)
            parts[:, COLUMNS.index(column)] += taken
            return of - taken

        # The run is split; what is outside it is what a task costs beside its work.
        run = np.minimum(np.maximum(c["run"] / NS, 0.0), left)
        outside = left - np.where(good, run, 0.0)
        outside = take("deserialise", c["deserialise"], outside)
        outside = take("result", c["serialise"] + c["fetching"], outside)
        take("scheduler_delay", outside * NS, outside)
        inside = np.where(good, run, 0.0)
        inside = take("gc", c["gc"], inside)
        inside = take("cpu", c["cpu"], inside)
        inside = take("fetch_wait", c["fetch_wait"], inside)
        inside = take("shuffle_write", c["shuffle_write"], inside)
        take("waits", inside * NS, inside)
        slow = slower(
            np.where(good, c["run"] - c["gc"], 0.0),
            [
                c["input_rows"] + c["shuffle_rows"],
                c["input_bytes"] + c["shuffle_bytes"] + c["shuffle_remote_bytes"],
                c["output_bytes"] + c["written_bytes"],
            ],
            self.number, self.host,
        )  # fmt: skip
        work = [COLUMNS.index(name) for name in ("cpu", "fetch_wait", "shuffle_write", "waits")]
        for host, ratio in slow.items():
            mine = self.host == host
            for column in work:
                more = parts[mine, column] * (1 - 1 / ratio)
                parts[mine, column] -= more
                parts[mine, COLUMNS.index("slow_host")] += more
        return parts, set(slow)

    def of(self, place: slice) -> Tasks | None:
        """Join the attempts of each task: time of those that were lost is part of it."""
        index = self.columns["task_index"][place]
        new = np.ones(index.size, dtype=bool)
        new[1:] = np.diff(index) != 0
        first = np.flatnonzero(new)
        if not first.size:
            return None
        parts = np.add.reduceat(self.parts[place], first, axis=0)
        volume = np.add.reduceat(np.where(self.columns["lost"][place].astype(bool), 0.0,
                                          self.volume[place]), first)  # fmt: skip
        order = np.argsort(np.minimum.reduceat(self.columns["launch"][place], first), kind="stable")
        return Tasks(parts[order], _PER_TASK, volume[order])

    def at_once(self, place: slice) -> int:
        """Give the most tasks that ran at once."""
        launch = self.columns["launch"][place]
        ends = launch + self.columns["duration"][place]
        times = np.concatenate([ends, launch])
        change = np.concatenate([-np.ones(ends.size), np.ones(launch.size)])
        order = np.lexsort((change, times))
        return max(1, int(np.cumsum(change[order]).max(initial=1)))

    def counts(self, place: slice, slots: int) -> dict[str, float]:
        """Give what all tasks of a stage add up to, for evidence."""
        c = self.columns
        lost = c["lost"][place].astype(bool)
        found = {
            name: float(c[name][place].sum())
            for name in (
                "input_rows",
                "input_bytes",
                "shuffle_rows",
                "written_bytes",
                "spilled_bytes",
                "output_bytes",
            )
        }
        found["shuffle_bytes"] = float(
            c["shuffle_bytes"][place].sum() + c["shuffle_remote_bytes"][place].sum()
        )
        sums = self.parts[place].sum(axis=0)
        found |= {f"{name}_s": float(sums[n]) for n, name in enumerate(COLUMNS)}
        found |= {
            "tasks": float(np.unique(c["task_index"][place]).size),
            "lost_attempts": float(lost.sum()),
            "slots": float(slots),
            "task_s": float(c["duration"][place].sum()) / NS,
            "volume": float(self.volume[place][~lost].sum()),
            "most_volume": float(self.volume[place][~lost].max(initial=0.0)),
        }
        return found

    def slow_hosts(self, place: slice) -> list[str]:
        """Name the slow hosts that ran tasks of a stage."""
        return sorted(self.hosts[n] for n in self.slow & set(self.host[place].tolist()))
