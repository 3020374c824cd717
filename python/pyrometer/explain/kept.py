"""Findings stored next to the tables, so that they need not be computed again.

Earlier trials, and what the project mutes, change them. Those of several folders of verdicts and of
several projects stand beside each other, the last first. A verdict on a rule that found nothing in
the run changes none.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field, ValidationError

from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.core.model import Model, in_json
from pyrometer.explain.schema import NO_GAIN, Earlier, Findings, Proofs, Record, proof_of
from pyrometer.explain.words import conclusion
from pyrometer.store.locate import Located, locate
from pyrometer.store.tables_folder import findings_file
from pyrometer.summary.kept import keep as keep_summary
from pyrometer.summary.kept import kept_summary, put_beside, state_of

if TYPE_CHECKING:
    from pyrometer.summary.schema import Summary


MOST_TASKS = 50_000
"""Tasks up to which screens and reports compute findings that are not kept: of 100 000 that takes
2.8 s of CPU and 247 MiB, where they have less (2026-11-26)."""
MOST_KEPT = 4
"""Findings of a window that are kept beside each other."""


class _Grounds(Model):
    """What findings depend on beside the run.

    Attributes
    ----------
    earlier : dict of str to Earlier
        How predictions of their rules fared, by code, where it counts.
    muted : list of str
        Those of their codes that the project mutes.
    refuted : list of str
        Rules and places of the run whose remedies were tried and gain nothing.
    """

    earlier: dict[str, Earlier] = Field(default_factory=dict)
    muted: list[str] = Field(default_factory=list)
    refuted: list[str] = Field(default_factory=list)


class _Kept(Model):
    grounds: _Grounds
    findings: Findings


class _File(Model):
    """The file of kept findings; `of` is the state of the run."""

    of: str
    kept: list[_Kept] = Field(default_factory=list)


def check_size(summary: Summary, window: str | None = None) -> None:
    """Refuse to compute findings where nobody asked for them and they take long.

    Parameters
    ----------
    window : str, optional
        The window that was asked for.

    Raises
    ------
    UsageError
        If the run has more than `MOST_TASKS` tasks.
    """
    count = summary.totals.get("tasks_count") or 0
    if count > MOST_TASKS:
        raise UsageError(
            f"findings of {units.count(count)} tasks are not computed here",
            f"pyrometer explain RUN{f' --window {window}' if window else ''}, once, keeps them",
        )


def findings_of(
    path: str | Path,
    window: str | None = None,
    *,
    records: Mapping[str, Record] | None = None,
    muted: Mapping[str, str] | None = None,
    proofs: Mapping[str, Proofs] | None = None,
) -> Findings:
    """Give the findings of a run: as stored, or else computed, and stored.

    Parameters
    ----------
    path : path
        A run directory, a folder of tables, or an event log.
    window : str, optional
        As for `show`.
    records, muted, proofs : mapping, optional
        As for `pyrometer.explain.findings.explain`.

    Raises
    ------
    UsageError
        If there is no run, or it has no such window.
    """
    found = locate(path)
    known = kept_findings(found, window, records=records, muted=muted, proofs=proofs)
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
        computed = explained(scope, summary, records=records, muted=muted, proofs=proofs)
    keep_findings(found, computed, window, records=records, muted=muted, proofs=proofs)
    return computed


def keep_findings(
    found: Located,
    findings: Findings,
    window: str | None = None,
    *,
    records: Mapping[str, Record] | None = None,
    muted: Mapping[str, str] | None = None,
    proofs: Mapping[str, Proofs] | None = None,
) -> None:
    """Store findings next to the tables; if that fails, they are computed each time."""
    with suppress(OSError):
        grounds = _grounds(findings, records or {}, muted or {}, _of_run(found, proofs))
        mine = _Kept(grounds=grounds, findings=findings)
        others = [one for one in _read(found, window) if one.grounds != mine.grounds]
        file = _File(of=state_of(found), kept=[mine, *others][:MOST_KEPT])
        put_beside(findings_file(found.paths.tables, window), [in_json(file)])


def kept_findings(
    found: Located,
    window: str | None = None,
    *,
    records: Mapping[str, Record] | None = None,
    muted: Mapping[str, str] | None = None,
    proofs: Mapping[str, Proofs] | None = None,
) -> Findings | None:
    """Give the stored findings of a run, or ``None`` if there are none of its present state."""
    records, muted, mine = records or {}, muted or {}, _of_run(found, proofs)
    for one in _read(found, window):
        if one.grounds == _grounds(one.findings, records, muted, mine):
            return _told(one.findings, records, muted, mine)
    return None


def _read(found: Located, window: str | None) -> list[_Kept]:
    """Read what is kept of the run's present state."""
    try:
        data = findings_file(found.paths.tables, window).read_bytes()
        file = _File.model_validate_json(data)
        return file.kept if file.of == state_of(found) else []
    except (OSError, ValueError, RecursionError, ValidationError):
        return []


def _of_run(found: Located, proofs: Mapping[str, Proofs] | None) -> Proofs:
    """Give what was tried of a run."""
    return (proofs or {}).get(found.manifest.run_id, {}) if found.manifest else {}


def _grounds(
    found: Findings, records: Mapping[str, Record], muted: Mapping[str, str], proofs: Proofs
) -> _Grounds:
    """Give what findings depend on, of all that was tried, and is muted.

    Errors of causes and symptoms decide which is which, and so does what is muted.
    """
    codes = {one.code for one in found.findings}
    judged = codes | {each.code for one in found.findings for each in one.symptoms}
    earlier = {code: records[code].earlier for code in sorted(judged & records.keys())}
    return _Grounds(
        earlier={code: one for code, one in earlier.items() if one is not None},
        muted=sorted(judged & muted.keys()),
        refuted=sorted(
            f"{code} {app} {place}"
            for (code, app, place), one in proofs.items() if one.verdict in NO_GAIN
        ),
    )  # fmt: skip


def _told(
    found: Findings, records: Mapping[str, Record], muted: Mapping[str, str], proofs: Proofs
) -> Findings:
    """Set what is told with findings and decides nothing: it may be newer than they are."""
    for one in found.findings:
        one.record, one.muted = records.get(one.code, Record()), muted.get(one.code)
        one.proof = proof_of(proofs, one.code, one.place, is_alone=one.alone)
    for note in found.notes:
        note.muted = muted.get(note.code)
    found.conclusion = conclusion(found)
    return found
