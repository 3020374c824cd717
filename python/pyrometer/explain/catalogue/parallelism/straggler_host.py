"""Tasks take longer on one host than on the others, for the same work.

What it is
    A host, or an executor, is slower: a worn disk, other tenants, a lower clock, a cold page cache.

Mechanism
    Every task that lands there takes longer by about the same ratio, and ends its stage late. The
    simulator removes what its tasks need above the others' median of the same stage, beyond what
    the bytes that they read (or, without any, the rows) account for.

Evidence
    Medians of task time by host within each stage. The ratio is the median over tasks of time over
    the other hosts' median; its interval is that of the mean logarithm, for as many comparisons as
    there are hosts. The first tasks of each executor, which load code, do not count. How time
    depends on bytes is the slope of logarithms within hosts, at the upper end of its interval (95
    %), and at most in proportion: where the tasks of a host all read the same it is not known, and
    time is taken to be in proportion.

Remedy
    Leave the host out, or repair it; meanwhile speculative execution runs copies elsewhere.

When it is wrong
    Its tasks had more work of a kind that what they read does not show: costlier rows, more to
    write.

Source
    Ananthanarayanan et al., Reining in the Outliers in Map-Reduce Clusters using Mantri, OSDI 2010,
    section 4: machines as a cause of outliers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import bounds, where
from pyrometer.explain.evidence.task_costs import read_bytes
from pyrometer.explain.facts import Facts, TaskColumns, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats
from pyrometer.statistics.distributions import t_quantile
from pyrometer.statistics.shares import Z

FEWEST_TASKS = 5
"""On a host, and elsewhere: of fewer the interval would say nothing."""


def _warm(launch: Floats, executors: Any, each: int) -> Any:
    """Whether each task is none of the first on its executor."""
    warm = np.zeros(launch.size, dtype=bool)
    for name in np.unique(executors):
        mine = np.flatnonzero(executors == name)
        warm[mine[np.argsort(launch[mine], kind="stable")][each:]] = True
    return warm


def _work(tasks: TaskColumns) -> Floats:
    """Give what each task read: bytes, of stages without any rows."""
    amount = read_bytes(tasks)
    if amount.any():
        return amount
    rows: Floats = np.nansum(
        [tasks["input_records_count"], tasks["shuffle_read_records_count"]], axis=0
    )
    return rows


def by_work(time: Floats, work: Floats, hosts: Any) -> Floats:
    """Give the part of the logarithm of time that goes with work, from the slope within hosts.

    Examples
    --------
    >>> import numpy as np
    >>> [round(float(x), 2) for x in by_work(np.log([1.0, 1, 3, 3]), np.array([1.0, 1, 2, 2]),
    ...                                      np.array(["a", "a", "b", "b"]))]
    [0.0, 0.0, 0.69, 0.69]
    """
    log = np.log(np.maximum(work, 1.0))
    _names, place = np.unique(hosts, return_inverse=True)
    count = np.bincount(place)
    x = log - (np.bincount(place, log) / count)[place]
    y = time - (np.bincount(place, time) / count)[place]
    spread, free = float(x @ x), time.size - count.size - 1
    slope = 1.0
    if spread > 1e-9 and free > 0:
        middle = float(x @ y) / spread
        left = y - middle * x
        slope = middle + Z * (float(left @ left) / free / spread) ** 0.5
    found: Floats = min(max(slope, 0.0), 1.0) * log
    return found


def _suspects(facts: Facts) -> Iterator[Suspect]:
    tasks = facts.tasks
    if facts.measured is None or not tasks.count:
        return
    hosts = np.array([str(one) for one in tasks["host"]])
    names = np.unique(hosts)
    if names.size < 2:
        return
    each = max(1, facts.slots // max(1, len(facts.measured.executors)))
    warm = _warm(tasks["launch_wall_ns"], np.array([str(e) for e in tasks["executor_id"]]), each)
    usable = warm & (tasks.duration_ns > 0) & ~np.asarray(tasks["wasted"], dtype=bool)
    logs: dict[str, list[Floats]] = defaultdict(list)
    for stage in facts.stages:
        place = facts.place_of(stage.number)
        use, host = usable[place], hosts[place]
        if not use.any() or np.unique(host[use]).size < 2:
            continue
        time = np.log(np.maximum(tasks.duration_ns[place], 1.0))
        work = _work(facts.tasks_of(stage.number))
        time[use] -= by_work(time[use], work[use], host[use])
        for name in np.unique(host[use]):
            mine, others = use & (host == name), use & (host != name)
            if mine.any() and others.sum() >= FEWEST_TASKS:
                logs[str(name)].append(time[mine] - np.median(time[others]))
    slow = []
    for name, found in logs.items():
        values = np.concatenate(found)
        if values.size < FEWEST_TASKS:
            continue
        value = float(np.median(values))
        error = float(values.std(ddof=1)) / values.size**0.5
        # All hosts are compared, and the slowest is told.
        half = error * float(t_quantile(1 - 0.05 / names.size, values.size - 1))
        slow.append((value - half, value, value + half, name, int(values.size)))
    if not slow:
        return
    low, value, high, name, n = max(slow)
    if low > 0:
        yield _suspect(facts, hosts == name, name, (value, low, high), n)


def _suspect(
    facts: Facts, mine: Any, name: str, logs: tuple[float, float, float], n: int
) -> Suspect:
    value, low, high = (1 - float(np.exp(-one)) for one in logs)
    time = facts.tasks.duration_ns
    less = {
        stage.number: np.where(mine[place], time[place], 0.0) * high
        for stage in facts.stages
        for place in (facts.place_of(stage.number),)
        if mine[place].any()
    }
    ratio = [float(np.exp(one)) for one in logs]
    ended = np.isfinite(facts.tasks["finish_wall_ns"])
    return Suspect(
        place=Place(layer="host", host=name, stages_count=len(less)),
        mechanism=(
            f"Tasks on {name} took {ratio[0]:.3g} times as long as those of the same stages on"
            f" other hosts, for the same bytes ({ratio[1]:.3g} to {ratio[2]:.3g},"
            f" {units.counted(n, 'task')})."
        ),
        change=(Less("host", less),),
        extent=Extent(value / high, max(0.0, low / high), 1.0, n),
        evidence=[
            Evidence(what="time over the other hosts' median", unit="ratio", table="tasks",
                     estimate=bounds(ratio[0], ratio[1], ratio[2], n, "t on logarithms"),
                     query="SELECT stage_id, host, median(finish_wall_ns - launch_wall_ns) FROM"
                     " tasks GROUP BY ALL ORDER BY ALL", link="/timeline"),
            Evidence(what="time of its tasks", unit="ns", table="tasks", link="/timeline",
                     estimate=exactly(float(time[mine & ended].sum()), n),
                     query="SELECT sum(finish_wall_ns - launch_wall_ns) FROM tasks WHERE"
                     f" {where(facts)} AND host = '{name.replace(chr(39), 2 * chr(39))}'"),
        ],
        remedies=[
            Remedy(kind="machine", text=f"take {name} out of the cluster, and see what it lacks:"
                   f" about {units.percent(value)} of its tasks' time"),
            Remedy(kind="factor", factor="spark.speculation", level="true",
                   text="meanwhile, run copies of its slow tasks elsewhere"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="straggler.host",
    title="One host is slower",
    cause="slow host",
    suspects=_suspects,
    explains=("straggler.tail", "skew.time", "retries.speculation"),
    refute="Leave the host out for a run: if the medians of the others rise just as far, it was the"
    " tasks' work.",
)
