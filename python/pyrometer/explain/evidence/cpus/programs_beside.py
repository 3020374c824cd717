"""Programs that the application's own script started beside Spark, and the CPU that they held.

They are processes of the run that are neither a JVM nor a child of one, nor descend from a Python
worker's daemon: that begins with a task that needs it, the script before the first task. A daemon
that begins earlier, for a source of data in Python, is known where its workers are sampled.

One in a session of its own whose parent has ended is a stranger to the probe, which finds children
by their parents; where the kernel reports exits of all descendants, its CPU time is known at its
end. A process so short that it came and went unseen is not: it may be a child of a JVM, as a
`chmod` of Hadoop's.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.accounts.cpu import OWN_PROCESS, SHORT_LIVED
from pyrometer.explain.evidence.cpus.waits_behind import Behind, missing, waits_behind
from pyrometer.explain.facts import Facts
from pyrometer.window.counters import define_steps

MOST_NAMED = 3
LOOKS_EVERY = 5
"""The probe looks for children of followed processes in one pass of so many."""
_PROGRAMS = """
WITH RECURSIVE known AS (
  -- A process whose parent ends is given another.
  SELECT TRY_CAST(substr(scope, 9) AS BIGINT) AS pid,
    arg_min(value, t_mono_ns) FILTER (name = 'parent_pid') AS parent,
    min(value) FILTER (name = 'start_time_mono_ns') AS since
  FROM os_series WHERE scope LIKE 'process/%' AND name IN ('parent_pid', 'start_time_mono_ns')
  GROUP BY scope HAVING parent IS NOT NULL AND since IS NOT NULL),
jvms AS (
  SELECT pid FROM processes UNION SELECT pid FROM spans WHERE pid IS NOT NULL),
workers AS (
  SELECT k.pid, k.parent FROM known k SEMI JOIN samples s ON s.pid = k.pid
    AND s.source = 'python' AND s.role = 'python' AND s.thread_name = 'Python worker'),
above AS (
  SELECT k.pid, k.parent FROM known k JOIN jvms USING (pid)
  UNION SELECT k.pid, k.parent FROM known k JOIN above a ON k.pid = a.parent),
beside AS (
  SELECT k.pid FROM known k JOIN known p ON p.pid = k.parent
  WHERE p.since < {first} AND p.pid NOT IN (FROM jvms)
    AND p.pid NOT IN (SELECT parent FROM workers) AND k.pid NOT IN (SELECT pid FROM workers)
    AND k.pid NOT IN (SELECT pid FROM above) AND k.pid NOT IN ({own})
  UNION SELECT k.pid FROM known k JOIN beside b ON k.parent = b.pid WHERE k.pid NOT IN (FROM jvms))
SELECT pid FROM beside
UNION
-- They lived through a look at the host's processes, and were not found to be the run's.
SELECT pid FROM (
  SELECT pid, min(since) AS since, max(t) AS until FROM thread_steps
  WHERE pid IN ({unfollowed}) AND pid NOT IN ({own}) AND pid NOT IN (FROM jvms)
    AND pid NOT IN (SELECT pid FROM known) GROUP BY pid)
WHERE until > {first} AND (SELECT count(*) FROM os_series
  WHERE scope = 'probe' AND name = 'passes_count' AND t_mono_ns > since AND t_mono_ns <= until)
  > {looks}
"""
_NAMES = """
SELECT comm, sum(run)::DOUBLE AS used FROM (
  SELECT arg_max(comm, t) AS comm, sum(run) AS run FROM thread_steps
  WHERE pid IN (FROM beside_pids) GROUP BY pid)
GROUP BY comm HAVING used > 0 ORDER BY used DESC, comm LIMIT {most}
"""


@dataclass(frozen=True)
class Beside:
    """Programs beside Spark, and what tasks waited behind them.

    Attributes
    ----------
    names : tuple of (str, float)
        Programs that held CPUs longest, and for how long in nanoseconds.
    pids : tuple of int
        All of them.
    behind : Behind
        The CPU that they held, and what tasks waited for it.
    """

    names: tuple[tuple[str, float], ...]
    pids: tuple[int, ...]
    behind: Behind


def beside(facts: Facts) -> Beside | None:
    """Look for programs beside Spark; where nothing is known of processes, there are none."""
    offset = facts.scope.offset_ns
    first = facts.tables.scalar("SELECT min(launch_wall_ns) FROM tasks")
    if offset is None or first is None or missing(facts) is not None:
        return None
    define_steps(facts.scope)
    programs = _PROGRAMS.format(
        first=int(first) - offset, own=OWN_PROCESS, unfollowed=SHORT_LIVED, looks=LOOKS_EVERY
    )
    facts.tables.define("beside_pids", programs)
    pids = tuple(pid for (pid,) in facts.tables.query("SELECT pid FROM beside_pids ORDER BY pid"))
    if not pids:
        return None
    behind = waits_behind(facts, "pid IN (FROM beside_pids)")
    used = facts.tables.query(_NAMES.format(most=MOST_NAMED))
    return Beside(tuple((str(comm), float(ns)) for comm, ns in used), pids, behind)
