"""What a rule suspects in each iteration of a workload is one suspicion, not several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyrometer.core import units
from pyrometer.explain.evidence.alike import weighed
from pyrometer.explain.rule import Rule, Suspect

Suspicion = tuple[Rule, Suspect]


def once(found: Sequence[Suspicion]) -> list[Suspicion]:
    """Join what a rule suspects at the same place of repeated executions, in order.

    The same place: operator, node of the plan, expression, line of code, setting and host; stages
    and SQL executions differ from one iteration to the next.
    """
    groups: dict[tuple[object, ...], list[Suspicion]] = {}
    for number, (rule, suspect) in enumerate(found):
        place = suspect.place
        where = (place.operator, place.node_id, place.expression, place.source)
        # A cause without a place of its own is not the same as another.
        key = where if any(one is not None for one in where) else (number,)
        groups.setdefault((rule.code, place.setting, place.host, *key), []).append((rule, suspect))
    return [(group[0][0], _joined([suspect for _, suspect in group])) for group in groups.values()]


def _joined(group: Sequence[Suspect]) -> Suspect:
    first = group[0]
    if len(group) == 1:
        return first
    return replace(
        first,
        place=first.place.model_copy(
            update={"stages_count": sum(max(1, one.place.stages_count) for one in group)}
        ),
        mechanism=f"{first.mechanism} The same {units.counted(len(group) - 1, 'more time')}.",
        change=tuple(edit for one in group for edit in one.change),
        extent=weighed([(1.0, one.extent) for one in group]),
    )
