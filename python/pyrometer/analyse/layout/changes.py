"""From one place to another: speed-ups as in the table of a NUMA study (1B → 2B, NB → 4B)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from pyrometer.analyse.compare.blocks import Paired, paired
from pyrometer.analyse.compare.many import adjusted
from pyrometer.analyse.compare.two import judge
from pyrometer.analyse.layout.model import LayoutResult, PlaceChange
from pyrometer.analyse.layout.optimum import Times, blocks_of
from pyrometer.errors import UsageError
from pyrometer.estimate import Estimate
from pyrometer.plan.layout import UNBOUND, split


def pairs(places: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs to tell: more of the same, bound beside not bound, interleaved beside bound.

    Examples
    --------
    >>> pairs(["NB", "1B", "2B", "4B", "4I"])
    [('1B', '2B'), ('1B', '4B'), ('2B', '4B'), ('NB', '4B'), ('NB', '4I'), ('4I', '4B')]
    """
    known: dict[str, list[int]] = {}
    for place in places:
        try:
            count, how = split(place)
        except UsageError:
            continue  # Bound in another way: an experiment file has its own words.
        if count:
            known.setdefault(how, []).append(count)
    made = [
        (f"{a}{how}", f"{b}{how}")
        for how, counts in known.items()
        for a, b in combinations(sorted(counts), 2)
    ]
    if UNBOUND in places:
        made += [(UNBOUND, f"{max(counts)}{how}") for how, counts in known.items()]
    both = set(known.get("B", ())) & set(known.get("I", ()))
    return made + [(f"{count}I", f"{count}B") for count in sorted(both)]


def changes(
    found: Mapping[str, Sequence[LayoutResult]], times: Times, margin: float
) -> list[PlaceChange]:
    """Compare places, each with its best layout.

    Parameters
    ----------
    found : mapping
        Layouts by place.
    times : mapping
        By treatment and block.
    margin : float
        Relative difference that counts as none.
    """
    made: list[PlaceChange] = []
    known: list[tuple[PlaceChange, Paired]] = []
    for a, b in pairs(list(found)):
        one = PlaceChange(a=a, b=b)
        made.append(one)
        sides = found[a], found[b]
        blocks = blocks_of(times, [its.treatment for side in sides for its in side])
        if not blocks:
            one.reason = "no block in which all their layouts finished"
            continue
        one.layout_a, one.layout_b = (_chosen(side, times, blocks).layout for side in sides)
        compared = paired(*(_values(side, times, blocks) for side in sides), margin=margin)
        one.speedup = faster(compared.change)
        if compared.p is not None:
            known.append((one, compared))
    different = adjusted([its.p for _, its in known if its.p is not None])
    same = adjusted([1.0 if its.same_p is None else its.same_p for _, its in known])
    for (one, its), p, same_p in zip(known, different, same, strict=True):
        one.p = p
        one.verdict = judge(its.change, p, same_p, margin)
    return made


def faster(change: Estimate) -> Estimate:
    """Turn a change of time into a ratio of speeds.

    Examples
    --------
    >>> one = Estimate(value=-0.5, low=-0.6, high=0.0, level=0.95, n=3, method="t of log ratios")
    >>> (lambda its: (its.value, round(its.low, 3), its.high))(faster(one))
    (2.0, 1.0, 2.5)
    """
    ends = {
        name: None if end is None else 1 / (1 + end)
        for name, end in (("value", change.value), ("low", change.high), ("high", change.low))
    }
    return change.model_copy(update=ends)


def _chosen(side: Sequence[LayoutResult], times: Times, blocks: Sequence[int]) -> LayoutResult:
    """Give the layout with the least mean of logarithms."""
    return min(side, key=lambda one: sum(math.log(times[one.treatment][at]) for at in blocks))


def _values(side: Sequence[LayoutResult], times: Times, blocks: Sequence[int]) -> list[float]:
    """Give the time of each block, with the layout that the other blocks choose."""
    made = []
    for block in blocks:
        others = [one for one in blocks if one != block] or blocks
        made.append(times[_chosen(side, times, others).treatment][block])
    return made
