"""``pyrometer export RUN``: the run's stacks as a file that another tool reads."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.shared.run_named import run_path
from pyrometer.terminal.console import JsonOption, emit_json, err, human

app = typer.Typer()


@app.command()
def export(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", parser=run_path, help="A run directory.", show_default=False),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="folded, svg, speedscope, pprof, firefox, otlp. Default: by the file's name.",
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Output file. Default: RUN-EVENT.… here."
        ),
    ] = None,
    event: Annotated[
        str | None,
        typer.Option(
            help="cpu, wall, alloc or lock; an imported profile has its own. Default: the first."
        ),
    ] = None,
    by: Annotated[
        str,
        typer.Option(
            metavar="DIMENSIONS",
            help="What to group stacks by, from the root, in order: stage,operator,…",
        ),
    ] = "",
    iteration: Annotated[int | None, typer.Option(help="Only samples of this iteration.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Write the stacks of a run for another tool: one event, summed by stack."""
    from pyrometer.core import units
    from pyrometer.core.errors import UsageError
    from pyrometer.export import FORMATS, export_profile, format_of
    from pyrometer.terminal.drawing import safe

    chosen = kind or (format_of(output) if output is not None else None)
    if chosen is None:
        raise UsageError(
            "which format?"
            if output is None
            else f"{output}: the file name does not say the format",
            f"--format {'|'.join(FORMATS)}",
        )
    dimensions = [name.strip() for name in by.split(",") if name.strip()]
    with err().status(f"writing {chosen}"):
        written = export_profile(run, chosen, output, event, dimensions, iteration)
    human(as_json).print(
        f"{written['event']} samples as {chosen}: {safe(written['file'])}"
        f" ({units.size(written['size_bytes'])})",
        soft_wrap=True,
    )
    if count := written["left_out_count"]:
        err().print(
            f"left out: {units.counted(count, 'sample')} without a time on the clock most samples"
            " use; formats without times include them",
            soft_wrap=True,
        )
    if as_json:
        emit_json({"schema": "pyrometer/export/1", **written})
