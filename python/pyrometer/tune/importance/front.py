"""Two objectives: the configurations of which none is better in both."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict

from pyrometer.core.estimate import Estimate
from pyrometer.statistics.two import geometric_mean_of
from pyrometer.tune.advise.adviser import FULL, Observation
from pyrometer.tune.space.cube import key


class Both(BaseModel):
    """A configuration with both objectives, less is better.

    Attributes
    ----------
    on_front : bool
        Whether no other one is better in one mean and no worse in the other.
    sure : bool
        Whether that is so by the intervals too: nothing could be, or something is, better in both.
    """

    model_config = ConfigDict(frozen=True)

    configuration: dict[str, str]
    value: Estimate
    other: Estimate
    on_front: bool
    sure: bool


def front(seen: Iterable[Observation], metric: str) -> list[Both]:
    """Compare configurations by the objective and by a metric (``peak_memory``, ``core_ns``).

    Parameters
    ----------
    seen : iterable of Observation
        Trials; those in full that came to an end and have the metric count.

    Returns
    -------
    list of Both
        By the objective, the lowest first.
    """
    values: dict[str, tuple[dict[str, str], list[float], list[float]]] = {}
    for one in seen:
        other = one.metrics.get(metric)
        if one.fidelity != FULL or one.failed is not None or one.censored:
            continue
        if one.value is None or other is None or one.value <= 0 or other <= 0:
            continue
        found = values.setdefault(key(one.configuration), (dict(one.configuration), [], []))
        found[1].append(one.value)
        found[2].append(other)
    points = [
        (levels, geometric_mean_of(mine), geometric_mean_of(theirs))
        for levels, mine, theirs in values.values()
    ]
    judged = [
        Both(
            configuration=levels,
            value=value,
            other=other,
            on_front=not any(_beats(b, c, value, other) for a, b, c in points if a is not levels),
            sure=_sure(points, levels, value, other),
        )
        for levels, value, other in points
    ]
    return sorted(judged, key=lambda one: one.value.value or 0.0)


def _beats(a: Estimate, b: Estimate, value: Estimate, other: Estimate) -> bool:
    if a.value is None or b.value is None or value.value is None or other.value is None:
        return False
    no_worse = a.value <= value.value and b.value <= other.value
    return no_worse and (a.value < value.value or b.value < other.value)


def _sure(
    points: list[tuple[dict[str, str], Estimate, Estimate]],
    levels: dict[str, str],
    value: Estimate,
    other: Estimate,
) -> bool:
    rest = [(b, c) for a, b, c in points if a is not levels]
    if any(_below(b, value) and _below(c, other) for b, c in rest):
        return True
    return all(_below(value, b) or _below(other, c) for b, c in rest)


def _below(one: Estimate, other: Estimate) -> bool:
    return one.high is not None and other.low is not None and one.high < other.low
