"""Settings that a program changed in its sessions, by the event log: over what a trial had set."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from pyrometer.trial.factors import Level

_START = b"SparkListenerSQLExecutionStart"
_CHANGED = b'"modifiedConfigs":'
PREFIX = "spark.sql."
"""What begins settings of a session; what a context has, no program changes."""


def overruled(treatment: Mapping[str, Level], logs: Iterable[Path]) -> list[str]:
    """Name levels that the program itself replaced, as sentences.

    A level that another value replaced in half of the SQL executions or fewer has held: a program
    may set one aside for a while. Since Spark 3.3 event logs say so; older ones say nothing.

    Parameters
    ----------
    logs : iterable of Path
        Event logs, files or rolling directories; compressed ones say nothing.
    """
    asked = {name: str(level) for name, level in treatment.items() if name.startswith(PREFIX)}
    if not asked:
        return []
    executions, seen = 0, Counter[tuple[str, str]]()
    for path in _files(logs):
        with path.open("rb") as lines:
            for line in lines:
                if _START not in line[:200]:
                    continue
                executions += 1
                seen.update(_replaced(line.partition(_CHANGED)[2], asked))
    found = []
    for name, level in asked.items():
        values = Counter({one: n for (other, one), n in seen.items() if other == name})
        if 2 * values.total() > executions:
            value = values.most_common(1)[0][0]
            found.append(
                f"{name}={level}, but the program sets {value} in {values.total()} of"
                f" {executions} SQL executions."
            )
    return found


def _files(logs: Iterable[Path]) -> list[Path]:
    parts = (sorted(one.iterdir()) if one.is_dir() else [one] for one in logs)
    return [one for files in parts for one in files if one.is_file()]


def _replaced(text: bytes, asked: Mapping[str, str]) -> list[tuple[str, str]]:
    """Read the settings with which a text begins; the plan before them may nest too deeply."""
    try:
        changed, _ = json.JSONDecoder().raw_decode(text.decode())
        return [
            (name, str(value))
            for name, value in changed.items()
            if name in asked and str(value).lower() != asked[name].lower()
        ]
    except (ValueError, AttributeError):
        return []  # Cut, or of no Spark that we know: it says nothing.
