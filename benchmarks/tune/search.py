"""``python -m benchmarks.tune.search``: tables of trials of real jobs, by hours of searching.

Takes jobs in turn, a block of each, and writes ``NAME.csv`` and ``NAME.json`` after every block.
It may be stopped at any moment, kill -9 too: the same command goes on where it was.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tune.jobs import JOBS, Searched, job, planned
from benchmarks.tune.made import Header, write
from benchmarks.tune.wide import Wide
from pyrometer.core import units
from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.experiments.folder import ExperimentPaths
from pyrometer.experiments.journal import read_journal
from pyrometer.tune.advise.adviser import FULL, Adviser, Incumbent, Observation, Suggestion
from pyrometer.tune.carry import search
from pyrometer.tune.judge.screen import best_words, said_words
from pyrometer.tune.trials.folder import TuningPaths, begin, read_tuning
from pyrometer.tune.trials.planned import in_brief
from pyrometer.tune.trials.records import KINDS, Asked, Known, Offered
from pyrometer.tune.trials.replay import History, Step, history_of
from pyrometer.tune.trials.screen import QuietTuning
from pyrometer.tune.trials.search import TuneActions

TRIALS = 300
"""Trials of a table, unless somebody says."""
KEPT = "manifest.json"
"""What is kept of a run that finished: its times, and those of its queries."""


class Enough(Exception):  # noqa: N818 - no error: it ends a turn
    """The turn of a job is over."""


@dataclass(frozen=True)
class Limits:
    """When to stop.

    Attributes
    ----------
    trials : int
        Trials of each table, those of earlier commands too.
    until : float
        On the monotonic clock, in s.
    """

    trials: int
    until: float

    def over(self) -> bool:
        """Whether time is up."""
        return time.monotonic() >= self.until


class Turn:
    """An engine that stops asking at the end of its block, and of what is allowed.

    What a journal holds is asked for again before, and never stopped.
    """

    def __init__(self, wide: Wide, told: History, limits: Limits) -> None:
        self._wide, self._limits = wide, limits
        self._replayed = sum(not one.asked.early for one in told.steps)
        self._told = 0
        self._block: int | None = None

    def ask(self) -> Suggestion:
        """Give the next trial, or end the turn."""
        wanted = self._wide.ask()
        if self._replayed > 0:
            self._replayed -= 1
            return wanted
        self._block = wanted.block if self._block is None else self._block
        if self._told >= self._limits.trials or self._limits.over() or wanted.block != self._block:
            raise Enough
        return wanted

    def tell(self, seen: Observation) -> None:
        """Take in what a trial showed."""
        self._told += 1
        self._wide.tell(seen)

    def best(self) -> Incumbent | None:
        """Give what is best of all that ran twice."""
        return self._wide.best()

    def offer(self, fidelity: str, share: float) -> None:
        """Take a cheap stand-in."""
        self._wide.offer(fidelity, share)


class Lines(QuietTuning):
    """Shows a line a trial; removes what is not needed of runs that were read."""

    def __init__(self, name: str, root: Path, *, keep: bool = False) -> None:
        self._name, self._trials, self._keep = name, ExperimentPaths(root).trials, keep

    def asked(self, asked: Asked) -> None:
        """Show nothing: a line comes when it has ended."""

    def note(self, text: str) -> None:
        """Show something that matters now."""
        print(f"{self._name}: {text}", file=sys.stderr, flush=True)

    def said(self, record: Offered | Known) -> None:
        """Show which stand-ins there are."""
        for text in said_words(record):
            self.note(text)

    def told(self, step: Step, history: History, adviser: Adviser) -> None:
        """Show what it gave, and the best so far."""
        told, asked = step.told, step.asked
        assert told is not None
        how = told.failed or ("more than " if told.censored else "") + units.duration(told.value)
        where = "" if asked.fidelity == FULL else f" ({asked.fidelity})"
        best = best_words(adviser.best())
        self.note(
            f"{asked.trial}  {in_brief(asked.configuration)}{where}  {how}  ({asked.why})  [{best}]"
        )
        if not self._keep:
            for one in step.attempts:
                if one.status in ("finished", "disturbed"):
                    prune(self._trials / one.folder)


def main(arguments: list[str] | None = None) -> int:
    """Search, and write tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune.search", description=__doc__)
    known = "; ".join(f"{name}: {one.summary}" for name, one in JOBS.items())
    parser.add_argument("jobs", nargs="*", metavar="JOB", help=f"default: all. {known}")
    parser.add_argument("-o", dest="folder", type=Path, required=True, help="folder of the tables")
    parser.add_argument(
        "--trials",
        type=at_least_one,
        default=TRIALS,
        help=f"of each table, in all; default: {TRIALS}",
    )
    parser.add_argument(
        "--minutes", type=float, help="stop then, at the end of a trial; 0: only write the tables"
    )
    parser.add_argument("--seed", type=int, help="of all that is drawn; default: 0, or as it began")
    parser.add_argument(
        "--guard", choices=("wait", "flag", "repeat"), default="wait",
        help="while others use the machine: wait, flag trials, or repeat them",
    )  # fmt: skip
    parser.add_argument("--keep-runs", action="store_true", help="keep all files of all runs")
    given = parser.parse_args(arguments)
    # Commands call the Python that has PySpark by its name.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    minutes = float("inf") if given.minutes is None else given.minutes
    limits = Limits(given.trials, time.monotonic() + 60 * minutes)
    try:
        jobs = {name: job(name) for name in given.jobs or JOBS}
        broken = carry_out(
            jobs, given.folder, limits, seed=given.seed, guard=given.guard, keep=given.keep_runs
        )
    except PyrometerError as error:
        print(told(error), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("all that ended is kept; the same command goes on", file=sys.stderr)
        return 130
    return 1 if broken else 0


def at_least_one(text: str) -> int:
    """Read a number of things, for argparse."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text}: a whole number from 1 on")
    return int(text)


def told(error: PyrometerError) -> str:
    """Say what is wrong, and what to do next."""
    return error.message + (f"; try: {error.remedy}" if error.remedy else "")


def carry_out(
    jobs: dict[str, Searched],
    folder: Path,
    limits: Limits,
    *,
    seed: int | None = None,
    guard: str = "wait",
    keep: bool = False,
    actions: Callable[[], TuneActions] = TuneActions,
    fill: int | None = None,
) -> dict[str, PyrometerError]:
    """Search jobs in turn, a block of each, until each table has its trials or time is up.

    Parameters
    ----------
    folder : Path
        Of the tables; each search has a folder of its own in it.
    seed : int, optional
        Has to be the one that a search began with, if it is given.
    keep : bool
        Keep all files of runs that finished.
    actions : callable
        Gives what touches the machine.
    fill : int, optional
        Points that fill a space, as :class:`~benchmarks.tune.wide.Wide` has them.

    Returns
    -------
    dict of str to PyrometerError
        What kept a job from going on; the others went on.

    Raises
    ------
    PyrometerError
        If a search cannot begin.
    """
    folder.mkdir(parents=True, exist_ok=True)
    roots = {name: folder / name for name in jobs}
    for name, root in roots.items():
        _began(name, jobs[name], root, seed, guard)
    left, broken = dict(roots), dict[str, PyrometerError]()
    while left:
        for name, root in list(left.items()):
            whole = True
            try:
                whole = limits.over() or _turn(name, root, limits, keep, actions(), fill)
            except PyrometerError as error:
                # Hours of the other jobs are not lost by it.
                broken[name] = error
                print(f"{name}: {told(error)}", file=sys.stderr, flush=True)
            finally:
                made = write(root, folder)
            if whole:
                del left[name]
                _summarised(name, made)
    return broken


def prune(run_dir: Path) -> None:
    """Remove all of a run but its manifest: hundreds of runs would fill a disk."""
    if not (run_dir / KEPT).is_file():
        return
    for one in run_dir.iterdir():
        if one.name != KEPT:
            shutil.rmtree(one) if one.is_dir() and not one.is_symlink() else one.unlink()


def _began(name: str, one: Searched, root: Path, seed: int | None, guard: str) -> None:
    if not TuningPaths(root).plan.is_file():
        begin(root, planned(name, one, root, seed or 0, guard))
        return
    known = read_tuning(root).seed
    if seed not in (None, known):
        raise UsageError(
            f"{root} was begun with seed {known}, not {seed}", f"--seed {known}, or another folder"
        )


def _turn(
    name: str, root: Path, limits: Limits, keep: bool, actions: TuneActions, fill: int | None
) -> bool:
    """Search a block of a job; whether its table has all trials."""
    before = history_of(read_journal(root, KINDS))
    if sum(one.told is not None for one in before.steps) >= limits.trials:
        return True
    with contextlib.suppress(Enough):
        search(
            root,
            lambda tuning: Turn(
                Wide(tuning.space.read(), seed=tuning.seed, fill=fill), before, limits
            ),
            screen=Lines(name, root, keep=keep),
            actions=actions,
        )
    return False


def _summarised(name: str, made: Header | None) -> None:
    if made is None:
        print(f"{name}: no trial has ended")
        return
    rows = ", ".join(f"{count} {how}" for how, count in made.trials.items())
    print(f"{name}: {rows}; {made.baselines} baselines, {made.disturbed} disturbed")
    if made.best and made.best[0].configuration:
        one = made.best[0]
        ends = " to ".join(units.percent(each, True) for each in one.change[1:])
        value = units.percent(one.change[0], True)
        levels = in_brief(one.configuration, 99)
        print(f"{name}: best known {value} ({ends}, {one.trials} trials): {levels}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
