"""Places, links and counts that findings about stages share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import wraps

from pyrometer.core.estimate import Estimate
from pyrometer.explain.facts import Facts, exactly, once
from pyrometer.explain.rule import Suspect
from pyrometer.explain.schema import Evidence, Layer, Place
from pyrometer.simulation.measured import Stage

MOST_PLACES = 500
"""Places of one rule that are looked at: a finding says how many more, smaller ones, there are."""


def largest(
    weighed: Callable[[Facts], Iterable[tuple[float, Suspect]]],
) -> Callable[[Facts], Iterator[Suspect]]:
    """Sort the suspects of a rule that gives with each what it can save at most."""

    @wraps(weighed)
    def kept(facts: Facts) -> Iterator[Suspect]:
        yield from most(weighed(facts))

    return kept


def most(weighed: Iterable[tuple[float, Suspect]]) -> Iterator[Suspect]:
    """Give the suspects that can save most, each with that bound, largest first."""
    found = sorted(weighed, key=lambda pair: -pair[0])
    kept = [suspect for _, suspect in found[:MOST_PLACES]]
    yield from with_unseen(kept, len(found) - len(kept))


def with_unseen(kept: Sequence[Suspect], count: int) -> Iterator[Suspect]:
    """Say with the last of some suspects how many smaller ones were left out."""
    yield from kept[:-1]
    yield from (replace(one, unseen_count=count) for one in kept[-1:])


def of_stage(stage: Stage, layer: Layer = "stage", stages_count: int = 1) -> Place:
    """Name a stage, with the user's line that Spark calls it after."""
    return Place(
        layer=layer,
        stage_id=stage.stage_id,
        stage_attempt=stage.attempt,
        stages_count=stages_count,
        source=stage.called,
    )


def slots_at(facts: Facts, stage: Stage) -> int:
    """Slots of the executors that were there when a stage ended."""
    if facts.measured is None:
        return 0
    return sum(
        one.slots
        for one in facts.measured.executors
        if (one.add_ns is None or one.add_ns <= stage.complete_ns)
        and (one.remove_ns is None or one.remove_ns >= stage.complete_ns)
    )


def where(of: Stage | Facts) -> str:
    """Give the SQL condition that selects the tasks of a stage, or those of the window."""
    if isinstance(of, Stage):
        return (
            f"app_index = {of.app_index} AND stage_id = {of.stage_id}"
            f" AND stage_attempt = {of.attempt}"
        )
    app = 0 if of.measured is None else of.measured.app_index
    return " AND ".join(filter(None, (f"app_index = {app}", in_window(of))))


def where_in(facts: Facts, numbers: Iterable[int]) -> str:
    """Give the SQL condition that selects the tasks of some stages, by their numbers."""
    stages = [facts.stages[number] for number in sorted(numbers)]
    pairs = ", ".join(f"({one.stage_id}, {one.attempt})" for one in stages)
    app = stages[0].app_index if stages else 0
    return f"app_index = {app} AND (stage_id, stage_attempt) IN ({pairs or '(NULL, NULL)'})"


@once
def in_window(facts: Facts) -> str:
    """Give the SQL condition on ``stage_id`` and ``stage_attempt`` of the window's stages.

    Of those that select the same, the shortest: empty where all stages are in the window.
    """
    measured = facts.measured
    if measured is None:
        return ""
    ran = sum(stage.tasks_count > 0 for stage in measured.stages)
    times = [(one.start_wall_ns, one.end_wall_ns) for one in measured.intervals]
    for part in (times[:0], [(times[0][0], times[-1][1])]):
        text = _within(measured.app_index, part)
        count = facts.tables.scalar(
            "SELECT count(*) FROM (SELECT DISTINCT stage_id, stage_attempt FROM tasks"
            f" WHERE app_index = {measured.app_index} AND {text or 'true'})"
        )
        if count == ran:
            return text
    return _within(measured.app_index, times)


def _within(app_index: int, times: Sequence[tuple[int, int]]) -> str:
    if not times:
        return ""
    ran = " OR ".join(
        f"submit_wall_ns >= {start} AND complete_wall_ns <= {end}" for start, end in times
    )
    return (
        "(stage_id, stage_attempt) IN (SELECT (stage_id, stage_attempt) FROM stages"
        f" WHERE app_index = {app_index} AND ({ran}))"
    )


def of_application(facts: Facts, pid: str) -> str:
    """Give the condition that a JVM is the application's, or nobody's that is known."""
    if facts.measured is None or len(facts.summary.apps) < 2:
        return "true"
    known = "SELECT p.pid FROM processes p JOIN apps a USING (app_id)"
    mine = f"{known} WHERE a.app_index = {facts.measured.app_index}"
    return f"({pid} IN ({mine}) OR {pid} NOT IN ({known}))"


def link(stage: Stage) -> str:
    """Give the fragment of the page that shows a stage."""
    return f"/stage/{stage.stage_id}/{stage.attempt}"


def of_tasks(
    what: str, value: float, unit: str, expression: str, of: Stage | Facts, n: int
) -> Evidence:
    """Give a number counted over the tasks of a stage, or of the window."""
    return Evidence(
        what=what,
        estimate=exactly(value, n),
        unit=unit,
        table="tasks",
        query=f"SELECT {expression} FROM tasks WHERE {where(of)}",
        link=link(of) if isinstance(of, Stage) else "/timeline",
    )


def bounds(value: float, low: float, high: float, n: int, method: str) -> Estimate:
    """Give a number with its 90 % interval."""
    return Estimate(
        value=value, low=min(low, value), high=max(high, value), level=0.9, n=n, method=method
    )


def named(stages: Sequence[Stage]) -> str:
    """Name stages in a few words.

    Examples
    --------
    >>> named([])
    'no stage'
    """
    if not stages:
        return "no stage"
    first = f"stage {stages[0].stage_id}"
    return first if len(stages) == 1 else f"{first} and {len(stages) - 1} more"
