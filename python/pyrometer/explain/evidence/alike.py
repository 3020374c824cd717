"""Suspects of one rule that have one cause: the same thing said in several places of a program.

A function that is called in four queries, a table that is read four times, a setting: each place
may cost less than a run's noise, and one edit mends all. So they are judged together.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace

from pyrometer.core import units
from pyrometer.core.estimate import Estimate
from pyrometer.explain.change import concerned
from pyrometer.explain.rule import Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

MOST_SHOWN = 5
"""Places that are shown as evidence."""
MOST_NAMED = 3
"""Places that a finding in several names."""
MOST_WORDS = 60
"""Characters of the name of one of these."""
MOST_QUERIED = 50
"""Places up to which the query of a sum is written down."""
_NO_SUM = re.compile(
    r"^(most|longest|operator that|task that ended|bytecode of the largest) "
    r"|\b(median|mean|avg|quantile_cont)\b"
)
"""What a number is, or its query, if it has no sum."""


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


def in_several(found: Sequence[Suspect], further: bool = False) -> Suspect:
    """Make one suspect of those of a rule in several places, the largest first.

    Parameters
    ----------
    further : bool
        Whether other places of the rule are findings of their own.
    """
    first = found[0]
    names = _names(found)
    change = tuple(edit for one in found for edit in one.change)
    others = f"{units.count(len(found))} {'further ' if further else ''}places"
    unseen = sum(one.unseen_count for one in found)
    were = "was" if unseen == 1 else "were"
    rest = f" {units.counted(unseen, 'smaller place')} {were} not looked at." if unseen else ""
    return replace(
        first,
        place=_places(found, names, len(concerned(change))),
        mechanism=f"The same in {others}. The largest, {names[0]}: {first.mechanism}{rest}",
        change=change,
        evidence=_sums(found),
        remedies=_remedies(found, names[0]),
        doubts=list({(doubt.code, doubt.message): doubt for one in found
                     for doubt in one.doubts}.values()),
        unseen_count=unseen,
    )  # fmt: skip


def _names(found: Sequence[Suspect]) -> list[str]:
    """Name places in a few words; where these are not theirs alone, with what tells them apart."""
    number_of = Counter(one.place.words for one in found)
    names = [one.place.words if number_of[one.place.words] == 1 else one.place.key for one in found]
    return [one if len(one) <= MOST_WORDS else f"{one[: MOST_WORDS - 1]}…" for one in names]


def _places(found: Sequence[Suspect], names: Sequence[str], stages_count: int) -> Place:
    first = found[0].place
    different = {
        name: None
        for name in ("sql_id", "node_id", "operator", "expression", "source", "setting", "host",
                     "executor")
        if any(getattr(one.place, name) != getattr(first, name) for one in found)
    }  # fmt: skip
    return first.model_copy(
        update={
            **different,
            "stages_count": max(stages_count, first.stages_count),
            "places_count": len(found),
            "largest": list(dict.fromkeys(names))[:MOST_NAMED],
        }
    )


def _sums(found: Sequence[Suspect]) -> list[Evidence]:
    """Add up numbers that all places have; a ratio, mean, maximum or what they share has no sum."""
    sums = []
    for first in found[0].evidence:
        what = first.what, first.unit, first.table
        same = [each for one in found for each in one.evidence
                if (each.what, each.unit, each.table) == what]  # fmt: skip
        if all(each == first for each in same):
            sums.append(first)
            continue
        queries = list(dict.fromkeys(each.query or "" for each in same))
        has_sum = first.unit != "ratio" and not _NO_SUM.search(f"{first.what} {first.query}")
        if not has_sum or not len(same) == len(queries) == len(found):
            continue
        is_sql = len(queries) <= MOST_QUERIED and all(one.startswith("SELECT ") for one in queries)
        each = " UNION ALL ".join(f"({one})" for one in queries)
        sums.append(
            first.model_copy(
                update={
                    "what": f"{first.what}, the sum of {len(found)} places",
                    "estimate": _sum([one.estimate for one in same]),
                    "query": f"SELECT sum(n) FROM ({each}) AS t(n)" if is_sql else None,
                }
            )
        )
    return sums or [one.evidence[0] for one in found[:MOST_SHOWN] if one.evidence]


def _sum(found: Sequence[Estimate]) -> Estimate:
    def of(name: str) -> float | None:
        values = [getattr(one, name) for one in found]
        return None if None in values else sum(values)

    return found[0].model_copy(
        update={"n": sum(one.n for one in found), **{one: of(one) for one in _BOUNDS}}
    )


_BOUNDS = ("value", "low", "high")


def _remedies(found: Sequence[Suspect], name: str) -> list[Remedy]:
    """Give what all places share, then what is the largest one's own, and say so."""
    first = max(found, key=_level) if all(one.higher_serves for one in found) else found[0]
    if first.higher_serves and len({one.factors for one in found}) == 1:
        return list(first.remedies)
    shared = [each for each in first.remedies if all(each in one.remedies for one in found)]
    own = [
        each.model_copy(
            update={"text": f"{each.text} (as for the largest, {name}; others may need another)"}
        )
        for each in first.remedies if each not in shared
    ]  # fmt: skip
    return [*shared, *own]


def _level(one: Suspect) -> float:
    levels = [each.level for each in one.remedies if each.factor is not None]
    return float(levels[0]) if levels and levels[0] is not None else 0.0


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
