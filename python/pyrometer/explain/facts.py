"""What a rule sees: the tables, the summary and the schedule of one window of a run.

Everything is computed when a rule first asks, and once. Nothing here starts a process or reads
outside the run directory.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pyrometer.accounts.ledger.parts import stage_times
from pyrometer.accounts.plan_schema import Node, Sql
from pyrometer.attribution.samples import CATEGORY, attribution
from pyrometer.core.errors import UsageError
from pyrometer.core.estimate import Estimate
from pyrometer.core.schema import spark_unit
from pyrometer.explain.change import Less
from pyrometer.explain.task_columns import StageSums, task_columns, together
from pyrometer.explain.task_columns import TaskColumns as TaskColumns
from pyrometer.explain.what_if import WhatIf
from pyrometer.simulation.cluster import most_slots
from pyrometer.simulation.measured import Floats, Measured, Stage, measured_of
from pyrometer.simulation.scheduler import calibrate
from pyrometer.statistics.shares import wilson
from pyrometer.store.tables import Tables
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope

T = TypeVar("T")


@dataclass
class Facts:
    """One window of a run, for rules to look at.

    Attributes
    ----------
    scope : Scope
        The open run, cut to the window.
    summary : Summary
        All accounts of the window.
    kept : dict
        What readers of evidence found, for the next rule that asks.
    """

    scope: Scope
    summary: Summary
    app_index: int | None = None
    unscheduled: str | None = None
    kept: dict[Any, Any] = field(default_factory=dict)

    @property
    def tables(self) -> Tables:
        """The tables of the run."""
        return self.scope.tables

    def has(self, table: str) -> bool:
        """Whether the run has rows of a table."""
        return self.scope.has(table)

    @cached_property
    def measured(self) -> Measured | None:
        """What the simulator knows; None, with `unscheduled`, where it cannot be scheduled.

        Raises
        ------
        UsageError
            If there is no such application.
        """
        try:
            return measured_of(self.scope.run, self.scope.window, self.app_index)
        except UsageError as error:
            if self.app_index not in (None, *(app.app_index for app in self.summary.apps)):
                raise
            self.unscheduled = error.message
            return None

    @cached_property
    def what_if(self) -> WhatIf | None:
        """The simulator at the measured size."""
        if self.measured is None:
            return None
        try:
            return WhatIf(calibrate(self.measured))
        except UsageError as error:
            self.unscheduled = error.message
            return None

    @property
    def stages(self) -> Sequence[Stage]:
        """Stage attempts that were completed in the window; `Stage.number` is their place."""
        return self.measured.stages if self.measured else ()

    @cached_property
    def _numbers(self) -> dict[tuple[int, int], int]:
        return {(stage.stage_id, stage.attempt): stage.number for stage in self.stages}

    def number(self, stage_id: int, attempt: int = 0) -> int | None:
        """Give the number of a stage attempt, None where the simulator does not know it."""
        return self._numbers.get((stage_id, attempt))

    def is_sql(self, stage: Stage) -> bool:
        """Whether a stage works for an SQL execution; else settings of Spark SQL do not count."""
        return stage.stage_id in self._sql_stages

    @cached_property
    def _sql_stages(self) -> frozenset[int]:
        rows = self.tables.query(
            "SELECT stage_id FROM stages WHERE sql_id IS NOT NULL AND app_index ="
            f" {0 if self.measured is None else self.measured.app_index}"
        )
        return frozenset(stage_id for (stage_id,) in rows)

    @property
    def slots(self) -> int:
        """Most slots at one time: of executors that replace others, only these count."""
        return most_slots(self.measured.executors) if self.measured else 0

    @property
    def elapsed_ns(self) -> int:
        """Elapsed time of the window."""
        return self.measured.elapsed_ns if self.measured else (self.scope.window.length_ns or 0)

    def setting(self, name: str, default: str | None = None) -> str | None:
        """Give a setting as the application had it, or Spark's default where that is known."""
        values = self.measured.settings.values if self.measured else {}
        return values.get(name, default)

    def size(self, name: str, default: str) -> str:
        """Give a setting that is a size as the application had it, with its unit."""
        text = (self.setting(name) or default).strip()
        return f"{text}{spark_unit(name) or 'b'}" if text.isdigit() else text

    @property
    def heap_setting(self) -> str:
        """Name the setting of the heap that tasks ran in: of the driver in local mode."""
        masters = [app.master for app in self.summary.apps if app.app_index == self._app]
        master = next((one for one in masters if one), self.setting("spark.master")) or ""
        local = re.match(r"local(\[|$)", master)
        return "spark.driver.memory" if local else "spark.executor.memory"

    @property
    def _app(self) -> int | None:
        return self.measured.app_index if self.measured else self.app_index

    @property
    def release(self) -> tuple[int, int]:
        """Major and minor number of the application's Spark; (0, 0) where that is not known."""
        of = [app.spark_version for app in self.summary.apps if app.app_index == self._app]
        found = re.match(r"(\d{1,9})\.(\d{1,9})", next((one for one in of if one), ""))
        return (int(found[1]), int(found[2])) if found else (0, 0)

    def is_on(self, name: str, default: bool = False) -> bool:
        """Whether a setting is true."""
        text = self.setting(name)
        return default if text is None else text.strip().lower() == "true"

    @cached_property
    def tasks(self) -> TaskColumns:
        """All task attempts that the simulator knows, in its order."""
        return task_columns(self.tables, self.measured)

    def let_tasks_go(self) -> None:
        """Forget the columns of `tasks`: who asks again has them read again."""
        for name in ("tasks", "_sums"):
            self.__dict__.pop(name, None)

    def more_of_tasks(self, columns: str) -> dict[str, Any]:
        """Give further columns of `tasks`, in the same order: aggregates over rows of an attempt.

        Parameters
        ----------
        columns : str
            SQL, of table ``tasks`` as ``t``: ``any_value(t.locality) AS locality``.
        """
        if self.measured is None:
            return {}
        return together(self.tables, self.measured.app_index, columns)

    def place_of(self, number: int) -> slice:
        """Give the place of a stage's tasks in the columns of `tasks`, by its number."""
        return slice(self._first[number], self._first[number + 1])

    @cached_property
    def _first(self) -> list[int]:
        return self.measured.first_tasks if self.measured else [0]

    def tasks_of(self, number: int) -> TaskColumns:
        """Task attempts of a stage, by its number."""
        all_ = self.tasks
        return TaskColumns(all_.columns, all_.names, self.place_of(number), self._sums, number)

    @cached_property
    def _sums(self) -> StageSums:
        return StageSums(self.tasks.columns, self._first)

    def spent_ns(self, name: str) -> dict[int, Floats]:
        """Give a time within each task, at most all of it, by number of the stage; null is none."""
        whole = np.minimum(np.nan_to_num(self.tasks[name]), self.tasks.duration_ns)
        return {stage.number: whole[self.place_of(stage.number)] for stage in self.stages}

    @cached_property
    def ledger(self) -> dict[int, dict[str, float]]:
        """Rows of the ledger's slot view by number of the stage: path to nanoseconds."""
        found: dict[int, dict[str, float]] = {}
        for stage_id, attempt, times in stage_times(self.scope, max(1, len(self.stages))):
            number = self.number(stage_id, attempt)
            if number is not None:
                found[number] = dict(times)
        return found

    def ledger_ns(self, path: str) -> dict[int, float]:
        """Give one row of the ledger by number of the stage, where it is more than nothing."""
        return {
            number: rows[path] for number, rows in self.ledger.items() if rows.get(path, 0.0) > 0
        }

    def share_of_tasks(self, what: str, ns: Mapping[int, float]) -> Less:
        """Take time away that is known as a sum for each stage: from its tasks in proportion.

        Parameters
        ----------
        ns : mapping of int to float
            Nanoseconds of all tasks of a stage together, by number of the stage.
        """
        shares: dict[int, Floats | float] = {}
        for number, less in ns.items():
            total = float(self.tasks_of(number).duration_ns.sum())
            if total > 0 and less > 0:
                shares[number] = min(1.0, less / total)
        return Less(what, shares)

    @cached_property
    def cpu_ns(self) -> dict[int, float]:
        """CPU of tasks by number of the stage, by Spark's counter."""
        return {
            stage.number: self.tasks_of(stage.number).total("executor_cpu_time_ns")
            for stage in self.stages
        }

    def cpu_share(self, number: int) -> float:
        """Share of a stage's task time that goes with its CPU: on a CPU, and waiting for one.

        Where CPU is saved, the waits for a CPU that it caused go in proportion.
        """
        rows = self.ledger.get(number, {})
        total = float(self.tasks_of(number).duration_ns.sum())
        if total <= 0:
            return 0.0
        if "task/on_cpu" in rows:
            return min(1.0, (rows["task/on_cpu"] + rows.get("task/run_queue", 0.0)) / total)
        return min(1.0, self.cpu_ns.get(number, 0.0) / total)

    def less_cpu(self, what: str, shares: Mapping[int, float]) -> Less:
        """Take CPU away from tasks: shares of their CPU, by number of the stage."""
        return Less(
            what,
            {
                number: share * self.cpu_share(number)
                for number, share in shares.items()
                if share > 0
            },
        )

    @property
    def attempts(self) -> str:
        """Query that gives the stage attempt of each task: samples in a window have their stage."""
        app = 0 if self.measured is None else self.measured.app_index
        return (
            "SELECT task_attempt_id, any_value(stage_attempt) AS stage_attempt FROM tasks"
            f" WHERE app_index = {app} GROUP BY task_attempt_id"
        )

    @cached_property
    def samples_by_stage(self) -> dict[int, dict[str, int]]:
        """CPU samples of tasks by number of the stage and kind of work."""
        attribution(self.scope)  # defines task_samples
        app = 0 if self.measured is None else self.measured.app_index
        found: dict[int, dict[str, int]] = defaultdict(dict)
        for stage_id, attempt, category, n in self.tables.query(
            f"SELECT stage_id, coalesce(a.stage_attempt, 0), {CATEGORY}, sum(hits)::BIGINT"
            f" FROM task_samples LEFT JOIN ({self.attempts}) a USING (task_attempt_id)"
            " WHERE event = 'cpu' AND stage_id IS NOT NULL"
            f" AND coalesce(app_index, {app}) = {app} GROUP BY ALL"
        ):
            number = self.number(stage_id, attempt)
            if number is not None:
                found[number][category] = found[number].get(category, 0) + n
        return dict(found)

    def shares_of_cpu(self, *categories: str) -> tuple[dict[int, float], Estimate]:
        """Give the share of task CPU in some kinds of work: by stage, and in all.

        Returns
        -------
        (dict of int to float, Estimate)
            By number of the stage; the estimate is Wilson's, over all samples of the window.
        """
        shares, hits, all_hits = {}, 0, 0
        for number, kinds in self.samples_by_stage.items():
            total = sum(kinds.values())
            mine = sum(kinds.get(category, 0) for category in categories)
            hits, all_hits = hits + mine, all_hits + total
            if mine:
                shares[number] = mine / total
        low, high = wilson(hits, all_hits)
        value = hits / all_hits if all_hits else None
        return shares, Estimate(
            value=value, low=low, high=high, level=0.95, n=all_hits, method="wilson"
        )

    def sql_of(self, sql_id: int | None) -> Sql | None:
        """Find an SQL execution of the window."""
        for one in self.summary.sql:
            if one.sql_id == sql_id and one.app_index == (self.measured or one).app_index:
                return one
        return None

    def stages_of(self, node: Node, sql: Sql) -> list[int]:
        """Numbers of the stages in which a plan's node ran."""
        numbers = (self.number(stage_id) for stage_id in node.stage_ids)
        return [number for number in numbers if number is not None]

    def gap_nodes(self, since_ns: float, until_ns: float) -> dict[int, float]:
        """Give the driver's time between two instants, by node of the graph that it delays."""
        nodes, begins, ends = self.gaps
        order, begun, over = self._gaps_in_time
        first, last = np.searchsorted(over, since_ns, "right"), np.searchsorted(begun, until_ns)
        near = np.sort(order[first:last])
        inside = np.minimum(until_ns, ends[near]) - np.maximum(since_ns, begins[near])
        return {
            nodes[n]: ns for n, ns in zip(near.tolist(), inside.tolist(), strict=True) if ns > 0
        }

    @cached_property
    def _gaps_in_time(self) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Order of the gaps by when they begin, these times, and by when all so far are over."""
        _, begins, ends = self.gaps
        order = np.argsort(begins, kind="stable")
        return order, begins[order], np.maximum.accumulate(ends[order])

    @cached_property
    def gaps(self) -> tuple[list[int], Floats, Floats]:
        """Nodes of the graph that the driver delays, and from when to when."""
        if self.what_if is None:
            return [], np.zeros(0), np.zeros(0)
        graph = self.what_if.calibrated.graph
        nodes = [n for n, delay in enumerate(graph.delay_ns) if delay > 0 and graph.after[n]]
        begins = [max(graph.done_ns[before] for before in graph.after[n]) for n in nodes]
        starts = np.array(begins, dtype=np.float64)
        return (
            nodes,
            starts,
            starts + np.array([graph.delay_ns[n] for n in nodes], dtype=np.float64),
        )


def once(read: Callable[[Facts], T]) -> Callable[[Facts], T]:
    """Keep what a reader of evidence finds for all who ask again: rules ask it of every place."""

    @wraps(read)
    def kept(facts: Facts) -> T:
        if read not in facts.kept:
            facts.kept[read] = read(facts)
        found: T = facts.kept[read]
        return found

    return kept


def exactly(value: float, n: int = 1, method: str = "counter") -> Estimate:
    """Give a number that was counted: its interval is the number itself."""
    return Estimate(value=value, low=value, high=value, level=1.0, n=n, method=method)
