"""Makes the profiles of a recording's chunks: by event and period, labelled by stage and operator.

The native reader turns chunks and task records into tables, as it does after a run; a query adds
samples up; what is in memory is one message of at most `Settings.part_bytes`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

from pyrometer.push.parts import KINDS, Kind, Part, Profile, other_kind
from pyrometer.push.settings import Settings, Window
from pyrometer.store.ingest import native
from pyrometer.store.tables import Tables

__all__ = ["profiles"]

OTHER = "other"
_COLUMNS = {
    "stage": "CASE WHEN stage_attempt > 0 THEN stage_id || '.' || stage_attempt"
    " ELSE stage_id::VARCHAR END",
    "operator": "operator::VARCHAR",
    "sql": "sql_id::VARCHAR",
    "thread_role": "role::VARCHAR",
    "state": "state::VARCHAR",
}
_ROWS = 1000


def profiles(
    recording: Path, tasks: Path | None, folder: Path, window: Window, settings: Settings,
    alloc_bytes: int = 0, begun_in: Path | None = None,
) -> Iterator[Profile]:  # fmt: skip
    """Make the profiles of a recording of whole chunks.

    Parameters
    ----------
    recording, tasks : Path
        ``profile-<role>-<pid>.jfr`` and, where there are any, the plugin's records.
    folder : Path
        An empty folder for the tables.
    window : Window
        When the recording was.
    settings : Settings
        Periods, labels, limits.
    alloc_bytes : int
        Bytes between two samples of allocation; 0 if unknown.
    begun_in : Path, optional
        What `recording` holds later chunks of: its first chunk alone says how it samples.
    """
    plugin = [] if tasks is None else [str(tasks)]
    report = native().ingest_jfr(
        [str(recording)], plugin, str(folder), "", None if begun_in is None else str(begun_in)
    )
    stats = json.loads(report)["stats"]
    periods = {
        "cpu": stats.get("cpu_interval_ns") or 0,
        "wall": stats.get("wall_interval_ns") or 0,
        "alloc": alloc_bytes,
        "lock": 1,
    }
    with Tables(folder) as tables:
        # One thread: we share the machine with what we observe.
        tables.connection.execute("SET threads = 1")
        _label(tables, window, settings)
        frames = _frames(tables)
        groups = tables.query("SELECT DISTINCT event, unit, slice FROM labelled ORDER BY ALL")
        for event, unit, at in groups:
            kind = KINDS.get(event) or other_kind(event, unit)
            period = periods.get(event, 0)
            yield from _parts(tables, event, at, kind, window, settings, period, frames)


def _label(tables: Tables, window: Window, settings: Settings) -> None:
    """Sum samples by what they are labelled with; light values of a label become ``other``."""
    count = window.slices(settings.every_ns)
    width = max(1, math.ceil((window.end_wall_ns - window.start_wall_ns) / count))
    shift = window.start_wall_ns - (window.start_mono_ns or 0)
    columns = ", ".join(f"{_COLUMNS[name]} AS {name}" for name in settings.by)
    tables.define(
        "told",
        "SELECT event::VARCHAR AS event, greatest(0, least(?, (CASE WHEN clock = 'mono' THEN"
        " t_ns + ? ELSE t_ns END - ?) // ?))::INTEGER AS slice, unit::VARCHAR AS unit,"
        " java_stack, weight"
        f"{', ' * bool(columns)}{columns} FROM samples",
        [count - 1, shift, window.start_wall_ns, width],
    )
    for name in ("stage", "operator", "sql"):
        if name in settings.by:
            _bound(tables, name, settings.limit(name))
    tables.define(
        "labelled",
        "SELECT event, slice, unit, java_stack, sum(weight)::BIGINT AS weight, count(*) AS n"
        f"{', ' * bool(columns)}{', '.join(settings.by)} FROM told GROUP BY ALL",
    )


def _bound(tables: Tables, name: str, limit: int) -> None:
    tables.define(
        "told_next",
        f"WITH sums AS (SELECT event, slice, {name}, sum(weight) AS weight FROM told"
        f" WHERE {name} IS NOT NULL GROUP BY ALL), ranks AS (SELECT event, slice, {name},"
        f" row_number() OVER (PARTITION BY event, slice ORDER BY weight DESC, {name}) AS rank"
        f" FROM sums) SELECT told.* REPLACE (CASE WHEN rank > ? THEN '{OTHER}' ELSE"
        f" told.{name} END AS {name}) FROM told LEFT JOIN ranks USING (event, slice, {name})",
        [limit],
    )
    tables.connection.execute("DROP TABLE told")
    tables.connection.execute("ALTER TABLE told_next RENAME TO told")


def _frames(tables: Tables) -> dict[int, tuple[str, str, int]]:
    """Name, library and line of every frame of the chunk."""
    return {
        key: (f"{owner}.{method}" if owner else method, library or "", line or 0)
        for key, owner, method, library, line in tables.query(
            "SELECT frame_id, class_name::VARCHAR, method, library::VARCHAR, line FROM frames"
        )
    }


def _parts(
    tables: Tables, event: str, at: int, kind: Kind, window: Window, settings: Settings,
    period: int, frames: Mapping[int, tuple[str, str, int]],
) -> Iterator[Profile]:  # fmt: skip
    names = ", ".join(settings.by)
    rows = tables.connection.execute(
        f"SELECT frame_ids, weight, n{', ' * bool(names)}{names} FROM labelled"
        " LEFT JOIN stacks ON stack_id = java_stack WHERE event = ? AND slice = ?"
        f" ORDER BY java_stack{', ' * bool(names)}{names}",
        [event, at],
    )
    part: Part | None = None
    number = 0
    while batch := rows.fetchmany(_ROWS):
        for ids, weight, count, *labels in batch:
            if part is None:
                part = Part(frames, event, at, number, kind, window, settings, period)
            told = {k: v for k, v in zip(settings.by, labels, strict=True) if v is not None}
            part.add(ids or (), weight, count, told)
            if part.full(settings):
                yield part.close()
                part, number = None, number + 1
    if part is not None:
        yield part.close()
