"""What the kernel and the accounts of each trial show beside its time, compared by treatment.

Times say that something changed; refaults, pages scanned, waits for reclaim and memory on its own
node say why, and mean the same in an emulated machine.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from pyrometer.accounts.ledger.slot_view import slot_view
from pyrometer.accounts.ledger.unseen import why_unknown
from pyrometer.accounts.window import open_scope
from pyrometer.core.errors import PyrometerError
from pyrometer.core.estimate import Estimate
from pyrometer.core.schema import schema_folder
from pyrometer.experiments.folder import Ended, ExperimentPaths, Plan
from pyrometer.experiments.judge.schema import Measures
from pyrometer.experiments.studies.plan import UNITS, Evidence, operands
from pyrometer.experiments.studies.quantities import resolve
from pyrometer.statistics.warmup import mean_estimate
from pyrometer.statistics.welch import welch
from pyrometer.store import Run
from pyrometer.store.manifest import read_manifest
from pyrometer.window.scope import Scope


class EvidenceOfTreatment(BaseModel):
    """A quantity over the trials of a treatment; `reason` says why trials lack it."""

    treatment: str
    mean: Estimate
    values: list[float]
    missing_count: int = 0
    reason: str | None = None


class EvidenceOfPair(BaseModel):
    """B less A of a quantity (Welch's interval), and the p of that alone."""

    a: str
    b: str
    difference: Estimate
    p: float | None = None


class EvidenceReport(BaseModel):
    """A quantity by treatment, and compared where the study compares treatments."""

    what: str
    ours: str
    unit: str
    experiment: str
    treatments: list[EvidenceOfTreatment] = Field(default_factory=list)
    pairs: list[EvidenceOfPair] = Field(default_factory=list)


ReadTrial = Callable[[Path, Sequence[str]], Measures]
"""Reads quantities of one run by their paths: :func:`read_trial`, or what stands for it."""


def evidence_of(
    name: str,
    wanted: Sequence[Evidence],
    root: Path,
    plan: Plan,
    ended: Sequence[Ended],
    pairs: Sequence[tuple[str, str]],
    read: ReadTrial | None = None,
) -> list[EvidenceReport]:
    """Compare the quantities of the trials of an experiment.

    Parameters
    ----------
    name : str
        Of the experiment, in the study.
    pairs : sequence of (str, str)
        Treatments that the study compares.
    read : callable, optional
        Reads one run.
    """
    if not wanted:
        return []
    read = read or read_trial
    paths = list(dict.fromkeys(path for one in wanted for path in operands(one.ours)[1:] if path))
    finished = [one for one in ended if one.status == "finished"]
    found = {one.trial: read(ExperimentPaths(root).trials / one.folder, paths) for one in finished}
    reports = []
    for one in wanted:
        by_treatment = {
            treatment.name: [
                _value(one, found[end.trial]) for end in finished if end.treatment == treatment.name
            ]
            for treatment in plan.treatments
        }
        reports.append(
            EvidenceReport(
                what=one.what, ours=one.ours, unit=one.unit, experiment=name,
                treatments=[_of_treatment(*item) for item in by_treatment.items()],
                pairs=[_of_pair(a, b, by_treatment) for a, b in dict.fromkeys(pairs)],
            )
        )  # fmt: skip
    return reports


def _value(one: Evidence, found: Measures) -> float | str:
    """Reckon a quantity of a trial; text says why it cannot be had."""
    rest, over, under = operands(one.ours)
    for path in (over, under):
        if path is not None and path not in found.measures:
            return found.missing.get(path, f"{path}: not measured")
    value = found.measures[over]
    if under is not None:
        if found.measures[under] == 0:
            return f"{under} is zero"
        value /= found.measures[under]
    return (1 - value if rest else value) / UNITS[one.unit]


def _known(values: Sequence[float | str]) -> list[float]:
    return [one for one in values if not isinstance(one, str)]


def _of_treatment(name: str, values: Sequence[float | str]) -> EvidenceOfTreatment:
    known = _known(values)
    reasons = [one for one in values if isinstance(one, str)]
    nothing = Estimate(value=None, low=None, high=None, level=0.95, n=0, method="t")
    return EvidenceOfTreatment(
        treatment=name,
        mean=mean_estimate(known) if known else nothing,
        values=known,
        missing_count=len(reasons),
        reason=next(iter(reasons), None if known else "no trial finished"),
    )


def _of_pair(a: str, b: str, values: Mapping[str, Sequence[float | str]]) -> EvidenceOfPair:
    found = welch(_known(values.get(a, ())), _known(values.get(b, ())))
    if found is None:
        nothing = Estimate(value=None, low=None, high=None, level=0.95, n=0, method="welch")
        return EvidenceOfPair(a=a, b=b, difference=nothing)
    return EvidenceOfPair(a=a, b=b, difference=found.difference, p=found.p)


def read_trial(root: Path, paths: Sequence[str]) -> Measures:
    """Read quantities of a run: ``series.SCOPE.NAME``, ``ledger.ROW``, ``manifest.FIELD…``.

    A cumulative series is what it grew by in the measured iterations, straight between readings; a
    gauge its largest reading. A row of the ledger is its time: of a wait class that was looked for
    and not seen 0, null where nobody looked.
    """
    measures: dict[str, float] = {}
    missing: dict[str, str] = {}
    document = {"manifest": read_manifest(root).model_dump(mode="json")}
    scope: Scope | None = None
    try:
        with Run.open(root) as opened:
            scope = open_scope(opened, None)
            for path in paths:
                source, _, rest = path.partition(".")
                if source == "series":
                    one = _of_series(scope, *rest.split(".", 1))
                elif source == "ledger":
                    one = _of_ledger(scope, rest)
                else:
                    one = _of_document(document, path)
                if isinstance(one, str):
                    missing[path] = one
                else:
                    measures[path] = one
    except PyrometerError as error:
        missing |= {path: error.message for path in paths if path not in measures}
    return Measures(measures, missing)


def _of_document(document: Mapping[str, Any], path: str) -> float | str:
    found = resolve(document, path)
    if isinstance(found, str):
        return f"{path}: {found}"
    if isinstance(found, Estimate):
        return found.value if found.value is not None else f"{path}: no value"
    return found[0] if len(found) == 1 else f"{path}: {len(found)} values"


def _of_ledger(scope: Scope, path: str) -> float | str:
    view = slot_view(scope)
    if not view.rows:
        return f"no ledger: {view.reason}"
    row = next((one for one in view.rows if one.path == path), None)
    if row is not None:
        return row.source if row.value_ns is None else float(row.value_ns)
    why = why_unknown(view.rows, path)
    return 0.0 if why is None else why


@lru_cache(maxsize=1)
def _gauges() -> frozenset[str]:
    with (schema_folder() / "series.toml").open("rb") as file:
        kinds = tomllib.load(file)
    return frozenset(
        f"{scope}.{name}"
        for scope, about in kinds.items()
        if isinstance(about, dict)
        for name, series in about.get("series", {}).items()
        if series["kind"] == "gauge"
    )


def _of_series(scope: Scope, where: str, name: str) -> float | str:
    if not scope.tables.has("os_series"):
        return "no probe of the system ran"
    rows = scope.tables.columns(
        "SELECT host, t_mono_ns::DOUBLE AS t, value::DOUBLE AS value FROM os_series"
        f" WHERE scope = '{where}' AND name = '{name}' ORDER BY host, t_mono_ns"
    )
    times, values = np.asarray(rows["t"]), np.asarray(rows["value"])
    if not times.size:
        return f"the kernel shows no {name} of {where}"
    stretches = scope.tables.query("SELECT start_mono_ns, end_mono_ns FROM w")
    total, largest = 0.0, None
    hosts = np.asarray(rows["host"])
    for host in dict.fromkeys(hosts.tolist()):
        mine = hosts == host
        for start, end in stretches:
            ends = np.interp([start, end], times[mine], values[mine])
            inside = values[mine & (times >= start) & (times <= end)]
            total += float(ends[1] - ends[0])
            largest = max([*inside.tolist(), *ends.tolist(), largest or 0.0])
    if f"{where.partition('/')[0]}.{name}" in _gauges():
        return largest if largest is not None else f"no reading of {name} in the window"
    return total
