"""The report on the layouts of an experiment: times, waits, the best per placement, changes.

The best layout of a placement: which could be the best, and whether fewer and more JVMs are worse.

From one placement to another: speed-ups as in the table of a NUMA study (1B → 2B, NB → 4B).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import MappingProxyType

from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.core.estimate import Estimate
from pyrometer.core.schema import doubt
from pyrometer.experiments.folder import Ended, ExperimentPaths, Plan, PlannedTreatment
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.judge.machines import IN_TURN, NODES
from pyrometer.experiments.judge.schema import in_none, unread
from pyrometer.layouts.measured import MEASURES, Measured, measured
from pyrometer.layouts.plan import HOW, PLACE, UNBOUND, split
from pyrometer.layouts.schema import (
    LayoutReport,
    LayoutResult,
    Optimum,
    PlaceChange,
    PlaceResult,
    TrialPlaces,
)
from pyrometer.statistics.blocks import Paired, paired
from pyrometer.statistics.many import adjusted, best
from pyrometer.statistics.two import judge, mean_of
from pyrometer.store import Run
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.layout import EXECUTORS, FACTORS, Layout, resolve_layout

Times = Mapping[str, Mapping[int, float]]
"""Times by treatment and block."""

NOTHING: Mapping[str, str] = MappingProxyType({})


def blocks_of(times: Times, names: Sequence[str]) -> list[int]:
    """Blocks in which all of these treatments finished."""
    return sorted(set.intersection(*(set(times.get(name, ())) for name in names)))


def optimum(found: Sequence[LayoutResult], times: Times) -> Optimum | str:
    """Find the best of the layouts of one placement, or say why there is none."""
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
    sentence = f"interior optimum: {chosen.jvms} JVMs, 95 %: {interval}"
    if not inside:
        sentence = "interior optimum: none to be seen: it needs three numbers of JVMs"
    elif reached:
        sentence = f"interior optimum: none to be seen: {', '.join(reached)} could be the best, too"
    return Optimum(
        layout=chosen.layout,
        jvms=Estimate(
            value=chosen.jvms, low=min(jvms), high=max(jvms), level=judged.level, n=judged.n,
            method="multiple comparisons with the best",
        ),
        could_be=[one.layout for one in could_be],
        interior=inside and not reached,
        told=sentence,
    )  # fmt: skip


def pairs(places: Sequence[str]) -> list[tuple[str, str]]:
    """Placements to compare: more of the same kind; pinned or not; interleaved or pinned memory.

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
            continue  # Another placement: an experiment file may name its own.
        if count:
            known.setdefault(how, []).append(count)
    found = [
        (f"{a}{how}", f"{b}{how}")
        for how, counts in known.items()
        for a, b in combinations(sorted(counts), 2)
    ]
    if UNBOUND in places:
        found += [(UNBOUND, f"{max(counts)}{how}") for how, counts in known.items()]
    both = set(known.get("B", ())) & set(known.get("I", ()))
    return found + [(f"{count}I", f"{count}B") for count in sorted(both)]


def changes(
    found: Mapping[str, Sequence[LayoutResult]],
    times: Times,
    margin: float,
    untimed: Mapping[str, str] = NOTHING,
) -> list[PlaceChange]:
    """Compare placements, each with its best layout.

    Parameters
    ----------
    found : mapping
        Layouts by placement.
    times : mapping
        By treatment and block.
    margin : float
        Relative difference that counts as none.
    untimed : mapping of str to str
        Placements of whose times nothing is claimed, and why.
    """
    reports: list[PlaceChange] = []
    known: list[tuple[PlaceChange, Paired]] = []
    for a, b in pairs(list(found)):
        one = PlaceChange(a=a, b=b)
        reports.append(one)
        sides = found[a], found[b]
        blocks = blocks_of(times, [its.treatment for side in sides for its in side])
        if not blocks:
            one.reason = "no block in which all their layouts finished"
            continue
        one.layout_a, one.layout_b = (_chosen(side, times, blocks).layout for side in sides)
        compared = paired(*(_values(side, times, blocks) for side in sides), margin=margin)
        one.speedup = faster(compared.change)
        one.reason = untimed.get(a) or untimed.get(b)
        if one.reason is None and compared.p is not None:
            known.append((one, compared))
    different = adjusted([its.p for _, its in known if its.p is not None])
    same = adjusted([1.0 if its.same_p is None else its.same_p for _, its in known])
    for (one, its), p, same_p in zip(known, different, same, strict=True):
        one.p = p
        one.verdict = judge(its.change, p, same_p, margin)
    return reports


def faster(change: Estimate) -> Estimate:
    """Convert a change of time to a ratio of speeds.

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
    """Choose the layout with the least mean of the logarithms of times."""
    return min(side, key=lambda one: sum(math.log(times[one.treatment][at]) for at in blocks))


def _values(side: Sequence[LayoutResult], times: Times, blocks: Sequence[int]) -> list[float]:
    """Give the time of each block, with the layout that is best in the other blocks."""
    values = []
    for block in blocks:
        others = [one for one in blocks if one != block] or blocks
        values.append(times[_chosen(side, times, others).treatment][block])
    return values


Trials = Sequence[tuple[Ended, Measured]]


def layouts_of(plan: Plan) -> dict[str, Layout]:
    """Give the layout of each treatment.

    Raises
    ------
    UsageError
        If a treatment has none, two have the same, or trials are not in random blocks.
    """
    if plan.kind != "randomized-blocks":
        raise UsageError(
            f"{plan.name} ran its trials as {plan.kind}: layouts are compared within random blocks",
            "pyrometer experiment show DIR",
        )
    layouts: dict[str, Layout] = {}
    for one in plan.treatments:
        layout = _layout(plan, one)
        same = next((name for name, other in layouts.items() if other == layout), None)
        if same is not None:
            raise UsageError(
                f"{plan.name} varies more than layouts: {same} and {one.name} have the same",
                "pyrometer experiment show DIR",
            )
        layouts[one.name] = layout
    return layouts


def _layout(plan: Plan, treatment: PlannedTreatment) -> Layout:
    """Give the layout of a treatment, however its executors were started."""
    levels = {name: level for name, level in treatment.levels.items() if name in FACTORS}
    try:
        layout = resolve_layout(parse_treatment(f"{n}={level}" for n, level in levels.items()))
    except UsageError:
        layout = Layout()
    if layout.executors is None:
        raise UsageError(
            f"{plan.name}: {treatment.name} says no {EXECUTORS} with their slots",
            "pyrometer experiment show DIR",
        )
    return replace(layout, cluster=Layout().cluster)


def layout_report(
    root: Path,
    plan: Plan,
    entries: Entries,
    *,
    reading: Callable[[int, int], None] = lambda done, of: None,
) -> LayoutReport:
    """Report on the layouts of an experiment, finished or not.

    Parameters
    ----------
    reading : callable
        Called with the number of trials that have been read, and of all.

    Raises
    ------
    UsageError
        If it is not an experiment of layouts.
    """
    layouts = layouts_of(plan)
    known = [entries.ended.get(one.number) for one in plan.trials]
    ended = [one for one in known if one is not None and one.status == "finished"]
    trials: list[tuple[Ended, Measured]] = []
    times: dict[str, dict[int, float]] = {name: {} for name in layouts}
    for at, one in enumerate(ended):
        reading(at, len(ended))
        assert one.seconds is not None
        times[one.treatment][one.block] = one.seconds
        trials.append((one, _read(root, one)))
    judged = experiment_report(plan, entries)
    compared = {one.name for one in judged.treatments if one.compared}
    results = _results(layouts, trials, times, compared)
    by_place: dict[str, list[LayoutResult]] = {}
    for result in results:
        if result.compared:
            by_place.setdefault(result.place, []).append(result)
    untimed = _untimed(list(by_place), judged.doubts)
    in_turn = (
        [doubt("emulated_in_turn", f"layouts: {IN_TURN}")] if IN_TURN in untimed.values() else []
    )
    return LayoutReport(
        experiment=plan.name, folder=str(root), workload=plan.workload, scale=plan.scale,
        trials_count=len(plan.trials), done_count=len(ended), margin=plan.margin,
        layouts=results,
        places=[
            _place(name, mine, times, untimed.get(name)) for name, mine in by_place.items()
        ],
        changes=changes(by_place, times, plan.margin, untimed),
        missing=in_none(MEASURES, [its for _, its in trials]), left_out=plan.left_out,
        doubts=[*judged.doubts, *in_turn, *unread(trials), *unbound(results)],
    )  # fmt: skip


def _read(root: Path, one: Ended) -> Measured:
    # Times come from the journal: where a run cannot be read, only its measures are missing.
    try:
        with Run.open(ExperimentPaths(root).trials / one.folder) as run:
            return measured(run)
    except PyrometerError as error:
        why = error.message
        return Measured({}, dict.fromkeys(MEASURES, why), unread=why)


def _results(
    layouts: Mapping[str, Layout], trials: Trials, times: Times, compared: Collection[str]
) -> list[LayoutResult]:
    results = []
    for name, layout in layouts.items():
        mine = [(one, its) for one, its in trials if one.treatment == name]
        if not mine:
            continue
        known = {
            measure: [its.measures[measure] for _, its in mine if measure in its.measures]
            for measure in MEASURES
        }
        results.append(
            LayoutResult(
                treatment=name, place=layout.binding.name, layout=layout.name,
                jvms=layout.executors or 1, slots=layout.slots or 1, heap_bytes=layout.heap_bytes,
                elapsed_s=mean_of(list(times[name].values())), compared=name in compared,
                measures={measure: mean_of(one) for measure, one in known.items() if one},
                trials=[
                    TrialPlaces(trial=one.trial, block=one.block, executors=list(its.executors))
                    for one, its in mine
                    if its.unread is None
                ],
            )
        )  # fmt: skip
    for one in results:
        single = [o for o in results if o.place == one.place and o.jvms == 1 and o is not one]
        blocks = blocks_of(times, [one.treatment, single[0].treatment]) if single else []
        if blocks:
            a, b = ([times[o.treatment][at] for at in blocks] for o in (single[0], one))
            one.throughput = faster(paired(a, b).change)
    return results


def _untimed(places: Sequence[str], found: Sequence[Doubt]) -> dict[str, str]:
    """Say of which placements times show nothing, by the doubts of an experiment, and why."""
    codes = {one.code for one in found}
    if "emulated" in codes:
        return dict.fromkeys(places, IN_TURN)
    of_nodes = places if "machine_nodes" in codes else ()
    return {name: NODES for name in of_nodes if name != UNBOUND and name[-1:] in ("B", "I")}


def _place(
    name: str, mine: Sequence[LayoutResult], times: Times, untimed: str | None
) -> PlaceResult:
    found = PLACE.fullmatch(name)
    what = HOW[UNBOUND] if name == UNBOUND else name
    if found is not None:
        what = f"{found[1]} {HOW[found[2]]}"
        what = what.replace("s:", ":", 1) if found[1] == "1" else what
    judged = untimed or optimum(mine, times)
    reason = judged if isinstance(judged, str) else None
    best = None if isinstance(judged, str) else judged
    layouts = [one.layout for one in mine]
    return PlaceResult(place=name, what=what, layouts=layouts, best=best, reason=reason)


def unbound(results: Sequence[LayoutResult]) -> list[Doubt]:
    """Doubt placements whose executors shared CPUs, though each was to be pinned to its own."""
    wrong = []
    for one in results:
        found = PLACE.fullmatch(one.place)
        if found is None or found[2] == "I" or found[1] == "1":
            continue
        for trial in one.trials:
            cpus = [place.cpus for place in trial.executors if place.cpus is not None]
            if len(cpus) > 1 and len(set(cpus)) == 1:
                wrong.append(f"{one.place} {one.layout}, trial {trial.trial}: all on {cpus[0]}")
    return [doubt("not_bound", "; ".join(wrong))] if wrong else []
