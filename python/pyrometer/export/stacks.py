"""The samples that are exported: of one event, summed by stack, groups and labels, row by row.

Frames are held in memory, once each; stacks and samples pass through.

Numbers of distinct names, in order of first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from pyrometer.attribution.samples import define_stack_labels
from pyrometer.core.errors import UsageError
from pyrometer.flame.facts import (
    COUNTS,
    DIMENSIONS,
    EVENTS,
    LEAF,
    NUMBERS,
    SAMPLES,
    STACK,
    TAKEN,
    define_samples,
)
from pyrometer.store import Run
from pyrometer.window.scope import Scope
from pyrometer.window.windows import APPLICATION, choose, clock_offset_ns

NO_STACK = "[no stack]"
LABELS = ("stage", "operator", "task", "thread", "iteration")
"""Dimensions that become labels of a sample in the formats that have labels."""

_ATTRIBUTED = {"operator", "expression"}
CHOSEN = "exported_samples"
"""Temporary table of what is exported."""


class Frame(NamedTuple):
    """A frame: its name as the flame graph has it, and what else is known of it."""

    name: str
    line: int | None
    kind: str
    library: str | None


class Sum(NamedTuple):
    """Samples of one stack, groups and labels: root first, frames by id."""

    groups: tuple[str, ...]
    frames: Sequence[int]
    leaf: str | None
    """Class that was allocated or locked; the name of a missing stack."""
    weight: int
    samples: int
    labels: tuple[Any, ...]


class Timed(NamedTuple):
    """One sample at its time, on the thread it was taken of."""

    host: str | None
    pid: int | None
    tid: int | None
    thread: str | None
    t_ns: int
    stack: int | None
    frames: Sequence[int]
    leaf: str | None
    weight: int


@dataclass
class Stacks:
    """What is exported of a run.

    Parameters
    ----------
    run : Run
        An open run.
    event : str
        Which samples: ``cpu``, ``wall``, ``alloc``, ``lock``, or the event of an imported profile.
    by : sequence of str
        Dimensions that become root frames, in this order.
    iteration : int or None
        Only samples of this iteration.
    labels : sequence of str
        Dimensions that samples are summed by besides, and that `sums` gives.

    Raises
    ------
    UsageError
        If the run has no such samples, or there is no such dimension.
    """

    run: Run
    event: str | None = None
    by: Sequence[str] = ()
    iteration: int | None = None
    labels: Sequence[str] = ()
    unit: str = field(init=False)
    period: int = field(init=False)

    def __post_init__(self) -> None:
        unknown = [name for name in self.by if name not in DIMENSIONS]
        if unknown:
            raise UsageError(
                f"unknown dimension {unknown[0]!r}", f"choose one of {', '.join(DIMENSIONS)}"
            )
        units = dict(self.run.tables.query("SELECT event, any_value(unit) FROM samples GROUP BY 1"))
        present = sorted(units, key=lambda e: (EVENTS.index(e) if e in EVENTS else 9, e))
        if not present:
            raise UsageError(
                f"{self.run.paths.address}: the run has no profiler samples",
                "pyrometer run --profile full samples stacks",
            )
        self.event = self.event or present[0]
        if self.event not in units:
            raise UsageError(
                f"{self.run.paths.address}: no samples of event {self.event!r}",
                f"choose from its events: {', '.join(present)}",
            )
        self.unit = units[self.event]
        if {*self.by, *self.labels} & _ATTRIBUTED and self.run.tables.has("plan_nodes"):
            define_stack_labels(Scope(self.run, choose(self.run, APPLICATION)))
        define_samples(self.run.tables)
        self._define_chosen()

    def _define_chosen(self) -> None:
        only = "" if self.iteration is None else f" AND iteration = {int(self.iteration)}"
        tables = self.run.tables
        tables.define(CHOSEN, f"SELECT * FROM {SAMPLES} WHERE event = ?{only}", [self.event])
        count, least = tables.query(f"SELECT count(*), min(weight) FROM {CHOSEN}")[0]
        if not count:
            raise UsageError(
                f"{self.run.paths.address}: no {self.event} samples in iteration {self.iteration}",
                "pyrometer show RUN lists the iterations",
            )
        # The lightest sample is one period where samples are periodic.
        periodic = self.event in ("cpu", "wall") and self.unit == "ns"
        self.period = max(0, int(least)) if periodic else 0

    @cached_property
    def frames(self) -> Mapping[int, Frame]:
        """Every frame by its id."""
        rows = self.run.tables.query(
            "SELECT frame_id, class_name, method, line, kind, library FROM frames"
        )
        return {
            number: Frame(f"{cls}.{method}" if cls else method, line, kind, library)
            for number, cls, method, line, kind, library in rows
        }

    @property
    def times_wall_ns(self) -> tuple[int, int]:
        """Start and end of the run, Unix time; 0 where they are not known."""
        manifest = self.run.manifest
        started = (manifest.started_wall_ns if manifest else None) or 0
        ended = (manifest.ended_wall_ns if manifest else None) or 0
        return started, max(started, ended)

    def sums(self) -> Iterator[Sum]:
        """Sum samples by stack, groups and labels, in the order of stacks and groups."""
        columns = [*(f"{name} AS g{i}" for i, name in enumerate(self.by)), *self.labels]
        names = ["stack", *(f"g{i}" for i in range(len(self.by))), "top_class", *self.labels]
        sql = f"""
            WITH folded AS (
                SELECT {", ".join(["stack", *columns, "top_class"])},
                    sum(weight)::BIGINT AS weight, {TAKEN} AS samples
                FROM {CHOSEN} GROUP BY ALL)
            SELECT k.frame_ids, weight, samples, {", ".join(names[1:])}
            FROM folded LEFT JOIN stacks k ON k.stack_id = folded.stack
            ORDER BY {", ".join(names)}
        """
        last = 3 + len(self.by)
        for row in self.run.tables.batches(sql):
            groups = tuple(map(group_label, self.by, row[3:last]))
            leaf = row[last] if row[0] else row[last] or NO_STACK
            yield Sum(groups, row[0] or (), leaf, row[1], row[2], row[last + 1 :])

    @cached_property
    def clock(self) -> str | None:
        """Clock of the samples' times, of most of them; `None` where they have no times."""
        found = self.run.tables.query(
            f"SELECT clock FROM {CHOSEN} WHERE t_ns IS NOT NULL"
            " GROUP BY clock ORDER BY count(*) DESC, clock LIMIT 1"
        )
        return str(found[0][0]) if found else None

    @cached_property
    def untimed_count(self) -> int:
        """Samples that `timed` leaves out: without a time, or on another clock than `clock`."""
        sql = f"SELECT {TAKEN} FROM {CHOSEN} WHERE clock IS DISTINCT FROM ?"
        return int(self.run.tables.scalar(sql, [self.clock]) or 0)

    @cached_property
    def first_ns(self) -> int:
        """Time of the first sample on `clock`; 0 without times."""
        sql = f"SELECT min(t_ns) FROM {CHOSEN} WHERE clock = ?"
        return int(self.run.tables.scalar(sql, [self.clock]) or 0)

    @property
    def after_mono_ns(self) -> int | None:
        """What `clock` is ahead of CLOCK_MONOTONIC; `None` where that is not known."""
        return {"mono": 0, "wall": self.offset_ns}.get(self.clock or "")

    @cached_property
    def offset_ns(self) -> int | None:
        """Unix time minus CLOCK_MONOTONIC; `None` where no pair of readings joins them."""
        return clock_offset_ns(self.run)

    def timed(self) -> Iterator[Timed]:
        """Return the single samples of `sums` with times on `clock`, by process, thread, time."""
        only = "" if self.iteration is None else f" AND {_iteration(self.iteration)}"
        sql = f"""
            SELECT host, pid, tid, thread_name, t_ns, stack_id, frame_ids, {LEAF}, weight
            FROM samples LEFT JOIN stacks ON stack_id = {STACK}
            WHERE {COUNTS} AND event = ? AND clock = ?{only}
            ORDER BY host, pid, tid, t_ns
        """
        for row in self.run.tables.batches(sql, [self.event, self.clock]):
            host, pid, tid, thread, t_ns, stack, frames, leaf, weight = row
            shown = leaf if frames else leaf or NO_STACK
            yield Timed(host, pid, tid, thread, t_ns, stack, frames or (), shown, weight)


def _iteration(number: int) -> str:
    """Condition on samples of an iteration: of its tasks, or taken while it went on."""
    return f"""coalesce(iteration = {int(number)}, EXISTS (
        FROM iterations i WHERE i.iteration = {int(number)}
            AND clock = 'mono' AND t_ns >= i.start_mono_ns AND t_ns < i.end_mono_ns))"""


def group_label(dimension: str, value: object) -> str:
    """Name a group as the flame graph's page does.

    Examples
    --------
    >>> group_label("stage", 3), group_label("sql", 1), group_label("operator", None)
    ('stage 3', 'SQL 1', 'no operator')
    >>> group_label("what", "gc"), group_label("what", None)
    ('gc', 'unknown')
    """
    plain = "SQL" if dimension == "sql" else dimension
    if value is None:
        known = dimension in NUMBERS or dimension in _ATTRIBUTED
        return f"no {plain}" if known else "unknown"
    return f"{plain} {value}" if dimension in NUMBERS else str(value)


class Names:
    """A table of strings that is filled while it is used.

    Parameters
    ----------
    first : str
        Names that have numbers from the start.

    Examples
    --------
    >>> names = Names("")
    >>> names.of("a"), names.of("b"), names.of("a"), list(names)
    (1, 2, 1, ['', 'a', 'b'])
    """

    def __init__(self, *first: str) -> None:
        self._number = {name: number for number, name in enumerate(first)}

    def of(self, name: str) -> int:
        """Return the number of a name."""
        return self._number.setdefault(name, len(self._number))

    def __iter__(self) -> Iterator[str]:
        return iter(self._number)

    def __len__(self) -> int:
        return len(self._number)
