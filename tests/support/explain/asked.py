"""Rules that are asked about an open run, without accounts that they do not read."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, cast

from pyrometer.accounts.applications import apps
from pyrometer.accounts.spark import iterations
from pyrometer.accounts.window import open_scope
from pyrometer.core.doubt import Doubt
from pyrometer.explain.findings import explained
from pyrometer.explain.rule import Rule
from pyrometer.explain.schema import Findings
from pyrometer.store import Run
from pyrometer.summary.schema import Summary
from pyrometer.summary.summary import summarise
from pyrometer.window.scope import Scope


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
    """Give what rules say of a run, but for the doubts of its summary."""
    scope = open_scope(run, None)
    return explained(scope, cast(Summary, _OfWhatIsRead(scope)), rules=rules)
