"""Recall, precision, places and seconds of findings beside what was planted: pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from pyrometer.core.estimate import Estimate
from pyrometer.statistics.shares import wilson

WORTH = 0.05
"""Findings with a predicted saving above this share of the elapsed time are judged."""
MAIN = "main"
"""Stands for the stage with the most task time, where a place is to name it."""


@dataclass(frozen=True)
class Found:
    """A finding, as far as it is judged: ratios are of the elapsed time."""

    code: str
    ratio: float
    low: float
    high: float
    place: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """One run with a cause planted, or a healthy one (no codes).

    Attributes
    ----------
    places : sequence of mapping
        Where the cause was planted, any of them: a pattern for each named field of a place, whole;
        `MAIN` for ``stage_id`` is the stage with the most task time.
    main_stage : int or None
        That stage.
    also : sequence of str
        Codes that are true of the run beside what was planted: they count neither way.
    saved_ratio : float or None
        Measured: what the run took less without the cause, over what it took with it.
    spread_ratio : float
        Half of the 90 % interval of that.
    """

    name: str
    codes: Sequence[str]
    findings: Sequence[Found]
    saved_ratio: float | None = None
    spread_ratio: float = 0.0
    places: Sequence[Mapping[str, str]] = ()
    main_stage: int | None = None
    also: Sequence[str] = ()

    def names_it(self, code: str) -> bool:
        """Whether a finding's code is of the planted cause."""
        return any(code.startswith(one) if one.endswith(".") else code == one for one in self.codes)

    def counted(self) -> Sequence[Found]:
        """Give the findings that are right or wrong."""
        return [f for f in self.findings if self.names_it(f.code) or f.code not in self.also]

    def is_there(self, place: Mapping[str, Any]) -> bool:
        """Whether a place is where the cause was planted.

        Examples
        --------
        >>> here = Outcome("a", ["join."], [], places=[{"operator": ".*Join"}], main_stage=3)
        >>> here.is_there({"operator": "SortMergeJoin", "stage_id": 1})
        True
        >>> Outcome("a", [], [], places=[{"stage_id": MAIN}], main_stage=3).is_there({})
        False
        """

        def holds(name: str, pattern: str) -> bool:
            if pattern == MAIN:
                return self.main_stage is not None and place.get(name) == self.main_stage
            return re.fullmatch(pattern, str(place.get(name) or ""), re.DOTALL) is not None

        return any(all(holds(*pair) for pair in one.items()) for one in self.places)

    @property
    def hit(self) -> Found | None:
        """The finding of the planted cause, with the largest saving."""
        mine = [one for one in self.findings if self.names_it(one.code)]
        return max(mine, key=lambda one: one.ratio, default=None)


@dataclass(frozen=True)
class Point:
    """What was predicted of a planted cause, and what was measured."""

    name: str
    code: str
    predicted: float
    low: float
    high: float
    measured: float
    spread: float


@dataclass(frozen=True)
class Verdict:
    """What a set of runs says of the rules.

    Attributes
    ----------
    by_case : mapping of str to (int, int)
        Causes found, and planted, of each case.
    wrong : sequence of (str, str, float)
        Findings that name nothing planted: run, code, predicted ratio.
    """

    recall: Estimate
    precision: Estimate
    places: Estimate
    healthy_with_findings: Estimate
    coverage: Estimate
    median_error: float | None
    points: Sequence[Point]
    by_case: Mapping[str, tuple[int, int]]
    wrong: Sequence[tuple[str, str, float]]


def judge(outcomes: Iterable[Outcome]) -> Verdict:
    """Judge findings against what was planted.

    A cause counts as planted where removing it saved more than `WORTH` as measured; a finding is
    right where it names the planted cause. The measured saving is held where the two intervals
    meet: it has an error of its own.

    Examples
    --------
    >>> gc = Found("gc.a", 0.3, 0.2, 0.4, {"layer": "jvm"})
    >>> here = [{"layer": "jvm"}]
    >>> found = judge([Outcome("a/x/0", ["gc."], [gc], 0.25, places=here), Outcome("b", [], [])])
    >>> found.recall.value, found.precision.value, found.places.value, found.coverage.value
    (1.0, 1.0, 1.0, 1.0)
    >>> round(found.median_error, 3)
    0.2
    """
    every = list(outcomes)
    planted = [one for one in every if one.codes and (one.saved_ratio or 0) > WORTH]
    healthy = [one for one in every if not one.codes]
    worth = [(one, f) for one in every for f in one.counted() if f.ratio > WORTH]
    hits = [(one, one.hit) for one in planted]
    found = [(one, hit) for one, hit in hits if hit is not None]
    points = [
        Point(one.name, hit.code, hit.ratio, hit.low, hit.high, one.saved_ratio or 0.0,
              one.spread_ratio)
        for one, hit in found
    ]  # fmt: skip
    by_case: dict[str, tuple[int, int]] = {}
    for one, hit in hits:
        case = one.name.split("/")[0]
        right, n = by_case.get(case, (0, 0))
        by_case[case] = right + (hit is not None), n + 1
    errors = [abs(one.predicted - one.measured) / one.measured for one in points]
    return Verdict(
        recall=_share(hits, lambda pair: pair[1] is not None),
        precision=_share(worth, lambda pair: pair[0].names_it(pair[1].code)),
        places=_share(found, lambda pair: pair[0].is_there(pair[1].place)),
        healthy_with_findings=_share(healthy, lambda one: bool(one.counted())),
        coverage=_share(
            points,
            lambda one: is_held(
                one.low, one.high, one.measured - one.spread, one.measured + one.spread
            ),
        ),
        median_error=median(errors) if errors else None,
        points=points,
        by_case=by_case,
        wrong=[(one.name, f.code, f.ratio) for one, f in worth if not one.names_it(f.code)],
    )


def is_held(low: float, high: float, measured_low: float, measured_high: float) -> bool:
    """Whether a predicted interval meets that of what was measured.

    Examples
    --------
    >>> is_held(0.1, 0.2, 0.15, 0.4), is_held(0.1, 0.2, 0.25, 0.4)
    (True, False)
    """
    return low <= measured_high and measured_low <= high


def _share(all_of: Sequence[Any], right: Callable[[Any], bool]) -> Estimate:
    n, k = len(all_of), sum(map(right, all_of))
    low, high = wilson(k, n) if n else (None, None)
    return Estimate(
        value=k / n if n else None, low=low, high=high, level=0.95, n=n, method="wilson"
    )
