"""What stages wrote into shuffles, who read it, and what both cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans
from pyrometer.explain.evidence.task_costs import unexplained
from pyrometer.explain.facts import Facts, once
from pyrometer.simulation.measured import Floats

WRITE_NS, READ_NS = (1.1, 7.3), (1.6, 12.7)
"""CPU for each byte of a shuffle: `shuffle.heavy` says how it was measured."""

_READ = ("shuffle_read_local_bytes", "shuffle_read_remote_bytes")


@dataclass
class Shuffle:
    """What a stage wrote, who read it, and what both cost.

    Attributes
    ----------
    node : Node or None
        The exchange in the plan.
    waits : dict of int to array
        Writing and waiting for blocks, of each task, by number of the stage.
    cpu : dict of int to array
        CPU with waits for it, at most, of each task, by number of the stage.
    least_cpu_ns : float
        The same at least, of all tasks together.
    """

    number: int
    readers: Sequence[int]
    sql_id: int | None = None
    node: Node | None = None
    waits: dict[int, Floats] = field(default_factory=dict)
    cpu: dict[int, Floats] = field(default_factory=dict)
    least_cpu_ns: float = 0.0

    @property
    def writing(self) -> dict[int, Floats]:
        """Time of writing, of each task of the stage that wrote."""
        return {number: ns for number, ns in self.waits.items() if number == self.number}

    @property
    def fetching(self) -> dict[int, Floats]:
        """Waits for blocks, of each task of the stages that read."""
        return {number: ns for number, ns in self.waits.items() if number != self.number}


@once
def bytes_of_files(facts: Facts) -> dict[int, float]:
    """Give the sizes of the files that scans of each stage read, by its number."""
    found: dict[int, float] = defaultdict(float)
    for plan in plans(facts):
        for node in plan.sql.nodes:
            size = metric(node, "size of files read")
            for number in facts.stages_of(node, plan.sql) if size else ():
                found[number] += size or 0
    return dict(found)


def shuffles(facts: Facts) -> dict[int, Shuffle]:
    """Give what each stage wrote, by its number: of a plan's exchange the first stage wrote."""
    children: dict[int, list[int]] = defaultdict(list)
    for stage in facts.stages:
        for parent in stage.parent_ids:
            children[parent].append(stage.number)
    found = {one.number: Shuffle(one.number, children[one.stage_id]) for one in facts.stages}
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if node.name.endswith("Exchange") and metric(node, "shuffle bytes written"):
                writer, readers = ends_of(facts, plan, node)
                if writer in found and found[writer].node is None:
                    found[writer] = Shuffle(writer, readers, plan.sql.sql_id, node)
    return found


def ends_of(facts: Facts, plan: Plan, exchange: Node) -> tuple[int, list[int]]:
    """Give the stage that wrote an exchange, -1 if none did, and those that read it."""
    numbers = facts.stages_of(exchange, plan.sql)
    writer, *readers = sorted(numbers, key=lambda n: facts.stages[n].complete_ns) or [-1]
    return writer, readers


def sampled_for_ranges(facts: Facts, plan: Plan, exchange: Node) -> dict[int, float]:
    """Give the time of tasks of stages that only look for an exchange's ranges, by their number.

    Such a job reads all rows below the exchange, down to the next one, and writes no shuffle.
    """
    if "rangepartitioning(" not in (exchange.simple_string or ""):
        return {}
    ids: set[int] = set()
    left = list(plan.children.get(exchange.node_id, ()))
    while left:
        node = left.pop()
        if not node.name.endswith("Exchange"):
            ids.update(node.stage_ids)
            left += plan.children.get(node.node_id, ())
    numbers = [facts.number(stage) for stage in ids - set(exchange.stage_ids)]
    found = {number: facts.tasks_of(number) for number in numbers if number is not None}
    return {
        number: float(tasks.duration_ns.sum()) for number, tasks in found.items()
        if tasks.total("shuffle_written_bytes") == 0
    }  # fmt: skip


def costs(facts: Facts, found: Shuffle, written: float) -> None:
    """Note what the shuffle cost the stage that wrote it, and each that read it."""
    names = ("shuffle_written_bytes",)
    _cost(facts, found, found.number, names, written, "shuffle_write_time_ns", WRITE_NS)
    for number in set(found.readers) - {found.number}:
        _cost(facts, found, number, _READ, written, "shuffle_fetch_wait_time_ns", READ_NS)


def _cost(
    facts: Facts, found: Shuffle, number: int, names: Sequence[str], written: float, waits: str,
    each: tuple[float, float],
) -> None:  # fmt: skip
    """Note the waits and the CPU of one stage, as far as its bytes are those of the shuffle."""
    tasks = facts.tasks_of(number)
    moved: Floats = np.nansum([tasks[name] for name in names], axis=0)
    whole = float(moved.sum())
    if whole <= 0:
        return
    moved *= min(1.0, written / whole)
    waited = np.minimum(np.nan_to_num(tasks[waits]), tasks.duration_ns)
    found.waits[number] = waited * min(1.0, written / whole)
    used = np.nan_to_num(tasks["executor_cpu_time_ns"])
    least, most = _with_waits(facts, number, float(used.sum()))
    left = np.maximum(tasks.duration_ns - found.waits[number], 0.0)
    found.cpu[number] = np.minimum(np.minimum(used, each[1] * moved) * most, left)
    found.least_cpu_ns += float((np.minimum(used, each[0] * moved) * least).sum())


def _with_waits(facts: Facts, number: int, cpu: float) -> tuple[float, float]:
    """Give what goes with each second of CPU, waits for it included: at least and at most."""
    tasks = facts.tasks_of(number)
    if cpu <= 0:
        return 0.0, 0.0
    if "task/run_queue" in facts.ledger.get(number, {}):
        known = facts.cpu_share(number) * float(tasks.duration_ns.sum()) / cpu
        return known, known
    return 1.0, 1 + float(unexplained(tasks).sum()) / cpu
