"""The whole account of workloads that ran together, from the trials of their experiment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from pyrometer.analyse.compare.account import PairReport
from pyrometer.analyse.corun.advice import advice
from pyrometer.analyse.corun.contention import contention
from pyrometer.analyse.corun.model import Advice, CorunReport, Encounter, PartyReport, Way
from pyrometer.analyse.corun.party import party_report
from pyrometer.analyse.corun.spent import Spent, spent
from pyrometer.analyse.experiment import experiment_report
from pyrometer.analyse.experiment_model import ExperimentReport
from pyrometer.errors import PyrometerError, UsageError
from pyrometer.store import Run
from pyrometer.store.experiment import Company, Ended, ExperimentPaths, Plan
from pyrometer.store.journal import Entries

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
    """Tell of workloads that ran together, finished or not.

    Parameters
    ----------
    reading : callable
        Told how many trials have been read, of how many.
    read : callable, optional
        Reads what a trial spent, instead of from its run.

    Raises
    ------
    UsageError
        If it is another experiment.
    """
    companies = {one.name: one.company for one in plan.treatments if one.company}
    if plan.kind != "corun" or not companies:
        raise UsageError(
            f"{plan.name} is of one workload: it ran beside no other",
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
    return CorunReport(
        experiment=plan.name, folder=str(root), scale=plan.scale, members=members,
        trials_count=len(plan.trials), done_count=len(ended),
        encounters=[one for its in judged.values() for one in _encounters(companies, its, lost)],
        parties=_parties(companies, seconds),
        advice=_advice(companies, seconds, plan.margin),
        reasons={member: its.reason for member, its in judged.items() if its.reason},
        left_out=plan.left_out, doubts=doubts,
    )  # fmt: skip


def _spent(root: Path, one: Ended) -> Spent:
    # Times stand in the journal: what cannot be read of a run leaves its losses untold, not them.
    try:
        with Run.open(ExperimentPaths(root).trials / one.folder) as run:
            return spent(run, one.seconds or 0.0)
    except PyrometerError as error:
        return Spent(reason=error.message)


def _of_member(plan: Plan, member: str) -> Plan:
    """Give the part of the plan that one workload is in, beside it alone."""
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
    alone, beside = lost[pair.a], lost[pair.b]
    blocks = [block for block in alone if block in beside]
    return Encounter(
        member=company.member, beside=company.beside, neighbour=company.neighbour,
        own_cpus=company.own_cpus, alone_s=means[pair.a], beside_s=means[pair.b],
        slowdown=change.model_copy(update=dict(zip(("value", "low", "high"), ends, strict=True))),
        p=pair.adjusted_p, verdict=pair.verdict, blocks_needed=pair.trials_needed,
        contention=contention(
            [alone[one] for one in blocks], [beside[one] for one in blocks],
            pair.verdict == "slower",
        ),
    )  # fmt: skip


def _groups(companies: Mapping[str, Company]) -> dict[tuple[Members, bool], list[str]]:
    """Give the treatments of each party, in the order of its members."""
    made: dict[tuple[Members, bool], list[str]] = {}
    order = list(dict.fromkeys(one.member for one in companies.values()))
    for name, one in companies.items():
        if one.beside:
            members = tuple(sorted([one.member, *one.beside], key=order.index))
            made.setdefault((members, one.own_cpus), []).append(name)
    return made


def _parties(companies: Mapping[str, Company], seconds: ByBlock[float]) -> list[PartyReport]:
    made = []
    for (members, own_cpus), names in _groups(companies).items():
        alone = [_alone(companies, member) for member in members]
        blocks = _blocks(seconds, [*alone, *names])
        if blocks:
            slowdowns = {
                member: [seconds[two][block] / seconds[one][block] for block in blocks]
                for member, one, two in zip(members, alone, names, strict=True)
            }
            made.append(party_report(slowdowns, own_cpus))
    return made


def _advice(
    companies: Mapping[str, Company], seconds: ByBlock[float], margin: float
) -> list[Advice]:  # fmt: skip
    ways: dict[Members, dict[Way, list[str]]] = {}
    for (members, own_cpus), treatments in _groups(companies).items():
        alone = [_alone(companies, member) for member in members]
        way: Way = "own CPUs" if own_cpus else "together"
        ways.setdefault(members, {"in turn": alone})[way] = treatments
    made = []
    for members, parties in ways.items():
        blocks = _blocks(seconds, [name for names in parties.values() for name in names])
        if blocks:
            times = {
                way: [[seconds[name][block] for name in names] for block in blocks]
                for way, names in parties.items()
            }
            made.append(advice(members, times, margin))
    return made


def _blocks(seconds: ByBlock[float], names: list[str]) -> list[int]:
    """Blocks in which a trial of each has finished."""
    return sorted(set.intersection(*(set(seconds[name]) for name in names)))
