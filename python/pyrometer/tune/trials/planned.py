"""A trial of a tuning as experiments run trials: a plan with one treatment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from pyrometer.experiments.folder import Ended, Plan, PlannedTreatment, PlannedTrial
from pyrometer.experiments.run.trials import folder_word
from pyrometer.tune.advise.adviser import FULL
from pyrometer.tune.trials.folder import Fidelity, Tuning
from pyrometer.tune.trials.records import Asked

BASELINE = "baseline"
LEAST_TIMEOUT_S = 30.0
"""A trial is not given up before: a launch may take so long."""
TIMES_BEST = 2.0
"""A trial is given up when it takes so many times as long as the best one, unless its engine says
something else."""


def named(configuration: Mapping[str, str]) -> str:
    """Name a configuration: its levels, as an experiment names its treatments.

    Examples
    --------
    >>> named({"jvm.heap": "1g", "jvm.gc": "parallel"}), named({})
    ('jvm.gc=parallel, jvm.heap=1g', 'baseline')
    """
    levels = ", ".join(f"{name}={level}" for name, level in sorted(configuration.items()))
    return levels or BASELINE


def in_brief(configuration: Mapping[str, str], most: int = 3) -> str:
    """Name a configuration in a line: a few levels, without what all settings begin with.

    Examples
    --------
    >>> in_brief({"spark.sql.shuffle.partitions": "8", "jvm.gc": "z"}), in_brief({})
    ('jvm.gc=z, shuffle.partitions=8', 'baseline')
    >>> in_brief({"a": "1", "b": "2", "c": "3", "d": "4", "e": "5"})
    'a=1, b=2, c=3 and 2 more'
    """
    levels = [f"{_brief(name)}={level}" for name, level in sorted(configuration.items())]
    if not levels:
        return BASELINE
    more = len(levels) - most
    shown = levels if more <= 1 else levels[:most]
    return ", ".join(shown) + (f" and {more} more" if more > 1 else "")


def _brief(name: str) -> str:
    return name.removeprefix("spark.").removeprefix("sql.")


def fidelity_of(tuning: Tuning, name: str) -> Fidelity:
    """Give a fidelity by its name; one that is not known is the job itself."""
    whole = Fidelity(name=FULL, scale=tuning.scale, iterations=tuning.iterations)
    return next((one for one in tuning.fidelities if one.name == name), whole)


def plan_of(tuning: Tuning, asked: Asked) -> Plan:
    """Write a trial as the plan of an experiment that has no other."""
    name = named(asked.configuration)
    fidelity = fidelity_of(tuning, asked.fidelity)
    levels = {**tuning.shared, **fidelity.levels, **asked.configuration}
    return Plan(
        name=tuning.name, files=[], workload=tuning.workload, scale=fidelity.scale,
        profile=tuning.profile, iterations=fidelity.iterations,
        warmup=tuning.warmup if fidelity.warmup is None else fidelity.warmup,
        seed=tuning.seed, kind="randomized-blocks", split=[], blocks=1, margin=tuning.margin,
        timeout_s=asked.timeout_s or tuning.timeout_s, canaries=tuning.canaries,
        guard=tuning.guard, baseline=None, left_out=[],
        treatments=[PlannedTreatment(name=name, levels=levels, varied=asked.configuration)],
        trials=[
            PlannedTrial(
                number=asked.trial, block=asked.block, treatment=name,
                folder=f"{asked.trial:04d}-{folder_word(name) if asked.configuration else name}",
            )
        ],
    )  # fmt: skip


def waited_s(ended: Ended) -> float:
    """Say how long the guard waited for a calm machine before an attempt."""
    return ended.before.waited_s if ended.before else 0.0


def worked_s(ended: Ended) -> float | None:
    """Say how long an attempt took, without that; ``None`` where it is not known."""
    return None if ended.duration_s is None else max(0.0, ended.duration_s - waited_s(ended))


def with_more_time(asked: Asked, ended: Ended, most_s: float) -> Asked:
    """Give a trial that is run again the time on top that it waited for executors.

    If nobody knows how long that was, it may have been all of its time.

    Parameters
    ----------
    ended : Ended
        How it ended before.
    most_s : float
        Beyond which no trial goes on.
    """
    if ended.status != "timeout" or asked.timeout_s is None:
        return asked
    waited = (ended.censored_s or 0.0) if ended.waited_s is None else ended.waited_s
    return asked.model_copy(update={"timeout_s": min(asked.timeout_s + waited, most_s)})


@dataclass(frozen=True)
class Length:
    """How long a baseline trial took, and what of it goes with the work.

    Attributes
    ----------
    seconds : float
        Time of an iteration; of a command its whole time.
    work_s : float
        Time of all its iterations, warm-up included.
    beside_s : float
        The rest: launch, reading, tables; of a command its wait for executors.
    """

    seconds: float
    work_s: float
    beside_s: float

    @classmethod
    def of(cls, ended: Ended) -> Length:
        """Read it from the end of a trial that finished."""
        seconds = ended.seconds or 0.0
        work = sum(ended.series_s) or seconds
        length = worked_s(ended)
        whole = work if length is None else length
        beside = max(0.0, whole - work) if ended.series_s else ended.waited_s or 0.0
        return cls(seconds, work, beside)

    def timeout(self, limit_s: float, most_s: float = math.inf) -> tuple[float, float]:
        """Longest time of a trial whose iterations may take `limit_s`, and the limit it stands for.

        Launches are not cut short, so the limit may be longer than the one that was wanted; beyond
        `most_s` no trial goes on, so it may be shorter.

        Examples
        --------
        >>> Length(seconds=10.0, work_s=40.0, beside_s=20.0).timeout(20.0)
        (100.0, 20.0)
        >>> Length(seconds=1.0, work_s=1.0, beside_s=0.0).timeout(2.0)
        (30.0, 30.0)
        >>> Length(seconds=10.0, work_s=40.0, beside_s=20.0).timeout(20.0, 60.0)
        (60.0, 10.0)
        """
        share = self.work_s / self.seconds
        timeout = max(LEAST_TIMEOUT_S, self.beside_s + share * limit_s)
        return min(timeout, most_s), (min(timeout, most_s) - self.beside_s) / share
