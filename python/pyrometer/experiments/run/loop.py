"""Trials one after another: the journal has the beginning and end of each, and none runs twice."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from pyrometer.core.errors import UsageError
from pyrometer.core.redaction import redacted
from pyrometer.experiments.folder import (
    ExperimentPaths,
    Plan,
    PlannedTrial,
    read_plan,
    write_plan,
)
from pyrometer.experiments.journal import Entries, opened_journal, read_journal
from pyrometer.experiments.run.attempts import make_attempts, settle
from pyrometer.experiments.run.environment import Actions, Quiet, Screen
from pyrometer.experiments.run.planned import check_same
from pyrometer.experiments.run.trials import launches, whole_plot
from pyrometer.experiments.run.versions import check_versions
from pyrometer.store.ingest import native
from pyrometer.store.private import make_own


def begin(root: Path, plan: Plan) -> None:
    """Create the folder of an experiment, with its plan.

    Raises
    ------
    UsageError
        If there is something in it already, or it cannot be written.
    """
    paths = ExperimentPaths(root)
    try:
        if root.exists() and (not root.is_dir() or not _free(root)):
            there = paths.plan.is_file()
            raise UsageError(
                f"{root} holds an experiment" if there else f"{root} is not an empty folder",
                f"pyrometer experiment resume {root}" if there else "give another folder with -o",
            )
        make_own(root)
        write_plan(root, plan)
    except OSError as error:
        raise UsageError(f"{root} cannot be written: {error.strerror}") from error


def _free(root: Path) -> bool:
    # A kill while the plan was written leaves its temporary file: nothing had begun.
    return all(one.name.startswith(".experiment.json.") for one in root.iterdir())


def carry_out(
    root: Path,
    *,
    screen: Screen | None = None,
    actions: Actions | None = None,
    retry: bool = False,
    then: str | None = None,
) -> Entries:
    """Run the trials of an experiment that have not ended yet, in their order.

    Parameters
    ----------
    root : Path
        Folder with the plan.
    screen : Screen, optional
        Shows its progress.
    actions : Actions, optional
        What touches the machine; simulations pass others than the default.
    retry : bool
        Whether trials that failed or were censored are tried again.
    then : str, optional
        The command that goes on with it; by default ``pyrometer experiment resume ROOT``.

    Raises
    ------
    UsageError
        If there is no plan, it is of another machine or other versions, or its workload has
        changed, another process runs it, or its journal was edited.
    CapabilityError
        If the journal cannot be written: what was finished is kept.
    KeyboardInterrupt
        If the user stopped it; what was finished is kept.
    """
    paths, plan = ExperimentPaths(root), read_plan(root)
    check_same(root, plan.machine, plan.workloads, plan.workload_sha256)
    screen, actions = screen or Quiet(), actions or Actions()
    with opened_journal(root, then=then) as journal:
        entries = read_journal(root)
        settle(root, plan, entries, journal, screen)
        if not all(_done([one], entries, retry) for one in plan.trials):
            check_versions(root, plan)
        screen.planned(plan, entries)
        for (_, levels), trials in groupby(plan.trials, lambda one: whole_plot(plan, one)):
            todo = [one for one in launches(trials) if not _done(one, entries, retry)]
            if todo:
                with actions.hold_switches(levels) as doubts:
                    for launch in todo:
                        make_attempts(root, plan, launch, entries, journal, screen, actions)
                for one in doubts:
                    screen.note(f"{one.message} {one.remedy}")
    if all(_done([one], entries, retry=True) for one in plan.trials):
        redact(paths, plan, screen)
    return entries


def redact(paths: ExperimentPaths, plan: Plan, screen: Screen) -> None:
    """Remove secrets from plan and journal: they are needed until all trials have finished."""
    names = [one.name for one in plan.treatments]
    if len({redacted(one) for one in names}) == len(set(names)):
        try:
            native().redact_files([str(paths.plan), str(paths.journal)])
        except OSError as error:
            screen.note(f"secrets stay in {error.filename}: {error.strerror}")


def _done(launch: Sequence[PlannedTrial], entries: Entries, retry: bool) -> bool:
    ended = [entries.ended.get(one.number) for one in launch]
    return all(one is not None and (one.status == "finished" or not retry) for one in ended)
