"""Where on the page's time axis the evidence of a finding lies."""

from __future__ import annotations

import re
from typing import Any

from pyrometer.explain.schema import Finding, Place
from pyrometer.pages.axis import Axis, find_axis
from pyrometer.window.scope import Scope

_SPAN = re.compile(r"/timeline/(\d+)/(\d+)")
_OF_STAGE = """
SELECT min(submit_wall_ns), max(complete_wall_ns) FROM stages
WHERE stage_id = $1 AND stage_attempt = $2 AND ($3 IS NULL OR app_index = $3)
"""
_OF_SQL = """
SELECT min(start_wall_ns), max(end_wall_ns) FROM sql_executions
WHERE sql_id = $1 AND ($2 IS NULL OR app_index = $2)
"""
Span = tuple[int, int]


def add_ranges(scope: Scope, finding: Finding, shown: dict[str, Any]) -> None:
    """Give what leads to the timeline its range there, in ms: its own, else that of the place."""
    pieces = [
        (one.link, data)
        for one, data in zip(finding.evidence, shown["evidence"], strict=True)
        if one.link and one.link.startswith("/timeline")
    ]
    axis = _axis(scope) if pieces else None
    if axis is None:
        return
    for link, data in pieces:
        own = _SPAN.match(link)
        span = (int(own[1]), int(own[2])) if own else _of_place(scope, finding.place)
        if span and span[1] > span[0]:
            data["range_ms"] = [(end - axis.t0_wall_ns) / 1e6 for end in span]


def _axis(scope: Scope) -> Axis | None:
    """Give the axis of the run, found once for all findings."""
    if "axis" not in scope.kept:
        scope.kept["axis"] = find_axis(scope.tables, scope.run.facts())
    found: Axis | None = scope.kept["axis"]
    return found


def _of_place(scope: Scope, place: Place) -> Span | None:
    """Give the time of a stage, of several the one that counts most, else of a query."""
    tables = scope.tables
    rows: list[tuple[Any, ...]] = []
    if place.stage_id is not None and tables.has("stages"):
        rows = tables.query(_OF_STAGE, [place.stage_id, place.stage_attempt or 0, place.app])
    elif place.sql_id is not None and tables.has("sql_executions"):
        rows = tables.query(_OF_SQL, [place.sql_id, place.app])
    return rows[0] if rows and None not in rows[0] else None
