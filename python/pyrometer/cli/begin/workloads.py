"""``pyrometer workloads``: what can be run by name, what it is, and its data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pyrometer.cli.begin.characterise import characterise
from pyrometer.core.errors import UsageError
from pyrometer.terminal.console import JsonOption, emit_json, err, human

if TYPE_CHECKING:
    from pyrometer.workloads.values import Progress


app = typer.Typer(help="List, describe and prepare the workloads that can be run by name.")

app.command(no_args_is_help=True)(characterise)

FEW = 12
"""Levels that are listed one by one; of more, the first three and the last."""

NameArgument = Annotated[str, typer.Argument(metavar="NAME", help="A listed workload.")]


@app.callback(invoke_without_command=True)
def workloads(context: typer.Context) -> None:
    """List, describe and prepare the workloads that can be run by name."""
    if context.invoked_subcommand is None:
        list_(as_json=False)


@app.command("list")
def list_(as_json: JsonOption = False) -> None:
    """List the workloads: built-in ones, and those of installed packages."""
    from rich.table import Table
    from rich.text import Text

    from pyrometer.workloads import registry
    from pyrometer.workloads.contract import GROUPS

    found, broken = [], []
    for name in registry.entries():
        try:
            found.append(registry.get(name).describe())
        except UsageError as error:
            broken.append({"name": name, "error": error.message})
    if as_json:
        emit_json({"schema": "pyrometer/workloads/1", "workloads": found, "broken": broken})
        return
    console = human(as_json)
    # A package may name a new group: every workload is listed.
    others = {one["group"]: one["group"] for one in found if one["group"] not in GROUPS}
    for group, title in {**GROUPS, **others}.items():
        members = [one for one in found if one["group"] == group]
        if not members:
            continue
        console.print(Text(title, style="bold"))
        table = Table(box=None, pad_edge=False, header_style="dim")
        for column in ("workload", "what it does", "variants (default first)"):
            table.add_column(column, no_wrap=column == "workload")
        for one in members:
            table.add_row(one["name"], Text(one["summary"]), Text(_variants(one["variants"])))
        console.print(table)
        console.print()
    for one in broken:
        console.print(Text(f"{one['name']}  {one['error']}", style="red"))
    console.print("[dim]pyrometer workloads show NAME   ·   pyrometer run NAME[/]")


def _variants(variants: Mapping[str, Mapping[str, Any]]) -> str:
    lines = []
    for name, variant in variants.items():
        default = variant["default"]
        levels = [default, *(level for level in variant["levels"] if level != default)]
        lines.append(f"{name.rpartition('.')[2]} = {', '.join(_few(levels))}")
    return "\n".join(lines)


def _few(levels: Sequence[str]) -> list[str]:
    """Shorten long lists of levels, such as the queries of a suite."""
    return list(levels) if len(levels) <= FEW else [*levels[:3], "…", levels[-1]]


@app.command()
def show(name: NameArgument, as_json: JsonOption = False) -> None:
    """Describe a workload: what it does, where it comes from, its variants and scales."""
    from rich.padding import Padding
    from rich.text import Text

    from pyrometer.core import units
    from pyrometer.workloads import registry

    workload = registry.get(name)
    if as_json:
        emit_json({"schema": "pyrometer/workload-description/1", **workload.describe()})
        return
    console = human(as_json)
    console.print(f"[bold]{name}[/]  {workload.summary}\n", markup=True)
    for title, text in (
        ("What it does", workload.description),
        ("Source", workload.source),
        ("What to expect", workload.expectation),
    ):
        console.print(f"[bold]{title}[/]")
        console.print(Padding(Text(text), (0, 0, 1, 2)))
    for factor, variant in workload.variants.items():
        console.print(Text.assemble((factor, "bold"), f"  {variant.doc}"))
        width = max(map(len, variant.levels), default=0)
        for level in _few(list(variant.levels)):
            mark = " (default)" if level == variant.default else ""
            console.print(Text(f"  {level:<{width}}  {variant.levels.get(level, '')}{mark}"))
    console.print(f"\n[bold]scale[/]  a number of {workload.scale_unit}, or")
    for scale, size in workload.scales.items():
        spec = registry.resolve(name, {}, scale)
        disk = units.size(workload.bytes_needed(spec))
        console.print(Text(f"  {scale:<8}{units.count(size):>14}  about {disk} of disk"))


@app.command()
def prepare(
    name: NameArgument,
    setting: Annotated[
        list[str],
        typer.Option("--set", metavar="VARIANT=LEVEL", help="Set a variant's level; repeatable."),
    ] = [],  # noqa: B006
    scale: Annotated[
        str, typer.Option(help="Scale: test, default, seed, a number, or a scale factor (sf1).")
    ] = "default",
    verify_data: Annotated[
        bool,
        typer.Option(
            "--verify-data", help="Verify the hash of every existing file; make damaged ones again."
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Make the data of a workload now, so that a run need not; what is there is kept."""
    from pyrometer.core import units
    from pyrometer.workloads import registry
    from pyrometer.workloads.contract import load, prepared_to_json
    from pyrometer.workloads.data_cache import DataCache

    spec = registry.resolve(name, dict(map(_level, setting)), scale)
    with _progress() as progress:
        prepared = load(spec.entry).prepare(spec, DataCache(verify=verify_data), progress)
    if as_json:
        emit_json(
            {
                "schema": "pyrometer/prepared/1",
                "workload": name,
                "levels": dict(spec.levels),
                "scale": spec.scale,
                "size": spec.size,
                "bytes": prepared.bytes,
                **prepared_to_json(prepared),
            }
        )
        return
    files = f"{units.count(len(prepared.files))} files, {units.size(prepared.bytes)}"
    human(as_json).print(f"{files}: {prepared.root}", markup=False, soft_wrap=True)


@app.command(no_args_is_help=True)
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the new workload.")],
    kind: Annotated[str, typer.Option(help="python (a class), sql or yaml.")] = "python",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="DIR", help="Output folder: new or empty. Default: ./NAME."
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Write a commented skeleton of a workload of your own."""
    from pyrometer.workloads.custom import skeletons

    written = skeletons.write(name, kind, output or Path(name))
    if as_json:
        emit_json({"schema": "pyrometer/skeleton/1", "files": [str(path) for path in written]})
        return
    for path in written:
        human(as_json).print(str(path), markup=False, soft_wrap=True)


def _level(setting: str) -> tuple[str, str]:
    factor, equals, level = setting.partition("=")
    if not equals:
        raise UsageError(f"--set {setting!r} is not of the form variant=level")
    return factor, level


@contextmanager
def _progress() -> Iterator[Progress]:
    """Draw a bar with the remaining time on stderr; a new one for each step."""
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bars(*columns, console=err()) as bars:
        tasks = {}

        def progress(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield progress
