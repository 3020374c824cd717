"""Tables of trials: what was measured once answers any engine, in milliseconds.

A row is a trial: a column for each factor (empty: not set), ``value_ns``, and where known
``cost_core_ns``, ``fidelity``, ``block``, ``failed``, ``censored``, ``canary``; what else is known
of a trial (:data:`NOTES`) is for people. A configuration that was measured shows its own mean, with
what blocks did taken out (:mod:`benchmarks.tune.standings`); another one what a model of the whole
table, which is that of our engine, says of it. Noise, of trials and of blocks, is drawn with the
deviations that this model finds.
"""

from __future__ import annotations

import csv
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from benchmarks.tune.response import Shown
from benchmarks.tune.standings import standings
from pyrometer.core.errors import UsageError
from pyrometer.tune.advise.adviser import FULL, Observation
from pyrometer.tune.advise.history import History
from pyrometer.tune.advise.surrogate import Surrogate
from pyrometer.tune.space.cube import columns, encode, features, key, plain
from pyrometer.tune.space.space import Configuration, Knob, Space

VALUE, COST = "value_ns", "cost_core_ns"
NOTES = ("trial", "wall_ns", "disturbed")
"""Number of a trial, when it ended, and what the guard saw of others on the machine."""
KNOWN = (VALUE, COST, "fidelity", "block", "failed", "censored", "canary", *NOTES)
NEAR = 0.02
"""Distance in the unit cube below which the nearest failure decides that one fails too."""
FEWEST = 8
"""Trials from which on what a launch costs is told from what the job costs."""


@dataclass(frozen=True)
class Replay:
    """A table that answers for its job."""

    name: str
    space: Space
    seen: tuple[Observation, ...]

    @cached_property
    def fidelities(self) -> Mapping[str, float]:
        """Cheap stand-ins of the table, with their cost as a share of a full run."""
        costs: dict[str, list[float]] = {}
        for one in self.seen:
            if not one.configuration and one.failed is None:
                costs.setdefault(one.fidelity, []).append(one.cost)
        if FULL not in costs:
            raise UsageError(f"{self.name}: no trial of the baseline (no factor set) has a value")
        full = statistics.fmean(costs[FULL])
        return {
            name: statistics.fmean(found) / full for name, found in costs.items() if name != FULL
        }

    def truth(self, configuration: Configuration) -> float | None:
        """Give the mean of what was measured, else what the model says."""
        return self._value(plain(self.space, configuration), FULL)

    def best_known(self) -> float:
        """Give the lowest mean of a configuration that was measured.

        Of few trials it is low by luck, too: the more they repeat the best, the less.
        """
        return min(self._means.values())

    def show(
        self, configuration: Configuration, fidelity: str, block: float, rng: np.random.Generator
    ) -> Shown:
        """Run a trial."""
        one = plain(self.space, configuration)
        value = self._value(one, fidelity)
        share = 1.0 if fidelity == FULL else self.fidelities[fidelity]
        if value is None:
            return Shown(None, share * self._cost(self._baseline, FULL), "failed when measured")
        value *= math.exp(block + rng.normal(0, self.noise))
        return Shown(value, self._cost(value, fidelity))

    @cached_property
    def noise(self) -> float:
        """Deviation of the logarithm of a trial."""
        return math.sqrt(self._model.parameters.noise)

    @cached_property
    def block_noise(self) -> float:
        """Deviation of the logarithm of a block."""
        return math.sqrt(self._model.parameters.block)

    def _value(self, configuration: Configuration, fidelity: str) -> float | None:
        if self._fails(configuration):
            return None
        if fidelity != FULL:
            shown = self._history.typical(configuration, fidelity)
            baseline = self._history.typical({}, fidelity)
            if shown is not None:
                return shown
            return (baseline or self._baseline) * self._mean(configuration) / self._baseline
        return self._mean(configuration)

    def _mean(self, configuration: Configuration) -> float:
        measured = self._means.get(key(configuration))
        return self._model_mean(configuration) if measured is None else measured

    def _model_mean(self, configuration: Configuration) -> float:
        base = features(self.space, [{}])[0]
        found = self._model.differences(features(self.space, [configuration]), base)
        return self._baseline * math.exp(float(found.mean[0]))

    def _fails(self, configuration: Configuration) -> bool:
        name = key(configuration)
        # A job that failed once as it is, is one that runs.
        if not name or name in self._failed or name in self._measured:
            return name in self._failed
        return self._near_failure(configuration)

    def _near_failure(self, configuration: Configuration) -> bool:
        if not len(self._failures):
            return False
        place = encode(self.space, configuration)
        apart = np.sqrt(((self._failures - place) ** 2).sum(axis=1))
        return float(apart.min()) < NEAR

    @cached_property
    def _history(self) -> History:
        return History(self.seen)

    @cached_property
    def _measured(self) -> dict[str, dict[str, str]]:
        return self._history.finished()

    @cached_property
    def _means(self) -> dict[str, float]:
        """Means of what finished in full, by the configuration's key."""
        found = standings(self.seen)
        return {key(one.configuration): self._baseline * math.exp(one.change) for one in found}

    @cached_property
    def _failed(self) -> set[str]:
        return self._history.failed() - {""}

    @cached_property
    def _failures(self) -> np.ndarray:
        places = [
            encode(self.space, one.configuration)
            for one in self.seen
            if one.failed and one.configuration
        ]
        return np.array(places).reshape(len(places), len(self.space.knobs))

    @cached_property
    def _model(self) -> Surrogate:
        trials = History(one for one in self.seen if not one.failed).trials(self.space)
        if trials is None:
            raise UsageError(f"{self.name}: no trial has a value")
        return Surrogate(columns(self.space), trials, [False] * len(self.space.knobs))

    @cached_property
    def _baseline(self) -> float:
        found = self._history.typical({})
        if found is None:
            raise UsageError(f"{self.name}: no trial of the baseline (no factor set) has a value")
        return found

    def _cost(self, value: float, fidelity: str) -> float:
        """Give the cost of a trial of a value: what it costs beside, and more the longer it is."""
        lines = self._lines
        beside, slope = lines.get(fidelity) or lines[FULL]
        return beside + slope * value

    @cached_property
    def _lines(self) -> dict[str, tuple[float, float]]:
        """Fit costs to values by fidelity: launches cost the same, however fast the job is."""
        pairs: dict[str, list[tuple[float, float]]] = {}
        for one in self.seen:
            if one.value and not one.failed and not one.censored:
                pairs.setdefault(one.fidelity, []).append((one.value, one.cost))
        return {name: _line(found) for name, found in pairs.items()}


def _line(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Give ends of a line through costs by value: what is paid for no value at all, and its slope.

    Neither is below 0: where values say too little of the slope, costs are in proportion.
    """
    values, costs = (np.array(one) for one in zip(*pairs, strict=True))
    apart = values - values.mean()
    if len(pairs) >= FEWEST and float(apart @ apart) > 0:
        slope = float(apart @ costs) / float(apart @ apart)
        beside = float(costs.mean()) - slope * float(values.mean())
        if slope >= 0 and beside >= 0:
            return beside, slope
    return 0.0, float((costs / values).mean())


def read_table(path: Path, space: Space | None = None) -> Replay:
    """Read a table of trials.

    Parameters
    ----------
    space : Space, optional
        What engines may turn; without one it is as wide as the table.

    Raises
    ------
    UsageError
        If it cannot be read, or a row is none of a trial.
    """
    rows = _rows(path)
    if not rows:
        raise UsageError(f"{path}: no trial")
    factors = [name for name in rows[0] if name not in KNOWN]
    if VALUE not in rows[0] or not factors:
        raise UsageError(f"{path}: no column {VALUE}, or none of a factor")
    used = space or _space_of(path.stem, rows, factors)
    names = {one.factor for one in used.knobs}
    seen = []
    for at, row in enumerate(rows):
        levels = {name: row[name] for name in factors if row.get(name) and name in names}
        seen.append(_observation(f"{path}, trial {at + 1}", row, plain(used, levels)))
    return Replay(path.stem, used, tuple(seen))


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            found = pq.read_table(path).to_pylist()
            return [
                {name: "" if one is None else str(one) for name, one in row.items()}
                for row in found
            ]
        with path.open(encoding="utf-8", newline="") as lines:
            return [dict(row) for row in csv.DictReader(lines)]
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _observation(where: str, row: Mapping[str, str], levels: dict[str, str]) -> Observation:
    try:
        failed = row.get("failed") or None
        value = float(row[VALUE]) if row.get(VALUE) and failed is None else None
        if value is None and failed is None:
            raise ValueError("neither a value nor a reason")
        return Observation(
            configuration=levels,
            fidelity=row.get("fidelity") or FULL,
            block=int(float(row.get("block") or 0)),
            value=value,
            cost=float(row.get(COST) or row.get(VALUE) or 0.0),
            censored=row.get("censored", "").lower() in ("true", "1"),
            failed=failed,
            canary=float(row["canary"]) if row.get("canary") else None,
        )
    except ValueError as error:
        raise UsageError(f"{where}: {error}") from error


def _space_of(name: str, rows: list[dict[str, str]], factors: list[str]) -> Space:
    """Make a space that is as wide as the table: every level a choice, numbers a range."""
    from pyrometer.experiments.plan.constraints import number_or_text

    knobs = []
    for factor in factors:
        levels = list(dict.fromkeys(row[factor] for row in rows if row.get(factor)))
        numbers = [number_or_text(one) for one in levels]
        values = [one for one in numbers if isinstance(one, float)]
        if len(levels) > 3 and len(values) == len(levels) and min(values) > 0:
            size = any(one[-1:].lower() in "kmgt" for one in levels)
            whole = all(one == int(one) for one in values)
            kind = "size" if size else "int" if whole else "float"
            log = max(values) > 8 * min(values)
            knobs.append(Knob(factor, kind, min(values), max(values), log=log))
        elif levels:
            knobs.append(Knob(factor, "choice", levels=tuple(levels)))
    return Space(name, tuple(knobs))
