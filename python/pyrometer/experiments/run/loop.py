"""Trials one after another: the journal has the beginning and end of each, and none runs twice."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from pyrometer.core.errors import UsageError
from pyrometer.core.redaction import redacted
from pyrometer.experiments.folder import (
    Began,
    Canaries,
    Ended,
    ExperimentPaths,
    Plan,
    PlannedTrial,
    Surroundings,
    read_plan,
    write_plan,
)
from pyrometer.experiments.journal import Entries, Journal, opened_journal, read_journal
from pyrometer.experiments.plan.file import Guard
from pyrometer.experiments.run import attempt, leftovers
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.experiments.run.environment import Actions, Quiet, Screen
from pyrometer.experiments.run.planned import digest_of, this_machine
from pyrometer.experiments.run.trials import launches, trials_of, whole_plot
from pyrometer.store.ingest import native
from pyrometer.store.private import make_private

SWAPPING = frozenset({"cgroup.swap", "memory.condition"})
"""Factors by which a trial may be meant to swap."""


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
        make_private(root)
        write_plan(root, plan)
    except OSError as error:
        raise UsageError(f"{root} cannot be written: {error.strerror}") from error


def _free(root: Path) -> bool:
    # A kill while the plan was written leaves its temporary file: nothing had begun.
    return all(one.name.startswith(".experiment.json.") for one in root.iterdir())


def carry_out(
    root: Path, *, screen: Screen | None = None, actions: Actions | None = None, retry: bool = False
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

    Raises
    ------
    UsageError
        If there is no plan, it is of another machine or its workload has changed, another process
        runs it, or its journal was edited.
    CapabilityError
        If the journal cannot be written: what was finished is kept.
    KeyboardInterrupt
        If the user stopped it; what was finished is kept.
    """
    paths, plan = ExperimentPaths(root), read_plan(root)
    if plan.machine and plan.machine != (here := this_machine()):
        raise UsageError(
            f"{root} was planned on another machine ({_words(plan.machine)}; here {_words(here)})",
            "times of two machines cannot be mixed: run the file again",
        )
    if plan.workload_sha256 and plan.workload_sha256 != digest_of(*plan.workloads):
        raise UsageError(
            f"{plan.workload} has changed since {root} was planned",
            "restore it, or run the experiment again in another folder",
        )
    screen, actions = screen or Quiet(), actions or Actions()
    with opened_journal(root) as journal:
        entries = read_journal(root)
        _settle(root, plan, entries, journal, screen)
        screen.planned(plan, entries)
        for (_, levels), trials in groupby(plan.trials, lambda one: whole_plot(plan, one)):
            todo = [one for one in launches(trials) if not _done(one, entries, retry)]
            if todo:
                with actions.hold_switches(levels) as doubts:
                    for launch in todo:
                        _attempts(root, plan, launch, entries, journal, screen, actions)
                for one in doubts:
                    screen.note(f"{one.message} {one.remedy}")
    if all(_done([one], entries, retry=True) for one in plan.trials):
        _redact(paths, plan, screen)
    return entries


def _redact(paths: ExperimentPaths, plan: Plan, screen: Screen) -> None:
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


def _words(machine: Mapping[str, str | int | None]) -> str:
    return f"{machine.get('cpu_model')}, {machine.get('cpus_count')} CPUs"


def _settle(
    root: Path, plan: Plan, entries: Entries, journal: Journal, screen: Screen
) -> None:  # fmt: skip
    """Clean up after a kill: end its processes, and adopt a run that had finished."""
    if not entries.open:
        return
    if ended := leftovers.end(ExperimentPaths(root).trials):
        screen.note(f"{ended} process(es) of an interrupted trial were ended")
    trials = ExperimentPaths(root).trials
    for launch in launches(plan.trials):
        if not any(one.number in entries.open for one in launch):
            continue
        known = [entries.open.get(one.number) or entries.ended.get(one.number) for one in launch]
        places = [
            (trials / is_at.folder, one.iterations)
            for one, is_at in zip(launch, known, strict=True)
            if is_at is not None and (trials / is_at.folder / "manifest.json").is_file()
        ]
        # Trials of a launch are adopted together, or repeated together.
        if len(places) < len(launch) or len({one.attempt for one in known if one}) > 1:
            continue
        found = attempt.read_together(places, detected=plan.warmup == "auto")
        if any(outcome.status != "finished" for outcome in found):
            continue
        for one, outcome in zip(launch, found, strict=True):
            if began := entries.open.pop(one.number, None):
                record = _ended(one, began, outcome).model_copy(update={"adopted": True})
                journal.append(record)
                entries.ended[one.number] = record


def _attempts(
    root: Path,
    plan: Plan,
    launch: Sequence[PlannedTrial],
    entries: Entries,
    journal: Journal,
    screen: Screen,
    actions: Actions,
) -> None:
    limits = Guard.model_validate(plan.guard)
    for repeated in range(limits.repeats + 1):
        attempt = 1 + max(entries.attempts.get(one.number, 0) for one in launch)
        screen.trial(launch[0], attempt)
        since = time.monotonic()
        before = actions.wait_for_calm(limits, screen.note)
        canaries = actions.measure_canaries() if plan.canaries == "trial" else None
        began = [
            Began(
                trial=one.number,
                attempt=attempt,
                folder=one.folder if attempt == 1 else f"{one.folder}.{attempt}",
                before=before,
                canaries=canaries,
                wall_ns=time.time_ns(),
            )
            for one in launch
        ]
        for beginning in began:
            entries.attempts[beginning.trial] = attempt
            journal.append(beginning)
        folders = [ExperimentPaths(root).trials / one.folder for one in began]
        trials = trials_of(plan, launch, folders)
        first = actions.read_counters()
        found = actions.run(trials, screen)
        during = actions.judge_others(first, limits, not SWAPPING.isdisjoint(trials[0].treatment))
        if any(outcome.status == "interrupted" for outcome in found):
            raise KeyboardInterrupt
        again = limits.policy == "repeat" and bool(during.disturbed) and repeated < limits.repeats
        again = again and all(outcome.status == "finished" for outcome in found)
        for one, beginning, outcome in zip(launch, began, found, strict=True):
            record = _ended(one, beginning, outcome, during)
            record.duration_s = (time.monotonic() - since) / len(launch)
            if again:
                record.status = "disturbed"
                entries.disturbed.append(record)
            else:
                entries.ended[one.number] = record
            journal.append(record)
            screen.ended(record)
        if not again:
            return


def _ended(
    planned: PlannedTrial, began: Began, outcome: Attempt, during: Surroundings | None = None
) -> Ended:
    assert outcome.status != "interrupted"
    facts = outcome.facts
    return Ended(
        trial=planned.number,
        attempt=began.attempt,
        block=planned.block,
        treatment=planned.treatment,
        status=outcome.status,
        folder=began.folder,
        seconds=outcome.seconds,
        censored_s=outcome.censored_s,
        iterations_s=list(facts.iterations_s) if facts else [],
        series_s=list(facts.series_s) if facts else [],
        counted_from=facts.counted_from if facts else None,
        shape=facts.shape if facts else None,
        reason=outcome.reason,
        rows=facts.rows if facts else None,
        checksum=facts.checksum if facts else None,
        plan=facts.plan if facts else None,
        canaries=began.canaries or (Canaries(**facts.canaries) if facts else None),
        before=began.before,
        during=during,
        wall_ns=time.time_ns(),
    )
