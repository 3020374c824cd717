"""One measured trial: a workload or a command, from nothing to the report on disk."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyrometer.collect.launch.launch import Launch, launch_of
from pyrometer.collect.launch.observe import Silent, Watch, observe
from pyrometer.collect.launch.process import Ending
from pyrometer.collect.launch.record import Record, opened
from pyrometer.collect.launch.warmup import mark_warmup
from pyrometer.collect.probes.base import Probe, merge_needs
from pyrometer.collect.probes.selection import probes_of, require
from pyrometer.orchestrator.derive import derive
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
    probes = probes_of(trial)
    notes = require(probes)
    with opened(trial, probes, notes) as record:
        launch = _prepare(trial, probes, record, watch)
        ending = observe(launch, probes, record, watch)
        # Treatments that take turns have a series each: the experiment looks at them.
        if trial.warmup == "auto" and not trial.turns and record.manifest.state == "finished":
            mark_warmup(record)
            record.save()
    return Outcome(record, ending, derive(record, watch, report))


def _prepare(trial: Trial, probes: Sequence[Probe], record: Record, watch: Watch) -> Launch:
    watch.phase("prepare")
    with record.phase("prepare"):
        return launch_of(trial, merge_needs(probes, record.paths), record.paths, watch.progress)
