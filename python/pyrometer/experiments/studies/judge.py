"""Published values compared with ours: which field of which run, and whether they agree.

Likewise published changes from one treatment to another, and those of our experiments.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from pyrometer.core.estimate import Estimate
from pyrometer.experiments.judge.schema import ExperimentReport
from pyrometer.experiments.studies.plan import UNITS, Effect, PublishedTable, Study, Value, operands
from pyrometer.experiments.studies.quantities import (
    Quantity,
    estimate,
    quantity,
    ratio,
    resolve,
    rest_to_one,
)
from pyrometer.statistics.treatments import PairReport


class EffectComparison(BaseModel):
    """A published change and ours; both are relative.

    ``agrees`` is whether both have the same sign: machines and scales differ, so that sizes are not
    compared. ``None`` where our verdict is neither ``faster`` nor ``slower``, or ours is missing;
    `reason` says why it is missing.
    """

    what: str
    place: str
    published: float | tuple[float, float] | None
    derived: str | None = None
    experiment: str
    a: str
    b: str
    ours: Estimate | None = None
    verdict: str | None = None
    agrees: bool | None = None
    note: str | None = None
    reason: str | None = None


def compare_effect(effect: Effect, judged: Mapping[str, ExperimentReport]) -> EffectComparison:
    """Compare the change between two of our treatments with the published one.

    Parameters
    ----------
    effect : Effect
        As the study has it.
    judged : mapping of str to ExperimentReport
        Reports of the experiments that ran.
    """
    report = judged.get(effect.experiment)
    names = [_treatment(report, levels) for levels in (effect.a, effect.b)] if report else []
    comparison = EffectComparison(
        what=effect.what, place=effect.place, published=effect.published, derived=effect.derived,
        experiment=effect.experiment, a=in_levels(effect.a), b=in_levels(effect.b),
        note=effect.note,
    )  # fmt: skip
    if report is None:
        return comparison.model_copy(
            update={"reason": f"experiment {effect.experiment} is missing"}
        )
    if absent := [name for name in names if isinstance(name, Absent)]:
        return comparison.model_copy(update={"reason": absent[0].reason})
    pair, turned = _pair(report, str(names[0]), str(names[1]))
    if pair is None:
        return comparison.model_copy(
            update={"reason": report.reason or "these two are not compared"}
        )
    ours = _turned(pair.change) if turned else pair.change
    surely = pair.verdict in ("faster", "slower")
    agrees = None
    if surely and effect.published is not None and ours.value is not None:
        ends = effect.published if isinstance(effect.published, tuple) else (effect.published,) * 2
        agrees = all(end * ours.value > 0 for end in ends)
    opposite = {"faster": "slower", "slower": "faster"}
    verdict = opposite.get(pair.verdict, pair.verdict) if turned else pair.verdict
    return comparison.model_copy(update={"ours": ours, "verdict": verdict, "agrees": agrees})


class Absent(BaseModel):
    """Why there is no such treatment."""

    reason: str


def in_levels(levels: Mapping[str, str]) -> str:
    """Write levels as a treatment's name has them."""
    return ", ".join(f"{factor}={level}" for factor, level in levels.items())


def _treatment(report: ExperimentReport, levels: Mapping[str, str]) -> str | Absent:
    found = [one.name for one in report.treatments if _has(one.levels, levels)]
    if len(found) == 1:
        return found[0]
    if found:
        return Absent(reason=f"{in_levels(levels)}: {len(found)} treatments have these levels")
    out = [one for one in report.left_out if _has(one.varied, levels)]
    why = f"left out: {out[0].reason}" if out else "no treatment has these levels"
    return Absent(reason=f"{in_levels(levels)}: {why}")


def _has(levels: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    """Whether levels are the wanted ones; a knob is this machine's, as in ``under@3g``."""
    return all(f"{levels.get(name)}@".startswith(f"{at}@") for name, at in wanted.items())


def _pair(report: ExperimentReport, a: str, b: str) -> tuple[PairReport | None, bool]:
    for pair in report.comparison.pairs if report.comparison else ():
        if {pair.a, pair.b} == {a, b}:
            return pair, pair.a == b
    return None, False


def _turned(change: Estimate) -> Estimate:
    """Return the change from B to A, given that from A to B."""
    value, low, high = (
        None if end is None else 1 / (1 + end) - 1
        for end in (change.value, change.high, change.low)
    )
    return change.model_copy(update={"value": value, "low": low, "high": high})


class Comparison(BaseModel):
    """One published value and ours, both in `unit`.

    Attributes
    ----------
    agrees : bool or None
        ``None`` where they are not to be compared, ours is missing, or its interval is too wide
        to decide; `reason` says which of the last two.
    share, published_share : float or None
        Of their columns' sums, where these are what is compared.
    """

    what: str
    place: str
    row: str | None = None
    unit: str
    published: float | tuple[float, float] | str | bool | None
    derived: str | None = None
    ours: Estimate | None = None
    ours_text: str | bool | None = None
    published_share: float | None = None
    share: float | None = None
    agrees: bool | None = None
    note: str | None = None
    reason: str | None = None


class StudyRunFacts(BaseModel):
    """One run of a study; `reason` says why it has no result."""

    name: str
    workload: str
    scale: str
    iterations: int
    levels: dict[str, str]
    run_dir: str | None = None
    reason: str | None = None
    doubts: list[str] = Field(default_factory=list)
    machine: str | None = None
    spark_version: str | None = None


class StudyExperimentFacts(BaseModel):
    """One experiment of a study; what this host cannot honour is among ``left_out``."""

    name: str
    file: str
    folder: str | None = None
    workload: str | None = None
    scale: str | None = None
    trials_count: int | None = None
    done_count: int | None = None
    left_out: dict[str, str] = Field(default_factory=dict)
    doubts: list[str] = Field(default_factory=list)
    reason: str | None = None


class StudyReport(BaseModel):
    """Structure of ``study run --json`` (``pyrometer/study/1``)."""

    model_config = ConfigDict(populate_by_name=True)

    schema_name: Literal["pyrometer/study/1"] = Field("pyrometer/study/1", alias="schema")
    study: str
    title: str
    source: str
    machine: str
    differences: list[str]
    runs: list[StudyRunFacts]
    experiments: list[StudyExperimentFacts] = Field(default_factory=list)
    values: list[Comparison]
    effects: list[EffectComparison] = Field(default_factory=list)
    tables: dict[str, list[Comparison]]


NEGLIGIBLE = 0.005
"""Share of a column below which two shares agree: published volumes are rounded, some to zero."""

Documents = Mapping[str, Mapping[str, Any]]


def compare_value(value: Value, documents: Documents) -> Comparison:
    """Compare one of our values with the published one.

    Parameters
    ----------
    value : Value
        As the study has it.
    documents : mapping
        For each run that finished: the fields of ``show --json``, and ``parts`` of
        ``characterise --json``.
    """
    rest, over, under = operands(value.ours)
    comparison = Comparison(
        what=value.what, place=value.place, unit=value.unit, published=value.published,
        derived=value.derived, note=value.note,
    )  # fmt: skip
    found: list[Quantity] = []
    for path in (over, under):
        if path is None:
            continue
        run, _, field = path.partition(".")
        if run not in documents:
            return comparison.model_copy(update={"reason": f"run {run} is missing"})
        one = _undercounted(documents[run], field) or resolve(documents[run], field)
        if isinstance(one, str):
            return comparison.model_copy(update={"reason": f"{path}: {one}"})
        found.append(one)
    if under is None:
        ours: Estimate | None = estimate(found[0], 1 / UNITS[value.unit])
    else:
        paired = over.split(".")[0] == under.split(".")[0]
        ours = ratio(found[0], found[1], paired=paired)
    if ours is None:
        return comparison.model_copy(update={"reason": f"{under} is zero"})
    if rest:
        ours = rest_to_one(ours)
    agreed = agrees(value, ours)
    compared = value.within is not None and value.published is not None
    wide = agreed is None and compared and ours.value is not None
    reason = "cannot tell: our interval is too wide; more iterations narrow it" if wide else None
    return comparison.model_copy(update={"ours": ours, "agrees": agreed, "reason": reason})


def _undercounted(document: Mapping[str, Any], field: str) -> str | None:
    """Why bytes of input are not known, where the run doubts Spark's count of them."""
    if field.rpartition(".")[2] != "input_bytes":
        return None
    found = [d for d in document.get("doubts") or () if d["code"] == "input_bytes_undercounted"]
    return f"{found[0]['message']}. {found[0]['remedy']}" if found else None


def agrees(value: Value, ours: Estimate) -> bool | None:
    """Whether our interval (or value) lies in the published one, widened by `value.within`.

    ``None`` where it lies only partly in it: then neither is shown.
    """
    if value.within is None or ours.value is None or value.published is None:
        return None
    low, high = (
        value.published
        if isinstance(value.published, tuple)
        else (value.published, value.published)
    )
    mine = (
        ours.value if ours.low is None else ours.low,
        ours.value if ours.high is None else ours.high,
    )
    low, high = low * (1 - value.within), high * (1 + value.within)
    if low <= mine[0] and mine[1] <= high:
        return True
    return None if mine[0] <= high and mine[1] >= low else False


def compare_table(table: PublishedTable, documents: Documents) -> list[Comparison]:
    """Compare each query's characterisation with its row of a published table."""
    document = documents.get(table.run)
    parts = {part["name"]: part for part in (document or {}).get("parts", [])}
    comparisons = []
    for index, column in enumerate(table.columns):
        cells = {row: values[index] for row, values in table.rows.items()}
        ours = {row: parts[row].get(column.ours) for row in cells if row in parts}
        shares = _shares(cells, ours) if column.compare == "share" else {}
        for row, cell in cells.items():
            one = Comparison(
                what=column.name, place=table.title, row=row, unit=column.unit,
                published=_cell(cell, column.unit),
            )  # fmt: skip
            mine = ours.get(row)
            if row not in parts or mine is None:
                one.reason = "run is missing" if document is None else "not in our run"
            elif column.unit in ("text", "truth"):
                one.ours_text = mine if isinstance(mine, bool) else in_words(mine)
                if column.compare == "equal" and one.published is not None:
                    one.agrees = one.ours_text == one.published
            elif isinstance(number := quantity(mine), str):
                one.reason = number
            else:
                one.ours = estimate(number, 1 / UNITS[column.unit])
                if column.compare == "equal" and one.published is not None:
                    one.agrees = one.ours.value == one.published
            if row in shares and column.within is not None:
                one.published_share, one.share = shares[row]
                low, high = sorted((one.published_share, one.share))
                one.agrees = high <= max(low * column.within, NEGLIGIBLE)
            comparisons.append(one)
    return comparisons


def in_words(counts: Any) -> str:
    """Write counts as the published tables do: ``3 loads, 1 unions``."""
    if not isinstance(counts, Mapping):
        return str(counts)
    return ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in counts.items() if n)


def _cell(cell: str | None, unit: str) -> float | str | bool | None:
    if cell is None or unit == "text":
        return cell
    return cell == "true" if unit == "truth" else float(cell)


def _shares(
    cells: Mapping[str, str | None], ours: Mapping[str, Any]
) -> dict[str, tuple[float, float]]:
    """Shares of both columns' sums over the rows that both know."""
    both = {}
    for row, cell in cells.items():
        mine = quantity(ours.get(row))
        if cell is not None and not isinstance(mine, str):
            value = estimate(mine).value
            if value is not None:
                both[row] = (float(cell), value)
    sums = [math.fsum(pair[side] for pair in both.values()) for side in (0, 1)]
    if not all(sums):
        return {}
    return {row: (a / sums[0], b / sums[1]) for row, (a, b) in both.items()}


def report(
    name: str,
    study: Study,
    runs: Sequence[StudyRunFacts],
    documents: Documents,
    experiments: Sequence[StudyExperimentFacts] = (),
    judged: Mapping[str, ExperimentReport] | None = None,
) -> StudyReport:
    """Compare everything that a study publishes with the runs that finished."""
    return StudyReport(
        study=name,
        title=study.title,
        source=study.source,
        machine=study.machine,
        differences=study.differences,
        runs=list(runs),
        experiments=list(experiments),
        effects=[compare_effect(effect, judged or {}) for effect in study.effects],
        values=[compare_value(value, documents) for value in study.values],
        tables={table.title: compare_table(table, documents) for table in study.tables},
    )
