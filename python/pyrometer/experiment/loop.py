"""Trials one after another: each is begun and ended in the journal, and none is made twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyrometer.errors import UsageError
from pyrometer.experiment import canary, guard, left, making
from pyrometer.experiment.making import Made, Make
from pyrometer.experiment.planned import digest_of, this_machine, trial_of
from pyrometer.plan.experiment_file import Guard
from pyrometer.run.observe import Silent, Watch
from pyrometer.store.experiment import (
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
from pyrometer.store.journal import Entries, Journal, opened_journal, read_journal


class Screen(Watch, Protocol):
    """Who is told how an experiment goes on."""

    def planned(self, plan: Plan, entries: Entries) -> None:
        """Tell what is to be done, and what is done already."""

    def trial(self, planned: PlannedTrial, attempt: int) -> None:
        """Tell that an attempt begins."""

    def ended(self, ended: Ended) -> None:
        """Tell how it ended."""


class Quiet(Silent):
    """A `Screen` that shows nothing."""

    def planned(self, plan: Plan, entries: Entries) -> None:
        """Show nothing."""

    def trial(self, planned: PlannedTrial, attempt: int) -> None:
        """Show nothing."""

    def ended(self, ended: Ended) -> None:
        """Show nothing."""


@dataclass(frozen=True)
class Hands:
    """What touches the machine.

    Parameters
    ----------
    make : callable
        Makes a trial.
    canaries : callable
        Measures the machine before it.
    before : callable
        Waits for calm, and tells what it saw.
    look, after : callable
        Read counters, and judge what others did since.
    """

    make: Make = making.make
    canaries: Callable[[], Canaries] = canary.measure
    before: Callable[[Guard, Callable[[str], None]], Surroundings] = guard.before_trial
    look: Callable[[], guard.Look] = guard.look
    after: Callable[[guard.Look, Guard, bool], Surroundings] = guard.after_trial


def begin(root: Path, plan: Plan) -> None:
    """Make the folder of an experiment, with its plan.

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
        root.mkdir(parents=True, exist_ok=True)
        write_plan(root, plan)
    except OSError as error:
        raise UsageError(f"{root} cannot be written: {error.strerror}") from error


def _free(root: Path) -> bool:
    # A kill while the plan was written leaves its temporary file: nothing had begun.
    return all(one.name.startswith(".experiment.json.") for one in root.iterdir())


def carry_out(
    root: Path, *, screen: Screen | None = None, hands: Hands | None = None, retry: bool = False
) -> Entries:
    """Make the trials of an experiment that are not made yet, in their order.

    Parameters
    ----------
    root : Path
        Folder with the plan.
    screen : Screen, optional
        Who is told.
    hands : Hands, optional
        What touches the machine; others than the default simulate.
    retry : bool
        Whether trials that ended otherwise than finished are tried again.

    Raises
    ------
    UsageError
        If there is no plan, it is of another machine or its workload has changed, another process
        runs it, or its journal was edited.
    CapabilityError
        If the journal cannot be written: what was finished is kept.
    KeyboardInterrupt
        If somebody ended it; what was finished is kept.
    """
    plan = read_plan(root)
    if plan.machine and plan.machine != (here := this_machine()):
        raise UsageError(
            f"{root} was planned on another machine ({_words(plan.machine)}; here {_words(here)})",
            "times of two machines cannot be mixed: run the file anew",
        )
    if plan.workload_sha256 and plan.workload_sha256 != digest_of(plan.workload):
        raise UsageError(
            f"{plan.workload} has changed since {root} was planned",
            "restore it, or run the experiment anew in another folder",
        )
    screen, hands = screen or Quiet(), hands or Hands()
    with opened_journal(root) as journal:
        entries = read_journal(root)
        _settle(root, plan, entries, journal, screen)
        screen.planned(plan, entries)
        for planned in plan.trials:
            done = entries.ended.get(planned.number)
            if done is None or (retry and done.status != "finished"):
                _attempts(root, plan, planned, entries, journal, screen, hands)
    return entries


def _words(machine: Mapping[str, str | int | None]) -> str:
    return f"{machine.get('cpu_model')}, {machine.get('cpus_count')} CPUs"


def _settle(
    root: Path, plan: Plan, entries: Entries, journal: Journal, screen: Screen
) -> None:  # fmt: skip
    """Take in what a kill left: processes are ended, a run that had finished counts."""
    if not entries.open:
        return
    if ended := left.end(ExperimentPaths(root).trials):
        screen.note(f"{ended} process(es) of an interrupted trial were ended")
    by_number = {one.number: one for one in plan.trials}
    for number, began in list(entries.open.items()):
        run = ExperimentPaths(root).trials / began.folder
        if not (run / "manifest.json").is_file():
            continue
        made = making.read(run, detected=plan.warmup == "auto")
        if made.status != "finished":
            continue
        record = _ended(by_number[number], began, made).model_copy(update={"adopted": True})
        journal.append(record)
        entries.ended[number] = record
        del entries.open[number]


def _attempts(
    root: Path,
    plan: Plan,
    planned: PlannedTrial,
    entries: Entries,
    journal: Journal,
    screen: Screen,
    hands: Hands,
) -> None:
    limits = Guard.model_validate(plan.guard)
    for repeated in range(limits.repeats + 1):
        attempt = entries.attempts.get(planned.number, 0) + 1
        entries.attempts[planned.number] = attempt
        screen.trial(planned, attempt)
        since = time.monotonic()
        began = Began(
            trial=planned.number,
            attempt=attempt,
            folder=planned.folder if attempt == 1 else f"{planned.folder}.{attempt}",
            before=hands.before(limits, screen.note),
            canaries=hands.canaries() if plan.canaries == "trial" else None,
            wall_ns=time.time_ns(),
        )
        journal.append(began)
        trial = trial_of(plan, planned, ExperimentPaths(root).trials / began.folder)
        first = hands.look()
        made = hands.make(trial, screen)
        during = hands.after(first, limits, "cgroup.swap" in trial.treatment)
        if made.status == "interrupted":
            raise KeyboardInterrupt
        record = _ended(planned, began, made, during)
        record.duration_s = time.monotonic() - since
        again = limits.policy == "repeat" and bool(during.disturbed) and repeated < limits.repeats
        if again and made.status == "finished":
            record.status = "disturbed"
        journal.append(record)
        screen.ended(record)
        if record.status != "disturbed":
            entries.ended[planned.number] = record
            return
        entries.disturbed.append(record)


def _ended(
    planned: PlannedTrial, began: Began, made: Made, during: Surroundings | None = None
) -> Ended:
    assert made.status != "interrupted"
    facts = made.facts
    return Ended(
        trial=planned.number,
        attempt=began.attempt,
        block=planned.block,
        treatment=planned.treatment,
        status=made.status,
        folder=began.folder,
        seconds=made.seconds,
        censored_s=made.censored_s,
        iterations_s=list(facts.iterations_s) if facts else [],
        series_s=list(facts.series_s) if facts else [],
        counted_from=facts.counted_from if facts else None,
        shape=facts.shape if facts else None,
        reason=made.reason,
        rows=facts.rows if facts else None,
        checksum=facts.checksum if facts else None,
        plan=facts.plan if facts else None,
        canaries=began.canaries or (Canaries(**facts.canaries) if facts else None),
        before=began.before,
        during=during,
        wall_ns=time.time_ns(),
    )
