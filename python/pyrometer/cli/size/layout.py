"""``pyrometer layout``: how many executor JVMs, how large, and pinned to which CPUs."""

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
from pyrometer.cli.shared.typed import refuse_beside
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, err

if TYPE_CHECKING:
    from pyrometer.layouts.plan import Host
    from pyrometer.layouts.schema import LayoutReport


app = typer.Typer()

EXAMPLES = """\b
Examples:
  pyrometer layout tpch --set query=q16
  pyrometer layout parquet-scan --jvms 1,2 --places 2C --scale test
  pyrometer layout pagerank --jvms 1,2,4,8 --places NB,1B,2B,4B,4I --blocks 5
  pyrometer layout tpch --slots 48 --memory 192g --dry-run
  pyrometer layout pyrometer-runs/layout-tpch            # report it again
"""


@app.command(epilog=EXAMPLES, no_args_is_help=True)
def layout(
    context: typer.Context,
    workload: Annotated[
        str,
        typer.Argument(
            metavar="WORKLOAD|DIR",
            help="A workload, or the folder of a layout experiment: reported without running.",
        ),
    ],
    jvms: Annotated[
        str | None,
        typer.Option(
            metavar="N,…", help="Numbers of executor JVMs. Default: 1, 2, 4, 8 as slots allow."
        ),
    ] = None,
    slots: Annotated[
        int | None,
        typer.Option(min=1, help="Task slots of all JVMs together. Default: the number of CPUs."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Heap of all JVMs together. Default: 1 GiB per slot."),
    ] = None,
    places: Annotated[
        str | None,
        typer.Option(metavar="PLACE,…", help="NB: not bound; 2B, 2I: NUMA nodes; 2C: CPUs."),
    ] = None,
    blocks: Annotated[int, typer.Option(min=1, help="Blocks: trials of each layout.")] = 3,
    iterations: IterationsOption = 3,
    settings: SettingsOption = [],  # noqa: B006
    scale: ScaleOption = "default",
    profile: ProfileOption = "cpu,wall",
    seed: SeedOption = None,
    guard: GuardOption = "wait",
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Write the experiment file and show its plan without running it."
        ),
    ] = False,
    output: FolderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare layouts of executor JVMs with the same slots and heap in all, bound to CPUs or not.

    Layouts are an experiment: its file stands beside its folder, and ``pyrometer experiment``
    resumes, shows and compares it.
    """
    from pyrometer.cli.compare.experiment import carry, show_plan
    from pyrometer.cli.shared.experiment_file import begin_written, check_new
    from pyrometer.experiments.folder import is_experiment
    from pyrometer.experiments.judge.files import keep_layouts
    from pyrometer.experiments.judge.page import write_experiment
    from pyrometer.layouts import terminal

    root = Path(workload)
    if is_experiment(root):
        refuse_beside(context, of="a workload to run", where=f"on {root}, which is only reported")
    else:
        root = output or Path("pyrometer-runs") / f"layout-{Path(workload).stem}"
        check_new(root, "layout")
        text = _file(
            workload, jvms, places, slots, memory, settings,
            {"scale": scale, "profile": profile, "blocks": blocks,
             "iterations": iterations, "seed": seed, "guard": {"policy": guard}},
        )  # fmt: skip
        plan = begin_written(root, text, dry=dry_run)
        if dry_run:
            show_plan(plan, [], as_json=as_json)
            return
        carry(root, retry=False)
    report = _report(root)

    def page() -> Path:
        keep_layouts(root, report)
        return write_experiment(root)

    print_report(root, report, terminal.show, page, anything=bool(report.layouts), as_json=as_json)


def _file(
    workload: str,
    jvms: str | None,
    places: str | None,
    slots: int | None,
    memory: str | None,
    settings: list[str],
    keys: dict[str, object],
) -> str:
    """Lay the workload out on this machine, as the text of an experiment file."""
    from pyrometer.cli.shared.experiment_file import machine_in, setting
    from pyrometer.experiments.plan.source import experiment_text
    from pyrometer.experiments.run.planned import host_facts
    from pyrometer.layouts.plan import HEAP_SHARE, SLOT_HEAP, default_placements, host_in, layouts

    machine = machine_in(settings)
    host = host_in(machine) if machine else _this_host()
    whole = slots or host.cpus
    total = machine.memory_bytes if machine else host_facts()["mem_total"]
    heap = _size(memory) if memory else SLOT_HEAP * whole
    if memory is None and total:
        heap = min(heap, int(HEAP_SHARE * total))
    wanted = (
        [one.strip().upper() for one in places.split(",")] if places else default_placements(host)
    )
    possible, out = layouts(host, wanted, _counts(jvms), whole, heap)
    for one in out:
        err().print(f"left out: {one}", markup=False, soft_wrap=True)
    # The driver is no executor: its heap is the same in all layouts, Spark's own default.
    shared = {"spark.driver.memory": "1g", **dict(setting(one) for one in settings)}
    levels = [one.levels() for one in possible]
    return experiment_text(
        "layout", workload, "{} by executor JVMs and where they run",
        matrix={"include": levels}, set=shared, baseline=dict(levels[0]), **keys,
    )  # fmt: skip


def _this_host() -> Host:
    from pyrometer.collect.host import facts
    from pyrometer.layouts.plan import Host

    machine, allowed = facts.read(), os.sched_getaffinity(0)
    mine = [cpu for cpu in machine.cpus if cpu.number in allowed]
    nodes = {node: sum(cpu.node == node for cpu in mine) for node in machine.nodes}
    return Host(len(mine), {node: count for node, count in nodes.items() if count})


def _counts(text: str | None) -> list[int] | None:
    if text is None:
        return None
    words = [one.strip() for one in text.split(",")]
    if not all(one.isdecimal() and int(one) for one in words):
        raise UsageError(f"--jvms {text}: expected numbers of JVMs above zero", "--jvms 1,2,4")
    return [int(one) for one in words]


def _size(text: str) -> int:
    from pyrometer.trial.factors import size_of

    try:
        return size_of("--memory", text)
    except UsageError as error:
        raise UsageError(error.message, "--memory 4g") from None


def _report(root: Path) -> LayoutReport:
    from pyrometer.experiments.folder import read_plan
    from pyrometer.experiments.journal import read_journal
    from pyrometer.layouts.analysis import layout_report

    with reading_trials() as reading:
        return layout_report(root, read_plan(root), read_journal(root), reading=reading)
