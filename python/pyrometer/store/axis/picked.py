"""Which rows of each table count, of a probe that is not the first on its host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pyrometer.store.sql.connected import connected
from pyrometer.store.sql.queries import MOST_MEMORY
from pyrometer.store.sql.text import from_parquet, literal

_STACKS = 1 << 16
"""Kernel stacks of one probe, at most: dictionaries of one host lie one behind another."""


@dataclass(frozen=True)
class Picked:
    """Which rows of a table count, of a probe that is not the first on its host.

    Attributes
    ----------
    query : callable
        Writes the query of these rows.
    pid : str
        The process of a row; empty if it has none.
    since, until : str
        Its times.
    as_a_whole : bool
        Whether a process is one probe's alone: its counts begin with each.
    """

    query: Callable[[str, str, int], str]
    pid: str = "r.pid"
    since: str = "r.t_mono_ns"
    until: str = "r.t_mono_ns"
    as_a_whole: bool = False


def fresh_rows(table: str, picked: Picked, place: int) -> str:
    """Write the condition that no other probe has said a row already."""
    late = f" AND {picked.until} >= t.since AND {picked.since} <= t.until"
    return (
        f"NOT EXISTS (FROM twice t WHERE t.place = {place} AND t.name = '{table}'"
        f" AND t.host = r.host AND t.pid = {picked.pid}{'' if picked.as_a_whole else late})"
    )


def _of_processes(rows: str, fresh: str, at: int) -> str:
    return f"SELECT * FROM {rows} r WHERE {fresh}"


def _with_stacks(rows: str, fresh: str, at: int) -> str:
    shifted = f"kernel_stack + {at * _STACKS} AS kernel_stack"
    return f"SELECT * REPLACE ({shifted}) FROM {rows} r WHERE {fresh}"


def _stacks(rows: str, fresh: str, at: int) -> str:
    return f"SELECT * REPLACE (stack_id + {at * _STACKS} AS stack_id) FROM {rows}"


_SPANS = ("r.pid", "r.begin_mono_ns", "r.end_mono_ns")
PICKED = {
    "thread_counters": Picked(_of_processes),
    "os_series": Picked(_of_processes, "TRY_CAST(substr(r.scope, 9) AS BIGINT)"),
    "thread_states": Picked(_with_stacks, *_SPANS),
    "kernel_stacks": Picked(_stacks, pid=""),
    "off_cpu": Picked(_with_stacks, *_SPANS),
    "io_latency": Picked(_of_processes, *_SPANS),
    "perf_counts": Picked(_of_processes, as_a_whole=True),
    "delays": Picked(_of_processes),
}


def join_parts(building: Path) -> None:
    """Make one file of the parts of each table: thousands of files open slowly."""
    for name in PICKED:
        parts = sorted(building.glob(f"{name}-beside*.parquet"), key=_number)
        if len(parts) < 2:
            continue
        target = building / f".{name}-beside.tmp"
        with connected(building, threads=1, memory_limit=MOST_MEMORY) as connection:
            connection.execute(
                f"COPY (FROM {from_parquet(*parts)}) TO {literal(str(target))}"
                " (FORMAT parquet, COMPRESSION zstd)"
            )
        for part in parts:
            part.unlink()
        target.replace(building / f"{name}-beside1.parquet")


def _number(part: Path) -> int:
    return int(part.stem.rpartition("-beside")[2])
