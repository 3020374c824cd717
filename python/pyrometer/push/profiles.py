"""Makes the profiles of a recording's chunks: by event and period, labelled by stage and operator.

The native reader turns chunks and task records into tables, as it does after a run; a query adds
samples up; what is in memory is one message of at most `Settings.part_bytes`.

One message to be: a profile of one event in one period, or a part of it that a server takes.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.core.native import native
from pyrometer.export.pprof import PprofWriter, ValueType
from pyrometer.push.options import Settings, Window
from pyrometer.store.sql.text import literal
from pyrometer.store.tables import Tables

NS = "nanoseconds"
NO_STACK = "[stack unknown]"


@dataclass(frozen=True)
class Kind:
    """How an event is called: Pyroscope's names, so that its pages know them."""

    name: str
    types: tuple[ValueType, ...]
    period_type: ValueType
    counted: bool = False


# What they mean: docs/how-to/continuous-profiling.md.
KINDS: Mapping[str, Kind] = {
    "cpu": Kind("process_cpu", (ValueType("cpu", NS),), ValueType("cpu", NS)),
    "wall": Kind("wall", (ValueType("wall", NS),), ValueType("wall", NS)),
    "alloc": Kind("memory", (ValueType("alloc_space", "bytes"),), ValueType("space", "bytes")),
    "lock": Kind(
        "mutex",
        (ValueType("contentions", "count"), ValueType("delay", NS)),
        ValueType("contentions", "count"),
        counted=True,
    ),
}


def other_kind(event: str, unit: str) -> Kind:
    """Return the names of an event that Pyroscope has none for.

    Examples
    --------
    >>> other_kind("nativemem", "bytes").types
    (ValueType(type='nativemem', unit='bytes'),)
    """
    value_type = ValueType(event, NS if unit == "ns" else unit)
    return Kind(event, (value_type,), value_type)


@dataclass(frozen=True)
class Profile:
    """One message to be: a profile of one event in one period.

    Parameters
    ----------
    key : str
        Names it within its chunk.
    event, name : str
        Ours, and the server's ``__name__``.
    data : bytes
        Gzipped pprof.
    raw_bytes, samples, weight : int
        Its uncompressed size, distinct samples, and the sum of their weights.
    end_wall_ns : int
        End of its period.
    """

    key: str
    event: str
    name: str
    data: bytes
    raw_bytes: int
    samples: int
    weight: int
    end_wall_ns: int


class Part:
    """A profile while it is written."""

    def __init__(
        self, frames: Mapping[int, tuple[str, str, int]], event: str, at: int, number: int,
        kind: Kind, window: Window, settings: Settings, period: int,
    ) -> None:  # fmt: skip
        width = window.width_ns(settings.every_ns)
        start = window.start_wall_ns + at * width
        self._frames = frames
        self._event, self._kind, self._end = event, kind, start + width
        self._key = f"{event}/{at}/{number}"
        self._buffer = io.BytesIO()
        # A server that identifies profiles of one series by their millisecond takes all parts.
        self._writer = PprofWriter(
            self._buffer, self._kind.types, self._kind.period_type, period,
            time_ns=start + number * 1_000_000, duration_ns=width,
        )  # fmt: skip
        self._locations: dict[int, int] = {}
        self._samples = self._weight = 0

    def add(self, stack: Sequence[int], weight: int, count: int, labels: Mapping[str, str]) -> None:
        """Add a sample by its frames, root first; one without a stack keeps its weight."""
        known = self._locations
        for frame in stack:
            if frame not in known:
                known[frame] = self._writer.location(*self._frames[frame])
        ids = [known[frame] for frame in reversed(stack)]
        values = (count, weight) if self._kind.counted else (weight,)
        self._writer.sample(ids or [self._writer.location(NO_STACK)], values, labels)
        self._samples += 1
        self._weight += weight

    def full(self, settings: Settings) -> bool:
        """Whether a part has become as large as a server takes."""
        return (
            self._writer.bytes_count >= settings.part_bytes
            or self._samples >= settings.part_samples
        )

    def close(self) -> Profile:
        """Return what was written."""
        data = gzip.compress(self._buffer.getvalue(), compresslevel=1, mtime=0)
        return Profile(
            self._key, self._event, self._kind.name, data,
            self._writer.bytes_count, self._samples, self._weight, self._end,
        )  # fmt: skip


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
    width = window.width_ns(settings.every_ns)
    shift = window.start_wall_ns - (window.start_mono_ns or 0)
    columns = ", ".join(f"{_COLUMNS[name]} AS {name}" for name in settings.by)
    tables.define(
        "sampled",
        "SELECT event::VARCHAR AS event, greatest(0, least(?, (CASE WHEN clock = 'mono' THEN"
        " t_ns + ? ELSE t_ns END - ?) // ?))::INTEGER AS slice, unit::VARCHAR AS unit,"
        " java_stack, weight"
        f"{', ' * bool(columns)}{columns} FROM samples",
        [count - 1, shift, window.start_wall_ns, width],
    )
    for name in ("stage", "operator", "sql"):
        if name in settings.by:
            _limited(tables, name, settings.limit(name))
    tables.define(
        "labelled",
        "SELECT event, slice, unit, java_stack, sum(weight)::BIGINT AS weight, count(*) AS n"
        f"{', ' * bool(columns)}{', '.join(settings.by)} FROM sampled GROUP BY ALL",
    )


def _limited(tables: Tables, name: str, limit: int) -> None:
    tables.define(
        "sampled_next",
        f"WITH sums AS (SELECT event, slice, {name}, sum(weight) AS weight FROM sampled"
        f" WHERE {name} IS NOT NULL GROUP BY ALL), ranks AS (SELECT event, slice, {name},"
        f" row_number() OVER (PARTITION BY event, slice ORDER BY weight DESC, {name}) AS rank"
        f" FROM sums) SELECT sampled.* REPLACE (CASE WHEN rank > ? THEN '{OTHER}' ELSE"
        f" sampled.{name} END AS {name}) FROM sampled LEFT JOIN ranks USING (event, slice, {name})",
        [limit],
    )
    tables.connection.execute("DROP TABLE sampled")
    tables.connection.execute("ALTER TABLE sampled_next RENAME TO sampled")


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
        f" LEFT JOIN stacks ON stack_id = java_stack WHERE event = {literal(event)}"
        f" AND slice = {int(at)} ORDER BY java_stack{', ' * bool(names)}{names}"
    )
    part: Part | None = None
    number = 0
    while batch := rows.fetchmany(_ROWS):
        for ids, weight, count, *labels in batch:
            if part is None:
                part = Part(frames, event, at, number, kind, window, settings, period)
            known = {k: v for k, v in zip(settings.by, labels, strict=True) if v is not None}
            part.add(ids or (), weight, count, known)
            if part.full(settings):
                yield part.close()
                part, number = None, number + 1
    if part is not None:
        yield part.close()
