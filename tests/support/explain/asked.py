"""Rules that are asked about an open run, without accounts that they do not read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

from pyrometer.accounts.applications import apps
from pyrometer.accounts.spark import iterations
from pyrometer.accounts.window import open_scope
from pyrometer.core.doubt import Doubt
from pyrometer.explain.findings import explained
from pyrometer.explain.rule import Rule
from pyrometer.explain.schema import Evidence, Finding, Findings, Note
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summarise
from pyrometer.window.scope import Scope

CLOSE = 1e-4
_OF_CODECS = "the query has samples of all codecs of the kind, the number those of one"
APART = {
    ("codec.decompression", "share of task CPU in decompression"): _OF_CODECS,
    ("codec.compression", "share of task CPU in compression"): _OF_CODECS,
}
"""Numbers, by code of the rule, that their query does not give, and why."""
COMPARED = (
    "codec.", "codegen.", "config.", "driver.collect", "driver.commit", "driver.executors-late",
    "driver.gap", "driver.listing", "driver.many-small-jobs", "driver.planning",
    "expression.boxing", "expression.json-parsed-again", "partitioning.too-many",
    "retries.executor-lost", "scan.columns-unused", "scan.schema-inferred", "skew.bytes",
    "skew.host", "straggler.host", "straggler.waits",
)  # fmt: skip
"""Rules, or families, whose evidence is compared; the queries of the others were never read so.

Take a rule in with what its tests then say."""


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
    found = explained(scope, cast(Summary, _OfWhatIsRead(scope)), rules=rules)
    told: list[Finding | Note] = [*found.findings, *found.notes]
    wrong = [
        f"{one.code}: {why}"
        for one in told for each in one.evidence
        if (why := untrue(run, one.code, each)) is not None
    ]  # fmt: skip
    assert not wrong, wrong
    return found


def untrue(run: Run, code: str, one: Evidence) -> str | None:
    """Say how the query of a number differs from it, where the query gives one number."""
    value, query = one.estimate.value, one.query or ""
    if not code.startswith(COMPARED):
        return None
    if not query.lstrip().upper().startswith(("SELECT", "WITH")) or (code, one.what) in APART:
        return None
    rows = run.tables.query(query)
    if len(rows) != 1 or len(rows[0]) != 1:
        return None
    (given,) = rows[0]
    if given is not None and value is not None and math.isclose(given, value, rel_tol=CLOSE):
        return None
    return f"{one.what}: {value}, but {given} by {query}"
