"""Times of a run in which the recorder of an agent did not run, as the agents' reports say."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyrometer.core import schema, units
from pyrometer.core.doubt import Doubt
from pyrometer.core.json_text import parse_json
from pyrometer.store.manifest import Manifest
from pyrometer.store.paths import RunPaths

_FIRST_NS, _LAST_NS = 0, 1 << 62


@dataclass(frozen=True)
class Gap:
    """A time without a recorder.

    Attributes
    ----------
    since_ns, until_ns : int
        Its begin and end, Unix time.
    reason : str
        Why the recorder ended.
    is_open : bool
        Whether no other one was started, as far as is known.
    """

    since_ns: int
    until_ns: int
    reason: str
    is_open: bool


def doubt_gaps(paths: RunPaths, manifest: Manifest) -> Iterator[Doubt]:
    """Say of each agent whose recorder did not run all the time how long that was in a run.

    Parameters
    ----------
    paths : RunPaths
        Of the run, with what was shipped of it.
    manifest : Manifest
        Which says when the run was.
    """
    since_ns = manifest.started_wall_ns or _FIRST_NS
    until_ns = manifest.ended_wall_ns or _LAST_NS
    found: dict[str, dict[int, Gap]] = defaultdict(dict)
    for file in sorted(paths.shipped.glob("*/*/*/*/agent-*.report.json")):
        of = found[_whose(file, paths)]
        for gap in gaps_in(file):
            known = of.get(gap.since_ns)
            # Reports of later lives of an agent know how a gap of an earlier one ended.
            if known is None or (known.is_open and not gap.is_open):
                of[gap.since_ns] = gap
    for whose, gaps in found.items():
        ours = [one for one in gaps.values() if one.since_ns < until_ns and one.until_ns > since_ns]
        if ours:
            yield schema.doubt("recorder_gaps", _said(whose, ours, since_ns, until_ns))


def gaps_in(report: Path) -> list[Gap]:
    """Read the gaps in the report of an agent; none of what is no such report."""
    try:
        said = parse_json(report.read_bytes())
        told, wall_ns = said["recorder"]["gaps"], said["wall_ns"]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    read = (_gap(one, wall_ns) for one in told) if isinstance(told, list) else ()
    return [one for one in read if one is not None]


def _gap(said: Any, report_ns: Any) -> Gap | None:
    if not isinstance(said, dict):
        return None
    since, until = said.get("since_wall_ns"), said.get("until_wall_ns")
    end = report_ns if until is None else until
    if not (isinstance(since, int) and _is_time(since) and _is_time(end) and since <= end):
        return None
    reason = " ".join(str(said.get("reason")).split())[:200]
    return Gap(since, end, reason, is_open=until is None)


def _is_time(value: Any) -> bool:
    return type(value) is int and _FIRST_NS <= value < _LAST_NS


def _whose(file: Path, paths: RunPaths) -> str:
    app, executor, _, host = file.relative_to(paths.shipped).parts[:4]
    if paths.is_of_a_service(file):
        return f"the agent on {unquote(host)}"
    return f"executor {unquote(executor)} of {unquote(app)} on {unquote(host)}"


def _said(whose: str, gaps: list[Gap], since_ns: int, until_ns: int) -> str:
    missed_ns = sum(min(one.until_ns, until_ns) - max(one.since_ns, since_ns) for one in gaps)
    last = max(gaps, key=lambda one: one.since_ns)
    begun = max(0, min(one.since_ns for one in gaps) - since_ns) if since_ns else 0
    where = f", the first {units.duration(begun)} after its begin" if since_ns else ""
    end = (
        "and was not started again by the time of its agent's last report"
        if last.is_open
        else "and was started again"
    )
    return (
        f"The recorder of {whose} did not run for {units.duration(missed_ns)} of the run, in"
        f" {units.counted(len(gaps), 'gap')}{where}: it ended ({last.reason}), {end}."
    )
