"""The report of a co-run, from the trials of its experiment.

A party as a whole: throughput and fairness, from slow-downs by block.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TypeVar

from pyrometer.core.errors import PyrometerError, UsageError
from pyrometer.core.estimate import LEVEL, Estimate
from pyrometer.core.schema import doubt
from pyrometer.corun.contention import Spent, advice, contention, spent
from pyrometer.corun.schema import Advice, CorunReport, Encounter, PartyReport, Way
from pyrometer.experiments.folder import Company, Ended, ExperimentPaths, Plan
from pyrometer.experiments.journal import Entries
from pyrometer.experiments.judge.analysis import experiment_report
from pyrometer.experiments.judge.machines import IN_TURN
from pyrometer.experiments.judge.schema import ExperimentReport
from pyrometer.statistics.power import ALPHA
from pyrometer.statistics.treatments import PairReport
from pyrometer.statistics.two import geometric_mean_of
from pyrometer.store import Run


def party_report(slowdowns: Mapping[str, Sequence[float]], own_cpus: bool) -> PartyReport:
    """Compute throughput and fairness of a party.

    Parameters
    ----------
    slowdowns : mapping of str to sequence of float
        Time together over time alone, of each member by block; the same blocks for all.

    Examples
    --------
    >>> found = party_report({"a": [2.0, 2.0], "b": [1.25, 1.25]}, False)
    >>> [round(one.value, 3) for one in (found.weighted_speedup, found.fairness)]
    [1.3, 0.625]
    """
    blocks = list(zip(*slowdowns.values(), strict=True))
    return PartyReport(
        members=list(slowdowns),
        own_cpus=own_cpus,
        weighted_speedup=geometric_mean_of([sum(1 / one for one in block) for block in blocks]),
        harmonic_speedup=geometric_mean_of([len(block) / sum(block) for block in blocks]),
        fairness=fairness(list(slowdowns.values())),
    )


def fairness(slowdowns: Sequence[Sequence[float]]) -> Estimate:
    """Smallest over largest slowdown, of the geometric means over blocks.

    The ratio of the extremes within a block would never be 1, however fair: noise alone makes one
    the smaller. So every two are compared, and the interval of the logarithm of their ratio is
    folded at 0; with more than two, intervals hold for all (Bonferroni), and the least fair two
    decide.

    Examples
    --------
    >>> found = fairness([[1.0, 1.1, 0.9], [1.1, 1.0, 0.95]])
    >>> found.high, found.low < found.value < 1
    (1.0, True)
    """
    pairs = list(combinations(slowdowns, 2))
    level = 1 - ALPHA / len(pairs)
    ratios = [
        geometric_mean_of([x / y for x, y in zip(a, b, strict=True)], level) for a, b in pairs
    ]
    ends = [_folded(one) for one in ratios]
    low, high = ([one[at] for one in ends] for at in (0, 1))
    known = all(one is not None for one in low)
    return Estimate(
        value=min(math.exp(-abs(math.log(one.value or 1.0))) for one in ratios),
        low=min(one for one in low if one is not None) if known else None,
        high=min(one for one in high if one is not None) if known else None,
        level=LEVEL,
        n=ratios[0].n,
        method="t of log ratios, folded",
    )


def _folded(ratio: Estimate) -> tuple[float | None, float | None]:
    """Fold an interval of a ratio: which of two is the smaller does not matter."""
    if ratio.low is None or ratio.high is None:
        return None, None
    ends = abs(math.log(ratio.low)), abs(math.log(ratio.high))
    near = 0.0 if ratio.low <= 1 <= ratio.high else min(ends)
    return math.exp(-max(ends)), math.exp(-near)


Value = TypeVar("Value")
ByBlock = Mapping[str, Mapping[int, Value]]
"""By treatment and block."""

Members = tuple[str, ...]


def corun_report(
    root: Path,
    plan: Plan,
    entries: Entries,
    *,
    reading: Callable[[int, int], None] = lambda done, of: None,
    read: Callable[[Ended], Spent] | None = None,
) -> CorunReport:
    """Report on a co-run, finished or not.

    Parameters
    ----------
    reading : callable
        Called with the number of trials that have been read, and of all.
    read : callable, optional
        Gives what a trial spent, in place of reading its run.

    Raises
    ------
    UsageError
        If it is an experiment of another kind.
    """
    companies = {one.name: one.company for one in plan.treatments if one.company}
    if plan.kind != "corun" or not companies:
        raise UsageError(
            f"{plan.name} has one workload, so nothing ran together",
            "pyrometer experiment show DIR",
        )
    found = [entries.ended[one.number] for one in plan.trials if one.number in entries.ended]
    ended = [one for one in found if one.status == "finished" and one.seconds is not None]
    seconds: dict[str, dict[int, float]] = {name: {} for name in companies}
    lost: dict[str, dict[int, Spent]] = {name: {} for name in companies}
    for at, one in enumerate(ended):
        reading(at, len(ended))
        seconds[one.treatment][one.block] = one.seconds or 0.0
        lost[one.treatment][one.block] = read(one) if read else _spent(root, one)
    members = list(dict.fromkeys(one.member for one in companies.values()))
    judged = {member: experiment_report(_of_member(plan, member), entries) for member in members}
    doubts = [
        one.model_copy(update={"message": f"{member}: {one.message}"})
        for member, its in judged.items()
        for one in its.doubts
    ]
    advised = _advice(companies, seconds, plan.margin)
    if any(one.code == "emulated" for its in judged.values() for one in its.doubts):
        untimed = {"pairs": [], "best": [], "told": f"no way is advised: {IN_TURN}"}
        advised = [one.model_copy(update=untimed) for one in advised]
        doubts.append(doubt("emulated_in_turn", f"slowdowns, throughput, contention: {IN_TURN}"))
    return CorunReport(
        experiment=plan.name, folder=str(root), scale=plan.scale, members=members,
        trials_count=len(plan.trials), done_count=len(ended),
        encounters=[one for its in judged.values() for one in _encounters(companies, its, lost)],
        parties=_parties(companies, seconds),
        advice=advised,
        reasons={member: its.reason for member, its in judged.items() if its.reason},
        left_out=plan.left_out, doubts=doubts,
    )  # fmt: skip


def _spent(root: Path, one: Ended) -> Spent:
    # Times come from the journal: where a run cannot be read, only its losses are missing.
    try:
        with Run.open(ExperimentPaths(root).trials / one.folder) as run:
            return spent(run, one.seconds or 0.0)
    except PyrometerError as error:
        return Spent(reason=error.message)


def _of_member(plan: Plan, member: str) -> Plan:
    """Give the part of the plan with one workload; its baseline is the workload alone."""
    mine = [one for one in plan.treatments if one.company and one.company.member == member]
    names = {one.name for one in mine}
    return plan.model_copy(
        update={
            "workload": member,
            "kind": "randomized-blocks",
            "treatments": mine,
            "trials": [one for one in plan.trials if one.treatment in names],
            "baseline": _alone({one.name: one.company for one in mine if one.company}, member),
        }
    )


def _alone(companies: Mapping[str, Company], member: str) -> str:
    return next(
        name
        for name, one in companies.items()
        if one.member == member and not one.beside and one.neighbour is None
    )


def _encounters(
    companies: Mapping[str, Company], judged: ExperimentReport, lost: ByBlock[Spent]
) -> list[Encounter]:
    return [
        _encounter(companies[pair.b], pair, judged, lost)
        for pair in (judged.comparison.pairs if judged.comparison else ())
    ]


def _encounter(
    company: Company, pair: PairReport, judged: ExperimentReport, lost: ByBlock[Spent]
) -> Encounter:
    means = {one.name: one.mean for one in judged.treatments}
    change = pair.change
    ends = [None if one is None else 1 + one for one in (change.value, change.low, change.high)]
    alone, together = lost[pair.a], lost[pair.b]
    blocks = [block for block in alone if block in together]
    return Encounter(
        member=company.member, beside=company.beside, neighbour=company.neighbour,
        own_cpus=company.own_cpus, alone_s=means[pair.a], beside_s=means[pair.b],
        slowdown=change.model_copy(update=dict(zip(("value", "low", "high"), ends, strict=True))),
        p=pair.adjusted_p, verdict=pair.verdict, blocks_needed=pair.trials_needed,
        contention=contention(
            [alone[one] for one in blocks], [together[one] for one in blocks],
            pair.verdict == "slower",
        ),
    )  # fmt: skip


def _groups(companies: Mapping[str, Company]) -> dict[tuple[Members, bool], list[str]]:
    """Give the treatments of each party, in the order of its members."""
    groups: dict[tuple[Members, bool], list[str]] = {}
    order = list(dict.fromkeys(one.member for one in companies.values()))
    for name, one in companies.items():
        if one.beside:
            members = tuple(sorted([one.member, *one.beside], key=order.index))
            groups.setdefault((members, one.own_cpus), []).append(name)
    return groups


def _parties(companies: Mapping[str, Company], seconds: ByBlock[float]) -> list[PartyReport]:
    reports = []
    for (members, own_cpus), names in _groups(companies).items():
        alone = [_alone(companies, member) for member in members]
        blocks = _blocks(seconds, [*alone, *names])
        if blocks:
            slowdowns = {
                member: [seconds[two][block] / seconds[one][block] for block in blocks]
                for member, one, two in zip(members, alone, names, strict=True)
            }
            reports.append(party_report(slowdowns, own_cpus))
    return reports


def _advice(
    companies: Mapping[str, Company], seconds: ByBlock[float], margin: float
) -> list[Advice]:  # fmt: skip
    ways: dict[Members, dict[Way, list[str]]] = {}
    for (members, own_cpus), treatments in _groups(companies).items():
        alone = [_alone(companies, member) for member in members]
        way: Way = "own CPUs" if own_cpus else "together"
        ways.setdefault(members, {"in turn": alone})[way] = treatments
    found = []
    for members, parties in ways.items():
        blocks = _blocks(seconds, [name for names in parties.values() for name in names])
        if blocks:
            times = {
                way: [[seconds[name][block] for name in names] for block in blocks]
                for way, names in parties.items()
            }
            found.append(advice(members, times, margin))
    return found


def _blocks(seconds: ByBlock[float], names: list[str]) -> list[int]:
    """Blocks in which a trial of each has finished."""
    return sorted(set.intersection(*(set(seconds[name]) for name in names)))
