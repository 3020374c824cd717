"""One launch: its attempts, each with beginning and end in the journal, and what a kill left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from pyrometer.experiments.folder import (
    Began,
    Canaries,
    Ended,
    ExperimentPaths,
    HostSeen,
    Plan,
    PlannedTrial,
    Surroundings,
)
from pyrometer.experiments.journal import Entries, Journal
from pyrometer.experiments.plan.file import Guard
from pyrometer.experiments.run import attempt, leftovers
from pyrometer.experiments.run.attempt import Attempt
from pyrometer.experiments.run.environment import Actions, Screen
from pyrometer.experiments.run.hosts import disturbances_of_hosts
from pyrometer.experiments.run.other_machine import otherwise
from pyrometer.experiments.run.trials import launches, trials_of
from pyrometer.experiments.slow_hosts import hosts_seen, slow_hosts

SWAPPING = frozenset({"cgroup.swap", "memory.condition"})
"""Factors by which a trial may be meant to swap."""


def settle(
    root: Path, plan: Plan, entries: Entries, journal: Journal, screen: Screen
) -> None:  # fmt: skip
    """Clean up after a kill: end its processes, and adopt a run that had finished.

    Parameters
    ----------
    root : Path
        Folder of the trials' folder.
    plan : Plan
        With all trials that may have begun.
    entries : Entries
        What the journal holds; what is adopted is added, here and there.
    """
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
        found = as_asked(plan, launch, found)
        found = _as_first(plan, launch, found, entries)
        if any(outcome.status != "finished" for outcome in found):
            continue
        for one, outcome in zip(launch, found, strict=True):
            if began := entries.open.pop(one.number, None):
                record = _ended(one, began, outcome).model_copy(update={"adopted": True})
                journal.append(record)
                entries.end(record)


def make_attempts(
    root: Path,
    plan: Plan,
    launch: Sequence[PlannedTrial],
    entries: Entries,
    journal: Journal,
    screen: Screen,
    actions: Actions,
) -> None:
    """Run the trials of one launch, again where the guard says so; each has its end in the journal.

    Parameters
    ----------
    root : Path
        Folder of the trials' folder.
    launch : sequence of PlannedTrial
        Trials of `plan` that share a launch.
    entries : Entries
        What the journal holds; what ends is added, here and there.

    Raises
    ------
    CapabilityError
        If the journal cannot be written.
    KeyboardInterrupt
        If the user stopped it.
    """
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
        during = with_hosts(during, found, limits, hosts_seen(entries))
        if any(outcome.status == "interrupted" for outcome in found):
            raise KeyboardInterrupt
        found = as_asked(plan, launch, found)
        found = _as_first(plan, launch, found, entries)
        again = limits.policy == "repeat" and bool(during.disturbed) and repeated < limits.repeats
        again = again and all(outcome.status == "finished" for outcome in found)
        for one, beginning, outcome in zip(launch, began, found, strict=True):
            record = _ended(one, beginning, outcome, during)
            record.duration_s = (time.monotonic() - since) / len(launch)
            if again:
                record.status = "disturbed"
                entries.disturbed.append(record)
            else:
                entries.end(record)
            journal.append(record)
            screen.ended(record)
        if not again:
            return


def _as_first(
    plan: Plan, launch: Sequence[PlannedTrial], found: Sequence[Attempt], entries: Entries
) -> list[Attempt]:
    """Fail trials whose virtual machine did not run as that of the first trial."""
    kept = []
    for planned, outcome in zip(launch, found, strict=True):
        doubted = outcome.facts.doubted if outcome.facts else None
        why = None if doubted is None else otherwise(plan, planned, doubted, entries)
        kept.append(outcome if why is None else Attempt("failed", reason=why, outside=why))
    return kept


def as_asked(plan: Plan, launch: Sequence[PlannedTrial], found: Sequence[Attempt]) -> list[Attempt]:
    """Fail trials that vary how many executors there are, and had fewer."""
    varied = {one.name: one.varied for one in plan.treatments}
    kept = []
    for planned, outcome in zip(launch, found, strict=True):
        most = outcome.facts.most if outcome.facts else None
        why = None if most is None else most.missed(varied[planned.treatment])
        kept.append(outcome if why is None else Attempt("failed", reason=why, outside=why))
    return kept


def with_hosts(
    during: Surroundings,
    found: Sequence[Attempt],
    guard: Guard,
    seen: Iterable[HostSeen] = (),
) -> Surroundings:
    """Add what trials saw of the hosts that they ran on, and what of it is beyond the limits.

    Parameters
    ----------
    seen : iterable of HostSeen
        What earlier trials of the experiment saw of hosts.
    """
    hosts = [host for one in found if one.facts for host in one.facts.hosts]
    disturbed = [
        *during.disturbed,
        *slow_hosts(hosts, seen, guard),
        *disturbances_of_hosts(hosts, guard),
    ]
    return during.model_copy(update={"hosts": hosts, "disturbed": disturbed})


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
        waited_s=facts.waited_s if facts else outcome.waited_s,
        censored_s=outcome.censored_s,
        outside=outcome.outside,
        iterations_s=list(facts.iterations_s) if facts else [],
        series_s=list(facts.series_s) if facts else [],
        counted_from=facts.counted_from if facts else None,
        shape=facts.shape if facts else None,
        reason=outcome.reason,
        rows=facts.rows if facts else None,
        checksum=facts.checksum if facts else None,
        plan=facts.plan if facts else None,
        work=dict(facts.work) if facts else {},
        doubted=list(facts.doubted) if facts else [],
        unapplied=list(facts.unapplied) if facts else [],
        canaries=began.canaries or (Canaries(**facts.canaries) if facts else None),
        before=began.before,
        during=during,
        wall_ns=time.time_ns(),
    )
