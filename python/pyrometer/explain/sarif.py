"""Findings as SARIF 2.1.0, for tools of code review.

A result has the line of code where the place names one (``count at Main.scala:12``), else what ran,
as tools want a file of each; and the names of stage, operator and so on as logical locations. Its
level says how much of the elapsed time it
saves; its fingerprint is the same for the same cause in a later run. What saves no time and is
worth knowing is of level note. What the project mutes is suppressed, with the reason.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Literal
from urllib.parse import quote

from pyrometer import __version__
from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.explain import markdown, words
from pyrometer.explain.manual import manual_of
from pyrometer.explain.rule import Rule
from pyrometer.explain.schema import Finding, Findings, Note, Place
from pyrometer.terminal.harmless import harmless
from pyrometer.window.windows import RunFacts

SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
FINGERPRINT = "pyrometerFinding/v1"
ERROR_RATIO = 0.1
"""Of the elapsed time: what surely saves more is an error, what lies above the noise a warning.
Only the colour that a tool gives it: what is a finding at all, the noise decides."""
MOST_CHARACTERS = 2000
_CALL_SITE = re.compile(
    r"\s*(?:\S+ at (?P<path>[^\n<>\"|?*]*\.[A-Za-z]\w{0,5})"
    r"|(?P<file>[^\s<>\"|?*]*\.[A-Za-z]\w{0,5}))"
    r":(?P<line>[1-9]\d{0,6})\s*"
)
_NUMBERS = re.compile(r"#\d+L?|\b\d+\b")
_PROGRAM = re.compile(r"[^\s,:=*?\"<>|]+\.(py|jar|ipynb|sql|scala|sh|r)", re.IGNORECASE)
_NEEDED = ("--jars", "--py-files", "--files", "--archives", "--packages", "--driver-class-path",
           "--properties-file")  # fmt: skip
"""Options of ``spark-submit`` that name files beside the program."""


def document(
    found: Findings, rules: Sequence[Rule], root: str | None = None, everything: bool = False
) -> dict[str, Any]:
    """Make a SARIF log of one run.

    Parameters
    ----------
    found : Findings
        Of one window.
    rules : sequence of Rule
        With their manuals.
    root : str, optional
        Folder of the source code: files below it are named relative to it.
    everything : bool
        Also findings below the noise, as notes.
    """
    shown = [one for one in found.findings if one.shown or everything]
    known = {rule.code: rule for rule in rules}
    said: list[Finding | Note] = [*shown, *found.notes]
    codes = sorted({one.code for one in said} | {one.code for one in found.unjudged})
    index = {code: at for at, code in enumerate(codes)}
    seen: Counter[str] = Counter()
    ran = program(found.run, root)
    results = []
    for one in said:
        mark = fingerprint(one)
        seen[mark] += 1
        where = _location(one.place, root, ran)
        result = _common(one, index[one.code], f"{mark}:{seen[mark]}", where)
        results.append(result | (_noted(one) if isinstance(one, Note) else _saving(found, one)))
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "Pyrometer",
                        "version": __version__,
                        "rules": [_rule(code, found, known.get(code)) for code in codes],
                    }
                },
                "automationDetails": {"id": f"pyrometer/{_name(found)}/"},
                "columnKind": "unicodeCodePoints",
                "invocations": [
                    {
                        "executionSuccessful": True,
                        "toolExecutionNotifications": [
                            {
                                "level": "note",
                                "message": _message(f"Not judged: {one.missing}. {one.remedy}"),
                                "associatedRule": {"id": one.code, "index": index[one.code]},
                            }
                            for one in found.unjudged
                        ],
                    }
                ],
                "results": results,
                "properties": {
                    "conclusion": _clean(found.conclusion),
                    "window": _clean(found.window.name),
                    "elapsedNs": found.baseline.elapsed_ns,
                    "noiseRatio": found.noise_ratio,
                    "jointSavingNs": found.joint_saving and _bounds(found.joint_saving.elapsed_ns),
                },
            }
        ],
    }


def text(
    found: Findings, rules: Sequence[Rule], root: str | None = None, everything: bool = False
) -> str:
    """Write such a log."""
    return json.dumps(document(found, rules, root, everything), indent=2, allow_nan=False) + "\n"


def level_of(one: Finding) -> Literal["error", "warning", "note"]:
    """Give the level of a finding by what it saves; what was tried without a gain is a note."""
    if not one.shown or words.gains_nothing(one.proof):
        return "note"
    return "error" if (one.saving_ratio.low or 0.0) > ERROR_RATIO else "warning"


def call_site(source: str | None) -> tuple[str, int] | None:
    r"""Find file and line in what Spark calls a place of the user's code.

    Examples
    --------
    >>> call_site("count at Main.scala:123"), call_site("job.py:7"), call_site("select 1")
    (('Main.scala', 123), ('job.py', 7), None)
    >>> call_site("collect at /home/a/job.py:12"), call_site("save at C:\\jobs\\b.py:3")
    (('/home/a/job.py', 12), ('C:\\jobs\\b.py', 3))
    """
    found = _CALL_SITE.fullmatch(source or "")
    return None if found is None else (found["path"] or found["file"], int(found["line"]))


def artifact(file: str, root: str | None = None) -> dict[str, str]:
    r"""Name a file as SARIF does: relative to the source's root where it lies below.

    Examples
    --------
    >>> artifact("/w/src/my job.py", "/w")
    {'uri': 'src/my%20job.py', 'uriBaseId': '%SRCROOT%'}
    >>> artifact("/x/job.py", "/w"), artifact("C:\\jobs\\b.py")
    ({'uri': 'file:///x/job.py'}, {'uri': 'file:///C:/jobs/b.py'})
    """
    if PureWindowsPath(file).drive:
        return {"uri": f"file:///{quote(PureWindowsPath(file).as_posix(), safe='/:')}"}
    path = PurePosixPath(file)
    if root is not None and path.is_relative_to(root):
        path = path.relative_to(root)
    if path.is_absolute():
        return {"uri": f"file://{quote(str(path))}"}
    return {"uri": quote(str(path)), "uriBaseId": "%SRCROOT%"}


def program(run: RunFacts, root: str | None = None) -> dict[str, str]:
    """Name what ran: the script or jar of the command, else the run's manifest, or the event log.

    Examples
    --------
    >>> command = ["spark-submit", "--jars", "lib/a.jar", "jobs/nightly.py", "in.csv"]
    >>> program(RunFacts(run_dir="run", state="finished", command=command))["uri"]
    'jobs/nightly.py'
    >>> program(RunFacts(run_dir="/w/run", state="finished"), "/w")["uri"]
    'run/manifest.json'
    """
    for before, word in zip(["", *run.command], run.command, strict=False):
        if before not in _NEEDED and not word.startswith("-") and _PROGRAM.fullmatch(word):
            return artifact(_clean(word), root)
    file = run.run_dir if run.state is None else f"{run.run_dir.rstrip('/')}/manifest.json"
    if "://" in file:
        return {"uri": quote(_clean(file), safe="/:")}
    return artifact(_clean(file), root)


def fingerprint(one: Finding | Note) -> str:
    """Name a finding so that the same cause has the same name in a later run.

    Numbers that Spark gives anew in each run (columns, stages, executions) and lines, which move
    with every edit, are not in it; of a Python function its name is.
    """
    place = one.place
    site = call_site(place.source)
    source = PurePosixPath(site[0].replace("\\", "/")).name if site else place.source
    function, called, _ = (place.source or "").partition(" at ")
    if site and called and place.layer == "python":
        source = f"{function} at {source}"
    parts = [
        one.code, place.layer, place.operator, place.expression, source, place.setting, place.host
    ]  # fmt: skip
    if isinstance(one, Note):
        parts += sorted(one.settings)
    stable = "\n".join(_NUMBERS.sub("#", part or "") for part in parts)
    return hashlib.sha256(stable.encode("utf-8", "replace")).hexdigest()[:32]


def _common(one: Finding | Note, index: int, mark: str, location: dict[str, Any]) -> dict[str, Any]:
    muted = [] if one.muted is None else [one.muted]
    return {
        "ruleId": one.code,
        "ruleIndex": index,
        "locations": [location],
        "partialFingerprints": {FINGERPRINT: mark},
        # Of all results or of none, as the standard wants it: an empty list is not suppressed.
        "suppressions": [
            {"kind": "external", "status": "accepted", "justification": _clean(reason)}
            for reason in muted
        ],
    }


def _saving(found: Findings, one: Finding) -> dict[str, Any]:
    ratio = one.saving_ratio.value or 0.0
    tried = f" Tried: {words.tried(one.proof)}." if one.proof else ""
    in_vain = words.gains_nothing(one.proof)
    remedy, saves = ("", "would save") if in_vain else (_remedy(one), "saves")
    message = (
        f"{one.title}, {one.place.words}: {saves} {words.saved(one.saving)} of"
        f" {units.duration(found.baseline.elapsed_ns)}.{tried} {one.mechanism}{remedy}"
    )
    return {
        "level": level_of(one),
        "rank": round(100 * min(1.0, max(0.0, ratio)), 3),
        "message": _message(message),
        "properties": {
            "key": one.key,
            "savingNs": _bounds(one.saving.elapsed_ns),
            "coreSavingNs": _bounds(one.saving.core_ns),
            "savingRatio": _bounds(one.saving_ratio),
            **_backed(one, in_vain),
            "symptoms": [each.code for each in one.symptoms],
            "refute": _clean(one.refute),
            "verdict": one.proof and one.proof.verdict,
        },
    }


def _noted(one: Note) -> dict[str, Any]:
    set_to = ", ".join(f"{name}={value}" for name, value in one.settings.items())
    about = f" ({set_to})" if set_to else ""
    return {
        "level": "note",
        "rank": 0.0,
        "message": _message(f"{one.title}{about}. {one.mechanism}{_remedy(one)}"),
        "properties": {
            "settings": {_clean(name): _clean(value) for name, value in one.settings.items()},
            **_backed(one),
        },
    }


def _remedy(one: Finding | Note) -> str:
    remedies = " Or: ".join(remedy.text for remedy in one.remedies if remedy.text)
    return f" Remedy: {remedies}." if remedies else ""


def _backed(one: Finding | Note, in_vain: bool = False) -> dict[str, Any]:
    remedies = [] if in_vain else one.remedies
    return {
        "options": [_clean(word) for each in remedies for word in words.options(each)],
        "evidence": [
            {
                "what": _clean(each.what), "unit": each.unit, "table": _clean(each.table),
                "query": each.query and _clean(each.query), **_bounds(each.estimate),
            }
            for each in one.evidence
        ],
    }  # fmt: skip


def _location(place: Place, root: str | None, ran: dict[str, str]) -> dict[str, Any]:
    """Say where: GitHub refuses a log in which a result has no file, or no line."""
    site = call_site(place.source)
    file, line = (ran, 1) if site is None else (artifact(_clean(site[0]), root), site[1])
    return {
        "message": _message(words.where(place)),
        "logicalLocations": _logical(place),
        "physicalLocation": {"artifactLocation": file, "region": {"startLine": line}},
    }


def _logical(place: Place) -> list[dict[str, str]]:
    stage = None if place.stage_id is None else f"stage {place.stage_id}"
    query = None if place.sql_id is None else f"SQL execution {place.sql_id}"
    named = (
        ("query", query), ("stage", stage), ("operator", place.operator),
        ("expression", place.expression), ("setting", place.setting), ("host", place.host),
        ("executor", place.executor),
    )  # fmt: skip
    found = [{"name": _clean(name), "kind": kind} for kind, name in named if name]
    return found or [{"name": place.layer, "kind": "layer"}]


def _rule(code: str, found: Findings, rule: Rule | None) -> dict[str, Any]:
    """Describe a rule: with its manual, or what the findings say of it."""
    if rule is None:
        titles = {one.code: one.title for one in found.findings}
        titles |= {one.code: one.title for one in found.notes}
        titles |= {one.code: one.title for one in found.unjudged}
        return {"id": code, "shortDescription": {"text": _clean(titles[code])}}
    manual = manual_of(rule.manual)
    described: dict[str, Any] = {
        "id": code,
        "name": "".join(word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", code)),
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": manual.summary or rule.title},
        "properties": {"tags": ["performance", rule.family], "cause": rule.cause},
    }
    if manual.parts:
        described["help"] = {
            "text": rule.manual,
            "markdown": markdown.manual(rule.manual),
        }
    return described


def _name(found: Findings) -> str:
    return re.sub(r"[^\w.-]+", "-", found.run.workload or found.run.name or "run")[:80]


def _bounds(one: Estimate) -> Mapping[str, float | None]:
    return {"value": one.value, "low": one.low, "high": one.high}


def _message(text: str) -> dict[str, str]:
    """Make a message: no placeholder of SARIF's, and no link, comes from a log."""
    braces = _clean(text).replace("{", "{{").replace("}", "}}")
    return {"text": braces.replace("](", "] (")}


def _clean(text: str) -> str:
    kept = harmless(str(text))
    kept = "".join("\ufffd" if "\ud800" <= one <= "\udfff" else one for one in kept)
    return kept if len(kept) <= MOST_CHARACTERS else f"{kept[:MOST_CHARACTERS]}…"
