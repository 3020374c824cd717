"""Invented jobs of known truth: a sum of effects, an optimum inside, a cliff, pairs, and nothing.

None of them is fitted to a measurement; engines were developed on them, and not on tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from benchmarks.tune.response import Shown
from pyrometer.tune.advise.adviser import FULL
from pyrometer.tune.space.cube import draw, encode
from pyrometer.tune.space.space import Configuration, Knob, Space

BASE = 60e9
SEARCH = 4000
"""Draws by which the best of a surface is looked for, before single coordinates improve it."""

Effect = Callable[[Mapping[str, float]], float | None]


@dataclass(frozen=True)
class Surface:
    """A job whose log time is a function of its knobs' places.

    Attributes
    ----------
    effect : callable
        Of places by knob to what is added to the log time of the baseline; ``None``: it fails.
    noise, block_noise : float
        Deviations of logarithms: of a trial, and of a block.
    outliers : float
        Share of trials that take up to half as long again.
    correlation : float
        How well the cheap fidelity follows, 1: exactly.
    """

    name: str
    space: Space
    effect: Effect
    noise: float = 0.03
    block_noise: float = 0.03
    outliers: float = 0.02
    correlation: float = 0.9
    fidelities: Mapping[str, float] = field(default_factory=dict)

    def truth(self, configuration: Configuration) -> float | None:
        """Give the time without noise."""
        places, start = (
            dict(zip(self._names, encode(self.space, one), strict=True))
            for one in (configuration, {})
        )
        effect, base = self.effect(places), self.effect(start)
        return None if effect is None or base is None else BASE * math.exp(effect - base)

    def best_known(self) -> float:
        """Give the lowest time that a long search finds."""
        return self._best

    def show(
        self, configuration: Configuration, fidelity: str, block: float, rng: np.random.Generator
    ) -> Shown:
        """Run a trial."""
        share = 1.0 if fidelity == FULL else self.fidelities[fidelity]
        truth = self.truth(configuration)
        noise = block + rng.normal(0, self.noise)
        if rng.random() < self.outliers:
            noise += rng.uniform(0, math.log(1.5))
        if truth is None:
            return Shown(None, share * BASE, "out of memory")
        if fidelity != FULL:
            # What a stand-in gets wrong is the same in every trial of a configuration.
            own = np.random.default_rng(abs(hash_of(configuration)))
            wrong = math.sqrt(1 - self.correlation**2)
            truth = BASE * math.exp(
                self.correlation * math.log(truth / BASE) + wrong * own.normal(0, 0.1)
            )
        value = share * truth * math.exp(noise)
        return Shown(value, value)

    @property
    def _names(self) -> list[str]:
        return [one.factor for one in self.space.knobs]

    @cached_property
    def _best(self) -> float:
        rng = np.random.default_rng(0)
        drawn = [encode(self.space, draw(self.space, rng)) for _ in range(SEARCH)]
        lowest = min(drawn, key=self._at)
        for _ in range(3):
            for at in range(len(lowest)):
                for place in np.linspace(0.01, 0.99, 50):
                    tried = lowest.copy()
                    tried[at] = place
                    lowest = min(lowest, tried, key=self._at)
        return BASE * math.exp(self._at(lowest) - self._at(encode(self.space, {})))

    def _at(self, point: np.ndarray) -> float:
        found = self.effect(dict(zip(self._names, point, strict=True)))
        return math.inf if found is None else found


def hash_of(configuration: Configuration) -> int:
    """Give a number of a configuration that is the same in every process."""
    text = " ".join(f"{name}={configuration[name]}" for name in sorted(configuration))
    return int.from_bytes(text.encode()[-8:] or b"0", "big") + sum(map(ord, text)) * 7919


def space(numbers: int, choices: int = 0, default: str = "10") -> Space:
    """Invent a space: knobs from 1 to 1000 and choices of three levels."""
    knobs = [
        Knob(
            f"spark.number.{at}", "int", 1, 1000, log=True, default=default,
            first=("100",) if at % 3 == 0 else (),
        )
        for at in range(numbers)
    ]  # fmt: skip
    knobs += [
        Knob(f"spark.choice.{at}", "choice", levels=("a", "b", "c"), default="a")
        for at in range(choices)
    ]
    return Space("invented", tuple(knobs), facts={"mem_total": float(16 << 30), "cpus": 4.0})


def _number(places: Mapping[str, float], at: int) -> float:
    return places[f"spark.number.{at}"]


def _choice(places: Mapping[str, float], at: int) -> int:
    return min(int(places[f"spark.choice.{at}"] * 3), 2)


def _sparse(places: Mapping[str, float]) -> float:
    """Three of twelve matter: one rises, one has its best inside, one is a choice."""
    return (
        -0.3 * _number(places, 1)
        + 1.2 * (_number(places, 4) - 0.75) ** 2
        - 0.12 * (_choice(places, 0) == 1)
    )


def _paired(places: Mapping[str, float]) -> float:
    """Two knobs that are good only together, and one of small effect."""
    first, second = _number(places, 0), _number(places, 5)
    return -0.6 * first * second + 0.15 * first + 0.15 * second - 0.08 * (_choice(places, 1) == 2)


def _cliff(places: Mapping[str, float]) -> float | None:
    """Go further, and it is better, until it fails."""
    reach = _number(places, 2)
    if reach + 0.3 * _number(places, 3) > 0.95:
        return None
    return -0.5 * reach + 0.2 * abs(_number(places, 3) - 0.4)


def _many(places: Mapping[str, float]) -> float:
    """Everything matters a little."""
    return sum(
        0.25 / (1 + at) * (_number(places, at) - (0.2 + 0.6 * (at % 2))) ** 2 * 4
        for at in range(10)
    )


def _null(places: Mapping[str, float]) -> float:
    """Nothing does anything."""
    del places
    return 0.0


CHEAP = {"part": 0.15}


def surfaces() -> dict[str, Surface]:
    """Every invented job by its name."""
    wide = space(10, 2)
    found = [
        Surface("sparse", wide, _sparse),
        Surface("paired", wide, _paired),
        Surface("cliff", wide, _cliff),
        Surface("many", wide, _many),
        Surface("sparse-cheap", wide, _sparse, fidelities=CHEAP),
        Surface("null", wide, _null),
    ]
    return {one.name: one for one in found}
