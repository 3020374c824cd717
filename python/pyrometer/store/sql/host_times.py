"""Times of rows of several hosts: which columns have them, and how they are given on one axis."""

from __future__ import annotations

import enum

from pyrometer.core import schema

OF_THE_DRIVER = ("tasks", "executors")
_LOGS = ("gc_pauses", "gc_ages", "gc_concurrent", "safepoints", "jit", "deoptimisations")
"""Tables of logs that may not say whose they are: their times are nobody's then."""
AXIS = ("hosts", "host_clocks", "host_names")
"""Tables that lay hosts on one axis."""
_OWN = (*AXIS, "iterations")
OF_HOSTS = "LEFT JOIN axis_hosts h ON h.name = r.host"


class Times(enum.Enum):
    """How times of rows of several hosts are given.

    Attributes
    ----------
    RECORDED
        As they are in the files.
    STORED
        On the axis, as the files have them beside those.
    LINES
        On the axis, by the lines of ``host_clocks``: of files that have none.
    """

    RECORDED = "recorded"
    STORED = "stored"
    LINES = "lines"


def has_host(table: schema.Table) -> bool:
    """Whether rows of the table are of a host."""
    return table.name not in _OWN and any(c.name == "host" for c in table.columns)


def is_recorded(table: schema.Table) -> bool:
    """Whether a host wrote the rows, and not the driver about it."""
    return has_host(table) and table.name not in OF_THE_DRIVER


def with_times(table: schema.Table, rows: str, clocks: str) -> str:
    """Write the query of rows as recorded with their times on the axis (`on_axis`) beside them.

    Parameters
    ----------
    table : Table
        The table.
    rows, clocks : str
        Queries of its rows, and of those of ``host_clocks`` of their hosts.
    """
    moved, joins = lines(table, f"({clocks})")
    columns = ", ".join(f'{expression} AS "{on_axis(name)}"' for name, expression in moved.items())
    return f"SELECT r.*, {columns} FROM ({rows}) r {OF_HOSTS} {' '.join(joins)}"


def timed(table: schema.Table) -> list[str]:
    """Name the columns of a table that have times of its hosts' own clocks."""
    if not is_recorded(table):
        return []
    own = [c.name for c in table.columns if c.name == "mono_ns" or c.name.endswith("_mono_ns")]
    return [*own, *(["t_ns"] if table.name == "samples" else [])]


def on_axis(column: str) -> str:
    """Name the column that has the same times on the axis.

    Examples
    --------
    >>> on_axis("start_mono_ns"), on_axis("mono_ns"), on_axis("t_ns")
    ('start_axis_ns', 'axis_ns', 't_axis_ns')
    """
    return "t_axis_ns" if column == "t_ns" else f"{column.removesuffix('mono_ns')}axis_ns"


def lines(table: schema.Table, clocks: str = "host_clocks") -> tuple[dict[str, str], list[str]]:
    """Write times on the axis by the lines of ``host_clocks``, and the joins that this takes."""
    moved: dict[str, str] = {}
    joins: list[str] = []
    for name in timed(table):
        line, time = f"a{len(joins)}", f'r."{name}"'
        joins.append(_line(clocks, line, time))
        moved[name] = _aligned(time, line, table.name in _LOGS)
        if table.name == "samples":
            moved[name] = (
                f"CASE r.clock WHEN 'wall' THEN {on_wall(time)}"
                f" WHEN 'mono' THEN {moved[name]} ELSE {time} END"
            )
    return moved, joins


def _line(clocks: str, name: str, time: str) -> str:
    return (
        f"ASOF LEFT JOIN {clocks} {name} ON {name}.host = h.host AND {time} >= {name}.from_mono_ns"
    )


def _shift(time: str, line: str) -> str:
    """Write what is added to a time; wide, as damaged times may not fit."""
    gained = f"round(({time}::HUGEINT - {line}.from_mono_ns)::DOUBLE * {line}.rate)::HUGEINT"
    return f"({line}.offset_ns::HUGEINT + {gained})"


def _aligned(time: str, line: str, known: bool = False) -> str:
    """Give a time on the axis; of a host that is not known as it is, or where asked none."""
    moved = f"TRY_CAST({time}::HUGEINT + {_shift(time, line)} AS BIGINT)"
    rest = f"WHEN h.number = 0 THEN {time}" if known else f"ELSE {time}"
    return f"CASE WHEN h.number > 0 THEN {moved} {rest} END"


def on_wall(time: str) -> str:
    """Give a Unix time as the wall clock of the axis's host shows it; a damaged one may not fit."""
    return f"TRY_CAST({time}::HUGEINT + coalesce(h.wall_offset_ns, 0) AS BIGINT)"
