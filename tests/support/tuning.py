"""Tunings for tests: a space, an engine that draws at random, and a machine that is simulated."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from pyrometer.experiments.folder import Canaries, Ended, Surroundings
from pyrometer.experiments.run.attempt import Attempt, TrialFacts
from pyrometer.experiments.run.environment import Actions
from pyrometer.experiments.run.guard import Look
from pyrometer.tune.advise.adviser import Incumbent, Observation, Suggestion
from pyrometer.tune.carry import confirm_winner, search
from pyrometer.tune.judge.report import tuning_report
from pyrometer.tune.judge.schema import TuningReport
from pyrometer.tune.space.space import Knob, Space
from pyrometer.tune.trials.budget import parse_budget
from pyrometer.tune.trials.folder import SavedSpace, Tuning, TuningPaths, begin
from pyrometer.tune.trials.measured import Measured, Reserved
from pyrometer.tune.trials.records import Known
from pyrometer.tune.trials.replay import History
from pyrometer.tune.trials.search import TuneActions

PARTITIONS = "spark.sql.shuffle.partitions"
COLLECTOR = "jvm.gc"
SPACE = Space(
    "mine",
    (
        Knob(PARTITIONS, "int", 1, 400, log=True, default="200", breaks="memory of a task"),
        Knob(COLLECTOR, "choice", levels=("g1", "parallel"), default="g1"),
        Knob("jvm.heap", "size", 1 << 29, 1 << 34, log=True),
    ),
)


class Drawn:
    """An engine that draws at random; the best is what has the least value of its trials."""

    def __init__(self, seed: int, stop_after: int | None = None) -> None:
        self._random = random.Random(seed)
        self._asked = 0
        self._stop = stop_after
        self.seen: list[Observation] = []

    def ask(self) -> Suggestion | None:
        self._asked += 1
        if self._stop is not None and self._asked > self._stop:
            return None
        if self._asked == 1:
            return Suggestion({}, why="the job as it is")
        # What it was told moves what it draws, so that a replay must tell the same.
        shift = sum(round((one.value or 0.0) / 1e6) for one in self.seen) % 7
        partitions = str(1 + shift + self._random.randrange(0, 300))
        collector = self._random.choice(["g1", "parallel"])
        return Suggestion({PARTITIONS: partitions, COLLECTOR: collector}, block=1, why="drawn")

    def tell(self, seen: Observation) -> None:
        self.seen.append(seen)

    def best(self) -> Incumbent | None:
        base = [one.value for one in self.seen if not one.configuration and one.value]
        good = [
            one
            for one in self.seen
            if one.value is not None and one.failed is None and not one.censored
        ]
        if not base or not good:
            return None
        least = min(good, key=lambda one: one.value or 0.0)
        change = (least.value or 0.0) / base[0] - 1
        if change >= 0:
            return Incumbent({}, (0.0, 0.0, 0.0), len(base))
        return Incumbent(least.configuration, (change, change - 0.05, change + 0.05), 1)


def tuning(budget: str = "12", **keys: Any) -> Tuning:
    """A tuning of a workload that nothing launches."""
    found = parse_budget(budget)
    whole: dict[str, Any] = {
        "name": "simulated", "workload": "parquet-scan", "scale": "test", "profile": "off",
        "iterations": 1, "warmup": 0, "space": SavedSpace.of(SPACE), "budget": found,
        "reserved": found.reserve(), "seed": 7, "margin": 0.02, "timeout_s": 3600.0,
        "canaries": "trial", "guard": {"policy": "flag"}, "cpus": 4,
    }  # fmt: skip
    return Tuning(**{**whole, **keys})


def seconds_of(levels: Mapping[str, str]) -> float:
    """The time of a job that likes few partitions, and the parallel collector."""
    partitions = int(levels.get(PARTITIONS, "200"))
    return (8.0 + partitions / 100) * (0.9 if levels.get(COLLECTOR) == "parallel" else 1.0)


Behaviour = Callable[[Mapping[str, str], int], Attempt | None]
"""What becomes of a trial, by its levels and how many there were before; ``None``: it finishes."""


class Simulated:
    """A machine on which trials take no time; it counts launches by run directory."""

    def __init__(
        self,
        behaviour: Behaviour = lambda levels, count: None,
        *,
        seconds: Callable[[Mapping[str, str]], float] = seconds_of,
        noise: float = 0.01,
        metrics: Mapping[str, float] | None = None,
        checks: Callable[[str, Path], str | None] = lambda command, run: None,
        memory: tuple[float, float] | None = (8e9, 8e9),
        parts: Callable[[Mapping[str, str]], Mapping[str, float]] | None = None,
        known: Callable[[], Known] | None = None,
    ) -> None:
        self.launched: list[str] = []
        self._behaviour, self._seconds, self._noise = behaviour, seconds, noise
        self._metrics, self._checks, self._memory = metrics or {}, checks, memory
        self._times, self._before = parts, known
        self.levels: dict[str, dict[str, str]] = {}

    def actions(self) -> TuneActions:
        idle = Look(0.0, [0] * 10, 0, 0.0, {})
        trials = Actions(
            run_trial=self._run,
            hold_switches=lambda levels: nullcontext([]),
            measure_canaries=lambda: Canaries(alu_ns=1e6),
            wait_for_calm=lambda limits, say: Surroundings(),
            read_counters=lambda: idle,
            judge_others=lambda first, limits, swap: Surroundings(),
        )
        return TuneActions(
            trials=trials,
            measure=self._measure,
            check=self._checks,
            available=lambda: self._memory,
            honour=lambda treatments, workload, folder: treatments,
            length=lambda run_dir, ended: 2 + (ended.seconds or 0.0),
            parts=self._parts,
            known=self._known,
        )

    def _run(self, trial: Any, watch: object) -> Attempt:
        levels = {name: str(level) for name, level in trial.treatment.items()}
        levels |= {"scale": trial.scale} if trial.scale != "test" else {}
        self.levels[trial.run_dir.name] = levels
        count = len(self.launched)
        self.launched.append(trial.run_dir.name)
        special = self._behaviour(levels, count)
        if special is not None:
            return special
        # Noise by the number of the trial: another attempt at it takes as long.
        place = trial.run_dir.parent.parent.name
        key = f"{place if place.startswith('confirmation') else ''} {trial.run_dir.name[:4]}"
        shift = random.Random(key).gauss(0.0, self._noise)
        seconds = self._seconds(levels) * (1 + shift)
        if trial.timeout_s is not None and seconds > trial.timeout_s:
            return Attempt("timeout", censored_s=trial.timeout_s, reason="time is up")
        facts = TrialFacts((seconds,), seconds, 10, "aa", "plan", series_s=(seconds,))
        return Attempt("finished", seconds=seconds, facts=facts)

    def _parts(self, run_dir: Path) -> Mapping[str, float]:
        return self._times(self.levels[run_dir.name]) if self._times else {}

    def _known(self, root: Path, run_dir: Path, tuning: Tuning) -> Known:
        return self._before() if self._before else Known(reason="simulated", wall_ns=0)

    def _measure(self, run_dir: Path, ended: Ended, reserved: Reserved, prices: Any) -> Measured:
        return Measured({"elapsed": ended.seconds or 0.0, **self._metrics})


class Listed(Drawn):
    """Asks for what it is given, after the baseline."""

    def __init__(self, configurations: Sequence[Any]) -> None:
        super().__init__(0)
        wanted = [one if isinstance(one, Suggestion) else Suggestion(one) for one in configurations]
        self._wanted = [Suggestion({}), *wanted]

    def ask(self) -> Suggestion | None:
        return self._wanted.pop(0) if self._wanted else None


def begun(root: Path, budget: str = "12", **keys: Any) -> Path:
    """Begin a tuning there."""
    begin(root, tuning(budget, **keys))
    return root


def searched(root: Path, machine: Simulated, engine: Callable[[int], Any] = Drawn) -> History:
    """Search what was begun."""
    return search(root, lambda one: engine(one.seed), actions=machine.actions())


def tuned(root: Path, budget: str = "20", **machine: Any) -> Path:
    """Tune a job and confirm the winner."""
    begin(root, tuning(budget))
    made = Simulated(**machine)
    search(root, lambda one: Drawn(one.seed), actions=made.actions())
    confirm_winner(root, actions=made.actions())
    return root


def lines(root: Path) -> list[dict[str, Any]]:
    """Read the records of a journal."""
    return [json.loads(line) for line in TuningPaths(root).journal.read_bytes().splitlines()]


def report_of(root: Path, machine: Simulated) -> TuningReport:
    """Judge a tuning."""
    return tuning_report(root, causes=False, measure=machine.actions().measure)
