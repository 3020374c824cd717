"""An experiment for other programs: CSV of its trials, JUnit of its comparisons."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree as Xml

from pyrometer.analyse.experiment_model import ExperimentReport
from pyrometer.analyse.fail_if import Judged, Rule
from pyrometer.errors import UsageError
from pyrometer.store.experiment import Plan
from pyrometer.store.journal import Entries

_NO_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FIXED = ("trial", "block", "treatment", "status", "seconds", "censored_s", "folder")


def write_csv(plan: Plan, entries: Entries, path: Path) -> Path:
    """Write a row a trial, in the order of time; `compare --csv` reads it."""
    factors = list(dict.fromkeys(name for one in plan.treatments for name in one.varied))
    levels = {one.name: one.varied for one in plan.treatments}
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    rows.writerow([*_FIXED, *factors])
    for planned in plan.trials:
        one = entries.ended.get(planned.number)
        if one is None:
            continue
        fixed = [getattr(one, name) for name in _FIXED]
        rows.writerow([*fixed, *(levels[one.treatment].get(name, "") for name in factors)])
    return write_text(path, text.getvalue())


def write_junit(
    report: ExperimentReport, rule: Rule | None, pairs: Sequence[Judged], path: Path
) -> Path:
    """Write a test case a treatment beside the baseline: failed, passed, or skipped (cannot tell).

    A treatment whose trials did not finish is an error.
    """
    cases = []
    for one in pairs:
        case = Xml.Element("testcase", classname=report.name, name=one.pair.b)
        if one.failed:
            Xml.SubElement(
                case, "failure", message=f"{one.told} beside {one.pair.a}"
            ).text = f"{rule.text if rule else ''}: {one.pair.a} → {one.pair.b}: {one.told}"
        elif one.failed is None:
            Xml.SubElement(case, "skipped", message=f"cannot tell: {one.told}")
        else:
            Xml.SubElement(case, "system-out").text = one.told
        cases.append(case)
    for treatment in report.treatments:
        if not treatment.compared:
            case = Xml.Element("testcase", classname=report.name, name=treatment.name)
            why = "; ".join(treatment.reasons) or "its trials did not finish"
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


def write_text(path: Path, text: str) -> Path:
    """Write a file through a temporary name.

    Raises
    ------
    UsageError
        If it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror}", "name another") from error
    return path
