"""What the change of elapsed time consists of: by stage, driver and executors; CPU by operator.

Times are means over a side's runs, of one iteration each.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from statistics import fmean
from typing import Any

from pydantic import BaseModel, Field

from pyrometer.accounts.ledger.elapsed.schema import HeldStage
from pyrometer.accounts.stage_names import at_file
from pyrometer.attribution.operators import across_executions
from pyrometer.compare.sides import Side
from pyrometer.summary.schema import Summary

_WAITING = "executor_startup"
_WORDS = {
    "executors": "waiting for executors",
    "driver/start": "driver, before the first query",
    "driver/in_query": "driver, within queries",
    "driver/between_queries": "the program, between queries",
    "driver/end": "after the last query",
}
REST = "all other stages"
_ROUNDING_S = 1e-6
"""Less is what sums of fractions leave."""


class Evidence(BaseModel):
    """A quantity on both sides."""

    what: str
    a: float | None
    b: float | None


class Change(BaseModel):
    """A part of the change of elapsed time.

    Attributes
    ----------
    cause : str
        ``stage``, ``driver``, ``executors`` or ``rest``.
    place : str
        Which stage, by where it comes from in the program, or which part of the driver's time.
    seconds : float
        B less A, of one iteration.
    only : str or None
        The side that alone has it.
    """

    cause: str
    place: str
    seconds: float
    a_s: float
    b_s: float
    only: str | None = None
    evidence: list[Evidence] = Field(default_factory=list)


class OperatorChange(BaseModel):
    """CPU of one operator on both sides, of one iteration; ``seconds`` is B less A."""

    operator: str
    node_text: str | None = None
    seconds: float
    a_s: float
    b_s: float


Place = tuple[str, int]


def changes(a: Side, b: Side) -> list[Change]:
    """Split the change of elapsed time along the critical paths of both sides, largest first.

    The parts add up to the difference of the sides' mean elapsed times. Stages are the same if they
    come from the same line of the program and are the same one of those in order of submission; a
    stage that a side's list does not have, because it is cut, is in the rest.
    """
    sides = [_mean([_parts(one) for one in side.summaries]) for side in (a, b)]
    whole = [any(_cut(one) for one in side.summaries) for side in (a, b)]
    stages = [{k: v for k, v in side.items() if isinstance(k, tuple)} for side in sides]
    found = [
        _change("executors" if name == "executors" else "driver", words, sides, name, a, b)
        for name, words in _WORDS.items()
    ]
    listed = [
        place
        for place in stages[0].keys() | stages[1].keys()
        if all(place in of_side or not cut for of_side, cut in zip(stages, whole, strict=True))
    ]
    tasks = [_tasks(side) for side in (a, b)]
    for place in listed:
        one = _change("stage", _called(place), sides, place, a, b)
        one.evidence = [Evidence(what="tasks", a=tasks[0].get(place), b=tasks[1].get(place))]
        found.append(one)
    rest = [
        side["stages"] - sum(of_side.get(place, 0.0) for place in listed)
        for side, of_side in zip(sides, stages, strict=True)
    ]
    left = [value if abs(value) > _ROUNDING_S else 0.0 for value in rest]
    found.append(_of("rest", REST, left[0], left[1]))
    return sorted((one for one in found if one.a_s or one.b_s), key=lambda one: -abs(one.seconds))


def operator_changes(a: Side, b: Side) -> list[OperatorChange]:
    """Compare CPU by operator, Python workers included, the largest change first."""
    sides = [_mean([_operators(one) for one in side.summaries]) for side in (a, b)]
    found = []
    for key in sides[0].keys() | sides[1].keys():
        first, second = (side.get(key, 0.0) for side in sides)
        operator, _, text = str(key).partition("\n")
        found.append(
            OperatorChange(
                operator=operator,
                node_text=text or None,
                seconds=second - first,
                a_s=first,
                b_s=second,
            )
        )
    return sorted(found, key=lambda one: (-abs(one.seconds), one.operator, one.node_text or ""))


def _of(cause: str, place: str, a: float, b: float) -> Change:
    return Change(cause=cause, place=place, seconds=b - a, a_s=a, b_s=b)


def _change(
    cause: str,
    words: str,
    sides: list[dict[str | Place, float]],
    key: str | Place,
    a: Side,
    b: Side,
) -> Change:
    found = _of(cause, words, sides[0].get(key, 0.0), sides[1].get(key, 0.0))
    if cause == "stage" and (key in sides[0]) != (key in sides[1]):
        found.only = a.name if key in sides[0] else b.name
    return found


def _called(place: Place) -> str:
    name, number = place
    return name if number == 0 else f"{name} ({number + 1})"


def _count(summary: Summary) -> int:
    return max(1, len(summary.window.iterations))


def _parts(summary: Summary) -> dict[str | Place, float]:
    """Seconds of one iteration by part of the driver, executors, all stages, and each stage."""
    rows = {row.path: row.value_ns or 0 for row in summary.ledger.elapsed_view.rows}
    each = 1e9 * _count(summary)
    found: dict[str | Place, float] = {name: rows.get(name, 0) / each for name in _WORDS}
    found["stages"] = summary.elapsed.stages_ns / each
    sums: dict[Place, float] = defaultdict(float)
    places = _places(summary)
    for stage in summary.elapsed.stages:
        place = places.get((stage.app_index, stage.stage_id), (_site(stage), 0))
        sums[place] += (stage.held_ns - stage.causes.get(_WAITING, 0)) / each
    found.update(sums)
    return found


def _cut(summary: Summary) -> bool:
    return summary.elapsed.stages_count > len(summary.elapsed.stages)


def _site(stage: HeldStage) -> str:
    return at_file(stage.called or f"stage {stage.stage_id}")


def _places(summary: Summary) -> dict[tuple[int, int], Place]:
    """Name the stages of each iteration by where they come from, and number those of one place."""
    seen: Counter[tuple[int | None, str]] = Counter()
    found: dict[tuple[int, int], Place] = {}
    for stage in summary.stages:
        key = (stage.app_index, stage.stage_id)
        if key in found:
            continue
        name = at_file(stage.called or "a stage without a name")
        found[key] = (name, seen[stage.iteration, name])
        seen[stage.iteration, name] += 1
    return found


def _tasks(side: Side) -> dict[Place, float]:
    counts: dict[Place, list[int]] = defaultdict(list)
    for summary in side.summaries:
        places = _places(summary)
        for stage in summary.stages:
            counts[places[stage.app_index, stage.stage_id]].append(stage.tasks_count)
    return {place: fmean(values) for place, values in counts.items()}


def _operators(summary: Summary) -> dict[str, float]:
    each = 1e9 * _count(summary)
    found: dict[str, float] = defaultdict(float)
    for one in across_executions(summary.operators):
        text = f"\n{one.node_text}" if one.node_text else ""
        found[one.operator + text] += ((one.on_cpu_ns or 0) + (one.python_cpu_ns or 0)) / each
    return dict(found)


def _mean(runs: list[dict[Any, float]]) -> dict[Any, float]:
    keys = {key for run in runs for key in run}
    return {key: fmean(run.get(key, 0.0) for run in runs) for key in keys}
