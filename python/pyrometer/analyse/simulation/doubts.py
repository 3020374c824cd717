"""What is doubtful about a simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyrometer import schema
from pyrometer.analyse.simulation.calibrated import Calibrated
from pyrometer.analyse.simulation.measured import Job
from pyrometer.doubt import Doubt
from pyrometer.errors import UsageError
from pyrometer.units import percent

LARGE_ERROR = 0.05
MOST_TOLD = 5


def doubts_of(made: Calibrated, kept_executors_count: int) -> list[Doubt]:
    """List them."""
    measured, found = made.measured, []
    if abs(made.error_ratio) > LARGE_ERROR:
        found.append(
            schema.doubt(
                "simulation_error",
                f"at the measured size it is {percent(made.error_ratio, signed=True)} off",
            )
        )
    if measured.open_ended or measured.cut_count:
        found.append(
            schema.doubt(
                "simulation_cut",
                f"{measured.cut_count} stages had not ended when the window did: left out"
                + ("; the log has no end of the application" if measured.open_ended else ""),
            )
        )
    if made.graph.unseen_count:
        found.append(
            schema.doubt(
                "simulation_unseen",
                f"{made.graph.unseen_count} stages whose tasks are not all in the log take as long"
                " as they took, at any size",
            )
        )
    if measured.inferred:
        found.append(
            schema.doubt(
                "simulation_slots",
                "the cores of an executor are not in the log: as many as it ever ran tasks at once",
            )
        )
    beside = _beside_others(measured.jobs)
    if measured.settings.fair and beside:
        found.append(
            schema.doubt(
                "simulation_fair",
                f"spark.scheduler.mode is FAIR, and {beside} of {len(measured.jobs)} jobs began"
                " while another ran: here the earlier one is served first",
            )
        )
    if kept_executors_count:
        found.append(
            schema.doubt(
                "simulation_kept",
                f"{kept_executors_count} times executors that had gone were kept, as tasks still"
                " waited and no slot was left",
            )
        )
    return found


def no_contention(reason: str) -> Doubt:
    """Doubt that tasks take as long beside any number of others."""
    return schema.doubt("simulation_contention", f"tasks take as long beside any: {reason}")


def of_runs(runs: Sequence[Sequence[Doubt]]) -> list[Doubt]:
    """Tell each doubt once, by the first of the runs that have it."""
    found: dict[str, list[Doubt]] = {}
    for own in runs:
        for code, one in {one.code: one for one in reversed(own)}.items():
            found.setdefault(code, []).append(one)
    return [
        one[0].model_copy(update={"message": f"{len(one)} of {len(runs)} runs: {one[0].message}"})
        for one in found.values()
    ]


def without_runs(refused: Sequence[UsageError], kept_count: int) -> list[Doubt]:
    """Doubt that all runs are in it, where some could not be."""
    if not refused:
        return []
    of = f"{len(refused)} of {len(refused) + kept_count} runs"
    return [schema.doubt("simulation_without", f"{of}: {told(refused)}")]


def told(refused: Sequence[UsageError]) -> str:
    """Name the runs that have no part in it, with the reasons."""
    more = f"; and {len(refused) - MOST_TOLD} more" if len(refused) > MOST_TOLD else ""
    return "; ".join(one.message for one in refused[:MOST_TOLD]) + more


def _beside_others(jobs: Sequence[Job]) -> int:
    """Count jobs that were submitted while an earlier one ran."""
    count, until = 0, -math.inf
    for job in sorted(jobs, key=lambda one: one.submit_ns):
        count += job.submit_ns < until
        until = max(until, math.inf if job.end_ns is None else job.end_ns)
    return count
