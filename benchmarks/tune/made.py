"""The table of a search, and a file beside it that says where it is from, read from the journal.

Nothing is kept that the journal does not have: whoever writes them again gets the same.
"""

from __future__ import annotations

import csv
import io
import math
import statistics
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from scipy import stats

from benchmarks.tune.standings import Standing, best_of, changed, standings
from benchmarks.tune.table import COST, NOTES, VALUE
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.core.replacing import replacing
from pyrometer.experiments.folder import ExperimentPaths
from pyrometer.experiments.journal import read_journal
from pyrometer.store.manifest import Manifest, read_manifest
from pyrometer.tune.advise.adviser import FULL, Observation
from pyrometer.tune.space.space import Space
from pyrometer.tune.trials.folder import SavedSpace, Tuning, read_tuning
from pyrometer.tune.trials.records import KINDS
from pyrometer.tune.trials.replay import History, Step, history_of

NAMED = 5
"""How many of the best configurations are named."""
FEWEST = 3
"""Baselines from which on drift is told from noise."""
HOUR_NS = 3600e9


class Best(BaseModel):
    """A configuration that is among the best known.

    Attributes
    ----------
    change : (float, float, float)
        Its time over that of the baseline less one: value and ends of the interval.
    """

    configuration: dict[str, str]
    change: tuple[float, float, float]
    trials: int


class StandIn(BaseModel):
    """A cheap stand-in: in the table, or not, with the reason."""

    name: str
    summary: str
    cost_ratio: float
    left_out: str | None = None


class Header(BaseModel):
    """Where a table is from (``NAME.json`` beside ``NAME.csv``).

    Attributes
    ----------
    trials : dict of str to int
        Rows by how they ended.
    left_out : dict of str to int
        Trials that are no rows, by why: never launched, or ended from outside.
    disturbed : int
        Rows during which others used the machine, by the limits of the guard.
    baselines : int
        Rows of the job as it is, in full.
    spread : float or None
        Deviation of the logarithms of their times.
    drift : Estimate
        By how much they changed from the first to the last, along a line; null with fewer than
        three.
    best : list of Best
        The best known first: of what ran at least twice.
    """

    model_config = ConfigDict(populate_by_name=True, extra="allow")

    schema_name: Literal["pyrometer/trial-table/1"] = Field(
        "pyrometer/trial-table/1", alias="schema"
    )
    name: str
    workload: str
    scale: str
    shared: dict[str, str]
    iterations: int
    warmup: int | str
    seed: int
    guard: dict[str, Any]
    machine: dict[str, str | int | None]
    versions: dict[str, str | None]
    began: str | None
    ended: str | None
    space: SavedSpace
    trials: dict[str, int]
    left_out: dict[str, int]
    disturbed: int
    baselines: int
    spread: float | None
    drift: Estimate
    stand_ins: list[StandIn]
    best: list[Best]


def write(root: Path, folder: Path) -> Header | None:
    """Write table and header of a search; ``None``: no trial has ended yet.

    Parameters
    ----------
    root : Path
        Folder of the search.
    folder : Path
        Where ``NAME.csv`` and ``NAME.json`` go.

    Raises
    ------
    UsageError
        If there is no search, or its journal was edited.
    """
    tuning = read_tuning(root)
    history = history_of(read_journal(root, KINDS))
    steps = list(_rows(history))
    if not steps:
        return None
    made = header(tuning, history, _manifest(root, history))
    _put(folder / f"{tuning.name}.csv", table(tuning.space.read(), steps))
    _put(folder / f"{tuning.name}.json", made.model_dump_json(by_alias=True, indent=1) + "\n")
    return made


def read_header(path: Path) -> Header | None:
    """Read the header of a table; ``None``: it has none.

    Raises
    ------
    UsageError
        If there is one that is none.
    """
    place = path.with_suffix(".json")
    if not place.is_file():
        return None
    try:
        return Header.model_validate_json(place.read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(
            f"{place} is no header of a table: {str(error).splitlines()[0]}"
        ) from error


def table(space: Space, steps: Sequence[Step]) -> str:
    """Write trials as CSV, in the order in which they were asked for."""
    factors = [one.factor for one in space.knobs]
    usual = (
        statistics.median(found) if (found := [one for one in map(_alu, steps) if one]) else None
    )
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    more = ("fidelity", "block", "failed", "censored", "canary")
    writer.writerow([*factors, VALUE, COST, *more, *NOTES])
    for step in steps:
        asked, told = step.asked, step.told
        assert told is not None
        alu = _alu(step)
        during = step.ended.during if step.ended else None
        writer.writerow([
            *(asked.configuration.get(name, "") for name in factors),
            "" if told.value is None else repr(told.value), repr(told.cost),
            asked.fidelity, asked.block, " ".join((told.failed or "").split()),
            "true" if told.censored else "",
            repr(alu / usual) if alu and usual else "",
            asked.trial, step.ended.wall_ns if step.ended else told.wall_ns,
            "; ".join(during.disturbed) if during else "",
        ])  # fmt: skip
    return out.getvalue()


def header(tuning: Tuning, history: History, manifest: Manifest | None) -> Header:
    """Say where the table of a search is from."""
    steps = list(_rows(history))
    seen = observations(history)
    base = [
        (one.ended.wall_ns / HOUR_NS, math.log(one.told.value))
        for one in steps
        if one.is_baseline and one.counts and one.ended and one.told and one.told.value
    ]
    walls = [one.ended.wall_ns for one in steps if one.ended]
    found = standings(seen)
    host = manifest.host if manifest else None
    memory = {} if host is None else {"memory_bytes": host.memory_bytes, "kernel": host.kernel}
    return Header(
        name=tuning.name, workload=Path(tuning.workload).name, scale=tuning.scale,
        shared=tuning.shared, iterations=tuning.iterations, warmup=tuning.warmup,
        seed=tuning.seed, guard=tuning.guard, machine={**tuning.machine, **memory},
        versions={
            "pyrometer": tuning.pyrometer_version,
            # Runs of which nothing but the time is measured do not say which Spark it was.
            "pyspark": (tuning.model_extra or {}).get("pyspark"),
            **(manifest.versions if manifest else {}),
        },
        began=_date(steps[0].asked.wall_ns), ended=_date(max(walls, default=None)),
        space=tuning.space, trials=_counts(_how(one) for one in steps),
        left_out=_counts(why for one in history.steps if (why := _why_not(one, history))),
        disturbed=sum(bool(one.ended and one.ended.during and one.ended.during.disturbed)
                      for one in steps),
        baselines=len(base),
        spread=statistics.stdev(value for _, value in base) if len(base) > 1 else None,
        drift=drift(base),
        stand_ins=[
            StandIn(name=name, summary=one.fidelity.summary, cost_ratio=one.fidelity.cost_ratio,
                    left_out=one.left_out)
            for name, one in history.offers.items()
        ],
        best=_best(found),
    )  # fmt: skip


def observations(history: History) -> list[Observation]:
    """Give the trials of a table in the words of engines."""
    return [one.told.observation(one.asked) for one in _rows(history) if one.told]


def drift(base: Sequence[tuple[float, float]]) -> Estimate:
    """Fit a line through log times by hours: the ratio of its ends less one."""
    hours = [hour for hour, _ in base]
    if len(base) < FEWEST or max(hours) <= min(hours):
        method = f"not known: fewer than {FEWEST} baselines"
        return Estimate(value=None, low=None, high=None, level=LEVEL, n=len(base), method=method)
    length = max(hours) - min(hours)
    line = stats.linregress(
        [(one - min(hours)) / length for one in hours], [value for _, value in base]
    )
    half = float(stats.t.ppf((1 + LEVEL) / 2, len(base) - 2)) * float(line.stderr)
    middle = float(line.slope)
    return Estimate(
        value=math.expm1(middle), low=math.expm1(middle - half), high=math.expm1(middle + half),
        level=LEVEL, n=len(base), method="t, the ends of a line through logarithms",
    )  # fmt: skip


def _best(found: Sequence[Standing]) -> list[Best]:
    best = best_of(found)
    twice = [one for one in found if one.trials > 1 and one is not best]
    ordered = [*([] if best is None else [best]), *sorted(twice, key=lambda one: one.surely)]
    return [
        Best(configuration=one.configuration, change=changed(one), trials=one.trials)
        for one in ordered[:NAMED]
    ]


def _rows(history: History) -> Iterator[Step]:
    for step in history.steps:
        if step.told is not None and _why_not(step, history) is None:
            yield step


def _why_not(step: Step, history: History) -> str | None:
    """Say why a trial is no row: nothing was measured of its configuration."""
    told, fidelity = step.told, step.asked.fidelity
    if told is None:
        return "has not ended"
    if told.refused:
        return "not launched"
    if told.void:
        return "ended from outside"
    if fidelity != FULL:
        offered = history.offers.get(fidelity)
        if offered is None or offered.left_out is not None:
            return f"stand-in {fidelity} is not used"
    return None


def _how(step: Step) -> str:
    told = step.told
    assert told is not None
    return "failed" if told.failed else "given up" if told.censored else "finished"


def _counts(words: Iterator[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for one in words:
        found[one] = found.get(one, 0) + 1
    return found


def _alu(step: Step) -> float | None:
    canaries = step.ended.canaries if step.ended else None
    return canaries.alu_ns if canaries else None


def _date(wall_ns: int | None) -> str | None:
    if wall_ns is None:
        return None
    return datetime.fromtimestamp(wall_ns / 1e9, UTC).isoformat(timespec="seconds")


def _manifest(root: Path, history: History) -> Manifest | None:
    for step in history.baselines:
        if step.ended is not None:
            try:
                return read_manifest(ExperimentPaths(root).trials / step.ended.folder)
            except PyrometerError:
                continue
    return None


def _put(path: Path, text: str) -> None:
    try:
        with replacing(path, 0o644) as out:
            out.write(text.encode())
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error
