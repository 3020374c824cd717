"""Programs that the application's own script started beside Spark, and the CPU that they held.

They are processes of the run that are neither a JVM nor a child of one, nor descend from a Python
worker's daemon: that begins with a task that needs it, the script before the first task. A daemon
that begins earlier, for a source of data in Python, is known where its workers are sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.accounts.cpu import OWN_PROCESS
from pyrometer.explain.evidence.cpus.waits_behind import Behind, missing, waits_behind
from pyrometer.explain.facts import Facts
from pyrometer.window.counters import define_steps

MOST_NAMED = 3
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
"""
_NAMES = """
SELECT arg_max(comm, t), sum(run)::DOUBLE FROM thread_steps
WHERE pid IN (FROM beside_pids) GROUP BY pid
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
    facts.tables.define("beside_pids", _PROGRAMS.format(first=int(first) - offset, own=OWN_PROCESS))
    pids = tuple(pid for (pid,) in facts.tables.query("SELECT pid FROM beside_pids ORDER BY pid"))
    if not pids:
        return None
    define_steps(facts.scope)
    behind = waits_behind(facts, "pid IN (FROM beside_pids)")
    used = [(str(comm), float(ns)) for comm, ns in facts.tables.query(_NAMES) if ns]
    names = tuple(sorted(used, key=lambda one: -one[1])[:MOST_NAMED])
    return Beside(names, pids, behind)
