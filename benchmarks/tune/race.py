"""An engine replayed: what it would have believed after so many full runs, and its worth."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from benchmarks.tune.response import Response
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.two import student
from pyrometer.tune.advise.adviser import Adviser, Observation
from pyrometer.tune.advise.engines import engine
from pyrometer.tune.believe.verdict import Verdict, judge
from pyrometer.tune.space.space import Configuration
from pyrometer.tune.trials.planned import TIMES_BEST

CHECKPOINTS = (5.0, 10.0, 25.0)
MOST_TRIALS = 400


@dataclass
class Course:
    """One replay of an engine.

    Attributes
    ----------
    shares : list of float
        Share of the best-known gain that the incumbent has in truth, by checkpoint.
    spent : float
        Cost in full runs of the baseline.
    trials, failures : int
        How many ran, and came to nothing.
    """

    engine: str
    seed: int
    shares: list[float] = field(default_factory=list)
    spent: float = 0.0
    trials: int = 0
    failures: int = 0
    best: Configuration = field(default_factory=dict)


def replay(
    response: Response,
    name: str,
    seed: int,
    checkpoints: Sequence[float] = CHECKPOINTS,
    earlier: Sequence[Observation] = (),
    kept: list[Observation] | None = None,
) -> Course:
    """Let an engine tune a response until the last checkpoint's cost is spent.

    No engine is told any finding: ``rules`` has best practice alone. Trials are stopped as a tuning
    stops them: at the engine's limit, else at twice the best time at that fidelity.

    Parameters
    ----------
    checkpoints : sequence of float
        Costs in full runs of the baseline.
    earlier : sequence of Observation
        Trials of a similar job, which cost nothing and are told before the first is asked for.
    kept : list of Observation, optional
        What was seen is added: an earlier tuning for another replay.
    """
    adviser = engine(
        name, response.space, seed=seed, budget=checkpoints[-1], fidelities=response.fidelities,
        three=_three(response),
    )  # fmt: skip
    for one in earlier:
        adviser.tell(replace(one, block=-1 - abs(one.block)))
    course = Course(name, seed)
    # The same noise for every engine of a seed.
    rng = np.random.default_rng([seed, zlib.crc32(response.name.encode())])
    unit = _unit(response)
    weather = Weather(getattr(response, "block_noise", 0.0), rng)
    left = list(checkpoints)
    best: dict[str, float] = {}
    while left and course.trials < MOST_TRIALS:
        seen = _trial(response, adviser, weather, rng, best)
        if seen is None:
            break
        while left and course.spent + seen.cost / unit > left[0] + 1e-9:
            course.shares.append(_share(response, adviser))
            left.pop(0)
        if not left:
            break
        course.spent += seen.cost / unit
        course.trials += 1
        course.failures += seen.failed is not None
        adviser.tell(seen)
        if seen.value is not None and not seen.censored:
            best[seen.fidelity] = min(seen.value, best.get(seen.fidelity, seen.value))
        if kept is not None:
            kept.append(seen)
    course.shares += [_share(response, adviser)] * len(left)
    found = adviser.best()
    course.best = dict(found.configuration) if found else {}
    return course


class Weather:
    """What the machine does to all trials for a while: a new effect every few trials.

    Engines with blocks of their own and engines without have the same of it: it changes with the
    block, and within a block that does not end.
    """

    LASTS = 6

    def __init__(self, spread: float, rng: np.random.Generator) -> None:
        self._spread, self._rng = spread, rng
        self._block, self._age, self._effect = -1, 0, 0.0

    def effect(self, block: int) -> float:
        """Give the effect on the next trial."""
        if block != self._block or self._age >= self.LASTS:
            self._block, self._age = block, 0
            self._effect = float(self._rng.normal(0, self._spread))
        self._age += 1
        return self._effect


def _trial(
    response: Response,
    adviser: Adviser,
    weather: Weather,
    rng: np.random.Generator,
    best: Mapping[str, float],
) -> Observation | None:
    asked = adviser.ask()
    if asked is None:
        return None
    effect = weather.effect(asked.block)
    shown = response.show(asked.configuration, asked.fidelity, effect, rng)
    value, cost, censored = shown.value, shown.cost, False
    limit = asked.limit
    if limit is None and asked.configuration and asked.fidelity in best:
        limit = TIMES_BEST * best[asked.fidelity]
    if value is not None and limit is not None and value > limit:
        cost *= limit / value
        value, censored = limit, True
    return Observation(
        dict(asked.configuration), asked.fidelity, asked.block, value, cost, censored, shown.failed
    )


def _share(response: Response, adviser: Adviser) -> float:
    found = adviser.best()
    base = response.truth({})
    truth = response.truth(found.configuration) if found else base
    best = response.best_known()
    if truth is None or base is None or best >= base:
        return 0.0
    return math.log(base / truth) / math.log(base / best)


def _unit(response: Response) -> float:
    quiet = response.show({}, "full", 0.0, np.random.default_rng(0))
    base = response.truth({})
    if base is None or quiet.value is None:
        raise ValueError(f"{response.name}: the baseline fails")
    return quiet.cost / quiet.value * base


def _three(response: Response) -> list[str]:
    """Take Fabric's knobs where the space has them, else its first three."""
    from pyrometer.tune.advise.engines import THREE

    known = [one.factor for one in response.space.knobs]
    return [one for one in THREE if one in known] or known[:3]


def summary(shares: Sequence[float]) -> Estimate:
    """Give the mean over seeds with Student's interval."""
    return student(list(shares))


def confirmation(
    response: Response, best: Configuration, blocks: int, rng: np.random.Generator
) -> Verdict:
    """Run the incumbent against the baseline in fresh blocks, as a tuning ends."""
    pairs: list[tuple[float, float]] = []
    failures = 0
    for _ in range(blocks):
        effect = float(rng.normal(0, getattr(response, "block_noise", 0.0)))
        one, other = (response.show(each, "full", effect, rng) for each in ({}, best))
        if one.value is not None and other.value is not None:
            pairs.append((one.value, other.value))
        failures += other.value is None
    return judge(pairs, failures=failures)
