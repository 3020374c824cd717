"""Event logs of real applications: those that we recorded, and others' where they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

RECORDED = Path(__file__).parents[2] / "fixtures" / "eventlog" / "recorded"
CORPUS = os.environ.get("PYROMETER_CORPUS")


def recorded() -> list[Path]:
    """Our own (``tests/fixtures/eventlog/record.py``); a rolling log is a folder."""
    return sorted(RECORDED.iterdir())


def others() -> list[Path]:
    """Those that others recorded: none where ``PYROMETER_CORPUS`` is not set."""
    return sorted(Path(CORPUS, "eventlogs").glob("*/*")) if CORPUS else []


def each_log() -> list[ParameterSet]:
    """All of them as parameters: ours in every run of the tests, the others' with the slow ones."""
    return [
        *(pytest.param(log, id=name_of(log)) for log in recorded()),
        *(pytest.param(log, id=name_of(log), marks=pytest.mark.slow) for log in others()),
    ]


def name_of(log: Path) -> str:
    """Name a log, with the folder that says who recorded it."""
    return f"{log.parent.name}/{log.name}"


def parts_of(log: Path) -> list[Path]:
    """Files of a log, in the order of reading."""
    if log.is_file():
        return [log]
    parts = [part for part in log.iterdir() if part.name.startswith("events_")]
    return sorted(parts, key=lambda part: int(part.name.split("_")[1]))
