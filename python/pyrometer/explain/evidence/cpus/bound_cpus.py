"""CPUs that the threads of a JVM may not use while a stage runs: they are seen on others only."""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.explain.facts import Facts
from pyrometer.window.counters import define_steps

FEWEST_READINGS = 40
"""Readings of threads that ran: fewer may have missed a CPU by chance."""
MOST_STAGES = 200
"""Stages that are looked at, those whose tasks waited longest for a CPU."""
_SEEN = """
SELECT number, list_sort(list(DISTINCT c.cpu)), count(*)::BIGINT
FROM bound_stages b JOIN thread_counters c
  ON c.t_mono_ns > b.begin_ns AND c.t_mono_ns <= b.end_ns
WHERE c.cpu IS NOT NULL AND c.pid IN (SELECT DISTINCT pid FROM spans) GROUP BY number
"""
_WAITED = """
SELECT number, coalesce(sum(s.delay * (least(s.t, b.end_ns) - greatest(s.since, b.begin_ns))::DOUBLE
  / (s.t - s.since)), 0)
FROM bound_stages b JOIN thread_steps s ON s.t > b.begin_ns AND s.since < b.end_ns
WHERE s.pid IN (SELECT DISTINCT pid FROM spans) GROUP BY number
"""
_IDLE = """
WITH steps AS (
  SELECT substr(scope, 5)::INTEGER AS cpu, t_mono_ns AS t, lag(t_mono_ns) OVER s AS since,
    value - lag(value) OVER s AS grown
  FROM os_series WHERE name = 'cpu_idle_ns' AND regexp_matches(scope, '^cpu/[0-9]+$')
  WINDOW s AS (PARTITION BY scope ORDER BY t_mono_ns))
SELECT number, cpu, sum(s.grown * (least(s.t, b.end_ns) - greatest(s.since, b.begin_ns))::DOUBLE
  / (s.t - s.since))
FROM bound_stages b JOIN steps s ON s.t > b.begin_ns AND s.since < b.end_ns
WHERE s.grown > 0 AND s.t > s.since GROUP BY ALL
"""


@dataclass(frozen=True)
class Bound:
    """A stage whose JVM was seen on some of the host's CPUs only.

    Attributes
    ----------
    cpus, others : tuple of int
        CPUs that its threads ran on, and that they did not.
    queue_ns, threads_ns : float
        What tasks waited for a CPU, and all threads of the JVM.
    idle_ns : float
        Time for which the others were idle meanwhile.
    readings_count : int
        Readings of threads that ran.
    """

    cpus: tuple[int, ...]
    others: tuple[int, ...]
    queue_ns: float
    threads_ns: float
    idle_ns: float
    readings_count: int


def bound(facts: Facts) -> dict[int, Bound]:
    """Give the stages in which the only JVM with tasks was bound to fewer CPUs than it has slots.

    Of stages that ran at the same time, it is the one whose tasks waited longest: CPUs that are
    idle are idle once.
    """
    offset = facts.scope.offset_ns
    known = all(facts.has(name) for name in ("thread_counters", "spans", "os_series"))
    if facts.tables.several_hosts or offset is None or not known:
        return {}
    if facts.tables.scalar("SELECT count(DISTINCT pid) FROM spans") != 1:
        return {}
    queue = facts.ledger_ns("task/run_queue")
    apart = _apart(facts, queue)
    if not apart:
        return {}
    facts.tables.keep(
        "bound_stages", {"number": "BIGINT", "begin_ns": "BIGINT", "end_ns": "BIGINT"},
        {"number": apart, "begin_ns": [facts.stages[n].submit_ns - offset for n in apart],
         "end_ns": [facts.stages[n].complete_ns - offset for n in apart]},
    )  # fmt: skip
    every = _host_cpus(facts)
    few = {
        number: (cpus, readings) for number, cpus, readings in facts.tables.query(_SEEN)
        if readings >= FEWEST_READINGS and len(cpus) < min(facts.slots, len(every))
        and every >= set(cpus)
    }  # fmt: skip
    if not few:
        return {}
    define_steps(facts.scope)
    waited = dict(facts.tables.query(_WAITED))
    idle = {(number, cpu): ns for number, cpu, ns in facts.tables.query(_IDLE)}
    found = {}
    for number, (cpus, readings) in few.items():
        others = tuple(sorted(every - set(cpus)))
        unused = sum(idle.get((number, cpu), 0.0) for cpu in others)
        found[number] = Bound(
            tuple(cpus), others, queue[number], max(waited.get(number, 0.0), queue[number]), unused,
            readings,
        )  # fmt: skip
    return found


def _apart(facts: Facts, queue: dict[int, float]) -> list[int]:
    """Give stages no two of which ran at once, those with the longest waits first."""
    kept: list[int] = []
    taken: list[tuple[float, float]] = []
    for number in sorted(queue, key=lambda n: -queue[n])[:MOST_STAGES]:
        begin, end = facts.stages[number].submit_ns, facts.stages[number].complete_ns
        if end > begin and all(end <= a or begin >= b for a, b in taken):
            kept.append(number)
            taken.append((begin, end))
    return kept


def _host_cpus(facts: Facts) -> set[int]:
    return {
        int(scope.removeprefix("cpu/"))
        for (scope,) in facts.tables.query(
            "SELECT DISTINCT scope FROM os_series WHERE name = 'cpu_idle_ns'"
            " AND regexp_matches(scope, '^cpu/[0-9]+$')"
        )
    }
