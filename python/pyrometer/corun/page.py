"""The page of a co-run: slow-downs, throughput and fairness, placement, losses.

It shares run order, trials, cost and plan with the page of any experiment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyrometer.core import units
from pyrometer.corun.analysis import corun_report
from pyrometer.corun.contention import WORDS
from pyrometer.corun.schema import PLACES, Advice, CorunReport, Encounter, company
from pyrometer.experiments.folder import Company, Plan, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.analysis import treatment_report
from pyrometer.experiments.judge.page import PAGE, SHOWN, cut_down, figures, links
from pyrometer.experiments.judge.plots import cost_of, foreseen, run_order
from pyrometer.pages.page import ReportData, write_page

SCHEMA = "pyrometer/corun-page/1"
IN_WORDS = 2
"""The verdict quotes up to this many pieces of advice, and counts them where there are more."""


def write_corun(
    folder: Path, path: Path | None = None, *, report: CorunReport | None = None
) -> Path:
    """Write the page of a co-run, finished or not.

    Parameters
    ----------
    folder : Path
        Of their experiment.
    path : Path, optional
        The file to write. Default: ``report.html`` in the folder.
    report : CorunReport, optional
        Its report; by default it is computed from the runs.

    Raises
    ------
    UsageError
        If the folder holds no co-run, or the file cannot be written.
    """
    plan, entries = read_plan(folder), read_journal(folder)
    target = path or folder / PAGE
    report = report or corun_report(folder, plan, entries)
    ended = list(entries.ended.values())
    treatments = [
        treatment_report(one.name, one.levels, ended).model_dump(mode="json", exclude={"series"})
        for one in plan.treatments
    ]
    shown = report.model_dump(mode="json", by_alias=True, exclude={"encounters"})
    shown |= {"treatments": treatments, "repeated_count": len(entries.disturbed)}
    order, cost = run_order(entries), cost_of(plan, entries)
    cut = cut_down(order, shown)
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "title": plan.name,
        "folder": str(folder),
        "verdict": verdict(report),
        "figures": figures(foreseen(plan, entries, len(report.encounters), plan.margin), cost),
        "plan": plan.model_dump(mode="json", include=SHOWN),
        "report": shown,
        "plots": {
            "matrix": matrix(plan, report, {one["name"]: one["reasons"] for one in treatments}),
            "order": order.model_dump(mode="json"),
            "cost": cost.model_dump(mode="json"),
        },
        "runs": links(folder, order, target.parent),
        "cut": cut,
    }
    write_page(ReportData(plan.name, content), target)
    return target


def verdict(report: CorunReport) -> str:
    """Say which placement is best, and which workload loses most."""
    if not report.encounters:
        why = "; ".join(f"{member}: {reason}" for member, reason in report.reasons.items())
        return f"Nothing can be compared: {why or 'no trial has finished'}."
    return " ".join([*_placed(report.advice), _slowed(report.encounters)])


def _placed(found: Sequence[Advice]) -> list[str]:
    if len(found) <= IN_WORDS:
        return [f"{' and '.join(one.members)}: {one.told}." for one in found]
    best = Counter(WORDS[one.best[0]] if len(one.best) == 1 else "no one way" for one in found)
    ways = ", ".join(f"{count} × {way}" for way, count in best.most_common())
    return [f"Finished first, of {len(found)} combinations: {ways}."]


def _slowed(found: Sequence[Encounter]) -> str:
    counts = Counter(one.verdict for one in found)
    verdicts = ", ".join(f"{n} {name}" for name, n in counts.items())
    surely = [one for one in found if one.verdict == "slower"]
    if not surely:
        return f"No workload is significantly slower with others ({verdicts})."
    most = max(surely, key=lambda one: one.slowdown.value or 0.0)
    ends = [units.digits(one) for one in (most.slowdown.low, most.slowdown.high) if one is not None]
    interval = f" (95 %: {' to '.join(ends)})" if ends else ""
    whom = company(most) + (" (own CPUs)" if most.own_cpus else "")
    slowdown = units.digits(most.slowdown.value or 0.0)
    return (
        f"{len(found)} slowdowns: {verdicts}. The largest: {most.member} with"
        f" {whom} takes {slowdown} times as long as alone{interval}."
    )


def matrix(plan: Plan, report: CorunReport, reasons: dict[str, list[str]]) -> dict[str, Any]:
    """Arrange slow-downs, workload by the others: one grid for shared CPUs, one for own CPUs.

    Parameters
    ----------
    reasons : dict of str to list of str
        Why trials did not finish, by treatment.

    Returns
    -------
    dict
        Factors and cells as of :class:`~pyrometer.experiments.judge.plots.Matrix`; a cell
        holds its :class:`~pyrometer.corun.schema.Encounter`, or says why there is none.
    """
    found = {_key(one): one for one in report.encounters}
    cells: list[dict[str, Any]] = []
    for one in plan.treatments:
        if one.company is None or not company(one.company):
            continue
        met = found.get(_key(one.company))
        why = "; ".join(reasons[one.name]) or report.reasons.get(one.company.member)
        cells.append(
            {
                "treatment": one.name,
                "levels": _levels(one.company),
                "ratio": met.slowdown.value if met else None,
                "verdict": met.verdict if met else None,
                "reason": None if met else why or "no block has a finished trial of each yet",
                "encounter": met.model_dump(mode="json") if met else None,
            }
        )
    levels = [one["levels"] for one in cells]
    names = list(_levels(Company(member="", workload="")))
    return {
        "factors": {name: list(dict.fromkeys(one[name] for one in levels)) for name in names},
        "cells": cells,
    }


def _key(one: Company | Encounter) -> tuple[str, str, bool]:
    return one.member, company(one), one.own_cpus


def _levels(one: Company) -> dict[str, str]:
    return {"workload": one.member, "with": company(one), "CPUs": PLACES[one.own_cpus]}
