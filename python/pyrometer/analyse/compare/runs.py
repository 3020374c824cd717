"""Times of runs: one value a run, or of each iteration where there is one run on each side."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from pyrometer.analyse.compare.account import Trial
from pyrometer.doubt import Doubt
from pyrometer.errors import UsageError
from pyrometer.schema import doubt
from pyrometer.store import Run

_TIMES = """
    SELECT (end_wall_ns - start_wall_ns)::BIGINT FROM iterations
    WHERE NOT warmup AND status = 'success' AND end_wall_ns IS NOT NULL ORDER BY iteration
"""
_WHOLE = """
    SELECT (max(end_wall_ns) - min(start_wall_ns))::BIGINT FROM apps WHERE end_wall_ns IS NOT NULL
"""


def times_of(run: Run) -> list[int]:
    """Give the times of the measured iterations in ns; of the application where none are known.

    Raises
    ------
    UsageError
        If neither is known.
    """
    found = [row[0] for row in run.tables.query(_TIMES)] if run.tables.has("iterations") else []
    if not found and run.tables.has("apps"):
        whole = run.tables.scalar(_WHOLE)
        found = [] if whole is None else [int(whole)]
    if not found:
        raise UsageError(
            f"{run.paths.root}: no measured iteration succeeded, and no application ended",
            f"pyrometer show {run.paths.root}",
        )
    return found


def trials_of(a: Sequence[list[int]], b: Sequence[list[int]]) -> tuple[list[Trial], list[Doubt]]:
    """Make trials of sides A and B from the times of their runs.

    A run is a trial: its value is the mean of its iterations, which share one JVM. Only where each
    side has one run its iterations stand for trials, with a doubt.
    """
    if len(a) == len(b) == 1:
        made = [Trial(name, ns / 1e9) for name, one in (("A", a), ("B", b)) for ns in one[0]]
        return made, [
            doubt(
                "one_run_each",
                "Iterations of one run on each side are compared: how much runs differ among "
                "themselves is not in the interval",
            )
        ]
    return [
        Trial(name, statistics.fmean(times) / 1e9)
        for name, one in (("A", a), ("B", b))
        for times in one
    ], []
