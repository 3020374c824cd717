"""Why the winner is faster: runs of the confirmation compared, seconds by cause."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pyrometer.compare.explained import explain
from pyrometer.compare.stage_work import Unit, units_of
from pyrometer.core.errors import PyrometerError
from pyrometer.experiments.folder import ExperimentPaths
from pyrometer.experiments.journal import read_journal
from pyrometer.tune.confirm.plan import WINNER
from pyrometer.tune.judge.schema import Why
from pyrometer.tune.trials.planned import BASELINE


def why_faster(folders: Sequence[Path], most: int) -> Why:
    """Compare runs of baseline and winner.

    Parameters
    ----------
    folders : sequence of Path
        The experiments of the confirmation.
    most : int
        Runs of each side that are read.
    """
    runs = {name: _runs(folders, name)[:most] for name in (BASELINE, WINNER)}
    found = Why(
        baseline_runs=[str(one) for one in runs[BASELINE]],
        winner_runs=[str(one) for one in runs[WINNER]],
    )
    if not runs[BASELINE] or not runs[WINNER]:
        found.reason = "no run of each has finished"
        return found
    try:
        units = [[_units(one) for one in runs[name]] for name in (BASELINE, WINNER)]
    except PyrometerError as error:
        found.reason = error.message
        return found
    if not all(any(side) for side in units):
        found.reason = "its runs have no Spark event log, from which causes are counted"
        return found
    explained = explain(*units)
    found.a_s, found.b_s = explained.a_s, explained.b_s
    found.answer, found.causes = explained.answer, explained.causes
    found.cannot_tell = explained.cannot_tell
    return found


def _runs(folders: Sequence[Path], treatment: str) -> list[Path]:
    return [
        place
        for folder in folders
        for one in read_journal(folder).ended.values()
        if one.treatment == treatment
        and one.status == "finished"
        and (place := ExperimentPaths(folder).trials / one.folder).is_dir()
    ]


def _units(run: Path) -> list[Unit]:
    return units_of(run)
