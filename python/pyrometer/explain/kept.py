"""Findings stored next to the tables, so that they need not be computed again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.explain.schema import Findings, Record
from pyrometer.store.locate import Located, locate
from pyrometer.store.tables_folder import findings_file
from pyrometer.summary.kept import in_json, kept_summary, put_beside, state_of
from pyrometer.summary.kept import keep as keep_summary

if TYPE_CHECKING:
    from pyrometer.summary.schema import Summary


MOST_TASKS = 50_000
"""Tasks up to which screens and reports compute findings that are not kept: of 100 000 that takes
2.8 s of CPU and 247 MiB, where they have less (2026-11-26)."""


def check_size(summary: Summary) -> None:
    """Refuse to compute findings where nobody asked for them and they take long.

    Raises
    ------
    UsageError
        If the run has more than `MOST_TASKS` tasks.
    """
    count = summary.totals.get("tasks_count") or 0
    if count > MOST_TASKS:
        raise UsageError(
            f"findings of {units.count(count)} tasks are not computed here",
            "pyrometer explain RUN, once, keeps them",
        )


def findings_of(
    path: str | Path,
    window: str | None = None,
    *,
    records: Mapping[str, Record] | None = None,
    muted: Mapping[str, str] | None = None,
) -> Findings:
    """Give the findings of a run: as stored, or else computed, and stored.

    Parameters
    ----------
    path : path
        A run directory, a folder of tables, or an event log.
    window : str, optional
        As for `show`.
    records, muted : mapping, optional
        As for `pyrometer.explain.findings.explain`.

    Raises
    ------
    UsageError
        If there is no run, or it has no such window.
    """
    found = locate(path)
    known = kept_findings(found, window, records=records, muted=muted)
    if known is not None:
        known.run.run_dir = found.paths.address
        return known
    # Findings that are kept need none of this.
    from pyrometer.accounts.window import open_scope
    from pyrometer.explain.findings import explained
    from pyrometer.store import Run
    from pyrometer.summary.summary import summarise

    summary: Summary | None = kept_summary(found, window)
    with Run.opened(found) as run:
        scope = open_scope(run, window)
        if summary is None:
            summary = summarise(scope)
            keep_summary(found, summary, window)
        computed = explained(scope, summary, records=records, muted=muted)
    keep_findings(found, computed, window, records=records, muted=muted)
    return computed


def keep_findings(
    found: Located,
    findings: Findings,
    window: str | None = None,
    *,
    records: Mapping[str, Record] | None = None,
    muted: Mapping[str, str] | None = None,
) -> None:
    """Store findings next to the tables; if that fails, they are computed each time."""
    with suppress(OSError):
        of = json.dumps(_mark(found, records or {}, muted or {}))
        text = f'{{"of": {of}, "findings": {in_json(findings)}}}'
        put_beside(findings_file(found.paths.tables, window), [text])


def kept_findings(
    found: Located,
    window: str | None = None,
    *,
    records: Mapping[str, Record] | None = None,
    muted: Mapping[str, str] | None = None,
) -> Findings | None:
    """Give the stored findings of a run, or ``None`` if there are none of its present state."""
    try:
        data = json.loads(findings_file(found.paths.tables, window).read_bytes())
        if data["of"] != _mark(found, records or {}, muted or {}):
            return None
        return Findings.model_validate(data["findings"])
    except (OSError, ValueError, LookupError, TypeError, RecursionError, ValidationError):
        return None


def _mark(found: Located, records: Mapping[str, Record], muted: Mapping[str, str]) -> str:
    """Hash what findings depend on: the state of the run, earlier trials, and what is muted."""
    known = {code: one.model_dump(mode="json") for code, one in sorted(records.items())}
    parts = [state_of(found), json.dumps(known), json.dumps(dict(sorted(muted.items())))]
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()
