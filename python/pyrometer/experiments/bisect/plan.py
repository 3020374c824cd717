"""From an experiment file to a search among the levels of one factor."""

from __future__ import annotations

from pathlib import Path

from pyrometer.collect.launch.launch import factors_of_workload
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.experiments.folder import Plan, PlannedBisection
from pyrometer.experiments.plan.source import Source, read_source
from pyrometer.experiments.plan.treatments import short_names
from pyrometer.experiments.run.planned import plan_of

ERROR = 0.05
MOST_TRIALS = 60
KIND = "bisect"


def bisection_plan(
    file: Path,
    folder: Path,
    *,
    over: str | None = None,
    error: float = ERROR,
    most_trials: int = MOST_TRIALS,
    margin: float | None = None,
    seed: int | None = None,
) -> Plan:
    """Plan a search for the first slower level of a factor.

    Parameters
    ----------
    file : Path
        An experiment file; the levels are those of its matrix, in their order.
    folder : Path
        Where it is to be run.
    over : str, optional
        The factor; by default the only one that the matrix varies.
    error : float
        Largest probability of a wrong answer.
    most_trials : int
        Trials after which it stops without an answer.
    margin, seed
        Instead of the file's.

    Raises
    ------
    UsageError
        If the file is wrong, varies something else, or has too few levels.
    CapabilityError
        If this host can honour too few of them, or not the first.
    """
    source = read_source(file)
    factor, levels = _levels(source, over)
    plan = plan_of(file, folder, seed=seed, blocks=1)
    names = {one.varied[factor]: one.name for one in plan.treatments}
    reasons = {one.varied[factor]: one.reason for one in plan.left_out}
    if levels[0] not in names:
        raise CapabilityError(
            f"{factor}={levels[0]}: the first level is what others are compared with, and it cannot"
            f" be run here: {reasons[levels[0]]}"
        )
    if len(names) < 2:
        raise CapabilityError(
            f"{factor}: only {levels[0]} can be run here: {next(iter(reasons.values()))}"
        )
    searched = PlannedBisection(
        over=factor, levels=levels, treatments=names, error=error, most_trials=most_trials
    )
    changed = {
        "kind": KIND, "blocks": 0, "split": [], "trials": [], "baseline": names[levels[0]],
        "bisection": searched, "margin": plan.margin if margin is None else margin,
    }  # fmt: skip
    return plan.model_copy(update=changed)


def _levels(source: Source, over: str | None) -> tuple[str, list[str]]:
    experiment, where = source.experiment, source.document.where
    declared = factors_of_workload(experiment.workload)
    matrix = experiment.matrix
    full = short_names(dict.fromkeys(matrix.factors, ""), declared)
    found = dict(zip(full, matrix.factors.values(), strict=True))
    varied = [name for name, levels in found.items() if len(levels) > 1]
    if matrix.include or matrix.exclude:
        raise UsageError(
            f"{where(('matrix',))}: a bisection takes the levels of a factor in their order, and"
            " neither include nor exclude",
            f"{next(iter(found), 'machine.kernel')}: [oldest, …, newest]",
        )
    if experiment.design.kind != "randomized-blocks":
        raise UsageError(
            f"{where(('design', 'kind'))}: a bisection chooses each trial by those before it",
            "leave design.kind out",
        )
    wanted = over if over is None else next(iter(short_names({over: ""}, declared)))
    if wanted is not None and wanted not in found:
        raise UsageError(
            f"--over {over}: {source.path} has no levels of it",
            f"matrix: {{{over}: [first, …, last]}}",
        )
    if wanted is None and len(varied) == 1:
        wanted = varied[0]
    others = [name for name in varied if name != wanted]
    if wanted is None or others:
        more = ", ".join(others) or "nothing"
        raise UsageError(
            f"{where(('matrix',))}: a bisection goes over one factor; the matrix varies {more}"
            + (f" beside {wanted}" if wanted else ""),
            "--over FACTOR, and one level of all others (set:)",
        )
    if len(found[wanted]) < 2 or len(set(found[wanted])) < len(found[wanted]):
        raise UsageError(
            f"{where(('matrix', wanted))}: {wanted}: two levels or more, each once",
            f"{wanted}: [first, …, last]",
        )
    return wanted, found[wanted]
