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
FETCHED = 50
"""Folders that the command in the doubt fetches at most; once they are here, it fetches others."""

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
    told: dict[str, re.Match[str]] = {}
    for one in raised:
        said = _SAID.fullmatch(one["message"]) if one["code"] == "plugin_error" else None
        if said is None:
            rest.append(one)
        elif said["place"] == OWN_PLACE:
            brought.add(said["folder"])
        else:
            told[said["folder"]] = said
    missing = [said for folder, said in told.items() if folder not in brought]
    if missing:
        reasons = _some(list(dict.fromkeys(" ".join(said["why"].split()) for said in missing)))
        text = (
            f"{len(missing)} executor(s) kept their records on their hosts:"
            f" {_some([_where(said) for said in missing])}. Why: {reasons}.{_fetching(missing)}"
        )
        rest.append({"code": CODE, "severity": schema.doubt(CODE, text).severity, "message": text})
    return rest


def _where(said: re.Match[str]) -> str:
    host, folder = said["host"], said["folder"]
    place = f"{host}:{folder}" if host else f"{folder}, on a host that did not give its name"
    return f"executor {said['id']}: {place}"


def _fetching(missing: Sequence[re.Match[str]]) -> str:
    """Give the command that fetches records, and say how to have it for those that it leaves."""
    sources = [_source(said["host"], said["folder"]) for said in missing if said["host"]]
    if not sources:
        return ""
    more = len(sources) - FETCHED
    what = f"{FETCHED} of them (pyrometer ingest RUN then names the other {more})"
    command = shlex.join(["scp", "-r", "--", *sources[:FETCHED]])
    return f" To fetch {what if more > 0 else 'them'}: {command} RUN/raw/"


def _source(host: str, folder: str) -> str:
    return f"[{host}]:{folder}/*" if ":" in host else f"{host}:{folder}/*"


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - SHOWN
    return "; ".join(texts[:SHOWN]) + (f"; and {more} more" if more > 0 else "")
