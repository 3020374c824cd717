"""The page of an experiment: its plan, its verdicts, its plots, and links to its runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.experiments.folder import ExperimentPaths, read_plan
from pyrometer.experiments.journal import read_journal
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.judge.best import verdict
from pyrometer.experiments.judge.files import kept_curve, kept_layouts, outdated
from pyrometer.experiments.judge.forecast import Forecast
from pyrometer.experiments.judge.plots import Cost, RunOrder, experiment_plots
from pyrometer.pages.links import report_link, without_report
from pyrometer.pages.page import ReportData, write_page

SCHEMA = "pyrometer/experiment-page/1"
PAGE = "report.html"
MOST = 5_000
"""Attempts and pairs that the page holds one by one: the last attempts, the first pairs."""

SHOWN = {
    "name", "description", "files", "workload", "scale", "profile", "iterations", "warmup", "seed",
    "kind", "split", "blocks", "margin", "timeout_s", "canaries", "guard", "baseline", "machine",
    "pyrometer_version",
}  # fmt: skip
"""What pages show of a plan."""

_LEFT_OUT: Any = {"treatments": {"__all__": {"series"}}, "comparison": {"treatments"}}


def write_experiment(
    folder: Path,
    path: Path | None = None,
    *,
    control: str | None = None,
    margin: float | None = None,
) -> Path:
    """Judge an experiment, finished or not, and write its page.

    Parameters
    ----------
    folder : Path
        Of the experiment.
    path : Path, optional
        The file to write. Default: ``report.html`` in the folder.
    control, margin
        Instead of the plan's baseline and margin.

    Raises
    ------
    UsageError
        If it is no experiment, there is no such treatment, or the file cannot be written.
    """
    plan, entries = read_plan(folder), read_journal(folder)
    target = path or folder / PAGE
    report = experiment_report(plan, entries, control=control, margin=margin)
    plots = experiment_plots(plan, entries, report)
    shown = report.model_dump(mode="json", by_alias=True, exclude=_LEFT_OUT)
    cut = cut_down(plots.order, shown)
    curve, layouts = kept_curve(folder), kept_layouts(folder)
    shown["doubts"] += _more_doubts(shown["doubts"], curve)
    finished = sum(one.status == "finished" for one in entries.ended.values())
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "title": plan.name,
        "folder": str(folder),
        "verdict": verdict(report),
        "figures": figures(plots.forecast, plots.cost),
        "plan": plan.model_dump(mode="json", include=SHOWN),
        "report": shown,
        "plots": plots.model_dump(mode="json"),
        "runs": links(folder, plots.order, target.parent),
        "curve": curve,
        "curve_note": outdated(curve, folder, finished),
        "layout": layouts,
        "layout_note": outdated(layouts, folder, finished, "layout"),
        "cut": cut,
    }
    write_page(ReportData(plan.name, content), target)
    return target


def _more_doubts(known: list[Any], curve: dict[str, Any] | None) -> list[Any]:
    """Doubts about a curve that its experiment does not have."""
    if curve is None:
        return []
    codes = {one["code"] for one in known}
    every = [*((curve.get("fit") or {}).get("doubts") or ()), *curve["doubts"]]
    return [one for one in every if one["code"] not in codes]


def figures(found: Forecast, cost: Cost) -> list[dict[str, Any]]:
    """Return the key figures: noise of a trial, detectable effect, time per trial and in total."""
    return [
        _figure("Noise of a trial", found.noise_sd, "ratio", found.noise_source, found.reason,
                help="Standard deviation of the logarithm of a trial's time within its block."),
        _figure("Detectable effect", found.detectable, "ratio",
                f"in each of {found.comparisons_count} comparisons, power 80 %", found.reason,
                help="The smallest change that each comparison would show at this noise."),
        _figure("Time per trial", found.trial_s, "ns", "including launch and ingest",
                "no trial has finished"),
        _figure("Total time", cost.elapsed_s, "ns", _spent(cost), "no trial has ended"),
    ]  # fmt: skip


def _spent(cost: Cost) -> str:
    waited = units.duration(1e9 * cost.waited_s)
    waits = f" ({waited} of it waiting for a quiet machine)" if cost.waited_s >= 1 else ""
    remaining = f", {units.duration(1e9 * cost.left_s)} to go" if cost.left_s else ""
    return f"{units.duration(1e9 * cost.trials_s)} in trials{waits}{remaining}"


def _figure(
    label: str, value: Estimate | float | None, unit: str, note: str | None, reason: str | None,
    help: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    factor = 1e9 if unit == "ns" else 1.0
    if isinstance(value, Estimate):
        ends, n = (value.value, value.low, value.high), value.n
    else:
        ends, n = (value, None, None), None
    scaled = [None if end is None else factor * end for end in ends]
    gone = scaled[0] is None
    return {
        "label": label, "unit": unit, "help": help, "note": note, "value": scaled[0],
        "low": scaled[1], "high": scaled[2], "n": n,
        "reason": (reason or "unknown") if gone else None,
    }  # fmt: skip


def cut_down(order: RunOrder, shown: dict[str, Any]) -> str | None:
    """Limit the size of the page; say what was left out."""
    notes = []
    if (count := len(order.points)) > MOST:
        notes.append(f"the last {MOST:,} of {count:,} attempts are shown; all of them: --csv")
        order.points = order.points[-MOST:]
        each = max(1, MOST // len(shown["treatments"]))
        for one in shown["treatments"]:
            del one["values"][:-each]
    pairs = shown["comparison"]["pairs"] if shown.get("comparison") else []
    if (count := len(pairs)) > MOST:
        notes.append(f"the first {MOST:,} of {count:,} pairs are shown; all of them: --json")
        del pairs[MOST:]
    return "; ".join(notes) or None


def links(folder: Path, order: RunOrder, page_folder: Path) -> dict[str, str]:
    """Links to the reports of trials that have one, relative to the page."""
    trials, places = ExperimentPaths(folder).trials, [one.folder for one in order.points]
    return {one: link for one in places if (link := report_link(trials / one, page_folder))}


def unreported(folder: Path) -> list[Path]:
    """Run directories of finished trials that have no report yet, in the order of time."""
    trials = ExperimentPaths(folder).trials
    finished = [one for one in read_journal(folder).ended.values() if one.status == "finished"]
    # Trials that take turns in one JVM share its run.
    return without_report(trials / one.folder for one in finished)
