"""``pyrometer scale``: a workload over a number of workers, and what bends the curve."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pyrometer.cli.shared.experiment_file import (
    FolderOption,
    GuardOption,
    IterationsOption,
    ProfileOption,
    ScaleOption,
    SeedOption,
    SettingsOption,
    print_report,
    reading_trials,
)
from pyrometer.cli.shared.typed import refuse, refuse_beside
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption
from pyrometer.trial.layout import CORES, EXECUTORS, TASKS

if TYPE_CHECKING:
    from pyrometer.scaling.curve import CurveReport


app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer scale parquet-scan
  pyrometer scale tpch --levels 1,2,4,6 --blocks 5 --predict 12,24
  pyrometer scale my_job.sql --over cpu.quota --set jvm.heap=4g
  pyrometer scale parquet-scan --over jvm.heap --levels 512m,1g,2g,4g
  pyrometer scale job/workload.yaml --over spark.executor.instances
  pyrometer scale pyrometer-runs/scale-parquet-scan      # report it again
"""


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def scale(
    context: typer.Context,
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD|DIR",
            help="A workload, or the folder of a one-factor experiment, which is reported without"
            " running.",
        ),
    ],
    over: Annotated[
        str, typer.Option(metavar="FACTOR", help="The numeric factor to vary, as for --set.")
    ] = TASKS,
    levels: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL,…",
            help="Levels of the factor. Default: spaced to fit the scaling laws; of executors, up"
            " to what the cluster has free.",
        ),
    ] = None,
    dense: Annotated[bool, typer.Option("--dense", help="All levels.")] = False,
    blocks: Annotated[int, typer.Option(min=1, help="Blocks: trials of each level.")] = 3,
    iterations: IterationsOption = 3,
    settings: SettingsOption = [],  # noqa: B006
    scale: ScaleOption = "default",
    profile: ProfileOption = "light",
    seed: SeedOption = None,
    guard: GuardOption = "wait",
    predict: Annotated[
        str | None, typer.Option(metavar="P,…", help="Numbers of workers to predict.")
    ] = None,
    output: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run a workload at several sizes: speed-up curve, knee, and where efficiency is lost.

    Each curve is an experiment: its file stands beside its folder, and ``pyrometer experiment``
    resumes, shows and compares it.
    """
    from pyrometer.cli.compare.experiment import carry
    from pyrometer.cli.size.fit import numbers
    from pyrometer.experiments.folder import is_experiment
    from pyrometer.experiments.judge.files import keep_curve
    from pyrometer.experiments.judge.page import write_experiment
    from pyrometer.scaling import terminal
    from pyrometer.scaling.plan import OF_CLUSTERS

    wanted = numbers("--predict", predict)
    root = Path(workload)
    if is_experiment(root):
        where = f"on {root}, which is only reported"
        refuse_beside(context, "predict", of="a workload to run", where=where)
    else:
        if levels is not None or over in OF_CLUSTERS:
            where = f"over {over}" if levels is None else "beside --levels"
            refuse(context, "dense", of="levels by the number of CPUs", where=where)
        root = output or Path("pyrometer-runs") / f"scale-{Path(workload).stem}"
        _begin(
            root, workload, over, levels, settings, dense, scale,
            {"profile": profile, "blocks": blocks,
             "iterations": iterations, "seed": seed, "guard": {"policy": guard}},
        )  # fmt: skip
        carry(root, retry=False)
    report = _report(root, wanted)

    def page() -> Path:
        keep_curve(root, report)
        return write_experiment(root)

    print_report(
        root, report, terminal.show_curve, page, anything=bool(report.levels), as_json=as_json
    )


def _begin(
    root: Path,
    workload: str,
    over: str,
    levels: str | None,
    settings: list[str],
    dense: bool,
    scale: str,
    keys: dict[str, object],
) -> None:
    """Write the experiment's file next to its folder, and plan it."""
    from pyrometer.cli.shared.experiment_file import begin_written, check_new, machine_in, setting
    from pyrometer.scaling.plan import OF_CLUSTERS, default_levels, level_number, scaling_file

    check_new(root, "scale")
    shared = dict(setting(one) for one in settings)
    if over == EXECUTORS:
        shared.setdefault(CORES, "1")
    machine = machine_in(settings)
    cpus = machine.cpus_count if machine else len(os.sched_getaffinity(0))
    named = [one.strip() for one in levels.split(",")] if levels else None
    chosen = named or []
    if over in OF_CLUSTERS:
        chosen = _of_cluster(over, workload, scale, shared, chosen)
    chosen = chosen or default_levels(over, cpus, dense=dense)
    if len({level_number(over, one) for one in chosen}) < 2:
        raise UsageError(
            f"{over}: {', '.join(chosen)}: a curve needs at least two levels", "--levels 1,2,4"
        )
    begin_written(root, scaling_file(workload, over, chosen, shared, scale=scale, **keys))


def _of_cluster(
    over: str, workload: str, scale: str, shared: dict[str, str], chosen: list[str]
) -> list[str]:
    """Give the levels that were chosen, else those that a cluster has room for."""
    from pyrometer.collect.launch.launch import factors_of_workload
    from pyrometer.collect.launch.settings_before import settings_of_levels, settings_of_workload
    from pyrometer.scaling.cluster_levels import check_factor, levels_of_cluster

    own = settings_of_workload(workload, shared, scale)
    settings = {**own, **settings_of_levels(shared, factors_of_workload(workload), own)}
    check_factor(over, settings)
    return chosen or levels_of_cluster(over, settings)


def _report(root: Path, predict: list[float]) -> CurveReport:
    from pyrometer.collect.host.card import threads_per_core
    from pyrometer.experiments.folder import read_plan
    from pyrometer.experiments.journal import read_journal
    from pyrometer.experiments.run.planned import this_machine
    from pyrometer.scaling.curve import curve_report
    from pyrometer.scaling.processors import processors

    plan = read_plan(root)
    cpus, cores = processors(plan)
    each = threads_per_core()
    if cores is None and cpus and each and plan.machine == this_machine():
        cores = cpus / each
    with reading_trials() as reading:
        return curve_report(
            root, plan, read_journal(root), predict=predict,
            cores=cores, reading=reading,
        )  # fmt: skip
