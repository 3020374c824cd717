"""On which NUMA nodes task threads ran: CPU time on each, and moves from one to another.

A reading of a thread says on which CPU it ran last, and a series of the probe of which node each
CPU is. CPU time between two readings on one node is taken for that node's; between readings on two
it is the later one's, and the bounds say what if it were the other's. A move there and back between
two readings is not seen: moves are a lower bound.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from pyrometer.accounts.hardware.schema import NodeTime, ThreadNode
from pyrometer.core.estimate import Estimate
from pyrometer.window.scope import Scope

NODES = """
SELECT host, TRY_CAST(replace(scope, 'cpu/', '') AS INTEGER) AS cpu, max(value)::INTEGER AS node
FROM os_series WHERE name = 'numa_node' AND scope LIKE 'cpu/%' GROUP BY ALL
"""
"""The node of each CPU of each host."""
NOT_TOLD = "the probe told no nodes: this kernel has none (CONFIG_NUMA), or the probe was older"

_KNOWN = f"""
WITH placed AS (
  SELECT c.host, c.pid, c.tid, c.t_mono_ns AS t, max(n.node) AS node
  FROM thread_counters c JOIN ({NODES}) n USING (host, cpu)
  JOIN (SELECT DISTINCT pid, tid FROM w_threads WHERE role = 'task') USING (pid, tid)
  WHERE c.cpu >= 0 GROUP BY ALL)
SELECT *, lag(node) OVER (PARTITION BY pid, tid ORDER BY t) AS before FROM placed
"""
_MOVES = f"""
SELECT pid, tid, count(*) FILTER (before <> node) FROM ({_KNOWN}) k
JOIN w ON k.t >= w.start_mono_ns AND k.t < w.end_mono_ns GROUP BY pid, tid
"""
_STEPS = f"""
SELECT k.host, k.pid, k.tid, k.node, coalesce(k.before, k.node) AS before,
  sum(s.run * greatest(0, least(s.t, w.end_mono_ns) - greatest(s.since, w.start_mono_ns))::DOUBLE
    / (s.t - s.since)) AS run,
  count(*) AS n
FROM thread_steps s JOIN w ON s.t > w.start_mono_ns AND s.since < w.end_mono_ns
JOIN ({_KNOWN}) k ON k.pid = s.pid AND k.tid = s.tid AND k.t = s.t
GROUP BY ALL ORDER BY ALL
"""


@dataclass
class _Time:
    value: float = 0.0
    certain: float = 0.0
    most: float = 0.0
    n: int = 0


@dataclass
class NodePlaces:
    """Where task threads ran, by node and by thread (process, thread)."""

    nodes: list[NodeTime] = field(default_factory=list)
    threads: dict[tuple[int, int], list[ThreadNode]] = field(default_factory=dict)
    moves: dict[tuple[int, int], int] = field(default_factory=dict)
    reason: str | None = None


def node_places(scope: Scope) -> NodePlaces:
    """Divide the CPU time of task threads among nodes.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_threads``.
    """
    cpus = scope.tables.query(f"SELECT host, node, count(*) FROM ({NODES}) GROUP BY ALL")
    if not cpus:
        return NodePlaces(reason=NOT_TOLD)
    whole: dict[tuple[str, int], _Time] = {(host, node): _Time() for host, node, _ in cpus}
    moves = {(pid, tid): count for pid, tid, count in scope.tables.query(_MOVES)}
    found = NodePlaces(moves=moves)
    own: dict[tuple[int, int], dict[int, float]] = defaultdict(lambda: defaultdict(float))
    for host, pid, tid, node, before, run, n in scope.tables.query(_STEPS):
        time = whole[host, node]
        time.value += run
        time.most += run
        time.n += n
        if before == node:
            time.certain += run
        else:
            whole[host, before].most += run
        own[pid, tid][node] += run
    total = sum(time.value for time in whole.values())
    several = scope.tables.several_hosts
    found.nodes = [
        NodeTime(
            host=host if several else None,
            node=node,
            cpus_count=count,
            cpu_ns=_estimate(whole[host, node]),
            share=whole[host, node].value / total if total else None,
        )
        for host, node, count in sorted(cpus)
    ]
    for thread, times in own.items():
        spent = sum(times.values())
        found.threads[thread] = [
            ThreadNode(node=node, share=time / spent if spent else None)
            for node, time in sorted(times.items())
        ]
    return found


def _estimate(time: _Time) -> Estimate:
    return Estimate(
        value=time.value,
        low=time.certain,
        high=time.most,
        level=1.0,
        n=time.n,
        method="node at readings; steps between two nodes are either's",
    )
