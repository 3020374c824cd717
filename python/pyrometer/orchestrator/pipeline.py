"""Loops over stages: the only place where left and right of the store meet."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyrometer.collect.host.card import this_host
from pyrometer.collect.launch.launch import (
    Launch,
    is_workload_command,
    launch_command,
    launch_workload,
    launch_workload_command,
)
from pyrometer.collect.launch.observe import Silent, Watch, observe
from pyrometer.collect.launch.process import Ending
from pyrometer.collect.launch.record import Record, make_run_dir, new_manifest
from pyrometer.collect.probes import make_probes
from pyrometer.collect.probes.base import Probe, Problem, check_all, merge_needs
from pyrometer.collect.probes.os import OsProbe
from pyrometer.collect.probes.profile import Profile, parse_profile
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import CapabilityError, PyrometerError, UsageError
from pyrometer.core.schema import doubt
from pyrometer.trial.trial import Trial
from pyrometer.workloads import registry

if TYPE_CHECKING:
    from pyrometer.summary.schema import Summary


CLOSE_HZ = 100.0
"""Passes per second of the OS probe where it alone tells what a program did."""


@dataclass(frozen=True)
class Outcome:
    """What a run came to.

    Parameters
    ----------
    record : Record
        The run directory and its manifest.
    ending : Ending
        How the application ended.
    summary : Summary or None
        What its tables tell; ``None`` if they could not be made.
    """

    record: Record
    ending: Ending
    summary: Summary | None


def run(trial: Trial, watch: Watch | None = None, report: bool = True) -> Outcome:
    """Run one measured trial, from nothing to the report on disk.

    Raises
    ------
    UsageError, CapabilityError
        Before anything was launched; no run directory is left then.
    """
    watch = watch or Silent()
    probes = probes_of(trial)
    notes = require(probes)
    with opened(trial, probes, notes) as record:
        launch = prepare(trial, probes, record, watch)
        ending = observe(launch, probes, record, watch)
    return Outcome(record, ending, derive(record, watch, report))


def probes_of(trial: Trial) -> list[Probe]:
    """Make the probes of a trial's profile: of a workload without Spark, those of the system.

    Raises
    ------
    UsageError
        If profiles are to be sent, and none are made.
    """
    profile = parse_profile(trial.profile)
    probes = make_probes(profile, trial.tier)
    if trial.push is not None:
        probes.append(push_probe(trial.push, profile))
    if trial.name is not None and registry.get(trial.name).engine == "process":
        return [_process_probe(trial, profile)]
    return list(probes)


def _process_probe(trial: Trial, profile: Profile) -> Probe:
    """Make the OS probe; with stacks asked for it looks closer, at what processes say, too."""
    assert trial.name is not None
    if "stacks" not in profile.probes:
        return OsProbe(tier=trial.tier)
    workload = registry.get(trial.name)
    chosen = {n: str(v) for n, v in trial.treatment.items() if n in workload.variants}
    spec = registry.resolve(trial.name, chosen, trial.scale)
    return OsProbe(CLOSE_HZ, annotation=workload.annotation(spec), tier=trial.tier)


def push_probe(url: str, profile: Profile) -> Probe:
    """Make the probe that sends profiles.

    Raises
    ------
    UsageError
        If the profile samples no stacks, or the address is none.
    """
    from pyrometer.collect.probes.push import PushProbe

    if "stacks" not in profile.probes:
        raise UsageError(
            f"--push: profile {profile.name} samples no stacks", "--profile full or --profile cpu"
        )
    return PushProbe(url)


def require(probes: Sequence[Probe]) -> list[Doubt]:
    """Check all probes on this host; what only degrades one comes back as doubts.

    Raises
    ------
    CapabilityError
        If a probe can deliver nothing, with every problem of every probe.
    """
    problems = check_all(probes)
    if any(problem.fatal for problem in problems):
        raise CapabilityError(
            "\n".join(f"probe {p.probe}: {p.reason}" for p in problems),
            "; ".join(dict.fromkeys(p.remedy for p in problems)),
        )
    return [_degraded(problem) for problem in problems]


@contextmanager
def opened(trial: Trial, probes: Sequence[Probe], notes: list[Doubt]) -> Iterator[Record]:
    """Make the run directory; it goes away again if nothing could be launched in it."""
    paths = make_run_dir(trial)
    names = [probe.name for probe in probes]
    record = Record(paths, new_manifest(trial, this_host(), names, notes))
    try:
        yield record
    except (PyrometerError, KeyboardInterrupt):
        if not record.launched:
            shutil.rmtree(paths.root, ignore_errors=True)
        raise


def prepare(trial: Trial, probes: Sequence[Probe], record: Record, watch: Watch) -> Launch:
    """Decide the launch; a built-in workload's data is made here."""
    watch.phase("prepare")
    needs = merge_needs(probes, record.paths)
    with record.phase("prepare"):
        if trial.name is None:
            return launch_command(trial, needs, record.paths)
        if is_workload_command(trial.name):
            return launch_workload_command(trial, needs, record.paths)
        return launch_workload(trial, needs, record.paths, watch.progress)


def derive(record: Record, watch: Watch, report: bool) -> Summary | None:
    """Make tables, summary and report; a step that fails becomes a doubt."""
    # Imported here: beside the application their half CPU-second would be taken from it.
    from pyrometer.accounts.window import open_scope
    from pyrometer.pages.page import write_page
    from pyrometer.report.page import page_data
    from pyrometer.store import Run, write_rows
    from pyrometer.store.ingest import ingest_run
    from pyrometer.summary.summary import ledger_tables, summarise

    made = None
    try:
        with _step("ingest", record, watch):
            ingest_run(record.paths.root)
        with Run.open(record.paths.root) as opened:
            with _step("summary", record, watch):
                scope = open_scope(opened, None)
                made = summarise(scope)
                for table, rows in ledger_tables(made).items():
                    write_rows(record.paths.tables, table, rows)
            if report:
                with _step("report", record, watch):
                    write_page(page_data(scope, made), record.paths.report)
    except Exception as error:
        name = record.manifest.phases[-1].name
        record.doubt("analysis_failed", f"Step {name}: {type(error).__name__}: {error}")
        watch.note(f"{name} failed: {error}")
    record.save()
    return made


@contextmanager
def _step(name: str, record: Record, watch: Watch) -> Iterator[None]:
    watch.phase(name)
    with record.phase(name):
        yield


def _degraded(problem: Problem) -> Doubt:
    made = doubt("probe_degraded", f"Probe {problem.probe}: {problem.reason}.")
    return made.model_copy(update={"remedy": problem.remedy})
