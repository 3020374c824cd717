"""One trial on this machine: launched, observed, and its raw streams recorded."""

from __future__ import annotations

from collections.abc import Sequence

from pyrometer.collect.launch.launch import Launch, launch_of
from pyrometer.collect.launch.observe import Watch, observe
from pyrometer.collect.launch.process import Ending
from pyrometer.collect.launch.record import Record, opened
from pyrometer.collect.launch.warmup import mark_warmup
from pyrometer.collect.probes.base import Probe, merge_needs
from pyrometer.collect.probes.selection import probes_of, require
from pyrometer.trial.trial import Trial


def measure(trial: Trial, watch: Watch) -> tuple[Record, Ending]:
    """Launch a trial here and record it to its end.

    Raises
    ------
    UsageError, CapabilityError
        Before anything was launched; then no run directory remains.
    """
    probes = probes_of(trial)
    notes = require(probes)
    with opened(trial, probes, notes) as record:
        launch = _prepare(trial, probes, record, watch)
        if launch.driver is not None:
            # Whatever there is of the application is on other machines.
            _say_what_is_left_out(probes, launch, record)
            probes = []
        ending = observe(launch, probes, record, watch)
        # Treatments that take turns have a series each: the experiment looks at them.
        if trial.warmup == "auto" and not trial.turns and record.manifest.state == "finished":
            mark_warmup(record)
            record.save()
    return record, ending


def _prepare(trial: Trial, probes: Sequence[Probe], record: Record, watch: Watch) -> Launch:
    watch.phase("prepare")
    with record.phase("prepare"):
        return launch_of(trial, merge_needs(probes, record.paths), record.paths, watch.progress)


def _say_what_is_left_out(probes: Sequence[Probe], launch: Launch, record: Record) -> None:
    """Name the probes that nothing of a cluster takes the place of, if they would do something."""
    names = {probe.name for probe in probes}
    if not any(word.endswith(".py") for word in launch.argv):
        names -= {"python"}
    for name in sorted(names & {"python", "push"}):
        record.doubt("probe_left_out", f"Probe {name} does not reach a driver on the cluster.")
