"""A rule: when a window's summary is to be doubted, why, and what to do about it.

Each module of :mod:`pyrometer.summary.rules` is one rule; no list names them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyrometer.core.doubt import Doubt, Severity
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope


@dataclass(frozen=True)
class Rule:
    """When a summary is to be doubted.

    Parameters
    ----------
    code : str
        Stable identifier of the doubt, declared nowhere else.
    severity : {"info", "warning", "error"}
        How much it matters.
    meaning : str
        What it says of the numbers.
    remedy : str
        What to do about it, a command where there is one.
    check : callable
        Looks at the open window and its summary; gives a message for each thing to doubt, with
        the numbers that were seen.
    graded : callable or None
        Gives the severity where it goes by the size of what was seen.
    """

    code: str
    severity: Severity
    meaning: str
    remedy: str
    check: Callable[[Scope, Summary], Iterable[str]]
    graded: Callable[[Summary], Severity] | None = None

    def doubts(self, scope: Scope, summary: Summary) -> list[Doubt]:
        """Doubts of this rule about a summary."""
        severity = self.graded(summary) if self.graded else self.severity
        return [
            Doubt(code=self.code, severity=severity, message=message, remedy=self.remedy)
            for message in self.check(scope, summary)
        ]
