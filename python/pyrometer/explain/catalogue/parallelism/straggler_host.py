"""Tasks take longer on one host, or a few, than on the others, for the same work.

What it is
    A host, or an executor, is slower: a worn disk, other tenants, a lower clock, a cold page cache.

Mechanism
    Every task that lands there takes longer by about the same ratio, and ends its stage late. The
    simulator removes what its tasks need above the others' median of the same stage, beyond what
    the bytes that they read (or, without any, the rows) account for. Where several are slow, they
    are one finding, each compared with those that are not: a stage ends when the last of them has,
    so that one alone would save little. Where half of all or more are slow, those that are not are
    known by what a host like them can do: two or more are faster by a clear gap, and all have as
    many CPUs (and as much memory, where that is known).

Evidence
    Medians of task time by host within each stage. The ratio is the median over tasks of time over
    the other hosts' median; its interval is that of the mean logarithm, for as many comparisons as
    there are hosts. The first tasks of each executor, which load code, do not count. How time
    depends on bytes is the slope of logarithms within hosts, at the upper end of its interval (95
    %), and at most in proportion: where the tasks of a host all read the same it is not known, and
    time is taken to be in proportion.

Remedy
    Leave the host out, or repair it; meanwhile speculative execution runs copies elsewhere. Where
    most are slow, find out what they lack: Spark takes the usual time of a task for the right one.

When it is wrong
    Its tasks had more work of a kind that what they read does not show: costlier rows, more to
    write. Where most are slow: the fast ones have newer CPUs; models of CPUs are not recorded.

Source
    Ananthanarayanan et al., Reining in the Outliers in Map-Reduce Clusters using Mantri, OSDI 2010,
    section 4: machines as a cause of outliers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.alike import MOST_SHOWN, weighed
from pyrometer.explain.evidence.hosts.hardware import CPUS_QUERY, alike
from pyrometer.explain.evidence.hosts.lost import hosts_of_place, named_hosts
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
LIKE_THE_WORST = 0.1
"""Of what the slowest host takes longer: a host that takes less than this part of it is not named
beside it, as it hardly holds a stage up."""

LEAST_APART = 0.2
"""Where most hosts are slow: how much longer their tasks take than those of the fast ones, at
least. Hosts of one kind differ by less where nothing is wrong with any."""
FEWEST_FAST = 2
"""Hosts that are fast where most are slow: a single one may have had luck, or the data."""


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


@dataclass(frozen=True)
class _Slow:
    """A slow host: by how much, as logarithms of the ratio of times, over so many tasks."""

    name: str
    value: float
    low: float
    high: float
    n: int

    @property
    def beyond(self) -> float:
        """Time that its tasks take longer, over that of the others' tasks."""
        return float(np.expm1(self.value))

    @property
    def ratio(self) -> tuple[float, float, float]:
        """Time over that of the others' tasks, with its bounds."""
        value, low, high = (float(np.exp(one)) for one in (self.value, self.low, self.high))
        return value, low, high

    @property
    def spared(self) -> tuple[float, float, float]:
        """Share of its tasks' time that would go, with its bounds."""
        value, low, high = (1 - float(np.exp(-one)) for one in (self.value, self.low, self.high))
        return value, low, high


@dataclass(frozen=True)
class _Fast:
    """Fast hosts beside more slow ones: their names, their CPUs, and what all hosts have alike."""

    names: Sequence[str]
    cpus: int
    alike: str

    @property
    def words(self) -> str:
        """Say why the others could be as fast."""
        return f" {named_hosts(self.names)} are faster, and all hosts have {self.alike}."

    @property
    def evidence(self) -> Evidence:
        """Give the CPUs of a host."""
        return Evidence(
            what="CPUs of each host", estimate=exactly(float(self.cpus)), unit="count",
            table="processes", query=CPUS_QUERY, link="/jvm",
        )  # fmt: skip


def _suspects(facts: Facts) -> Iterator[Suspect]:
    tasks = facts.tasks
    if facts.measured is None or not tasks.count:
        return
    hosts = np.array([str(one) for one in tasks["host"]])
    names = [str(one) for one in np.unique(hosts)]
    if len(names) < 2:
        return
    each = max(1, facts.slots // max(1, len(facts.measured.executors)))
    warm = _warm(tasks["launch_wall_ns"], np.array([str(e) for e in tasks["executor_id"]]), each)
    usable = warm & (tasks.duration_ns > 0) & ~np.asarray(tasks["wasted"], dtype=bool)
    stages = list(_times(facts, hosts, usable))
    if most := _most_of_them(facts, stages, names):
        yield _suspect(facts, hosts, *most)
        return
    found = _slow(stages, names, len(names))
    if not found:
        return
    found = [one for one in found if one.beyond >= LIKE_THE_WORST * found[0].beyond]
    if len(found) > 1:
        together = [one.name for one in found] if 2 * len(found) < len(names) else []
        found = _slow(stages, together, len(names), beside=together) or found[:1]
    yield _suspect(facts, hosts, found)


def _times(facts: Facts, hosts: Any, usable: Any) -> Iterator[tuple[Any, Floats]]:
    """Give, by stage that ran on several hosts, that of each task, and how long it took.

    As a logarithm, without what goes with work.
    """
    for stage in facts.stages:
        place = facts.place_of(stage.number)
        use = usable[place]
        host = hosts[place][use]
        if np.unique(host).size < 2:
            continue
        own = facts.tasks_of(stage.number)
        time = np.log(np.maximum(own.duration_ns[use], 1.0))
        yield host, time - by_work(time, _work(own)[use], host)


def _most_of_them(
    facts: Facts, stages: Sequence[tuple[Any, Floats]], names: Sequence[str]
) -> tuple[list[_Slow], _Fast] | None:
    """Give the slow hosts where these are half of all or more, and the fast ones beside them.

    They are told apart by the widest gap between the levels of hosts: wider than the spread of
    either group, and between hosts that are alike.
    """
    levels = _levels(stages)
    order = sorted(levels, key=lambda name: (levels[name], name))
    if len(order) < 2 * FEWEST_FAST:
        return None
    sizes = np.array([levels[name] for name in order])
    gaps = np.diff(sizes)
    count = int(np.argmax(gaps)) + 1
    fast, slow = order[:count], order[count:]
    spread = max(sizes[count - 1] - sizes[0], sizes[-1] - sizes[count])
    apart = gaps[count - 1] >= max(float(np.log1p(LEAST_APART)), spread)
    if not apart or count < FEWEST_FAST or 2 * len(slow) < len(names):
        return None
    kind = alike(facts, order)
    found = _slow(stages, slow, len(names), beside=slow) if kind else []
    if kind is None or len(found) < len(slow):
        return None
    return found, _Fast(sorted(fast), *kind)


def _levels(stages: Sequence[tuple[Any, Floats]]) -> dict[str, float]:
    """Give how long tasks take on each host, as a logarithm beside the hosts of the same stages."""
    weighted: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for host, time in stages:
        medians = {str(name): float(np.median(time[host == name])) for name in np.unique(host)}
        middle = sum(medians.values()) / len(medians)
        for name, median in medians.items():
            weighted[name].append((median - middle, int((host == name).sum())))
    counts = {name: sum(n for _, n in own) for name, own in weighted.items()}
    return {
        name: sum(level * n for level, n in own) / counts[name]
        for name, own in weighted.items()
        if counts[name] >= FEWEST_TASKS
    }


def _slow(
    stages: Sequence[tuple[Any, Floats]],
    names: Sequence[str],
    count: int,
    beside: Sequence[str] = (),
) -> list[_Slow]:
    """Give the hosts of some names that are slower than the others but those beside, worst first.

    Parameters
    ----------
    count : int
        How many hosts are compared in all.
    """
    logs: dict[str, list[Floats]] = defaultdict(list)
    for host, time in stages:
        apart = np.isin(host, beside)
        for name in names:
            mine = host == name
            others = ~(mine | apart)
            if mine.any() and others.sum() >= FEWEST_TASKS:
                logs[name].append(time[mine] - np.median(time[others]))
    slow = []
    for name, found in logs.items():
        values = np.concatenate(found)
        if values.size < FEWEST_TASKS:
            continue
        value = float(np.median(values))
        error = float(values.std(ddof=1)) / values.size**0.5
        half = error * float(t_quantile(1 - 0.05 / count, values.size - 1))
        if value - half > 0:
            slow.append(_Slow(name, value, value - half, value + half, int(values.size)))
    return sorted(slow, key=lambda one: (-one.low, one.name))


def _suspect(facts: Facts, hosts: Any, slow: Sequence[_Slow], fast: _Fast | None = None) -> Suspect:
    time = facts.tasks.duration_ns
    less, weights, spent = np.zeros(time.size), [], []
    ended = np.isfinite(facts.tasks["finish_wall_ns"])
    for one in slow:
        mine = hosts == one.name
        value, low, high = one.spared
        less[mine] = time[mine] * high
        weights.append((float(less[mine].sum()), Extent(value / high, low / high, 1.0, one.n)))
        spent.append(float(time[mine & ended].sum()))
    stages = {
        stage.number: less[place]
        for stage in facts.stages
        for place in (facts.place_of(stage.number),)
        if less[place].any()
    }
    names = [one.name for one in slow]
    listed = ", ".join("'" + name.replace("'", "''") + "'" for name in names)
    share = sum(ns for ns, _ in weights) * weighed(weights).value / (sum(spent) or 1.0)
    its, lacks = ("its", "it lacks") if len(names) == 1 else ("their", "they lack")
    of_it = f"{units.percent(share)} of {its} tasks' time"
    return Suspect(
        place=Place(layer="host", stages_count=len(stages), **hosts_of_place(names)),
        mechanism=_words(slow) + (fast.words if fast else ""),
        change=(Less("host", stages),),
        extent=weighed(weights),
        evidence=[
            *(
                Evidence(what=_what(one, slow), unit="ratio", table="tasks",
                         estimate=bounds(*one.ratio, one.n, "t on logarithms"),
                         query="SELECT stage_id, host, median(finish_wall_ns - launch_wall_ns)"
                         " FROM tasks GROUP BY ALL ORDER BY ALL", link="/timeline")
                for one in slow[:MOST_SHOWN]
            ),
            Evidence(what=f"time of {its} tasks", unit="ns", table="tasks", link="/timeline",
                     estimate=exactly(sum(spent), sum(one.n for one in slow)),
                     query="SELECT sum(finish_wall_ns - launch_wall_ns) FROM tasks WHERE"
                     f" {where(facts)} AND host IN ({listed})"),
            *([fast.evidence] if fast else []),
        ],
        remedies=[
            Remedy(kind="machine", text=f"see what {named_hosts(names)} lack beside"
                   f" {named_hosts(fast.names)}: about {of_it}"),
        ] if fast else [
            Remedy(kind="machine", text=f"take {named_hosts(names)} out of the cluster, and see"
                   f" what {lacks}: about {of_it}"),
            Remedy(kind="factor", factor="spark.speculation", level="true",
                   text=f"meanwhile, run copies of {its} slow tasks elsewhere"),
        ],
    )  # fmt: skip


def _what(one: _Slow, slow: Sequence[_Slow]) -> str:
    on = "" if len(slow) == 1 else f" on {one.name}"
    return f"time{on} over the other hosts' median"


def _words(slow: Sequence[_Slow]) -> str:
    """Say how much slower each is; of many, the first few."""
    said: list[str] = []
    for one in slow[:MOST_SHOWN]:
        value, low, high = one.ratio
        than = (
            " times"
            if said
            else " times as long as those of the same stages on other hosts, for the same bytes"
        )
        begin = f"on {one.name}" if said else f"Tasks on {one.name} took"
        tasks = units.counted(one.n, "task")
        said.append(f"{begin} {value:.3g}{than} ({low:.3g} to {high:.3g}, {tasks})")
    more = len(slow) - len(said)
    return f"{'; '.join(said)}{f'; and {more} more' if more else ''}."


RULE = Rule(
    code="straggler.host",
    title="Tasks take longer on some hosts",
    cause="slow host",
    suspects=_suspects,
    explains=("straggler.tail", "skew.time", "retries.speculation"),
    refute="Leave the host out for a run: if the medians of the others rise just as far, it was the"
    " tasks' work.",
)
