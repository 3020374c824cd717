"""What a flame graph of chosen samples says in words: its hottest frames and its groups."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal
from urllib.parse import urlencode

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from pyrometer.analyse.shares import LEVEL, wilson
from pyrometer.analyse.windows import MEASURED
from pyrometer.errors import UsageError
from pyrometer.estimate import Estimate
from pyrometer.report.flame import Folded
from pyrometer.report.flame_facts import DIMENSIONS, EVENTS, FOLDED
from pyrometer.report.flame_hottest import hottest
from pyrometer.store.tables import Tables

SCHEMA: Final = "pyrometer/flame/1"
BOTH = "both"
ALL = "all"
FRAMES_COUNT = 40
GROUPS_COUNT = 40
# On-CPU time is told by samples of the CPU, off-CPU time by wall samples that do not run.
_BOTH = "(event = 'cpu' OR (event = 'wall' AND state IS DISTINCT FROM 'running'))"


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class FlameFrame(_Model):
    """A frame by name; a recursive call counts once in its total."""

    frame: str
    self_weight: float
    self_share: Estimate
    total_weight: float
    total_share: Estimate
    samples_count: int


class FlameGroup(_Model):
    """Samples that agree in the dimensions asked for, in their order; null: has none."""

    values: list[str | int | None]
    weight: float
    share: Estimate
    samples_count: int


class FlameView(_Model):
    """Chosen samples of a run (``pyrometer/flame/1``); weights are in ``unit``."""

    schema_: Literal["pyrometer/flame/1"] = Field(default=SCHEMA, alias="schema")
    run_dir: str
    page: str | None = None
    size_bytes: int | None = None
    event: str
    unit: str
    iterations: list[int] | None
    by: list[str]
    weight: float
    samples_count: int
    groups: list[FlameGroup]
    frames: list[FlameFrame]
    note: str | None


@dataclass(frozen=True)
class Asked:
    """Which samples, and in which order of dimensions.

    Attributes
    ----------
    event : str or None
        An event of the run, or ``both``: time on a CPU and off it. None: its first.
    by : tuple of str
        Dimensions, names of `DIMENSIONS`.
    iteration : str or None
        ``measured``, ``all`` or a number. None: measured where there are any.
    """

    event: str | None = None
    by: tuple[str, ...] = ()
    iteration: str | None = None

    def settled(self, tables: Tables, measured: Sequence[int]) -> Chosen:
        """Hold what is asked for against the run, once `facts_of` has told its samples.

        Raises
        ------
        UsageError
            If the run lacks an event, a dimension or an iteration that is asked for.
        """
        present = {row[0] for row in tables.query(f"SELECT DISTINCT event FROM {FOLDED}")}
        events = [e for e in EVENTS if e in present] + sorted(present - set(EVENTS))
        if {"cpu", "wall"} <= present:
            events.append(BOTH)
        event = self.event or events[0]
        if event not in events:
            raise UsageError(f"no samples of {event!r} in this run", f"--event {'|'.join(events)}")
        unknown = [name for name in self.by if name not in DIMENSIONS]
        if unknown:
            raise UsageError(
                f"--by: no dimension {unknown[0]!r}", f"--by takes any of {', '.join(DIMENSIONS)}"
            )
        return Chosen(event, self.by, self._iterations(tables, measured))

    def _iterations(self, tables: Tables, measured: Sequence[int]) -> tuple[int, ...] | None:
        if self.iteration == ALL or (self.iteration is None and not measured):
            return None
        if self.iteration in (None, MEASURED):
            if not measured:
                raise UsageError("no measured iterations in this run", f"--iteration {ALL}")
            return tuple(measured)
        known = [row[0] for row in tables.query("SELECT iteration FROM iterations ORDER BY 1")]
        if self.iteration not in map(str, known):
            names = " | ".join([MEASURED, ALL, *map(str, known)])
            raise UsageError(f"no iteration {self.iteration!r} in this run", f"--iteration {names}")
        return (int(str(self.iteration)),)


@dataclass(frozen=True)
class Chosen:
    """What of a run is shown: an event, dimensions, iterations (None: everything)."""

    event: str
    by: tuple[str, ...]
    iterations: tuple[int, ...] | None

    @property
    def condition(self) -> str:
        """SQL that holds for the facts that are meant."""
        event = _BOTH if self.event == BOTH else f"event = '{self.event}'"
        if self.iterations is None:
            return event
        return f"{event} AND iteration IN ({', '.join(map(str, self.iterations))})"

    def facts(self, folded: Folded) -> npt.NDArray[np.bool_]:
        """Tell which facts are meant, as `condition` does."""
        facts = folded.facts

        def having(name: str, wanted: Collection[object]) -> npt.NDArray[np.bool_]:
            values = facts["values"][name]
            found: npt.NDArray[np.bool_] = np.array([v in wanted for v in values])[facts[name]]
            return found

        if self.event == BOTH:
            met = having("event", ("cpu",)) | (
                having("event", ("wall",)) & ~having("state", ("running",))
            )
        else:
            met = having("event", (self.event,))
        return met if self.iterations is None else met & having("iteration", self.iterations)

    def link(self, measured: Sequence[int]) -> str:
        """Give the part of the page's address that opens it at this view."""
        words = {"event": self.event}
        if self.by:
            words["by"] = ",".join(self.by)
        if self.iterations is not None:
            words["iteration"] = (
                MEASURED if self.iterations == tuple(measured) else json.dumps(self.iterations[0])
            )
        return f"#flame?{urlencode(words)}"


def view_of(
    tables: Tables,
    folded: Folded,
    chosen: Chosen,
    run_dir: str,
    note: str | None = None,
) -> FlameView:
    """Add up the chosen samples of a run, after `facts_of` has told them.

    Parameters
    ----------
    tables : Tables
        The run's tables, with the temporary ones of `facts_of`.
    folded : Folded
        Their samples.
    chosen : Chosen
        Which of them.
    run_dir : str
        As it is printed.
    note : str, optional
        What bounds took.
    """
    tables.define("flame_chosen", f"SELECT * FROM {FOLDED} WHERE {chosen.condition}")
    # A tick of cpu and of wall weighs its event's step; of other events a sample is a tick.
    ticks = "".join(f" WHEN '{event}' THEN {step}" for event, step in folded.facts["steps"].items())
    square = f"weight * CASE event{ticks} ELSE weight / n END" if ticks else "weight * weight / n"
    whole = tables.record(
        "SELECT coalesce(sum(weight), 0) AS weight, coalesce(sum(n), 0)::BIGINT AS n,"
        f" coalesce(sum({square}), 0) AS squares, any_value(unit) AS unit FROM flame_chosen"
    )
    weight = float(whole["weight"])
    # Kish's effective number (1965, Survey Sampling, 11.7): ticks of cpu and wall differ in weight.
    n = round(weight**2 / whole["squares"]) if whole["squares"] else 0

    def share(part: float) -> Estimate:
        value = part / weight if weight else None
        low, high = wilson(round((value or 0.0) * n), n)
        return Estimate(value=value, low=low, high=high, level=LEVEL, n=n, method="wilson")

    return FlameView(
        run_dir=run_dir,
        event=chosen.event,
        unit=whole["unit"] or "ns",
        iterations=None if chosen.iterations is None else list(chosen.iterations),
        by=list(chosen.by),
        weight=weight,
        samples_count=int(whole["n"]),
        groups=[
            FlameGroup(
                values=[row[name] for name in chosen.by],
                weight=row["weight"],
                share=share(row["weight"]),
                samples_count=row["n"],
            )
            for row in _groups(tables, chosen.by)
        ],
        frames=[
            FlameFrame(
                frame=row.frame,
                self_weight=row.own,
                self_share=share(row.own),
                total_weight=row.total,
                total_share=share(row.total),
                samples_count=row.n,
            )
            for row in hottest(folded, chosen.facts(folded), FRAMES_COUNT)
        ],
        note=note,
    )


def _groups(tables: Tables, by: Sequence[str]) -> list[dict[str, Any]]:
    if not by:
        return []
    names = ", ".join(by)
    return tables.records(
        f"SELECT {names}, sum(weight) AS weight, sum(n)::BIGINT AS n FROM flame_chosen"
        f" GROUP BY {names} ORDER BY weight DESC, {names} LIMIT {GROUPS_COUNT}"
    )
