"""Findings for the page of a run: as `pyrometer explain --json`, with the words of commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrometer.core.errors import UsageError
from pyrometer.explain import words
from pyrometer.explain.findings import explained
from pyrometer.explain.kept import check_size
from pyrometer.explain.schema import Findings, Remedy
from pyrometer.report.ranges import add_ranges
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope

Find = Callable[[Scope, Summary], Findings]
"""What finds out what would make a run faster."""


def computed(scope: Scope, summary: Summary) -> Findings:
    """Compute findings, unless the run has too many tasks for a report to do so."""
    check_size(summary)
    return explained(scope, summary)


def findings_data(scope: Scope, summary: Summary, find: Find = computed) -> dict[str, Any] | None:
    """Give what the page shows of findings.

    Parameters
    ----------
    scope, summary : Scope, Summary
        The window that is open, and its summary.
    find : callable
        What is asked for them: it may know them already, what was tried, and what is muted.

    Returns
    -------
    dict or None
        Fields of ``pyrometer/findings/1`` without what the summary has; ``options`` of each remedy
        are what one types, ``where`` of a finding its place, ``may`` whether it may be worth it
        without being sure, ``tried`` its verdict, ``range_ms`` of
        evidence the part of the timeline that it opens. Only a
        ``reason`` where they could not be computed; None for what is no application of Spark.
    """
    if not summary.apps:
        return None
    try:
        found = find(scope, summary)
    except UsageError as error:
        return {"reason": f"{error.message}: {error.remedy}."}
    except Exception as error:  # the page has much more than findings
        return {"reason": f"Findings could not be computed: {type(error).__name__}: {error}."}
    shown = _worded(found)
    for one, data in zip(found.findings, shown["findings"], strict=True):
        add_ranges(scope, one, data)
    return shown


def _worded(found: Findings) -> dict[str, Any]:
    shown = found.model_dump(mode="json", by_alias=True, exclude={"run", "window", "doubts"})
    may = {one.key for one in words.unsure(found)}
    for one, data in zip(found.findings, shown["findings"], strict=True):
        data["may"] = one.key in may
        data["where"] = words.where(one.place)
        data["tried"] = None if one.proof is None else words.tried(one.proof)
        _add_options(one.remedies, data["remedies"])
        for symptom, below in zip(one.symptoms, data["symptoms"], strict=True):
            _add_options(symptom.remedies, below["remedies"])
    return shown


def _add_options(remedies: list[Remedy], shown: list[dict[str, Any]]) -> None:
    for remedy, data in zip(remedies, shown, strict=True):
        data["options"] = words.options(remedy)
