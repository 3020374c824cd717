"""What the blocks of a confirmation showed, read from its experiments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from pyrometer.experiments.folder import Ended, ExperimentPaths, Plan, is_experiment, read_plan
from pyrometer.experiments.journal import Entries, read_journal
from pyrometer.tune.believe.verdict import Verdict, judge
from pyrometer.tune.confirm.plan import WINNER
from pyrometer.tune.trials.folder import Tuning, TuningPaths
from pyrometer.tune.trials.judged import Judge, how_it_ended
from pyrometer.tune.trials.measured import NS, value_of
from pyrometer.tune.trials.planned import BASELINE, worked_s
from pyrometer.tune.trials.replay import History
from pyrometer.tune.trials.results import Agreed, agreed, another, not_compared
from pyrometer.tune.trials.unapplied import not_held


class Side(NamedTuple):
    """A trial of a block: its value, and its run directory."""

    value: float
    place: Path


Block = tuple[Side, Side]
"""Baseline and winner."""


@dataclass(frozen=True)
class Pairs:
    """Values of whole blocks of one scale.

    Attributes
    ----------
    folders : tuple of Path
        The experiments that they are from, in the order of time.
    counts : tuple of int
        Whole blocks of each.
    pairs : tuple of (float, float)
        Baseline and winner of each block.
    places : tuple of (Path, Path)
        Their run directories.
    failures : tuple of str
        Why trials of the winner came to nothing.
    spent_s, waited_s : float
        Time of all trials, and time in which the guard waited before them.
    left : int
        Planned trials that have not run, and may still.
    ended : tuple of Ended
        All trials that ended.
    lacking : str or None
        What of results could not be compared; ``None``: all of them were, or a check judged them.
    """

    scale: str
    folders: tuple[Path, ...] = ()
    counts: tuple[int, ...] = ()
    pairs: tuple[tuple[float, float], ...] = ()
    places: tuple[tuple[Path, Path], ...] = ()
    failures: tuple[str, ...] = ()
    planned: int = 0
    spent_s: float = 0.0
    waited_s: float = 0.0
    left: int = 0
    ended: tuple[Ended, ...] = ()
    lacking: str | None = None

    def verdict(self, margin: float) -> Verdict | None:
        """Judge them; ``None`` where no trial was to confirm anything."""
        if not self.folders:
            return None
        looks: list[int] = []
        before = 0
        for count in self.counts[:-1]:
            before += count
            # An experiment without a whole block was no look at anything.
            if count and before < len(self.pairs):
                looks.append(before)
        return judge(
            self.pairs, margin=margin, looks=looks, failures=len(self.failures), left=self.left
        )


def folders_of(root: Path, scale: str | None = None) -> list[Path]:
    """Folders of confirmations of a tuning, in the order of time: of its own scale, or another."""
    paths = TuningPaths(root)
    first = paths.confirmation if scale is None else paths.elsewhere(scale)
    found = [first] if is_experiment(first) else []
    while is_experiment(next_ := first.with_name(f"{first.name}.{len(found) + 1}")):
        found.append(next_)
    return found


def scales_of(root: Path) -> list[str]:
    """Other scales at which a tuning was confirmed."""
    front = f"{TuningPaths(root).confirmation.name}-"
    return sorted({read_plan(one).scale for one in root.glob(f"{front}*") if is_experiment(one)})


def going_on(root: Path, history: History, scale: str | None = None) -> list[Path]:
    """Folders of confirmations that the budget has not ended: of a tuning's scale, or another."""
    if history.stopped:
        return []
    return [one for one in folders_of(root, scale) if one.name not in history.closed]


def spent_s(entries: Entries, *, waits: bool) -> float:
    """Time that the trials of an experiment have taken; `waits`: and what the guard waited."""
    return sum(
        (one.duration_s if waits else worked_s(one)) or 0.0
        for one in (*entries.ended.values(), *entries.disturbed)
    )


def pairs_of(
    root: Path, tuning: Tuning, read: Judge, history: History, scale: str | None = None
) -> Pairs:
    """Read the blocks of a confirmation that are whole, and what failed in the others.

    Parameters
    ----------
    history : History
        Of the tuning: where the budget was used up, what has not run never will.
    """
    blocks: list[Block] = []
    counts: list[int] = []
    failures: list[str] = []
    folders, planned, spent, waited, left = folders_of(root, scale), 0, 0.0, 0.0, 0
    open_ = going_on(root, history, scale)
    all_ended: list[Ended] = []
    fair: list[tuple[Path, Plan, list[Ended]]] = []
    for folder in folders:
        plan, entries = read_plan(folder), read_journal(folder)
        planned += plan.blocks
        left += len(plan.trials) - len(entries.ended) if folder in open_ else 0
        spent += (worked := spent_s(entries, waits=False))
        waited += spent_s(entries, waits=True) - worked
        ended = list(entries.ended.values())
        all_ended += ended
        if tuning.check is not None and scale is None:
            # A kill came before the check of an adopted trial: its block does not count.
            ended = [one for one in ended if not one.adopted]
        fair.append((folder, plan, ended))
    # With a check results may differ: it alone judges them, where it knows the data.
    runs = [_as_it_is(ended) if tuning.check is None else [] for *_, ended in fair]
    right = agreed(chain.from_iterable(runs))
    for (folder, plan, ended), own in zip(fair, runs, strict=True):
        # Data may change from folder to folder; a single run says nothing of its checksum.
        here = agreed(own) if len(own) > 1 else right.surely()
        whole, failed = _whole_blocks(folder, plan, ended, tuning, read, here)
        blocks += whole
        counts.append(len(whole))
        failures += failed
    failures += _killed_again(all_ended)
    return Pairs(
        scale or tuning.scale, tuple(folders), tuple(counts),
        tuple((baseline.value, winner.value) for baseline, winner in blocks),
        tuple((baseline.place, winner.place) for baseline, winner in blocks), tuple(failures),
        planned, spent, waited, left, tuple(all_ended),
        not_compared(right) if tuning.check is None or scale is not None else None,
    )  # fmt: skip


def _as_it_is(ended: Sequence[Ended]) -> list[Ended]:
    return [
        one
        for one in ended
        if one.treatment == BASELINE and one.outside is None and one.status == "finished"
    ]


def _whole_blocks(
    folder: Path, plan: Plan, ended: Sequence[Ended], tuning: Tuning, read: Judge, right: Agreed
) -> tuple[list[Block], list[str]]:
    """Give baseline and winner of each whole block, and why trials of the winner failed."""
    configuration = next(one.varied for one in plan.treatments if one.name == WINNER)
    failures: list[str] = []
    values: dict[int, dict[str, Side]] = {}
    for one in ended:
        value, why = _value(one, configuration, folder, tuning, read, right)
        if why is not None and one.treatment == WINNER:
            failures.append(why)
        if value is not None:
            side = Side(value, ExperimentPaths(folder).trials / one.folder)
            values.setdefault(one.block, {})[one.treatment] = side
    whole = [found for _, found in sorted(values.items()) if len(found) == 2]
    return [(found[BASELINE], found[WINNER]) for found in whole], failures


def _killed_again(ended: Sequence[Ended]) -> list[str]:
    """Say what ended trials of the winner from outside, where that is its own fault.

    Once it is chance; and whatever ends the job as it is as often has nothing against the winner.
    """
    baseline, winner = (
        [one for one in ended if one.treatment == name and one.outside is not None]
        for name in (BASELINE, WINNER)
    )
    if len(winner) <= max(1, len(baseline)):
        return []
    return [how_it_ended(one) for one in winner]


def _value(
    one: Ended,
    configuration: dict[str, str],
    folder: Path,
    tuning: Tuning,
    read: Judge,
    right: Agreed,
) -> tuple[float | None, str | None]:
    """Give the objective of a trial, or why it came to nothing."""
    if one.outside is not None:
        return None, None  # It says nothing of its configuration: its block does not count.
    if one.status != "finished":
        return None, how_it_ended(one)
    why = not_held(one, configuration) or another(right, one) if one.treatment == WINNER else None
    if why is not None:
        return None, f"trial {one.trial}: {why}"
    levels = configuration if one.treatment == WINNER else {}
    if tuning.objective == "elapsed" and not tuning.conditions:
        return None if one.seconds is None else one.seconds * NS, None
    found = read.metrics(one, levels, folder)
    if read.lacks(found):
        return None, None  # Nor does a block count in which a condition cannot be judged.
    if one.treatment == WINNER and (why := read.broken(found)):
        return None, why
    return value_of(tuning.objective, found), None
