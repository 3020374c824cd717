"""Why elapsed time changed: causes at their places, whose seconds add up to the change exactly.

Runs are compared in pairs, and iterations of a pair of runs as well; a cause is the mean over them.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeVar

import numpy as np

from pyrometer.compare.cause_schema import Cause, Explanation, Part
from pyrometer.compare.cause_words import answer, evidence_of, is_explained, sentence, words
from pyrometer.compare.makespan import length
from pyrometer.compare.matching import matched
from pyrometer.compare.stage_change import logarithmic_mean, stage_change
from pyrometer.compare.stage_tasks import COLUMNS
from pyrometer.compare.stage_work import Unit, Work
from pyrometer.core.estimate import LEVEL
from pyrometer.statistics.distributions import t_quantile
from pyrometer.statistics.shares import wilson

ALONE = "alone"
APPLICATION = "application"
DRIVER = "driver"
_MOST_PAIRS = 36
_MOST_PARTS = 50
_ROUNDING = 1e-9
_CPU = COLUMNS.index("cpu")

_T = TypeVar("_T")
Key = tuple[str, str]
"""Cause and place."""
Pair = tuple[int, int]
"""Positions of two runs, or iterations, in their groups."""
Weights = dict[Pair, float]
"""Of each pair its part of the mean; in sum 1."""


@dataclass
class _Place:
    a: Work | None = None
    b: Work | None = None


@dataclass
class _Found:
    """Seconds by cause and place of one pair, and the stages that the places are."""

    seconds: dict[Key, float] = field(default_factory=lambda: defaultdict(float))
    places: dict[str, _Place] = field(default_factory=dict)
    half: dict[Key, float] = field(default_factory=dict)


@dataclass
class _Compared:
    """What was found of each pair of two groups, and the part that it has in their mean."""

    found: dict[Pair, _Found]
    weights: Weights

    def mean(self) -> _Found:
        """Give the mean over pairs."""
        whole = _Found()
        for pair, one in reversed(self.found.items()):
            for key, seconds in one.seconds.items():
                whole.seconds[key] += seconds * self.weights[pair]
            whole.places |= one.places
            for key, half in one.half.items():
                part = half / math.sqrt(len(self.found))
                whole.half[key] = max(whole.half.get(key, 0.0), part)
        return whole

    def interval(self, seconds: Callable[[_Found], float]) -> tuple[float, float] | None:
        """Give the interval of the mean from the spread of the means of each member's pairs."""
        values = {pair: seconds(one) for pair, one in self.found.items()}
        total, squares = 0.0, 0.0
        for side in (0, 1):
            means: dict[int, float] = defaultdict(float)
            for pair, value in values.items():
                means[pair[side]] += value * self.weights[pair]
            if len(means) < 2:
                return None
            # The weights of a member add up to one part of as many as there are.
            spread = np.array(list(means.values())) * len(means)
            error = float(spread.var(ddof=1)) / spread.size
            total += error
            squares += error**2 / (spread.size - 1)
        middle = math.fsum(value * self.weights[pair] for pair, value in values.items())
        if total <= 0:
            return middle, middle
        twice = self._counted()
        freedom = total**2 / squares / twice
        half = float(t_quantile((1 + LEVEL) / 2, freedom)) * math.sqrt(total / twice)
        return middle - half, middle + half

    def _counted(self) -> float:
        """Say how often the spread of either group is in the sum of both spreads, at least.

        Once where all are paired with all, as each mean is then over all of the other group; twice
        where each is paired with one. With `n` and `m` members whose values have variances `u` and
        `v`, the means of the first vary by u + kv, k the sum of (n w - 1/m)^2 over all pairs,
        divided by n - 1; those of the second likewise.
        """
        share = np.zeros(np.max(list(self.weights), axis=0) + 1)
        for pair, weight in self.weights.items():
            share[pair] = weight
        n, m = share.shape
        of_second = float(((n * share - 1 / m) ** 2).sum()) / (n - 1)
        of_first = float(((m * share - 1 / n) ** 2).sum()) / (m - 1)
        return 1 + float(min(of_first * n / m, of_second * m / n))


def explain(a: Sequence[Sequence[Unit]], b: Sequence[Sequence[Unit]]) -> Explanation:
    """Say why B's elapsed time is not A's.

    Parameters
    ----------
    a, b : sequence of sequence of Unit
        Of each run of a side, its iterations.
    """
    a, b = [run for run in a if run], [run for run in b if run]
    if not a or not b:
        return Explanation(cannot_tell=["no Spark application was seen on one of the sides"])
    inside = _compared(a[0], b[0], _unit, _pairs) if len(a) == len(b) == 1 else None
    runs = _compared(a, b, _runs, _pairs) if inside is None else _Compared(
        {(0, 0): inside.mean()}, {(0, 0): 1.0}
    )  # fmt: skip
    means = [_mean(side, lambda one: one.total) for side in (a, b)]
    waits = [_mean(side, lambda one: one.executors) for side in (a, b)]
    found = Explanation(
        a_s=means[0], b_s=means[1], seconds=means[1] - means[0],
        a_waited_s=waits[0], b_waited_s=waits[1],
    )  # fmt: skip
    first = runs.found[min(runs.found)]
    judged, method = (runs, "runs") if inside is None else (inside, "iterations")
    mean = runs.mean()
    whole = judged.interval(lambda one: sum(one.seconds.values()))
    if whole:
        found.low, found.high = whole
    parts: dict[str, list[tuple[Key, Part]]] = defaultdict(list)
    for key in sorted(mean.seconds):
        place = _place(key[1], first, runs)
        value = mean.seconds[key]
        if abs(value) <= _ROUNDING:
            continue
        part = Part(
            place=key[1], seconds=value,
            a_stage_id=place.a.stage_id if place.a else None,
            b_stage_id=place.b.stage_id if place.b else None,
            hosts=_hosts(place, value) if key[0] == "slow_host" else [],
            evidence=evidence_of(key[0], place.a, place.b),
        )  # fmt: skip
        low_high = judged.interval(lambda one, key=key: one.seconds.get(key, 0.0))  # type: ignore[misc]
        if low_high:
            part.low, part.high, part.method = *low_high, method
        elif key in first.half:
            part.low, part.high = value - first.half[key], value + first.half[key]
            part.method = "samples"
        parts[key[0]].append((key, part))
    found.causes = [_cause(name, own, found, judged, method, first) for name, own in parts.items()]
    found.causes.sort(key=lambda one: (not one.explained, -abs(one.seconds), one.cause))
    found.answer = answer(found)
    return found


def _mean(side: Sequence[Sequence[Unit]], of: Callable[[Unit], float]) -> float:
    return float(np.mean([np.mean([of(one) for one in run]) for run in side]))


def _cause(
    name: str,
    own: Sequence[tuple[Key, Part]],
    whole: Explanation,
    judged: _Compared,
    method: str,
    first: _Found,
) -> Cause:
    parts = [part for _, part in sorted(own, key=lambda one: -abs(one[1].seconds))]
    seconds = math.fsum(part.seconds for part in parts)
    found = Cause(
        cause=name, what=words(name), seconds=seconds, explained=is_explained(name), parts=parts
    )
    if abs(whole.seconds) > _ROUNDING:
        found.share = seconds / whole.seconds
    keys = [key for key, _ in own]
    low_high = judged.interval(lambda one: sum(one.seconds.get(key, 0.0) for key in keys))
    if low_high:
        found.low, found.high, found.method = *low_high, method
    elif any(key in first.half for key in keys):
        half = math.sqrt(sum(first.half.get(key, 0.0) ** 2 for key in keys))
        found.low, found.high, found.method = seconds - half, seconds + half, "samples"
    found.sentence = sentence(found)
    if len(parts) > _MOST_PARTS:
        rest = parts[_MOST_PARTS - 1 :]
        more = Part(place=f"{len(rest)} more", seconds=math.fsum(part.seconds for part in rest))
        found.parts = [*parts[: _MOST_PARTS - 1], more]
    return found


def _place(name: str, first: _Found, runs: _Compared) -> _Place:
    for one in (first, *runs.found.values()):
        if name in one.places:
            return one.places[name]
    return _Place()


def _hosts(place: _Place, change: float) -> list[str]:
    """Name the slow hosts of the side that they cost more."""
    side = place.b if change > 0 else place.a
    return sorted(side.slow_hosts) if side else []


def _pairs(n: int, m: int) -> Weights:
    """Pair members of two groups: all with all, or of many as `_side_by_side` does.

    Examples
    --------
    >>> _pairs(2, 1), len(_pairs(10, 10)), len(_pairs(3, 4)), len(_pairs(30, 31))
    ({(0, 0): 0.5, (1, 0): 0.5}, 10, 12, 60)
    """
    if n * m <= _MOST_PAIRS:
        return {(x, y): 1 / (n * m) for x in range(n) for y in range(m)}
    return _side_by_side(n, m)


def _side_by_side(n: int, m: int) -> Weights:
    """Pair members of two groups in their order, weighted so that all of a group count alike.

    Both groups are laid along one line of the same length; a pair is where two members overlap.
    There are fewer pairs than members of both.

    Examples
    --------
    >>> _side_by_side(2, 2), _side_by_side(1, 2)
    ({(0, 0): 0.5, (1, 1): 0.5}, {(0, 0): 0.5, (0, 1): 0.5})
    >>> {pair: round(weight, 2) for pair, weight in _side_by_side(2, 3).items()}
    {(0, 0): 0.33, (0, 1): 0.17, (1, 1): 0.17, (1, 2): 0.33}
    """
    edges = sorted({*range(0, n * m + 1, m), *range(0, n * m + 1, n)})
    return {(at // m, at // n): (end - at) / (n * m) for at, end in pairwise(edges)}


def _compared(
    a: Sequence[_T], b: Sequence[_T], each: Callable[[_T, _T], _Found],
    pairs: Callable[[int, int], Weights],
) -> _Compared:  # fmt: skip
    weights = pairs(len(a), len(b))
    return _Compared({(x, y): each(a[x], b[y]) for x, y in weights}, weights)


def _runs(a: Sequence[Unit], b: Sequence[Unit]) -> _Found:
    """Compare two runs: the mean over pairs of their iterations."""
    return _compared(a, b, _unit, _side_by_side).mean()


def _unit(a: Unit, b: Unit) -> _Found:
    """Compare two iterations, or applications."""
    found = _Found()
    found.seconds["executors", APPLICATION] = b.executors - a.executors
    for where in sorted(a.gaps.keys() | b.gaps.keys()):
        x, y = a.gaps.get(where, 0.0), b.gaps.get(where, 0.0)
        change = y - x
        if where == "in_query" and min(x, y, a.jobs, b.jobs) > 0:
            more = logarithmic_mean(x, y) * math.log(b.jobs / a.jobs)
            found.seconds["driver/jobs", DRIVER] += more
            change -= more
        found.seconds[f"driver/{where}", DRIVER] += change
    for place, one, other in _stages(a, b):
        found.places[place] = _Place(one, other)
        if one is None or other is None:
            only = one or other
            assert only is not None
            sign = 1 if one is None else -1
            found.seconds[f"{ALONE}/{'b' if one is None else 'a'}", place] += sign * only.held.total
            continue
        if not one.held.total and not other.held.total:
            continue
        for cause, seconds in stage_change(one.held, other.held, COLUMNS).items():
            found.seconds[cause, place] += seconds
        for cause, half in _sampling_error(one, other).items():
            found.half[cause, place] = half
    return found


def _stages(a: Unit, b: Unit) -> Iterator[tuple[str, Work | None, Work | None]]:
    """Match stages, and name them by where they come from, numbered where several do."""
    seen: Counter[str] = Counter()
    pairs = matched(
        a.stages, b.stages, lambda one: one.signature, lambda one: (one.name, len(one.signature)),
        lambda one: one.name,
    )  # fmt: skip
    for x, y in pairs:
        one, other = (None if x is None else a.stages[x]), (None if y is None else b.stages[y])
        name = (one or other).name  # type: ignore[union-attr]
        seen[name] += 1
        yield (name if seen[name] == 1 else f"{name} ({seen[name]})"), one, other


def _sampling_error(a: Work, b: Work) -> dict[str, float]:
    """Give half of the interval of each operator's CPU on the path, from counted samples."""
    found: dict[str, float] = defaultdict(float)
    if not a.hits or not b.hits:
        return found
    for one in (a, b):
        if one.held.tasks is None:
            return {}
        whole = length(one.held.tasks, one.held.slots)
        cpu = whole.parts[_CPU] * one.held.net / whole.total if whole.total > 0 else 0.0
        for name in a.hits.keys() | b.hits.keys():
            total = next(iter(one.hits.values()))[1]
            low, high = wilson(one.hits.get(name, (0.0, total))[0], total)
            found[f"cpu/{name}"] += (cpu * (high - low) / 2) ** 2
    return {name: math.sqrt(square) for name, square in found.items()}
