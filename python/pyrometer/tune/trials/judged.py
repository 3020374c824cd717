"""What is told of a trial that has ended: its value, its cost, and why it may count for nothing."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyrometer.collect.launch.launch import factors_of_workload
from pyrometer.experiments.folder import Ended, ExperimentPaths
from pyrometer.experiments.history.stored_runs import length_of
from pyrometer.simulation.analysis import Prices
from pyrometer.store.manifest import read_manifest
from pyrometer.trial.factors import parse_treatment
from pyrometer.trial.layout import resolve_layout
from pyrometer.tune.advise.adviser import FULL
from pyrometer.tune.space.memory import ELSEWHERE, memory_of
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.measured import (
    NS,
    OF_OBJECTIVE,
    Measured,
    Reserved,
    broken,
    conditions_of,
    value_of,
)
from pyrometer.tune.trials.planned import waited_s, worked_s
from pyrometer.tune.trials.records import Asked, Told
from pyrometer.tune.trials.replay import History, Step
from pyrometer.tune.trials.results import Agreed, agreed, another, result_of
from pyrometer.tune.trials.unapplied import not_held, unapplied

Measure = Callable[[Path, Ended, Reserved, Prices | None], Measured]
"""Reads the metrics of a run: :func:`pyrometer.tune.trials.measured.measured`, or a simulation."""

Lasted = Callable[[Path, Ended], float | None]
"""Gives how long a run took, without making its data, in s: :func:`lasted`, or a simulation."""

Check = Callable[[str, Path], str | None]
"""The user's own check of a run: why its result is wrong, or ``None``."""

WRONG = "wrong result: "
"""Begins what the user's own check says of a trial."""
LAST_RESULTS = 2
"""Last results of a recurring job as it is that have to agree for others to be compared with them.
"""

_REACHED = frozenset({"elapsed", "p95"})
"""Objectives of which a trial that ran out of time says how much they are at least."""


@dataclass
class Judge:
    """Judges trials of a tuning.

    Parameters
    ----------
    root : Path
        Folder of the tuning.
    measure, check, length : callable
        As :class:`~pyrometer.tune.trials.search.TuneActions` has them.
    """

    root: Path
    tuning: Tuning
    measure: Measure
    check: Check
    length: Lasted | None = None

    def __post_init__(self) -> None:
        self._conditions = conditions_of(self.tuning.conditions)
        prices = self.tuning.prices
        self._prices = None if prices is None else Prices.model_validate(prices)

    def judged(self, step: Step, history: History) -> Told:
        """Say what a trial showed whose last attempt has ended."""
        ended, asked = step.ended, step.asked
        assert ended is not None
        run_dir = ExperimentPaths(self.root).trials / ended.folder
        told = Told(
            trial=asked.trial,
            value=None,
            cost=self._cost(step, run_dir),
            canary=_canary(ended, history),
            seconds=ended.seconds,
            length_s=(self.length or lasted)(run_dir, ended),
            waited_s=sum(map(waited_s, step.attempts)),
            wall_ns=time.time_ns(),
        )
        if asked.fidelity != FULL and told.length_s is not None and (full := history.length_s()):
            told.runs = told.length_s / full
        if ended.status == "timeout":
            self._given_up(told, step, history)
        elif ended.status != "finished":
            told.failed = how_it_ended(ended)
            told.void = ended.outside is not None
        else:
            found = self.metrics(ended, asked.configuration)
            told.metrics, told.missing = found.metrics, found.missing
            # The user's check knows the results of the job itself, not those of a stand-in.
            told.failed = self._unchecked(run_dir) if asked.fidelity == FULL else None
            right = self._agreed(step, history)
            told.result = result_of(right, ended)
            if told.failed is None and asked.configuration:
                told.failed = another(right, ended)
                told.differs = told.failed is not None
                # One run of the job as it is does not show whether its checksum repeats.
                sure = asked.fidelity != FULL or another(right.surely(), ended) is not None
                told.void = told.differs and not sure
            if told.failed is None and asked.configuration:
                told.failed = not_held(ended, asked.configuration)
                if told.failed is not None:
                    told.unapplied = unapplied(ended, asked.configuration)
            if told.failed is None and asked.configuration:
                told.failed = self.broken(found)
                told.unseen = told.failed is not None and self.lacks(found)
            value = value_of(self.tuning.objective, found)
            if value is None and told.failed is None:
                why = found.missing.get(OF_OBJECTIVE[self.tuning.objective], "not measured")
                told.failed = f"its {self.tuning.objective} is not known: {why}"
                told.unseen = True
            told.value = value if told.failed is None else None
        return told

    def _given_up(self, told: Told, step: Step, history: History) -> None:
        """Say how much a trial is at least that ran out of time; or why nothing is known of it."""
        ended, asked = step.ended, step.asked
        assert ended is not None
        # Time is up for all iterations together: of one of them nothing is known.
        reached = asked.limit_s or (ended.censored_s if self.tuning.once else None)
        why = queued(asked, ended, history)
        if why is None and reached is not None and self.tuning.objective in _REACHED:
            told.value, told.censored = reached * NS, True
            return
        told.failed = f"given up after {ended.censored_s or 0.0:.0f} s"
        if why is not None:
            told.failed = f"{told.failed}: {why}"
            told.void = told.queued = True

    def metrics(
        self, ended: Ended, configuration: Mapping[str, str], root: Path | None = None
    ) -> Measured:
        """Read the metrics of a trial that finished.

        Parameters
        ----------
        root : Path, optional
            Folder of its experiment; by default that of the tuning.
        """
        run_dir = ExperimentPaths(root or self.root).trials / ended.folder
        return self.measure(run_dir, ended, self._reserved(configuration), self._prices)

    def lacks(self, found: Measured) -> bool:
        """Whether a trial does not show what a condition is of."""
        return any(one.names - found.metrics.keys() for one in self._conditions)

    def broken(self, found: Measured) -> str | None:
        """Say which condition of the user a trial does not fulfil."""
        return broken(self._conditions, found)

    def _reserved(self, configuration: Mapping[str, str]) -> Reserved:
        """Say what a configuration reserves: its task slots, else all CPUs, and memory."""
        levels = {**self.tuning.shared, **configuration}
        declared = factors_of_workload(self.tuning.workload)
        parsed = parse_treatment([f"{name}={level}" for name, level in levels.items()], declared)
        facts = self.tuning.space.facts or {}
        memory = memory_of(levels, facts)
        if ELSEWHERE in facts:
            return Reserved(self.tuning.cpus, memory.each, elsewhere=True)
        return Reserved(resolve_layout(parsed).tasks or self.tuning.cpus, memory.total)

    def _unchecked(self, run_dir: Path) -> str | None:
        """Say why the user's check does not let a result pass."""
        why = None if self.tuning.check is None else self.check(self.tuning.check, run_dir)
        return None if why is None else f"{WRONG}{why}"

    def _agreed(self, step: Step, history: History) -> Agreed:
        """Say what the job as it is has shown of its result; nothing where a check judges it."""
        if self.tuning.check is not None:
            return Agreed()
        known = [
            one.ended
            for one in history.steps
            if one.ended is not None
            and one.counts
            and not one.asked.configuration
            and one.asked.fidelity == step.asked.fidelity
        ]
        # From night to night data may change, and stay as they are again.
        return agreed(known if self.tuning.online is None else known[-LAST_RESULTS:])

    def _cost(self, step: Step, run_dir: Path) -> float:
        """Core time of all attempts at a trial: its length times the CPUs that it occupied."""
        lengths = [length for one in step.attempts if (length := worked_s(one)) is not None]
        if len(lengths) < len(step.attempts) and (run_dir / "manifest.json").is_file():
            # One that was adopted after a kill.
            lengths.append(length_of(read_manifest(run_dir)) or 0.0)
        return sum(lengths) * self.tuning.cpus * NS


def queued(asked: Asked, ended: Ended, history: History) -> str | None:
    """Say why a trial that was stopped at its limit may owe that to a queue alone.

    A limit allows for the time that the job as it is waited for executors, and in a trial that is
    run again for the time that it waited before. Whatever waits longer has less time for its work,
    which says nothing of its configuration.
    """
    if ended.status != "timeout" or asked.limit_s is None or asked.timeout_s is None:
        return None
    if not any(one.ended.waited_s for one in history.baselines if one.ended is not None):
        return None
    if ended.waited_s is None:
        return "how long it waited for executors is not known"
    waits = [
        one.ended.waited_s or 0.0
        for one in history.steps
        if one.ended is not None
        and one.counts
        and not one.asked.configuration
        and one.asked.fidelity == asked.fidelity
    ]
    had_s = asked.timeout_s if ended.censored_s is None else ended.censored_s
    # Where iterations are several, what is beside one's limit is mostly the others' work.
    allowed_s = min(had_s - asked.limit_s, max(waits, default=0.0) + had_s - asked.timeout_s)
    if ended.waited_s <= allowed_s:
        return None
    return f"it waited {ended.waited_s:.0f} s for executors, longer than its limit allows for"


def how_it_ended(ended: Ended) -> str:
    """Say how a trial ended that did not finish, why, and what ended it from outside."""
    said = f"{ended.status.replace('_', ' ')}: {ended.reason or 'no reason is known'}"
    return said if ended.outside in (None, ended.reason) else f"{said} ({ended.outside})"


def lasted(run_dir: Path, ended: Ended) -> float | None:
    """Give how long a run took from launch to tables, without making its data, in s."""
    if (run_dir / "manifest.json").is_file():
        return length_of(read_manifest(run_dir))
    return worked_s(ended)


def _canary(ended: Ended, history: History) -> float | None:
    """Time of the canary over its median so far."""
    now = ended.canaries.alu_ns if ended.canaries else None
    if not now:
        return None
    seen = [
        one.ended.canaries.alu_ns
        for one in history.steps
        if one.ended is not None and one.ended.canaries and one.ended.canaries.alu_ns
    ]
    return now / statistics.median(seen or [now])
