"""One measured trial: a workload or a command, from nothing to the report on disk."""

from __future__ import annotations

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
        # Imported here: others need none of it.
        from pyrometer.orchestrator.guest import measure_in_guest

        record, ending = measure_in_guest(trial, watch)
    else:
        record, ending = measure(trial, watch)
    return Outcome(record, ending, derive(record, watch, report))
