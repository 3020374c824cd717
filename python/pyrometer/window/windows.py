"""Windows, the part of a run that a number is about: iterations, a query, or all.

Values that say what was run, and which window of it the numbers of a report are about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from pyrometer.core.errors import UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.core.model import Model
from pyrometer.store.lives import define_lives

if TYPE_CHECKING:
    from pyrometer.store import Run


class RunFacts(Model):
    """What ran, where and how it ended; `name` is what people call it (:func:`run_name`).

    Of a run in a virtual machine `host` is that machine, `machine` is what the manifest says of it
    and of its host, and `machine_facts` the same for people, by label.
    """

    run_dir: str
    name: str = ""
    workload: str | None = None
    command: list[str] = Field(default_factory=list)
    variant: dict[str, Any] = Field(default_factory=dict)
    treatment: dict[str, Any] = Field(default_factory=dict)
    treatment_origin: dict[str, str] = Field(default_factory=dict)
    scale: str | float | None = None
    profile: str | None = None
    state: str | None = None
    exit_code: int | None = None
    spark_version: str | None = None
    started_wall_ns: int | None = None
    host: dict[str, Any] = Field(default_factory=dict)
    machine: dict[str, Any] | None = None
    machine_facts: dict[str, str] = Field(default_factory=dict)
    conf_overlay: list[dict[str, Any]] = Field(default_factory=list)


class WindowFacts(Model):
    """What the numbers are about. Several iterations: the gaps between them are left out."""

    name: str
    iterations: list[int] = Field(default_factory=list)
    start_wall_ns: int | None = None
    end_wall_ns: int | None = None
    start_mono_ns: int | None = None
    end_mono_ns: int | None = None
    length_ns: int | None = None


APPLICATION = "application"
MEASURED = "measured"
OBSERVING = ("attach", "probe")
"""Profiles of runs that observed what was running already."""


@dataclass(frozen=True)
class Interval:
    """A stretch of time on both clocks; the monotonic one only where clocks are joined."""

    start_wall_ns: int
    end_wall_ns: int
    start_mono_ns: int | None = None
    end_mono_ns: int | None = None


@dataclass(frozen=True)
class Window:
    """A named window: its iterations (none: everything) and its stretches of time.

    ``cut`` says that an event log knows more than the window is about: tasks, stages and executions
    that do not touch the window are left out. ``of_query`` says that it is the time of a query.
    """

    name: str
    iterations: tuple[int, ...] = ()
    intervals: tuple[Interval, ...] = field(default_factory=tuple)
    cut: bool = False
    of_query: bool = False

    @property
    def is_part(self) -> bool:
        """Whether the application ran before it, or after it."""
        return bool(self.iterations) or self.of_query

    @property
    def has_mono(self) -> bool:
        """Whether data on the monotonic clock can be cut to this window."""
        return bool(self.intervals) and all(i.start_mono_ns is not None for i in self.intervals)

    @property
    def length_ns(self) -> int:
        """Time in the window."""
        return sum(i.end_wall_ns - i.start_wall_ns for i in self.intervals)

    def facts(self) -> WindowFacts:
        """Give the window as it is reported."""
        first, last = (self.intervals[0], self.intervals[-1]) if self.intervals else (None, None)
        return WindowFacts(
            name=self.name,
            iterations=list(self.iterations),
            start_wall_ns=first.start_wall_ns if first else None,
            end_wall_ns=last.end_wall_ns if last else None,
            start_mono_ns=first.start_mono_ns if first else None,
            end_mono_ns=last.end_mono_ns if last else None,
            length_ns=self.length_ns if self.intervals else None,
        )


def clock_offset_ns(run: Run) -> int | None:
    """Unix time minus CLOCK_MONOTONIC of the driver's host: the median of its pairs of readings.

    Another host's monotonic clock began as that host was started, and says nothing of this one.
    """
    of_host: dict[str | None, list[int]] = {}
    for host, mono, wall in run.tables.query("SELECT host, mono_ns, wall_ns FROM clock_pairs"):
        of_host.setdefault(host, []).append(wall - mono)
    launcher: list[int] = []
    here: str | None = None
    if run.manifest:
        launcher = [p.wall_ns - p.mono_ns for p in run.manifest.clock_pairs]
        here = run.manifest.host.hostname
    # Of drivers on several hosts, the one whose clock is the axis.
    drivers = run.tables.query(
        "SELECT p.host FROM processes p LEFT JOIN hosts h ON h.host = p.host"
        " WHERE p.role = 'driver' ORDER BY h.number NULLS LAST, p.host LIMIT 1"
    )
    driver = drivers[0][0] if drivers else here
    pairs = of_host.get(driver, [])
    if not pairs and not launcher:
        pairs = max(of_host.values(), key=len, default=[])
    if here in (driver, None) or not pairs:
        pairs = [*pairs, *launcher]
    return sorted(pairs)[len(pairs) // 2] if pairs else None


def windows(run: Run) -> list[Window]:
    """All windows of a run, the one that is shown by default first.

    A bare command is one iteration, and its only window is the application.
    """
    application = Window(APPLICATION, (), _application(run), _outside(run))
    done = [
        row
        for row in run.tables.records(
            "SELECT iteration, warmup, start_mono_ns, end_mono_ns, start_wall_ns, end_wall_ns"
            " FROM iterations WHERE end_mono_ns IS NOT NULL AND end_wall_ns IS NOT NULL"
            " ORDER BY iteration"
        )
        if row["end_mono_ns"] > row["start_mono_ns"]
    ]
    each = {
        row["iteration"]: Interval(
            row["start_wall_ns"],
            # Lengths come from the monotonic clock, as nobody sets it.
            row["start_wall_ns"] + row["end_mono_ns"] - row["start_mono_ns"],
            row["start_mono_ns"],
            row["end_mono_ns"],
        )
        for row in done
    }
    counted = [row["iteration"] for row in done if not row["warmup"]]
    found = [Window(f"iteration/{i}", (i,), (each[i],)) for i in each]
    if not counted:
        return [application, *found]
    measured = Window(MEASURED, tuple(counted), tuple(each[i] for i in counted))
    return [measured, application, *found]


def choose(run: Run, name: str | None) -> Window:
    """Give the window of that name, or the one shown by default.

    Raises
    ------
    UsageError
        If the run has no such window.
    """
    known = windows(run)
    if name is None:
        return known[0]
    wanted = f"iteration/{name}" if name.isdigit() else name
    for window in known:
        if window.name == wanted:
            return window
    found = _query(run, known, name)
    if found is not None:
        return found
    ways = [*(w.name for w in known), *_ways_by_query(run)]
    raise UsageError(f"no window {name!r} in this run", "--window " + " | ".join(ways))


_EXECUTIONS = (
    "SELECT app_index, sql_id, coalesce(root_sql_id, sql_id) AS root, description,"
    " start_wall_ns, end_wall_ns FROM sql_executions"
    " WHERE end_wall_ns > start_wall_ns ORDER BY start_wall_ns"
)
_OTHERS = (
    "SELECT app_index, coalesce(root_sql_id, sql_id) AS root, 'SQL execution ' || sql_id AS what,"
    " start_wall_ns, end_wall_ns FROM sql_executions WHERE start_wall_ns IS NOT NULL"
    " UNION ALL SELECT app_index, NULL, 'job ' || job_id, submit_wall_ns, end_wall_ns FROM jobs"
    " WHERE sql_id IS NULL AND submit_wall_ns IS NOT NULL ORDER BY start_wall_ns"
)
"""What runs in an application: SQL executions, and jobs of none."""


def _query(run: Run, known: Sequence[Window], name: str) -> Window | None:
    """Give the window of one SQL execution, or of all measured ones of that description.

    Raises
    ------
    UsageError
        If another query ran meanwhile: what of the machine belongs to which is not known.
    """
    kind, _, which = name.partition("/")
    if kind not in ("sql", "query") or not which:
        return None
    rows = run.tables.records(_EXECUTIONS)
    if kind == "sql":
        chosen = [row for row in rows if str(row["sql_id"]) == which]
    else:
        inside = known[0].intervals if known[0].iterations else ()
        chosen = [
            row for row in rows
            if row["description"] == which
            and (not inside or any(one.start_wall_ns <= row["start_wall_ns"] < one.end_wall_ns
                                   for one in inside))
        ]  # fmt: skip
    if not chosen:
        return None
    mine = {(row["app_index"], row["root"]) for row in chosen}
    stretches = _joined((row["start_wall_ns"], row["end_wall_ns"]) for row in chosen)
    for row in run.tables.records(_OTHERS):
        meanwhile = any(
            (row["end_wall_ns"] is None or a < row["end_wall_ns"]) and row["start_wall_ns"] < b
            for a, b in stretches
        )
        if meanwhile and (row["app_index"], row["root"]) not in mine:
            raise UsageError(
                f"{name}: {row['what']} ran at the same time, and what either used of the machine"
                " is not known apart",
                "Use --window application.",
            )
    offset = clock_offset_ns(run)
    return Window(
        name,
        intervals=tuple(
            Interval(a, b) if offset is None else Interval(a, b, a - offset, b - offset)
            for a, b in stretches
        ),
        cut=True,
        of_query=True,
    )


def _joined(stretches: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join stretches of time that touch.

    Examples
    --------
    >>> _joined([(1, 3), (2, 4), (6, 7)])
    [(1, 4), (6, 7)]
    """
    found: list[tuple[int, int]] = []
    for start, end in sorted(stretches):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _ways_by_query(run: Run) -> list[str]:
    """Name what a window of a query may be called in this run."""
    rows = run.tables.records(_EXECUTIONS)
    descriptions = list(dict.fromkeys(row["description"] for row in rows if row["description"]))
    short = next((each for each in descriptions if each.isidentifier()), None)
    return [*(["sql/N"] if rows else []), *([f"query/NAME (as query/{short})"] if short else [])]


def run_name(run: Run) -> str:
    """Name a run as people do: its workload, its applications, its command, or else its file.

    An event log that was cut names no application, and lies in the cache: it is called by the name
    of its file, or of its folder where it rolls.
    """
    workload = run.manifest.workload if run.manifest else None
    if workload and workload.name:
        return workload.name
    apps = run.tables.records("SELECT app_name, source_files FROM apps ORDER BY app_index")
    names = list(dict.fromkeys(app["app_name"] for app in apps if app["app_name"]))
    if workload and workload.command:
        return " ".join(workload.command)
    if not names:
        files = [Path(file) for app in apps for file in parse_json(app["source_files"])]
        rolling = (f.parent if f.parent.name.startswith("eventlog_v2_") else f for f in files)
        names = list(dict.fromkeys(file.name for file in rolling))
    return " · ".join(names[:3]) or run.paths.root.name


def _outside(run: Run) -> bool:
    """Whether only a part of what ran was observed."""
    return run.manifest is not None and run.manifest.profile in OBSERVING


def _application(run: Run) -> tuple[Interval, ...]:
    define_lives(run.tables)
    row = run.tables.record(
        "SELECT min(born_wall_ns) AS start, max(gone_wall_ns) AS stop FROM lives"
    )
    start, stop = row.get("start"), row.get("stop")
    if run.manifest and (start is None or stop is None or _outside(run)):
        start, stop = run.manifest.started_wall_ns, run.manifest.ended_wall_ns
    if start is None or stop is None or stop <= start:
        return ()
    offset = clock_offset_ns(run)
    if offset is None:
        return (Interval(start, stop),)
    return (Interval(start, stop, start - offset, stop - offset),)
