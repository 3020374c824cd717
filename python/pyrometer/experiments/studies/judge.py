"""Published values compared with ours: which field of which run, and whether they agree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pyrometer.core.estimate import Estimate
from pyrometer.experiments.judge.schema import ExperimentReport
from pyrometer.experiments.studies.effects import compare_effect, withheld_of
from pyrometer.experiments.studies.evidence import EvidenceReport
from pyrometer.experiments.studies.plan import UNITS, PublishedTable, Study, Value, operands
from pyrometer.experiments.studies.quantities import (
    Quantity,
    estimate,
    quantity,
    ratio,
    resolve,
    rest_to_one,
)
from pyrometer.experiments.studies.schema import (
    Comparison,
    StudyExperimentFacts,
    StudyReport,
    StudyRunFacts,
)

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
    low, high = low - value.within * abs(low), high + value.within * abs(high)
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
    evidence: Sequence[EvidenceReport] = (),
) -> StudyReport:
    """Compare everything that a study publishes with the runs that finished."""
    withheld = withheld_of(study, judged or {})
    return StudyReport(
        study=name,
        title=study.title,
        source=study.source,
        machine=study.machine,
        differences=study.differences,
        runs=list(runs),
        experiments=list(experiments),
        effects=[compare_effect(effect, judged or {}, withheld) for effect in study.effects],
        evidence=list(evidence),
        values=[compare_value(value, documents) for value in study.values],
        tables={table.title: compare_table(table, documents) for table in study.tables},
    )
