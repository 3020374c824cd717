"""Optuna's tree-structured Parzen estimator (Bergstra et al. 2011; Watanabe 2023)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from pyrometer.core.errors import CapabilityError
from pyrometer.core.installation import pip
from pyrometer.tune.advise.adviser import Observation
from pyrometer.tune.advise.simple import Simple
from pyrometer.tune.space.cube import choices, decode, encode
from pyrometer.tune.space.feasible import infeasible
from pyrometer.tune.space.space import Configuration, Space

TRIES = 20


class Tpe(Simple):
    """Optuna asked for one configuration at a time, with all that was told added as its trials.

    It knows neither noise nor blocks; of a trial that was stopped it learns the limit as a value,
    of one that failed that it failed. A new sampler for every question makes it deterministic for
    the seed and what was told.
    """

    def __init__(self, space: Space, *, seed: int = 0) -> None:
        """Make one.

        Raises
        ------
        CapabilityError
            If Optuna is not installed.
        """
        super().__init__(space)
        self._seed = seed
        self._optuna = _optuna()
        self._kinds = {one.factor: self._distribution(at) for at, one in enumerate(space.knobs)}

    def propose(self) -> tuple[Mapping[str, str], str] | None:
        """Ask Optuna; what may not be launched is told as failed, and it is asked again."""
        optuna = self._optuna
        study = optuna.create_study(direction="minimize")
        study.add_trials([self._trial(one) for one in self.history.seen if self._known(one)])
        for attempt in range(TRIES):
            study.sampler = optuna.samplers.TPESampler(
                seed=_seed(self._seed, len(self.history.seen), attempt)
            )
            trial = study.ask(self._kinds)
            found = decode(self.space, self._point(trial.params))
            if infeasible(self.space, found) is None:
                return found, "Parzen estimator"
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return None

    def _distribution(self, at: int) -> Any:
        knob = self.space.knobs[at]
        if knob.kind == "choice":
            return self._optuna.distributions.CategoricalDistribution(range(len(choices(knob))))
        return self._optuna.distributions.FloatDistribution(0.0, 1.0)

    def _point(self, parameters: Mapping[str, Any]) -> list[float]:
        return [
            (parameters[one.factor] + 0.5) / len(choices(one))
            if one.kind == "choice"
            else float(parameters[one.factor])
            for one in self.space.knobs
        ]

    def _parameters(self, configuration: Configuration) -> dict[str, Any]:
        return {
            one.factor: int(place * len(choices(one))) if one.kind == "choice" else float(place)
            for one, place in zip(self.space.knobs, encode(self.space, configuration), strict=True)
        }

    def _trial(self, seen: Observation) -> Any:
        states = self._optuna.trial.TrialState
        failed = seen.failed is not None or seen.value is None or seen.value <= 0
        return self._optuna.trial.create_trial(
            state=states.FAIL if failed else states.COMPLETE,
            params=self._parameters(seen.configuration),
            distributions=self._kinds,
            values=None if failed or seen.value is None else [math.log(seen.value)],
        )

    def _known(self, seen: Observation) -> bool:
        return not seen.void and seen.configuration.keys() <= self._kinds.keys()


def _seed(seed: int, told: int, attempt: int) -> int:
    return (seed * 1_000_003 + told * 1009 + attempt) % (1 << 32)


def _optuna() -> ModuleType:
    try:
        import optuna
    except ImportError as error:
        raise CapabilityError(
            "the engine tpe is Optuna's, which is not installed", f"{pip()} install optuna"
        ) from error
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found: ModuleType = optuna
    return found
