"""What a flame graph of chosen samples says in words: its hottest frames and its groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.analyse.shares import LEVEL, wilson
from pyrometer.estimate import Estimate
from pyrometer.report.flame import Folded
from pyrometer.report.flame_asked import Chosen
from pyrometer.report.flame_facts import FOLDED
from pyrometer.report.flame_hottest import hottest
from pyrometer.store.tables import Tables

SCHEMA: Final = "pyrometer/flame/1"
FRAMES_COUNT = 40
GROUPS_COUNT = 40


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
