"""The best layout of a place: which could be it, and whether fewer and more JVMs are worse."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyrometer.analyse.compare.best import best
from pyrometer.analyse.layout.model import LayoutResult, Optimum
from pyrometer.estimate import Estimate

Times = Mapping[str, Mapping[int, float]]
"""Times by treatment and block."""


def blocks_of(times: Times, names: Sequence[str]) -> list[int]:
    """Blocks in which all of these treatments finished."""
    return sorted(set.intersection(*(set(times.get(name, ())) for name in names)))


def optimum(found: Sequence[LayoutResult], times: Times) -> Optimum | str:
    """Find the best of the layouts of one place, or say why none is told."""
    if len(found) < 2:
        return "one layout: there is nothing to choose from"
    by_name = {one.treatment: one for one in found}
    blocks = blocks_of(times, list(by_name))
    judged = best({name: [times[name][block] for block in blocks] for name in by_name})
    if judged is None:
        return "two blocks in which every layout finished are needed"
    chosen = by_name[judged.name]
    could_be = [by_name[name] for name in judged.could_be]
    jvms = [one.jvms for one in could_be]
    ends = {min(one.jvms for one in found), max(one.jvms for one in found)}
    reached = [one.layout for one in could_be if one.jvms in ends]
    inside = len({one.jvms for one in found}) > 2
    interval = f"{min(jvms)} to {max(jvms)}" if len(set(jvms)) > 1 else f"{jvms[0]}"
    told = f"interior optimum: {chosen.jvms} JVMs, 95 %: {interval}"
    if not inside:
        told = "interior optimum: none to be seen: it needs three numbers of JVMs"
    elif reached:
        told = f"interior optimum: none to be seen: {', '.join(reached)} could be the best, too"
    return Optimum(
        layout=chosen.layout,
        jvms=Estimate(
            value=chosen.jvms, low=min(jvms), high=max(jvms), level=judged.level, n=judged.n,
            method="multiple comparisons with the best",
        ),
        could_be=[one.layout for one in could_be],
        interior=inside and not reached,
        told=told,
    )  # fmt: skip
