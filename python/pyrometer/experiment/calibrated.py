"""An experiment file that extends another by the knobs of ``memory.condition`` that were found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from pyrometer.experiment.calibrate import FACTOR, Knob, percent
from pyrometer.plan.experiment_file import Experiment


def calibrated(file: Path, experiment: Experiment, knobs: Sequence[Knob]) -> str:
    """Write an experiment file that extends another, with the knobs in its levels.

    Parameters
    ----------
    file : Path
        The other.
    experiment : Experiment
        What it says.
    knobs : sequence of Knob
        Found.
    """
    found = {knob.level: knob.knobbed for knob in knobs}

    def knobbed(levels: Mapping[str, str]) -> dict[str, str]:
        return {k: found.get(v, v) if k == FACTOR else v for k, v in levels.items()}

    matrix = experiment.matrix
    own: dict[str, Any] = {"extends": file.name}
    changed: dict[str, Any] = {}
    if FACTOR in matrix.factors:
        changed[FACTOR] = [found.get(level, level) for level in matrix.factors[FACTOR]]
    for word, given in (("include", matrix.include), ("exclude", matrix.exclude)):
        if any(FACTOR in one for one in given):
            changed[word] = [knobbed(one) for one in given]
    if changed:
        own["matrix"] = changed
    for word, one in (("set", experiment.set), ("baseline", experiment.baseline or {})):
        if FACTOR in one:
            own[word] = knobbed(one)
    told = [
        f"# {knob.knobbed}: {percent(knob.ratio)} reached, {percent(knob.share)} wanted; tried"
        f" with {knob.baseline or 'the only treatment'}\n"
        for knob in knobs
    ]
    text = yaml.safe_dump(own, sort_keys=False, allow_unicode=True)
    return "".join(told) + "# The same for all treatments.\n" + text
