"""Which earlier tunings warm a start: those of jobs that are alike, with what differs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyrometer.core import units
from pyrometer.tune.advise.history import fits, fitting
from pyrometer.tune.memory.remembered import Remembered, RememberedTrial
from pyrometer.tune.portrait import Portrait, distance
from pyrometer.tune.space.space import Space
from pyrometer.tune.trials.folder import Earlier, Prior, Tuning
from pyrometer.tune.trials.records import Similar

NEAR = 0.25
"""Distance up to which jobs are taken for alike."""
MOST = 3
"""Tunings that a start is warmed with."""
FEWEST = 4
"""Trials of fewer say nothing of a space."""
REFUTED = frozenset({"slower", "no difference", "failed"})
"""Verdicts on winners that are not suggested again; their trials are known all the same."""
OTHER_SIZE = 2.0
"""Ratio of inputs from which on data are said to differ."""


@dataclass(frozen=True)
class Recalled:
    """What earlier tunings say."""

    similar: tuple[Similar, ...] = ()
    priors: tuple[Prior, ...] = ()
    earlier: tuple[Earlier, ...] = ()


def recalled(
    mine: Portrait, tuning: Tuning, space: Space, tunings: Sequence[Remembered]
) -> Recalled:
    """Choose the nearest tunings that say something of this space.

    Parameters
    ----------
    tunings : sequence of Remembered
        Each counts once, by its id: as what has most of its trials, and a verdict.
    """
    near = []
    whole = sorted(tunings, key=lambda each: (len(each.trials), each.verdict is not None))
    for one in {each.id: each for each in whole}.values():
        trials = _usable(one, space)
        apart = distance(mine, one.portrait)
        if one.objective != tuning.objective or apart is None or apart > NEAR:
            continue
        if len(trials) >= FEWEST and any(each.configuration for each in trials):
            near.append((apart, one.id, one, trials))
    similar, priors, earlier = [], [], []
    for apart, _, one, trials in sorted(near, key=lambda each: each[:2])[:MOST]:
        similar.append(
            Similar(
                of=one.folder, job=one.job, distance=round(apart, 4), trials=len(trials),
                differs=_differences(mine, tuning, one),
            )
        )  # fmt: skip
        if one.verdict not in REFUTED and (winner := fitting(space, one.winner)):
            priors.append(Prior(source=f"winner of {one.folder}", levels=winner))
        earlier += [
            Earlier(
                source=f"a trial of {one.folder}", of=one.id, configuration=each.configuration,
                value=each.value, cost=0.0,
            )
            for each in trials
        ]  # fmt: skip
    return Recalled(tuple(similar), tuple(priors), tuple(earlier))


def _usable(one: Remembered, space: Space) -> list[RememberedTrial]:
    """Give trials whose factors this space has, all of them: others are of another job to it."""
    return [each for each in one.trials if fits(space, each.configuration)]


def _differences(mine: Portrait, tuning: Tuning, one: Remembered) -> list[str]:
    """Say what is known to differ, for whoever wonders whether it holds here."""
    found = []
    job = " ".join(tuning.command) or tuning.name
    if one.job != job:
        found.append("the job")
    if _words(one.machine) != _words(tuning.machine):
        found.append(f"the machine ({_words(one.machine) or 'not known'})")
    here, there = (each.sizes.get("input_bytes") for each in (mine, one.portrait))
    if here and there and max(here, there) / min(here, there) >= OTHER_SIZE:
        found.append(f"the data ({units.size(there)} read, {units.size(here)} here)")
    if one.shared != tuning.shared:
        found.append("the levels of all trials")
    return found


def _words(machine: Mapping[str, str | int | None]) -> str:
    cpus = machine.get("cpus_count")
    parts = [machine.get("cpu_model"), f"{cpus} CPUs" if cpus else None]
    return ", ".join(str(one) for one in parts if one)
