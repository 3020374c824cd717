"""What is doubtful about a simulation."""

from __future__ import annotations

from pyrometer import schema
from pyrometer.analyse.simulation.calibrated import Calibrated
from pyrometer.doubt import Doubt
from pyrometer.units import percent

LARGE_ERROR = 0.05


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
    if kept_executors_count:
        found.append(
            schema.doubt(
                "simulation_kept",
                f"{kept_executors_count} times executors that had gone were kept, as tasks still"
                " waited and no slot was left",
            )
        )
    return found
