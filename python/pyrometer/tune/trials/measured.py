"""What a trial showed: the objective, and what conditions and fronts ask for."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pyrometer.collect.launch.launch import is_workload_command
from pyrometer.collect.probes.profile import parse_profile
from pyrometer.core import units
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.experiments.folder import Ended
from pyrometer.experiments.plan.constraints import Constraint, parse_constraint
from pyrometer.simulation.analysis import Prices
from pyrometer.store.manifest import read_manifest
from pyrometer.trial.factors import did_you_mean
from pyrometer.tune.trials.folder import Objective, Tuning
from pyrometer.tune.trials.used import reserved as executors_reserved
from pyrometer.tune.trials.used import used

NS = 1e9

FEWEST_TIMES = 20
"""Times of which a percentile of 95 is asked for: of fewer it is the longest, or all but that."""

METRICS = {
    "elapsed": "time of an iteration, of a command its whole time, in s",
    "p95": "95th percentile of the iterations' times, in s",
    "core_seconds": "CPU time of all processes of the application in an iteration, in s",
    "peak_memory": "highest resident memory of all its processes together, in bytes",
    "executor_memory": "highest resident memory of one executor, Python workers included, in bytes",
    "cost": "price of the reserved cores and memory for the time of an iteration",
}
"""What ``--subject-to`` may speak of."""

OF_OBJECTIVE: Mapping[Objective, str] = {
    "elapsed": "elapsed",
    "core-seconds": "core_seconds",
    "cost": "cost",
    "p95": "p95",
    "memory": "peak_memory",
}
PROBED = frozenset({"core_seconds", "peak_memory", "executor_memory"})
SIZES = frozenset({"peak_memory", "executor_memory"})
"""Metrics that the probe of the operating system reads."""
IN_NS = frozenset({"elapsed", "core_seconds", "p95"})
"""Metrics that the objective has in ns."""
_SIZE = re.compile(r"(?<![\w.])[0-9.]+(?:[kmgt]b?|b)(?![\w.])", re.IGNORECASE)


@dataclass(frozen=True)
class Measured:
    """Metrics of a trial that are known, and why others are not."""

    metrics: dict[str, float]
    missing: dict[str, str] = field(default_factory=dict)


class Reserved(NamedTuple):
    """What a configuration reserves.

    Attributes
    ----------
    cores : int
        Of the whole job, where it runs on this machine.
    memory : float
        Bytes of the whole job; of one executor, where these run elsewhere.
    elsewhere : bool
        Executors are those that the cluster gave, for as long as the event log says.
    """

    cores: int
    memory: float
    elsewhere: bool = False


def measured(run_dir: Path, ended: Ended, reserved: Reserved, prices: Prices | None) -> Measured:
    """Read the metrics of a trial that finished.

    Parameters
    ----------
    ended : Ended
        As the journal has it.
    reserved : Reserved
        What its configuration reserves.
    prices : Prices or None
        Of cores and memory, where they are known.
    """
    metrics: dict[str, float] = {}
    missing: dict[str, str] = {}
    if ended.seconds is not None:
        metrics["elapsed"] = ended.seconds
    cost: float | None = None
    why: str | None = "no prices were given (--price FILE)"
    if prices is not None:
        cost, why = _cost(run_dir, ended, reserved, prices)
    if cost is None:
        missing["cost"] = why or "not known"
    else:
        metrics["cost"] = cost
    times = ended.iterations_s or ([ended.seconds] if ended.seconds is not None else [])
    if times:
        metrics["p95"] = float(np.percentile(times, 95))
    for name, one in used(run_dir).items():
        if one.value is None:
            missing[name] = one.reason or "not measured"
        else:
            metrics[name] = one.value
    return Measured(metrics, missing)


def _cost(
    run_dir: Path, ended: Ended, reserved: Reserved, prices: Prices
) -> tuple[float | None, str | None]:
    """Give the price of an iteration, or why it is not known."""
    if reserved.elsewhere:
        cores, executors = executors_reserved(run_dir)
        if cores.value is None or executors.value is None:
            return None, cores.reason or executors.reason
        gb_s = executors.value * reserved.memory / 1e9
        return prices.of(cores.value / 3600, gb_s / 3600), None
    if ended.seconds is None:
        return None, "no time is known"
    hours = ended.seconds / 3600
    return prices.of(hours * reserved.cores, hours * reserved.memory / 1e9), None


def parts_of(run_dir: Path) -> dict[str, float]:
    """Mean time of each query of a run over its measured iterations, in s; empty without any."""
    try:
        results = read_manifest(run_dir).results
    except PyrometerError:
        return {}
    counted = [one for one in results if not one.warmup] or results
    found: dict[str, list[float]] = {}
    for result in counted:
        for part in result.parts:
            if part.error is None:
                seconds = (part.ended_mono_ns - part.started_mono_ns) / NS
                found.setdefault(part.name, []).append(seconds)
    return {name: sum(times) / len(times) for name, times in found.items()}


def value_of(objective: Objective, found: Measured) -> float | None:
    """Give the objective of a trial as engines take it: times in ns.

    Examples
    --------
    >>> value_of("elapsed", Measured({"elapsed": 2.0})), value_of("memory", Measured({}))
    (2000000000.0, None)
    """
    name = OF_OBJECTIVE[objective]
    value = found.metrics.get(name)
    return value * NS if value is not None and name in IN_NS else value


def words_of(objective: Objective, value: float | None, currency: str = "") -> str:
    """Write a value of an objective for people.

    Examples
    --------
    >>> words_of("elapsed", 2.5e9), words_of("memory", 3 * 2**30), words_of("cost", 0.25, "EUR")
    ('2.50 s', '3.00 GiB', '0.250 EUR')
    """
    if value is None:
        return units.MISSING
    if objective == "memory":
        return units.size(value)
    if objective == "cost":
        return f"{units.digits(value)} {currency}".rstrip()
    return units.duration(value)


def conditions_of(texts: Sequence[str]) -> list[Constraint]:
    """Read conditions of ``--subject-to``.

    Raises
    ------
    UsageError
        If one is none, or speaks of what is not measured.
    """
    found = []
    for text in texts:
        try:
            one = parse_constraint(text)
            # What is no condition shows now, not after the first trial.
            one.holds(dict.fromkeys(one.names, 1.0))
        except UsageError as error:
            raise UsageError(f"--subject-to {error.message}", error.remedy) from error
        for name in sorted(one.names):
            if name not in METRICS:
                remedy = did_you_mean(name, METRICS) or f"use one of: {', '.join(METRICS)}"
                raise UsageError(f"--subject-to {text!r}: {name!r} is not measured", remedy)
        if not one.names:
            raise UsageError(
                f"--subject-to {text!r} speaks of nothing that is measured",
                f"use one of {', '.join(METRICS)}, as in 'peak_memory < 3g'",
            )
        found.append(one)
    return found


def check_sizes(texts: Sequence[str]) -> None:
    """Refuse sizes that are compared with times: 5m is 5 MiB.

    Raises
    ------
    UsageError
        With how that time is written.
    """
    for text in texts:
        for part in re.split(r"\b(?:and|or)\b", text):
            size = None if re.search(r"_memory|cost", part) else _SIZE.search(part)
            if size is not None:
                minutes = size[0][-1] in "mM"
                remedy = f"write {size[0][:-1]}min" if minutes else "times: 500ms, 30s, 5min, 1h"
                raise UsageError(f"--subject-to {text!r}: {size[0]} is a size", remedy)


def check_measured(tuning: Tuning) -> None:
    """Refuse what trials of a tuning are asked for and would not show.

    Raises
    ------
    UsageError
        With what measures it.
    """
    asked = [(f"--objective {tuning.objective}", OF_OBJECTIVE[tuning.objective])]
    asked += [
        (f"--subject-to {one.text!r}", name)
        for one in conditions_of(tuning.conditions)
        for name in sorted(one.names)
    ]
    probed = "os" in parse_profile(tuning.profile).probes
    for option, name in asked:
        if name in PROBED and not probed:
            raise UsageError(
                f"{option} needs {METRICS[name].partition(',')[0]}, which --profile"
                f" {tuning.profile} does not measure",
                "--profile light",
            )
        if name == "p95" and (tuning.once or tuning.iterations < FEWEST_TIMES):
            times = "one time" if tuning.once else units.counted(tuning.iterations, "time")
            remedy = f"--iterations {FEWEST_TIMES}"
            if tuning.command or tuning.online or is_workload_command(tuning.workload):
                of_objective = option.startswith("--objective")
                instead = "--objective elapsed" if of_objective else "leave it out"
                remedy = f"{instead}: each trial is one iteration"
            raise UsageError(
                f"{option}: a trial has {times}, of which there is no percentile of 95", remedy
            )


def broken(conditions: Sequence[Constraint], found: Measured) -> str | None:
    """Say which condition a trial does not fulfil, or cannot be shown to; ``None`` if none."""
    for one in conditions:
        lacking = [name for name in sorted(one.names) if name not in found.metrics]
        if lacking:
            why = found.missing.get(lacking[0], "not measured")
            return f"{one.text}: {lacking[0]} is not known ({why})"
        if not one.holds(found.metrics):
            values = ", ".join(f"{name} {_shown(name, found)}" for name in sorted(one.names))
            return f"{one.text} does not hold: {values}"
    return None


def _shown(name: str, found: Measured) -> str:
    value = found.metrics[name]
    if name in SIZES:
        return units.size(value)
    return units.digits(value) if name == "cost" else units.duration(value * NS)
