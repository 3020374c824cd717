"""On which hosts the data of a stage lie, where these are few: blocks, cached partitions, shuffles.

Spark runs a task near its data if it can, and says at which level it ran. So hosts with the tasks
that ran near hold what these read; of a shuffle, hosts hold what tasks of the stages before wrote.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyrometer.explain.evidence.task_costs import read_amount
from pyrometer.explain.facts import Facts, TaskColumns
from pyrometer.simulation.measured import Floats, Stage

MOST_OF_IT = 0.9
"""Of what is read: the fewest hosts that have so much of it are looked at."""
FEW = 0.5
"""Of the slots: on more of them data are spread well enough."""
FAR = 2
"""Level of tasks that ran on another host than their data: in the same rack, or anywhere."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Crowd:
    """A stage whose data lie on few hosts.

    Attributes
    ----------
    hosts : tuple of str
        The fewest that have nearly all of what tasks read near their data.
    slots, all_slots : float
        Slots of their executors, and of all: on average while it ran.
    near, there, far : array of bool
        Of its tasks: which ran near their data, which of these on the hosts, and which far from it.
    amount : array of float
        What each task read: bytes, else rows, else 1.
    """

    stage: Stage
    hosts: tuple[str, ...]
    slots: float
    all_slots: float
    near: Bools
    there: Bools
    far: Bools
    amount: Floats

    @property
    def share(self) -> float:
        """Share of what tasks read near their data that was there."""
        return float(self.amount[self.there].sum() / self.amount[self.near].sum())


def crowds(facts: Facts) -> Iterator[Crowd]:
    """Give the stages whose data lie on few hosts, with more tasks near them than slots there."""
    if facts.measured is None or len({one.host for one in facts.measured.executors}) < 2:
        return
    levels = facts.measured.tasks.level
    for stage in facts.stages:
        if not stage.tasks_count or not stage.hosts:
            continue
        tasks, level = facts.tasks_of(stage.number), levels[facts.place_of(stage.number)]
        near, slots = level < FAR, slots_by_host(facts, stage)
        if near.sum() < 2 or len(slots) < 2:
            continue
        amount = amount_of(tasks)
        hosts = few(by_host(tasks, np.where(near, amount, 0.0)), slots)
        if not hosts:
            continue
        there = near & np.isin(tasks["host"], hosts)
        own = sum(slots.get(host, 0.0) for host in hosts)
        if there.sum() > own:
            total = sum(slots.values())
            yield Crowd(stage, hosts, own, total, near, there, level >= FAR, amount)


def amount_of(tasks: TaskColumns) -> Floats:
    """Give what each task read: bytes, else rows; where neither is known, one each."""
    amount = read_amount(tasks)
    return amount if amount.any() else np.ones(tasks.count)


def by_host(tasks: TaskColumns, amount: Floats) -> dict[str, float]:
    """Add up an amount of tasks by the host that they ran on."""
    codes = tasks.codes("host")
    sums = np.bincount(codes, amount)
    names: Any = tasks.names["host"]
    return {
        str(names[code]): float(sums[code]) for code in np.unique(codes)
        if names[code] and sums[code] > 0
    }  # fmt: skip


def few(amounts: Mapping[str, float], slots: Mapping[str, float]) -> tuple[str, ...]:
    """Name the fewest hosts that have nearly all of it; none where they have many of the slots.

    Examples
    --------
    >>> slots = {"a": 4, "b": 4, "c": 4}
    >>> few({"a": 95.0, "b": 5.0}, slots), few({"a": 50.0, "b": 50.0}, slots)
    (('a',), ())
    """
    whole, found, have = sum(amounts.values()), list[str](), 0.0
    for host in sorted(amounts, key=lambda one: (-amounts[one], one)):
        if have >= MOST_OF_IT * whole:
            break
        found.append(host)
        have += amounts[host]
    own = sum(slots.get(host, 0) for host in found)
    return tuple(found) if 0 < own <= FEW * sum(slots.values()) else ()


def slots_by_host(facts: Facts, stage: Stage) -> dict[str, float]:
    """Slots by host, on average while a stage ran: executors may come and go meanwhile."""
    found: dict[str, float] = {}
    length = max(1, stage.complete_ns - stage.submit_ns)
    for one in facts.measured.executors if facts.measured else ():
        since = stage.submit_ns if one.add_ns is None else max(one.add_ns, stage.submit_ns)
        until = stage.complete_ns
        if one.remove_ns is not None:
            until = min(one.remove_ns, until)
        if until > since and one.pool == stage.pool:
            found[one.host] = found.get(one.host, 0.0) + one.slots * (until - since) / length
    return found


def writers(facts: Facts, stage: Stage) -> tuple[tuple[str, ...], list[Stage]]:
    """Name the few hosts on which the stages before wrote what a stage fetches, and these stages.

    Of a stage that was skipped, as its output was there already, the log does not say who wrote it.
    """
    before = [facts.number(one, 0) for one in stage.parent_ids]
    known = [facts.stages[number] for number in before if number is not None]
    written: dict[str, float] = {}
    for one in known:
        tasks = facts.tasks_of(one.number).succeeded()
        for host, size in by_host(tasks, np.nan_to_num(tasks["shuffle_written_bytes"])).items():
            written[host] = written.get(host, 0.0) + size
    if len(known) < len(stage.parent_ids) or not written:
        return (), []
    return few(written, slots_by_host(facts, stage)), known
