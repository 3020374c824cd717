"""``pyrometer experiment calibrate``: the limit that brings about each ``memory.condition``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli.shared.endings import ending_with
from pyrometer.core.errors import UsageError
from pyrometer.core.replacing import replacing
from pyrometer.store.private import FILE_MODE
from pyrometer.terminal import console

EXAMPLES = (
    "Example:  pyrometer experiment calibrate sort.yaml -o sort-calibrated.yaml &&"
    " pyrometer experiment run sort-calibrated.yaml"
)


def calibrate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An experiment file (YAML).")],
    output: Annotated[
        Path | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Output file. Default: FILE-calibrated.yaml."
        ),
    ] = None,
    as_json: console.JsonOption = False,
) -> None:
    """Find the limit that brings about each memory.condition, by trials of the baseline.

    The new file extends FILE with the limit as the level, so that it is the same for all treatments
    and for a resumed experiment.

    Exit code: 3 if a condition cannot be brought about, or was not reached.
    """
    from pyrometer.experiments.plan.source import read_source
    from pyrometer.experiments.run.calibrate import calibrate as search
    from pyrometer.experiments.run.calibrate import calibrated
    from pyrometer.terminal.console import Progress

    if not file.is_file():
        raise UsageError(f"{file}: there is no such file", "give an experiment file")
    target = output or file.with_name(f"{file.stem}-calibrated.yaml")
    if target.exists():
        raise UsageError(f"{target} already exists", "choose another file with -o")
    if target.parent.resolve() != file.parent.resolve():
        raise UsageError(f"{target}: it extends {file.name}", f"keep it in {file.parent}")
    folder = Path("pyrometer-runs") / f"calibrate-{file.stem}"
    if folder.exists():
        raise UsageError(f"{folder} already holds a pilot", f"remove it: rm -r {folder}")

    def say(text: str) -> None:
        console.err().print(text, markup=False, soft_wrap=True)

    knobs = search(file, folder, Progress, say)
    text = calibrated(file, read_source(file).experiment, knobs)
    with replacing(target, FILE_MODE) as out:
        out.write(text.encode())
    human = console.human(as_json)
    with ending_with(None if all(knob.near for knob in knobs) else typer.Exit(3)):
        for knob in knobs:
            reached = "never finished" if knob.ratio is None else f"{100 * knob.ratio:.1f} %"
            line = f"{knob.level}: {knob.knobbed} ({reached}, {100 * knob.share:.1f} % wanted)"
            human.print(line, markup=False, soft_wrap=True)
            if knob.why is not None:
                human.print(f"  {knob.why}", markup=False, soft_wrap=True)
        human.print(f"{target}\npyrometer experiment plan {target}", markup=False, soft_wrap=True)
        if as_json:
            console.emit_json(
                {
                    "schema": "pyrometer/experiment-calibrate/1",
                    "file": str(target),
                    "knobs": [
                        {
                            "level": knob.level,
                            "knob": knob.knobbed,
                            "ratio": knob.ratio,
                            "wanted_ratio": knob.share,
                            "near": knob.near,
                            "why": knob.why,
                            "baseline": knob.baseline,
                            "trials": [
                                {"left": one.available, "ratio": one.ratio, "told": one.memory}
                                for one in knob.trials
                            ],
                        }
                        for knob in knobs
                    ],
                }
            )
