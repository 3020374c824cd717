"""Layouts of an experiment told: time, what slots waited for, the best of each place, changes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from pyrometer.analyse.compare.blocks import paired
from pyrometer.analyse.compare.two import mean_of
from pyrometer.analyse.experiment import experiment_report
from pyrometer.analyse.layout.changes import changes, faster
from pyrometer.analyse.layout.measured import MEASURES, Measured, measured
from pyrometer.analyse.layout.model import LayoutReport, LayoutResult, PlaceResult, TrialPlaces
from pyrometer.analyse.layout.optimum import Times, blocks_of, optimum
from pyrometer.analyse.trials import in_none
from pyrometer.doubt import Doubt
from pyrometer.errors import UsageError
from pyrometer.plan import parse_treatment
from pyrometer.plan.layout import HOW, PLACE, UNBOUND, Layout, place_of
from pyrometer.schema import doubt
from pyrometer.store import Run
from pyrometer.store.experiment import Ended, ExperimentPaths, Plan
from pyrometer.store.journal import Entries

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
    made: dict[str, Layout] = {}
    for one in plan.treatments:
        own = {name: level for name, level in one.levels.items() if _of_layout(name)}
        levels = parse_treatment([f"{name}={level}" for name, level in own.items()])
        jvms = int(levels.get("layout.executors", 0))
        slots = int(levels.get("layout.cores_per_executor", 0))
        if jvms and not slots:
            slots = int(levels.get("layout.tasks", 0)) // jvms
        if not jvms or not slots:
            raise UsageError(
                f"{plan.name}: {one.name} says no layout.executors with their slots",
                "pyrometer experiment show DIR",
            )
        heap = levels.get("jvm.heap")
        layout = Layout(place_of(one.levels), jvms, slots, None if heap is None else int(heap))
        same = next((name for name, other in made.items() if other == layout), None)
        if same is not None:
            raise UsageError(
                f"{plan.name} varies more than layouts: {same} and {one.name} have the same",
                "pyrometer experiment show DIR",
            )
        made[one.name] = layout
    return made


def _of_layout(name: str) -> bool:
    return name.startswith("layout.") or name == "jvm.heap"


def layout_report(
    root: Path,
    plan: Plan,
    entries: Entries,
    *,
    reading: Callable[[int, int], None] = lambda done, of: None,
) -> LayoutReport:
    """Tell the layouts of an experiment, finished or not.

    Parameters
    ----------
    reading : callable
        Told how many trials have been read, of how many.

    Raises
    ------
    UsageError
        If it is no experiment of layouts.
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
        with Run.open(ExperimentPaths(root).trials / one.folder) as run:
            trials.append((one, measured(run)))
    judged = experiment_report(plan, entries)
    compared = {one.name for one in judged.treatments if one.compared}
    results = _results(layouts, trials, times, compared)
    by_place: dict[str, list[LayoutResult]] = {}
    for result in results:
        if result.compared:
            by_place.setdefault(result.place, []).append(result)
    return LayoutReport(
        experiment=plan.name, folder=str(root), workload=plan.workload, scale=plan.scale,
        trials_count=len(plan.trials), done_count=len(ended), margin=plan.margin,
        layouts=results,
        places=[_place(name, mine, times) for name, mine in by_place.items()],
        changes=changes(by_place, times, plan.margin),
        missing=in_none(MEASURES, [its for _, its in trials]), left_out=plan.left_out,
        doubts=[*judged.doubts, *unbound(results)],
    )  # fmt: skip


def _results(
    layouts: Mapping[str, Layout], trials: Trials, times: Times, compared: Collection[str]
) -> list[LayoutResult]:
    made = []
    for name, layout in layouts.items():
        mine = [(one, its) for one, its in trials if one.treatment == name]
        if not mine:
            continue
        known = {
            measure: [its.measures[measure] for _, its in mine if measure in its.measures]
            for measure in MEASURES
        }
        made.append(
            LayoutResult(
                treatment=name, place=layout.place, layout=layout.name, jvms=layout.jvms,
                slots=layout.slots, heap_bytes=layout.heap,
                elapsed_s=mean_of(list(times[name].values())), compared=name in compared,
                measures={measure: mean_of(one) for measure, one in known.items() if one},
                trials=[
                    TrialPlaces(trial=one.trial, block=one.block, executors=list(its.executors))
                    for one, its in mine
                ],
            )
        )  # fmt: skip
    for one in made:
        single = [o for o in made if o.place == one.place and o.jvms == 1 and o is not one]
        blocks = blocks_of(times, [one.treatment, single[0].treatment]) if single else []
        if blocks:
            a, b = ([times[o.treatment][at] for at in blocks] for o in (single[0], one))
            one.throughput = faster(paired(a, b).change)
    return made


def _place(name: str, mine: Sequence[LayoutResult], times: Times) -> PlaceResult:
    found = PLACE.fullmatch(name)
    what = HOW[UNBOUND] if name == UNBOUND else name
    if found is not None:
        what = f"{found[1]} {HOW[found[2]]}"
        what = what.replace("s:", ":", 1) if found[1] == "1" else what
    judged = optimum(mine, times)
    reason = judged if isinstance(judged, str) else None
    best = None if isinstance(judged, str) else judged
    layouts = [one.layout for one in mine]
    return PlaceResult(place=name, what=what, layouts=layouts, best=best, reason=reason)


def unbound(results: Sequence[LayoutResult]) -> list[Doubt]:
    """Doubt places whose executors were not apart, though each was to be bound to its own."""
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
