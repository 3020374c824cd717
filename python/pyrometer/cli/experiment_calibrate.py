"""``pyrometer experiment calibrate``: fix the knob of ``memory.condition`` by a pilot."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pyrometer.cli import common
from pyrometer.errors import UsageError

EXAMPLES = (
    "Example:  pyrometer experiment calibrate sort.yaml -o sort-calibrated.yaml &&"
    " pyrometer experiment run sort-calibrated.yaml"
)


def calibrate(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An experiment file (YAML).")],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="By default FILE-calibrated.yaml."),
    ] = None,
    as_json: common.JsonOption = False,
) -> None:
    """Find the knob of each memory.condition by trials of the baseline, and write it down.

    What is written extends FILE: the knob stands in the level, so it is the same for all
    treatments, and resuming finds it again.

    Exit code: 3 if a condition cannot be brought about, or was not reached.
    """
    from pyrometer.cli.progress import Progress
    from pyrometer.experiment.calibrate import calibrate as search
    from pyrometer.experiment.calibrated import calibrated
    from pyrometer.plan.experiment_source import read_source

    target = output or file.with_name(f"{file.stem}-calibrated.yaml")
    if target.exists():
        raise UsageError(f"{target} is there already", "give another file with -o")
    if target.parent.resolve() != file.parent.resolve():
        raise UsageError(f"{target}: it extends {file.name}", f"keep it in {file.parent}")
    folder = Path("pyrometer-runs") / f"calibrate-{file.stem}"
    if folder.exists():
        raise UsageError(f"{folder} holds an earlier pilot", f"remove it: rm -r {folder}")

    def say(text: str) -> None:
        common.err().print(text, markup=False, soft_wrap=True)

    knobs = search(file, folder, Progress, say)
    text = calibrated(file, read_source(file).experiment, knobs)
    temporary = target.with_name(f".{target.name}.part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(target)
    human = common.human(as_json)
    for knob in knobs:
        reached = "never finished" if knob.ratio is None else f"{100 * knob.ratio:.1f} %"
        line = f"{knob.level}: {knob.knobbed} ({reached}, {100 * knob.share:.1f} % wanted)"
        human.print(line, markup=False, soft_wrap=True)
        if knob.why is not None:
            human.print(f"  {knob.why}", markup=False, soft_wrap=True)
    human.print(f"{target}\npyrometer experiment plan {target}", markup=False, soft_wrap=True)
    if as_json:
        common.emit_json(
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
                        "trials": [vars(one) for one in knob.trials],
                    }
                    for knob in knobs
                ],
            }
        )
    if not all(knob.near for knob in knobs):
        raise typer.Exit(3)
