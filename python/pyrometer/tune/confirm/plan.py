"""The experiment of winner against baseline: how many blocks the budget has, and its plan. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.experiments.folder import Plan, PlannedTreatment, PlannedTrial
from pyrometer.experiments.plan.design import schedule
from pyrometer.tune.believe.verdict import FEWEST
from pyrometer.tune.trials.folder import Tuning
from pyrometer.tune.trials.planned import BASELINE, named

WINNER = "winner"
MOST_BLOCKS = 15
"""Blocks beyond which a confirmation is not drawn out: at a noise of 3 % they tell 3 % apart."""
MORE_DATA = 1.2
"""Size of the other scale over that of the tuning."""
ELSEWHERE = 1 / 3
"""Part of the confirmation's budget that may go to another scale, if that is enough for it."""


@dataclass(frozen=True)
class Share:
    """Blocks of the confirmation, and of the one at another scale."""

    blocks: int
    elsewhere: int = 0


def shares(left_runs: float, *, scales: bool, more: float = MORE_DATA) -> Share:
    """Divide what is left of a budget between the confirmation and one at another scale.

    Parameters
    ----------
    left_runs : float
        Full runs that are left.
    scales : bool
        Whether the job has another scale.
    more : float
        Cost of a run there over one here.

    Examples
    --------
    >>> shares(8.0, scales=True), shares(3.9, scales=False), shares(30.0, scales=True)
    (Share(blocks=4, elsewhere=0), Share(blocks=1, elsewhere=0), Share(blocks=10, elsewhere=4))
    """
    elsewhere = int(ELSEWHERE * left_runs / (2 * more)) if scales else 0
    if elsewhere < FEWEST:
        elsewhere = 0
    blocks = int((left_runs - elsewhere * 2 * more) / 2)
    return Share(min(blocks, MOST_BLOCKS), min(elsewhere, MOST_BLOCKS))


def plan_of(
    tuning: Tuning, configuration: dict[str, str], blocks: int, round_: int, scale: str
) -> Plan:
    """Plan fresh blocks of the baseline and the winner, in random order.

    Parameters
    ----------
    round_ : int
        How many such experiments there were before: each has an order of its own.
    """
    levels = {BASELINE: dict(tuning.shared), WINNER: {**tuning.shared, **configuration}}
    varied: dict[str, dict[str, str]] = {BASELINE: {}, WINNER: dict(configuration)}
    seed = (tuning.seed + 1 + round_) % (1 << 64)
    return Plan(
        name=f"{tuning.name}-confirmation", files=[], workload=tuning.workload, scale=scale,
        description=f"The job as it is, and with {named(configuration)}", profile=tuning.profile,
        iterations=tuning.iterations, warmup=tuning.warmup, seed=seed, kind="randomized-blocks",
        split=[], blocks=blocks, margin=tuning.margin, timeout_s=tuning.timeout_s,
        canaries=tuning.canaries, guard=tuning.guard, baseline=BASELINE, left_out=[],
        treatments=[
            PlannedTreatment(name=name, levels=levels[name], varied=varied[name])
            for name in (BASELINE, WINNER)
        ],
        trials=[
            PlannedTrial(
                number=one.number, block=one.block, treatment=one.treatment,
                folder=f"{one.number:04d}-{one.treatment}",
            )
            for one in schedule(levels, blocks, seed)
        ],
        machine=tuning.machine, workload_sha256=tuning.workload_sha256,
        pyrometer_version=tuning.pyrometer_version,
    )  # fmt: skip


def other_scale(size: int, more: float = MORE_DATA) -> str:
    """Name a scale with a fifth more data.

    Examples
    --------
    >>> other_scale(1000), other_scale(2)
    ('1200', '3')
    """
    return str(max(size + 1, round(more * size)))
