"""``pyrometer corun``: workloads together and each alone; and where to put them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from pyrometer.cli.shared.corun_report import show_corun
from pyrometer.cli.shared.experiment_file import (
    FolderOption,
    GuardOption,
    IterationsOption,
    ProfileOption,
    ScaleOption,
    SeedOption,
    check_new,
)
from pyrometer.cli.shared.typed import refuse_beside
from pyrometer.terminal.console import JsonOption, err

if TYPE_CHECKING:
    from pyrometer.experiments.folder import Plan


app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer corun parquet-scan pagerank
  pyrometer corun tpch svm --set tpch:query=q06 --neighbour memory
  pyrometer corun tpch@0-3 pagerank@4-7 --place own --offset pagerank:10
  pyrometer corun pagerank pagerank --scale test --dry-run
  pyrometer corun parquet-scan --neighbour disk
  pyrometer corun svm pagerank --set machine.cpus=4 --set machine.memory=6g
  pyrometer corun pyrometer-runs/corun-tpch-svm        # report it again
"""


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def corun(
    context: typer.Context,
    workloads: Annotated[
        list[str],
        typer.Argument(
            metavar="WORKLOAD[@CPUS]…|DIR",
            help="Workloads, each optionally on CPUs of its own; or the folder of such an"
            " experiment, which is reported without running.",
        ),
    ],
    neighbours: Annotated[
        list[str],
        typer.Option(
            "--neighbour",
            metavar="cpu|memory|cache|disk",
            help="Also run each workload with this neighbour (a level of co.run); repeatable.",
        ),
    ] = [],  # noqa: B006
    at_once: Annotated[
        bool, typer.Option("--at-once", help="Run all workloads together instead of in pairs.")
    ] = False,
    place: Annotated[
        Literal["both", "shared", "own"],
        typer.Option(help="Where workloads run: all on the same CPUs, each on its own, or both."),
    ] = "both",
    offsets: Annotated[
        list[str],
        typer.Option(
            "--offset", metavar="WORKLOAD:SECONDS", help="Delay a workload's start; repeatable."
        ),
    ] = [],  # noqa: B006
    blocks: Annotated[int, typer.Option(min=1, help="Blocks: trials of each treatment.")] = 3,
    iterations: IterationsOption = 3,
    warmup: Annotated[int, typer.Option(min=0, help="Warm-up iterations before them.")] = 1,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set",
            metavar="[WORKLOAD:]FACTOR=LEVEL",
            help="Set a factor's level, for all workloads or for one; repeatable.",
        ),
    ] = [],  # noqa: B006
    scale: ScaleOption = "default",
    profile: ProfileOption = "light",
    seed: SeedOption = None,
    guard: GuardOption = "wait",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan without running it.")
    ] = False,
    output: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Run workloads alone and together: what each loses, what they compete for, how to place them.

    Every counted iteration runs under the load of the others from start to end. It is an
    experiment: ``pyrometer experiment resume`` continues it after a crash.
    """
    from pyrometer.cli.compare.experiment import carry, show_plan
    from pyrometer.cli.shared.forecasts import forecast_of
    from pyrometer.experiments.folder import is_experiment
    from pyrometer.experiments.judge import terminal as judge_terminal
    from pyrometer.experiments.run.loop import begin

    root = Path(workloads[0])
    if len(workloads) > 1 or not is_experiment(root):
        plan = _plan(
            workloads, neighbours, settings, offsets, output, at_once=at_once, place=place,
            keys={"scale": scale, "profile": profile, "blocks": blocks, "iterations": iterations,
                  "warmup": str(warmup), "seed": seed, "guard": {"policy": guard}},
        )  # fmt: skip
        root = output or Path("pyrometer-runs") / plan.name
        if dry_run:
            show_plan(plan, [], as_json=as_json)
            return
        check_new(root, "corun")
        begin(root, plan)
        judge_terminal.plan(err(), plan, forecast_of(plan, []), brief=True)
        carry(root, retry=False)
    else:
        refuse_beside(context, of="workloads to run", where=f"on {root}, which is only reported")
    show_corun(root, as_json=as_json)


def _plan(
    workloads: list[str],
    neighbours: list[str],
    settings: list[str],
    offsets: list[str],
    output: Path | None,
    *,
    at_once: bool,
    place: str,
    keys: dict[str, object],
) -> Plan:
    from pyrometer.corun.experiment import corun_plan
    from pyrometer.corun.plan import experiment_name, members_of, parties
    from pyrometer.experiments.plan.file import Experiment

    members = members_of(workloads, settings, offsets)
    found = parties(
        members, neighbours, at_once=at_once, shared=place != "own", own=place != "shared"
    )
    rest = Experiment.model_validate(
        {
            "name": experiment_name(members, neighbours),
            "description": "; ".join(one.treatment(one.members[0]) for one in found),
            "workload": " + ".join(one.name for one in members),
            "matrix": {},
            **keys,
        }
    )
    return corun_plan(found, rest, output or Path("pyrometer-runs"))
