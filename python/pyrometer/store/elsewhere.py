"""Executors whose records lie on the hosts where they ran, not in the run directory."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Any

from pyrometer.core import schema

CODE = "executor_records_elsewhere"
SHOWN = 5
"""Executors that the doubt names; the rest are counted."""

OWN_PLACE = "executor_raw_dir"

# As ExecutorComponent.java writes it, behind the place that the plugin notes: the driver's file
# says it of each executor, that of an executor of itself. Messages are anybody's: atomic groups
# keep the time that one takes proportional to its length.
_SAID = re.compile(
    rf"(?>(?s:.*?)\b(?P<place>executor/-?[0-9]+|{OWN_PLACE}): )executor (?P<id>\S+) on"
    r" (?P<host>\S*) (?:has no agent: )?(?>(?P<why>(?s:.+?)); its records are in )(?P<folder>.+):"
    r" copy them into the raw folder and ingest again"
)


def is_told_of_another(place: str, message: str) -> bool:
    """Whether a driver's record says that an executor kept its records on its own host."""
    said = _SAID.fullmatch(f"{place}: {message}")
    return said is not None and said["place"] != OWN_PLACE


def told_once(raised: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the doubts of the plugin's files with one for all executors whose records are missing.

    An executor whose file says where its records were is here: they have been brought.

    Parameters
    ----------
    raised : sequence of dict
        Doubts as native functions report them.
    """
    rest: list[dict[str, Any]] = []
    brought: set[str] = set()
    told: dict[str, str] = {}
    host: dict[str, str] = {}
    why: dict[str, str] = {}
    for one in raised:
        said = _SAID.fullmatch(one["message"]) if one["code"] == "plugin_error" else None
        if said is None:
            rest.append(one)
        elif said["place"] == OWN_PLACE:
            brought.add(said["folder"])
        else:
            told[said["folder"]] = f"executor {said['id']}: {said['host']}:{said['folder']}"
            host[said["folder"]] = said["host"]
            why[said["folder"]] = " ".join(said["why"].split())
    missing = [folder for folder in told if folder not in brought]
    if missing:
        named = _some([told[folder] for folder in missing])
        reasons = _some(list(dict.fromkeys(why[folder] for folder in missing)))
        shown = missing[:SHOWN]
        sources = " ".join(shlex.quote(f"{host[one]}:{one}/*") for one in shown)
        text = (
            f"{len(missing)} executor(s) kept their records on their hosts: {named}."
            f" Why: {reasons}. To fetch them: scp -r -- {sources} RUN/raw/"
        )
        rest.append({"code": CODE, "severity": schema.doubt(CODE, text).severity, "message": text})
    return rest


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - SHOWN
    return "; ".join(texts[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
