"""A measured trial, or several in one virtual machine: from nothing to the report on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyrometer.collect.launch.observe import Silent, Watch
from pyrometer.collect.launch.process import Ending
from pyrometer.collect.launch.record import Record
from pyrometer.guests.machine import is_machine
from pyrometer.orchestrator.derive import derive
from pyrometer.orchestrator.measure import measure
from pyrometer.trial.trial import Trial

if TYPE_CHECKING:
    from pyrometer.summary.schema import Summary


@dataclass(frozen=True)
class Outcome:
    """Result of a run.

    Parameters
    ----------
    record : Record
        The run directory and its manifest.
    ending : Ending
        How the application ended.
    summary : Summary or None
        Everything about its window; ``None`` if its tables could not be written.
    """

    record: Record
    ending: Ending
    summary: Summary | None


def run(trial: Trial, watch: Watch | None = None, report: bool = True) -> Outcome:
    """Run one measured trial.

    Parameters
    ----------
    trial : Trial
        What is launched, and what is measured of it.
    watch : Watch, optional
        Who is shown how it goes on.
    report : bool
        Whether ``report.html`` is written.

    Raises
    ------
    UsageError, CapabilityError
        Before anything was launched; then no run directory remains.
    """
    watch = watch or Silent()
    if any(map(is_machine, trial.treatment)):
        (measured,) = _in_guest([trial], watch)
    else:
        measured = measure(trial, watch)
    record, ending = measured
    return Outcome(record, ending, derive(record, watch, report))


def run_together(trials: Sequence[Trial], watch: Watch) -> list[Outcome]:
    """Run several measured trials at the same time, in one virtual machine.

    Parameters
    ----------
    trials : sequence of Trial
        All ask for the same machine, and their run directories lie in one folder.
    watch : Watch
        Who is shown how they go on.

    Raises
    ------
    UsageError, CapabilityError
        As of :func:`run`: where one of them is refused, none has a run directory.
    """
    return [
        Outcome(record, ending, derive(record, watch, report=False))
        for record, ending in _in_guest(trials, watch)
    ]


def _in_guest(trials: Sequence[Trial], watch: Watch) -> list[tuple[Record, Ending]]:
    # Imported here: others need none of it.
    from pyrometer.orchestrator.guest import measure_in_guest

    return measure_in_guest(trials, watch)
