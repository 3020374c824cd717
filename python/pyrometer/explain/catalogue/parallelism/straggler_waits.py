"""A few tasks of a stage waited for a long time, with no more work than the others.

What it is
    Most tasks of a stage take about the same time; a few take many times that, on the same input
    and with no more CPU, collection or shuffle: something that they waited for hung. A slow disk or
    network read, a service that the task calls, a lock, a host that lost its CPU.

Mechanism
    The stage ends when they do. What Spark's counters leave of a task (time less CPU, collections,
    fetch wait and shuffle writes) is its wait. The simulator removes what these few wait beyond the
    median, for as much input.

Evidence
    Waits of the tasks, the longest against the median; their input and CPU; the hosts that they ran
    on. Logs before Spark 2.1 have no CPU time of tasks: there everything except collections and
    shuffle counts, for as much input.

Remedy
    Look at what they waited for, on which host, at that time. Where executors are on several hosts,
    `spark.speculation` launches a copy of a task that takes long, which meets the wait only if it
    belongs to the data.

When it is wrong
    All tasks of one slot or host are slow: that is `straggler.host`. The first task of each slot
    waits for its Python worker and for what that loads: where all of these waited, it is the start
    of workers (`python.worker-start`), not a few tasks. A task that waits for its own data, such as
    a file on a slower store, waits in its copy too.

Source
    Stragglers without more work: Ousterhout and others, Making Sense of Performance in Data
    Analytics Frameworks, NSDI 2015, section 5. Outliers by the median and its deviation: Hampel,
    The Influence Curve and its Role in Robust Estimation, JASA 69 (1974). When a copy is launched:
    `spark.speculation.multiplier` and `quantile` in Spark's configuration (3 and 0.9 since 4.0).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import largest, link, of_stage, of_tasks, slots_at
from pyrometer.explain.evidence.plan_nodes import plans
from pyrometer.explain.evidence.task_costs import read_bytes, read_rows
from pyrometer.explain.facts import Facts, TaskColumns, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats
from pyrometer.store.python_samples import NODES

FEWEST_TASKS = 4
"""Of fewer, nothing says which one is unusual."""
FEW = 0.25
"""Share of the tasks: more of them are the stage's way to be."""
SPREADS = 5.0
"""Deviations above the median, from which a wait is none of the usual: Hampel's rule with room."""
TICK_NS = 1e6
"""Spark writes times in milliseconds."""
COPY_AFTER = 3.0
"""Medians after which a copy of a task is launched; the copy takes one more."""
_PYTHON = re.compile(NODES)
_WORK = (
    "executor_cpu_time_ns", "executor_deserialize_cpu_time_ns", "jvm_gc_time_ns",
    "shuffle_fetch_wait_time_ns", "shuffle_write_time_ns",
)  # fmt: skip
_WAITED = (
    "greatest(finish_wall_ns - launch_wall_ns - "
    + " - ".join(f"coalesce({name}, 0)" for name in _WORK)
    + ", 0)"
)


def waits(tasks: TaskColumns) -> Floats:
    """Give what Spark's counters leave of each task's time in a slot, in nanoseconds."""
    counted = np.nansum([tasks[name] for name in _WORK], axis=0)
    left: Floats = np.maximum(tasks.duration_ns - counted, 0.0)
    return left


def _more_than(amount: Floats) -> Floats:
    """How many times the median's input each task has, at least once."""
    median = float(np.median(amount))
    ratio: Floats = np.maximum(amount / median, 1.0) if median > 0 else np.ones_like(amount)
    return ratio


def excess(tasks: TaskColumns) -> tuple[Floats, NDArray[np.bool_]]:
    """Give what each task waited longer than usual for its input, and which ones stand out."""
    wait, time = waits(tasks), tasks.duration_ns
    usual, middle = float(np.median(wait)), float(np.median(time))
    more = np.maximum(_more_than(read_bytes(tasks)), _more_than(read_rows(tasks)))
    spread = max(1.4826 * float(np.median(np.abs(wait - usual))), TICK_NS)
    longer = np.minimum(wait - usual * more, time - middle * more)
    # A wait that does not double a task is none of a straggler.
    far = (longer > SPREADS * spread) & (longer > middle)
    return np.where(far, longer, 0.0), far


def _serves_python(facts: Facts) -> set[int]:
    """Give the stages that call Python workers, by number."""
    return {
        number
        for plan in plans(facts)
        for node in plan.sql.nodes if _PYTHON.search(node.name)
        for number in facts.stages_of(node, plan.sql)
    }  # fmt: skip


def _without_starts(far: NDArray[np.bool_], tasks: TaskColumns, slots: int) -> NDArray[np.bool_]:
    """Leave the first task of each slot out, where all of these stand out."""
    first = np.argsort(tasks["launch_wall_ns"], kind="stable")[:slots]
    found = far.copy()
    if far[first].all():
        found[first] = False
    return found


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    known = facts.tasks.known("executor_cpu_time_ns")
    several = len(facts.tasks.distinct("host")) > 1
    python = _serves_python(facts)
    app = 0 if facts.measured is None else facts.measured.app_index
    for stage in facts.stages:
        if stage.tasks_count < FEWEST_TASKS:
            continue
        tasks = facts.tasks_of(stage.number)
        if bool(np.any(tasks["wasted"])):
            continue  # what failed did not wait
        if not known and not (read_bytes(tasks).any() or read_rows(tasks).any()):
            continue  # neither their work nor what they read is known
        longer, far = excess(tasks)
        if stage.number in python:
            far = _without_starts(far, tasks, slots_at(facts, stage))
            longer = np.where(far, longer, 0.0)
        count = int(far.sum())
        if not count or count > max(1.0, FEW * tasks.count):
            continue
        wait, median = waits(tasks), float(np.median(tasks.duration_ns))
        lost = float(longer.sum())
        left = np.minimum(longer, (COPY_AFTER + 1) * median)
        hosts = sorted({str(name) for name in tasks["host"][far] if name})
        where = f", on {', '.join(hosts[:3])}" + (", …" if hosts[3:] else "") if several else ""
        before = np.nan_to_num(tasks["executor_deserialize_time_ns"])[far].sum()
        loading = " before they ran" if before > lost / 2 else ""
        yield float(longer.max()), Suspect(
            place=of_stage(stage),
            mechanism=(
                f"{count} of {units.counted(tasks.count, 'task')}"
                f" {'waited for' if known else 'took'} {_range(wait[far])}{loading}{where}, where"
                f" the median {'waited' if known else 'took'}"
                f" {units.duration(float(np.median(wait)))}; they read no more than the"
                f" others{', and it was not CPU time' if known else ''}."
            ),
            change=(Less("wait", {stage.number: longer}),),
            # Low: copies are launched late, and take their time.
            extent=Extent(n=tasks.count).times(1 - float(left.sum()) / lost, 1.0),
            evidence=[
                Evidence(
                    what="waits of those tasks, beyond the usual", unit="ns", table="tasks",
                    estimate=exactly(lost, count), link=link(stage),
                    query=f"SELECT sum({_WAITED}) - {float(wait[far].sum()) - lost!r} FROM tasks"
                    f" WHERE app_index = {app} AND task_attempt_id IN"
                    f" ({', '.join(map(str, tasks['task_attempt_id'][far].astype(int)))})",
                ),
                of_tasks("median task", median, "ns", "median(finish_wall_ns - launch_wall_ns)",
                         stage, tasks.count),
            ],
            remedies=_remedies(several, hosts),
        )  # fmt: skip


def _range(times: Floats) -> str:
    low, high = units.duration(float(times.min())), units.duration(float(times.max()))
    return low if low == high else f"{low} to {high}"


def _remedies(several: bool, hosts: list[str]) -> list[Remedy]:
    look = Remedy(
        kind="machine",
        text="look at what these tasks waited for"
        + (f" on {hosts[0]}" if several and len(hosts) == 1 else "")
        + ": disk, network, the service they call (pyrometer flame RUN --event wall, where the run"
        " was profiled)",
    )
    if not several:
        return [look]
    speculate = Remedy(
        kind="factor", factor="spark.speculation", level="true",
        text="launch copies of tasks that take long",
    )  # fmt: skip
    return [speculate, look]


RULE = Rule(
    code="straggler.waits",
    title="A few tasks waited, and the stage waited for them",
    cause="straggler",
    suspects=_suspects,
    explains=("straggler.tail", "skew.", "partitioning.too-few"),
    refute="Run again: if the same partitions take just as long, it is their data, not a"
    " straggler.",
)
