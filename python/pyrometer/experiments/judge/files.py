"""An experiment for other programs: CSV of its trials, JUnit of its comparisons.

Curve and layouts are kept in the experiment's folder for its page: reading all trials takes long.

``--fail-if "regression(wall) > 3%"`` says when a comparison is a failure.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

from pydantic import BaseModel

from pyrometer.core.errors import UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.experiments.folder import Plan
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.schema import ExperimentReport
from pyrometer.pages.page import write_text
from pyrometer.statistics.treatments import PairReport

FILE = "curve.json"
LAYOUTS = "layout.json"
_CURVE_SCHEMA = "pyrometer/scale/1"
_LAYOUTS_SCHEMA = "pyrometer/layout/1"


def keep_curve(folder: Path, report: BaseModel) -> Path:
    """Keep the report on a curve in the folder of its experiment.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    return write_text(folder / FILE, report.model_dump_json(by_alias=True) + "\n")


def keep_layouts(folder: Path, report: BaseModel) -> Path:
    """Keep the report on layouts likewise."""
    return write_text(folder / LAYOUTS, report.model_dump_json(by_alias=True) + "\n")


def kept_curve(folder: Path) -> dict[str, Any] | None:
    """Return the curve that is kept; ``None`` where there is none that this version reads."""
    return _kept(folder / FILE, _CURVE_SCHEMA)


def kept_layouts(folder: Path) -> dict[str, Any] | None:
    """Return the layouts that are kept likewise."""
    return _kept(folder / LAYOUTS, _LAYOUTS_SCHEMA)


def _kept(path: Path, schema: str) -> dict[str, Any] | None:
    try:
        kept = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return None
    return kept if isinstance(kept, dict) and kept.get("schema") == schema else None


def outdated(
    kept: Mapping[str, Any] | None, folder: Path, finished: int, verb: str = "scale"
) -> str | None:
    """Say so where a kept report does not cover the `finished` trials that there are now."""
    if kept is None or kept["done_count"] == finished:
        return None
    return (
        f"This report covers {kept['done_count']} finished trials; there are {finished} now:"
        f" pyrometer {verb} {folder} reports it again."
    )


_RULE = re.compile(
    r"\s*(?P<what>\w+)\s*\(\s*(?P<metric>\w+)\s*\)\s*>\s*(?P<limit>[0-9]+(?:\.[0-9]+)?)\s*%\s*"
)


@dataclass(frozen=True)
class Rule:
    """A treatment fails where it is slower than the baseline, surely, and by more than `limit`."""

    text: str
    limit: float


@dataclass(frozen=True)
class Judged:
    """A pair and whether it fails; ``None`` where the trials cannot tell."""

    pair: PairReport
    failed: bool | None
    summary: str


def parse_rule(text: str) -> Rule:
    """Read a rule.

    Raises
    ------
    UsageError
        If it is none.

    Examples
    --------
    >>> parse_rule("regression(wall) > 3%").limit
    0.03
    """
    match = _RULE.fullmatch(text)
    if match is None or match["what"] != "regression" or match["metric"] != "wall":
        raise UsageError(
            f"unknown --fail-if rule: {text!r}", 'use a rule such as "regression(wall) > 3%"'
        )
    return Rule(text.strip(), float(match["limit"]) / 100)


def judged(report: ExperimentReport, rule: Rule) -> list[Judged]:
    """Judge every treatment against the baseline.

    A pair fails if the verdict is slower and the change above the limit; it passes if it is faster
    or its interval lies below the limit; otherwise the trials cannot tell.

    Raises
    ------
    UsageError
        If the experiment has no baseline: then there is no regression either.
    """
    if report.baseline is None:
        raise UsageError(
            "--fail-if needs to know what to compare with",
            "pyrometer experiment show DIR --control TREATMENT",
        )
    judgements = []
    for pair in report.comparison.pairs if report.comparison else []:
        change, high = pair.change.value or 0.0, pair.change.high
        summary = f"{100 * change:+.2f} %"
        if pair.change.low is not None and high is not None:
            summary += f" [{100 * pair.change.low:+.2f} %, {100 * high:+.2f} %]"
        summary += f", {pair.verdict}"
        failed: bool | None = None
        if pair.verdict == "slower" and change > rule.limit:
            failed = True
        elif pair.verdict == "faster" or (high is not None and high <= rule.limit):
            failed = False
        judgements.append(Judged(pair, failed, summary))
    return judgements


def not_compared(report: ExperimentReport) -> dict[str, str]:
    """Say why treatments are not compared: they did not finish, or in no block with the others."""
    found = {
        one.name: "; ".join(one.reasons) or "its trials did not finish"
        for one in report.treatments
        if not one.compared
    }
    if report.comparison is None:
        why = f"nothing could be compared: {report.reason}"
        found = {one.name: found.get(one.name, why) for one in report.treatments}
    return found


_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FIXED = ("trial", "block", "treatment", "status", "seconds", "censored_s", "folder")


def write_csv(plan: Plan, entries: Entries, path: Path) -> Path:
    """Write a row per trial, in the order of time; `compare --csv` reads it."""
    factors = list(dict.fromkeys(name for one in plan.treatments for name in one.varied))
    levels = {one.name: one.varied for one in plan.treatments}
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*_FIXED, *factors])
    for one in entries.ends_of(plan.trials):
        fixed = [getattr(one, name) for name in _FIXED]
        rows.writerow([*fixed, *(levels[one.treatment].get(name, "") for name in factors)])
    return write_text(path, text.getvalue())


def write_junit(
    report: ExperimentReport, rule: Rule | None, pairs: Sequence[Judged], path: Path
) -> Path:
    """Write a test case for each comparison: failed, passed, or skipped (cannot tell).

    A treatment that is not compared is an error.
    """
    cases = []
    for one in pairs:
        case = Xml.Element("testcase", classname=report.name, name=one.pair.b)
        if one.failed:
            Xml.SubElement(
                case, "failure", message=f"{one.summary} compared with {one.pair.a}"
            ).text = f"{rule.text if rule else ''}: {one.pair.a} → {one.pair.b}: {one.summary}"
        elif one.failed is None:
            Xml.SubElement(case, "skipped", message=f"cannot tell: {one.summary}")
        else:
            Xml.SubElement(case, "system-out").text = one.summary
        cases.append(case)
    for name, why in not_compared(report).items():
        case = Xml.Element("testcase", classname=report.name, name=name)
        Xml.SubElement(case, "error", message=_NO_XML.sub(" ", why))
        cases.append(case)
    counts = {
        "tests": len(cases),
        "failures": sum(case.find("failure") is not None for case in cases),
        "errors": sum(case.find("error") is not None for case in cases),
        "skipped": sum(case.find("skipped") is not None for case in cases),
    }
    suite = Xml.Element(
        "testsuite", {"name": report.name, **{name: str(count) for name, count in counts.items()}}
    )
    suite.extend(cases)
    Xml.indent(suite)
    return write_text(path, Xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n")
