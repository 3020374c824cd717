"""Rules that are asked about an open run, without accounts that they do not read."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any, cast

from pyrometer.accounts.applications import apps
from pyrometer.accounts.spark import iterations
from pyrometer.accounts.window import open_scope
from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.explain.findings import explained
from pyrometer.explain.rule import Rule
from pyrometer.explain.schema import Evidence, Finding, Findings, Note
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summarise
from pyrometer.window.scope import Scope

CLOSE = 1e-4
_OF_CODECS = "the query has samples of all codecs of the kind, the number those of one"
_STACKS = "the query lists stacks, of which the number takes those through some frames"
_JOBS = "the query lists the jobs that the time lies between"
_LINE = "the query lists what goes into a model"
APART = {
    ("codec.decompression", "share of task CPU in decompression"): _OF_CODECS,
    ("codec.compression", "share of task CPU in compression"): _OF_CODECS,
    ("gc.", "allocated by"): _STACKS,
    ("gc.allocation-site", "share of the sampled bytes"): _STACKS,
    ("cache.evicted", "time of tasks that computed blocks again"): _LINE,
    ("cache.used-once", "CPU of keeping and reading them"): _LINE,
    ("config.adaptive-off", ""): _LINE,
    ("contended.more-tasks-than-cpus", "idle time of CPUs that the JVM was never on"): _LINE,
    ("contended.more-tasks-than-cpus", "readings of its threads on the others"): _LINE,
    ("driver.gap", "time without a job"): _JOBS,
    ("driver.many-small-jobs", ""): _JOBS,
    ("recompute.subtree", ""): _LINE,
    ("skew.host", "time far from the data"): _LINE,
    ("straggler.host", "time"): _LINE,
    ("udf.instead-of-builtin", "operator that calls them"): "the query gives its text",
}
"""Numbers, by code of the rule and how they begin, that their query does not give, and why."""
_PATH = re.compile(r"show --json: (?P<path>[a-z_.\[\]]+)(?: of (?P<hosts>.+))?")


class _OfWhatIsRead:
    """Stands for a summary, which is half of the time of a test: made when more of it is read.

    At once there is what is read whatever the rule is, also beside others that use the connection.
    Doubts are only passed on.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.apps, self.iterations = apps(scope), iterations(scope)
        self.doubts: list[Doubt] = []

    @cached_property
    def _whole(self) -> Summary:
        return summarise(self._scope)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)


def asked(run: Run, rules: Sequence[Rule]) -> Findings:
    """Give what rules say of a run, but for the doubts of its summary; evidence must be true."""
    scope = open_scope(run, None)
    summary = cast(Summary, _OfWhatIsRead(scope))
    found = explained(scope, summary, rules=rules)
    told: list[Finding | Note] = [*found.findings, *found.notes]
    wrong = [
        f"{one.code}: {why}"
        for one in told for each in one.evidence
        if (why := untrue(run, summary, one.code, each)) is not None
    ]  # fmt: skip
    assert not wrong, wrong
    return found


def untrue(run: Run, summary: Summary, code: str, one: Evidence) -> str | None:
    """Say how a number cannot be read off from what its query gives."""
    value, query = one.estimate.value, one.query or ""
    if any(code.startswith(rule) and one.what.startswith(what) for rule, what in APART):
        return None
    if query.lstrip().upper().startswith(("SELECT", "WITH")):
        given = _of_rows(run.tables.query(query))
    elif path := _PATH.fullmatch(query):
        given = _of_path(summary, path["path"], path["hosts"])
    else:
        return None
    near = value is not None and any(math.isclose(each, value, rel_tol=CLOSE) for each in given)
    return None if near or given is NO_NUMBER else f"{one.what}: {value}, but {given} by {query}"


NO_NUMBER: list[float] = []
"""Of a path to what has no one number."""


def _of_rows(rows: Sequence[Sequence[Any]]) -> list[float]:
    """Give what can be read off: one number, or each of several, their sums, and how many."""
    cells = [[_number(cell) for cell in row] for row in rows]
    single = [one for row in cells for one in row if one is not None]
    if len(rows) == 1 and len(rows[0]) == 1:
        return single
    sums = [sum(one or 0.0 for one in column) for column in zip(*cells, strict=True)]
    return [*single, *sums, float(len(rows))]


def _of_path(summary: Summary, path: str, hosts: str | None) -> list[float]:
    """Give the number at a path, or the sum of those of some hosts."""
    found: list[Any] = [summary]
    for part in path.split("."):
        found = [getattr(one, part.removesuffix("[]")) for one in found if one is not None]
        if part.endswith("[]"):
            found = [each for one in found for each in one]
        if hosts is not None and part == "hosts[]":
            found = [one for one in found if one.host in hosts.split(", ")]
    numbers = [_number(one.value if isinstance(one, Estimate) else one) for one in found]
    known = [one for one in numbers if one is not None]
    return [sum(known)] if known else NO_NUMBER


def _number(cell: Any) -> float | None:
    if isinstance(cell, bool) or not isinstance(cell, int | float | Decimal):
        return None
    return float(cell)
