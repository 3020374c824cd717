"""Recall, precision, places and seconds of findings beside what was planted: pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from pyrometer.core.estimate import Estimate
from pyrometer.statistics.shares import wilson

WORTH = 0.05
"""Findings with a predicted saving above this share of the elapsed time are judged."""


@dataclass(frozen=True)
class Found:
    """A finding, as far as it is judged: ratios are of the elapsed time."""

    code: str
    ratio: float
    low: float
    high: float
    layer: str


@dataclass(frozen=True)
class Outcome:
    """One run with a cause planted, or a healthy one (no codes).

    Attributes
    ----------
    saved_ratio : float or None
        Measured: what the run took less without the cause, over what it took with it.
    """

    name: str
    codes: Sequence[str]
    findings: Sequence[Found]
    saved_ratio: float | None = None

    def names_it(self, code: str) -> bool:
        """Whether a finding's code is of the planted cause."""
        return any(code.startswith(one) if one.endswith(".") else code == one for one in self.codes)

    @property
    def hit(self) -> Found | None:
        """The finding of the planted cause, with the largest saving."""
        mine = [one for one in self.findings if self.names_it(one.code)]
        return max(mine, key=lambda one: one.ratio, default=None)


@dataclass(frozen=True)
class Verdict:
    """What a set of runs says of the rules."""

    recall: Estimate
    precision: Estimate
    healthy_with_findings: Estimate
    coverage: Estimate
    median_error: float | None
    errors: Sequence[float]


def judge(outcomes: Iterable[Outcome]) -> Verdict:
    """Judge findings against what was planted.

    A cause counts as planted where removing it saved more than `WORTH` as measured; a finding is
    right where it names the planted cause.

    Examples
    --------
    >>> gc = Found("gc.a", 0.3, 0.2, 0.4, "jvm")
    >>> found = judge([Outcome("a", ["gc."], [gc], 0.25), Outcome("b", [], [])])
    >>> found.recall.value, found.precision.value, found.coverage.value
    (1.0, 1.0, 1.0)
    >>> round(found.median_error, 3)
    0.2
    """
    every = list(outcomes)
    planted = [one for one in every if one.codes and (one.saved_ratio or 0) > WORTH]
    healthy = [one for one in every if not one.codes]
    told = [(one, f) for one in every for f in one.findings if f.ratio > WORTH]
    hits = [(one, one.hit) for one in planted]
    measured = [(one.saved_ratio or 0.0, hit) for one, hit in hits if hit is not None]
    errors = [abs(hit.ratio - real) / real for real, hit in measured]
    return Verdict(
        recall=_share(hits, lambda pair: pair[1] is not None),
        precision=_share(told, lambda pair: pair[0].names_it(pair[1].code)),
        healthy_with_findings=_share(healthy, lambda one: bool(one.findings)),
        coverage=_share(measured, lambda pair: pair[1].low <= pair[0] <= pair[1].high),
        median_error=median(errors) if errors else None,
        errors=errors,
    )


def _share(all_of: Sequence[Any], right: Callable[[Any], bool]) -> Estimate:
    n, k = len(all_of), sum(map(right, all_of))
    low, high = wilson(k, n) if n else (None, None)
    return Estimate(
        value=k / n if n else None, low=low, high=high, level=0.95, n=n, method="wilson"
    )
