"""Columns of task attempts, in the order in which the simulator knows them, read when asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.simulation.attempts import FROM, in_order
from pyrometer.simulation.measured import Floats, Measured
from pyrometer.store.tables import Tables

_NS = (
    "launch_wall_ns", "finish_wall_ns", "executor_run_time_ns", "executor_cpu_time_ns",
    "executor_deserialize_time_ns", "executor_deserialize_cpu_time_ns",
    "result_serialization_time_ns", "jvm_gc_time_ns", "shuffle_fetch_wait_time_ns",
    "shuffle_write_time_ns",
)  # fmt: skip
_AMOUNTS = (
    "result_size_bytes", "peak_execution_memory_bytes", "memory_spilled_bytes",
    "disk_spilled_bytes", "input_bytes", "input_records_count", "output_bytes",
    "output_records_count", "shuffle_read_remote_bytes", "shuffle_read_local_bytes",
    "shuffle_read_records_count", "shuffle_remote_blocks_fetched_count",
    "shuffle_local_blocks_fetched_count", "shuffle_written_bytes",
    "shuffle_written_records_count",
)  # fmt: skip
# Sums of bytes are exact to 10⁻⁷: a hundred thousand tasks take a third less.
_NUMBERS = (
    {name: f"t.{name}::DOUBLE" for name in _NS}
    | {name: f"t.{name}::FLOAT" for name in _AMOUNTS}
    | {"getting_result_time_ns": "(t.finish_wall_ns - t.getting_result_wall_ns)::DOUBLE"}
)
_MARKS = {"speculative": "t.speculative", "wasted": "t.status <> 'success'"}
_TABLES = {"host": "sim_hosts", "executor_id": "sim_executors"}
_CODES = {
    name: f"(SELECT n.code FROM {table} n WHERE n.name = t.{name})"
    for name, table in _TABLES.items()
}
_SQL = _NUMBERS | _MARKS | _CODES
# Of several rows of an attempt, as where its result was lost later.
_HOW = dict.fromkeys(_NUMBERS, "max") | dict.fromkeys(_MARKS, "bool_or")
_KEYS = ("number", "task_attempt_id")
AT_ONCE = 6
"""Numbers that are read together: each query looks for the attempts again."""
_GROUPS = (
    tuple(_MARKS),
    tuple(_CODES),
    *(tuple(_NUMBERS)[n : n + AT_ONCE] for n in range(0, len(_NUMBERS), AT_ONCE)),
)


@dataclass(frozen=True)
class TaskColumns:
    """Columns of a stage's task attempts, or of all: floats, NaN where a value is null.

    ``host`` and ``executor_id`` are arrays of str, "" where a value is null.

    Attributes
    ----------
    place : slice, or array of int
        Where they are among all.
    sums : StageSums or None
        Sums of columns by number of the stage, where they are those of one.
    number : int
        Its number.
    """

    columns: Mapping[str, Any]
    names: Mapping[str, Any]
    place: slice | NDArray[np.intp] = field(default_factory=lambda: slice(None))
    sums: StageSums | None = None
    number: int = 0

    def __getitem__(self, name: str) -> Any:
        """Give one column."""
        values = self.columns[name][self.place]
        if name in self.names:
            return self.names[name][values]
        return values.astype(np.float64) if values.dtype == np.float32 else values

    def codes(self, name: str) -> NDArray[np.int32]:
        """Give a column of names as numbers: the same number for the same name."""
        found: NDArray[np.int32] = self.columns[name][self.place]
        return found

    def distinct(self, name: str) -> list[str]:
        """Give the different names in a column, in order; what is null has none."""
        codes = np.unique(self.codes(name))
        return [one for one in self.names[name][codes] if one]

    @property
    def count(self) -> int:
        """Number of task attempts."""
        return int(self.columns["duration_ns"][self.place].size)

    @property
    def duration_ns(self) -> Floats:
        """Time in a slot, as the simulator has it."""
        found: Floats = self.columns["duration_ns"][self.place]
        return found

    def total(self, name: str) -> float:
        """Sum up a column; what is null counts as nothing."""
        if self.sums is not None:
            return float(self.sums[name][self.number])
        return float(np.nansum(self.columns[name][self.place], dtype=np.float64))

    def succeeded(self) -> TaskColumns:
        """Give those that did not fail, and were not stopped."""
        wasted = np.asarray(self["wasted"], dtype=bool)
        if not wasted.any():
            return self
        at = np.arange(len(self.columns["duration_ns"]))[self.place][~wasted]
        return TaskColumns(self.columns, self.names, at)

    def known(self, name: str) -> bool:
        """Whether any attempt has the value."""
        return bool(np.isfinite(self.columns[name][self.place]).any())


class StageSums(dict[str, Floats]):
    """Sums of columns by number of the stage, each computed when it is first asked for.

    Parameters
    ----------
    columns : mapping of str to array
        Columns of all attempts.
    first : sequence of int
        Place of each stage's first attempt, and the number of all attempts.
    """

    def __init__(self, columns: Mapping[str, Any], first: Sequence[int]) -> None:
        super().__init__()
        self._columns, self._first = columns, np.asarray(first, dtype=np.intp)

    def __missing__(self, name: str) -> Floats:
        values = np.asarray(self._columns[name], dtype=np.float64)
        values = np.where(np.isnan(values), 0.0, values)
        sums = np.zeros(self._first.size - 1)
        begins, full = self._first[:-1], np.diff(self._first) > 0
        if full.any():
            sums[full] = np.add.reduceat(values, begins[full])
        self[name] = sums
        return sums


def task_columns(tables: Tables, measured: Measured | None) -> TaskColumns:
    """Give the columns of all attempts that the simulator knows; none where it knows nothing."""
    names: dict[str, Any] = {}
    if measured is None:
        none: dict[str, Any] = {n: np.zeros(0) for n in ("duration_ns", *_KEYS, *_NUMBERS, *_MARKS)}
        names = {name: np.array([""], dtype=object) for name in _CODES}
        return TaskColumns(none | {n: np.zeros(0, dtype=np.int32) for n in _CODES}, names)
    return TaskColumns(_Columns(tables, measured, names), names)


class _Columns(dict[str, Any]):
    """Columns by name; a group of them is read when the first is asked for."""

    def __init__(self, tables: Tables, measured: Measured, names: dict[str, Any]) -> None:
        super().__init__(duration_ns=measured.tasks.duration_ns)
        self._tables, self._names, self._app = tables, names, measured.app_index

    def __missing__(self, name: str) -> Any:
        if name in _KEYS:
            self._read(())
        else:
            self._read(next(group for group in _GROUPS if name in group))
        return self[name]

    def _read(self, group: tuple[str, ...]) -> None:
        for name in group:
            if name in _CODES:
                self._names[name] = _names(self._tables, name)
        found = self._query(group, together=False)
        order, twice = in_order(*(found[name] for name in _KEYS))
        if twice:
            found = self._query(group, together=True)
            order, _ = in_order(*(found[name] for name in _KEYS))
        for name in group or _KEYS:
            self[name] = _filled(found.pop(name)[order])

    def _query(self, group: tuple[str, ...], *, together: bool) -> dict[str, Any]:
        columns = [
            f"{_HOW.get(name, 'any_value')}({_SQL[name]})" if together else _SQL[name]
            for name in group
        ]
        named = [f"{sql} AS {name}" for sql, name in zip(columns, group, strict=True)]
        grouped = "GROUP BY s.number, t.task_attempt_id" if together else ""
        return self._tables.columns(
            f"SELECT {', '.join(['s.number, t.task_attempt_id', *named])} {FROM} {grouped}",
            [self._app],
        )


def _names(tables: Tables, column: str) -> Any:
    """Give the names that codes of a column stand for; 0 is none."""
    table = _TABLES[column]
    tables.define(
        table,
        "SELECT name, row_number() OVER (ORDER BY name)::INT AS code"
        f" FROM (SELECT DISTINCT {column} AS name FROM tasks WHERE {column} IS NOT NULL)",
    )
    rows = tables.query(f"SELECT name FROM {table} ORDER BY code")
    return np.array(["", *(row[0] for row in rows)], dtype=object)


def together(tables: Tables, app_index: int, columns: str) -> dict[str, Any]:
    """Give further columns of the attempts, in their order: aggregates over an attempt's rows."""
    found = tables.columns(
        f"SELECT s.number, t.task_attempt_id, {columns} {FROM}"
        " GROUP BY s.number, t.task_attempt_id ORDER BY s.number, t.task_attempt_id",
        [app_index],
    )
    return {
        name: np.ma.filled(values.astype(np.float64), np.nan)
        if np.ma.isMaskedArray(values) and values.dtype.kind in "fiu"
        else np.asarray(values)
        for name, values in found.items()
    }


def _filled(values: Any) -> Any:
    """Fill what is null: floats with NaN, codes of names with 0."""
    if not np.ma.isMaskedArray(values):
        return np.asarray(values)
    return values.filled(np.nan if values.dtype.kind == "f" else 0)
