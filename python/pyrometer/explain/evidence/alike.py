"""Suspects of one rule that have one cause: the same thing said in several places of a program.

A function that is called in four queries, a table that is read four times, a setting: each place
may cost less than a run's noise, and one edit mends all. So they are judged together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from pyrometer.core import units
from pyrometer.explain.change import concerned
from pyrometer.explain.rule import Suspect
from pyrometer.explain.what_if import Extent

MOST_SHOWN = 5
"""Places that are shown as evidence."""


def alike(found: Iterable[tuple[Hashable, float, Suspect]]) -> Iterator[tuple[float, Suspect]]:
    """Join suspects of one rule that have the same cause.

    Parameters
    ----------
    found : iterable of (hashable, float, Suspect)
        What the user said that makes it, the same for the same cause; what it costs in nanoseconds,
        and the suspect.

    Yields
    ------
    (float, Suspect)
        What all places of a cause cost together, and the suspect of the dearest, with the changes
        of all. How much of them comes true is weighed by what each costs; the bounds are weighed
        alike, as what a remedy achieves is off in all places at once.
    """
    groups: dict[Hashable, list[tuple[float, Suspect]]] = defaultdict(list)
    for said, ns, suspect in found:
        groups[said].append((ns, suspect))
    for group in groups.values():
        group.sort(key=lambda one: -one[0])
        yield sum(ns for ns, _ in group), _joined(group)


def _joined(group: Sequence[tuple[float, Suspect]]) -> Suspect:
    first = group[0][1]
    if len(group) == 1:
        return first
    others, whole = len(group) - 1, sum(ns for ns, _ in group)
    change = tuple(edit for _, one in group for edit in one.change)
    return replace(
        first,
        place=first.place.model_copy(
            update={"stages_count": max(first.place.stages_count, len(concerned(change)))}
        ),
        mechanism=(
            f"{first.mechanism} The same in {units.counted(others, 'more place')}:"
            f" {units.duration(whole)} in all."
        ),
        change=change,
        extent=weighed([(ns, one.extent) for ns, one in group]),
        evidence=[
            *first.evidence,
            *(one.evidence[0] for _, one in group[1:MOST_SHOWN] if one.evidence),
        ],
        doubts=[doubt for _, one in group for doubt in one.doubts],
    )  # fmt: skip


def weighed(found: Sequence[tuple[float, Extent]]) -> Extent:
    """Give how much of several changes comes true, by what each takes away.

    Examples
    --------
    >>> weighed([(3.0, Extent(1.0, 0.5, 1.0)), (1.0, Extent(0.6, 0.1, 1.0))])
    Extent(value=0.9, low=0.4, high=1.0, n=2)
    """
    whole = sum(ns for ns, _ in found)
    weights = [(ns / whole if whole > 0 else 1 / len(found), one) for ns, one in found]
    return Extent(
        sum(weight * one.value for weight, one in weights),
        sum(weight * one.low for weight, one in weights),
        sum(weight * one.high for weight, one in weights),
        sum(one.n for _, one in weights),
    )
