"""Programs that the application's own script started beside Spark, and the CPU that they held.

They are processes of the run that are neither a JVM nor a child of one, nor descend from a Python
worker's daemon: that begins with a task that needs it, the script before the first task. A daemon
that begins earlier, for a source of data in Python, is known where its workers are sampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrometer.accounts.cpu import OWN_PROCESS
from pyrometer.explain.facts import Facts
from pyrometer.simulation.measured import Floats
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
_BY_PIECE = """
WITH cut AS (
  SELECT p.piece, s.pid, s.tid, sum(s.run * part.inside) AS run, sum(s.delay * part.inside) AS delay
  FROM thread_steps s JOIN c_pieces p ON s.t > p.since AND s.since < p.until
  CROSS JOIN LATERAL (SELECT (least(s.t, p.until) - greatest(s.since, p.since))::DOUBLE
    / (s.t - s.since) AS inside) part
  WHERE s.pid NOT IN ({own}) GROUP BY ALL)
SELECT p.since::DOUBLE AS since, p.until::DOUBLE AS until,
  coalesce(sum(run) FILTER (pid IN (FROM beside_pids)), 0)::DOUBLE AS held,
  coalesce(sum(delay) FILTER (pid NOT IN (FROM beside_pids)), 0)::DOUBLE AS waited,
  coalesce(sum(delay) FILTER ((pid, tid) IN (SELECT (pid, tid) FROM spans)), 0)::DOUBLE AS tasks
FROM c_pieces p LEFT JOIN cut USING (piece) GROUP BY ALL ORDER BY 1
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
    count : int
        Programs in all.
    held_ns : float
        CPU that they used in the window.
    least, most : dict of int to float
        Share of tasks' waits for a CPU that would not be without them, by number of the stage.
    pieces_count : int
        Pieces of the window in which they ran.
    """

    names: tuple[tuple[str, float], ...]
    count: int
    held_ns: float
    least: dict[int, float]
    most: dict[int, float]
    pieces_count: int


def beside(facts: Facts) -> Beside | None:
    """Look for programs beside Spark; where nothing is known of processes, there are none.

    The CPU that they leave goes to those who waited for one: of it, tasks have at least their part
    of all waits of the run's other threads, and at most as much as they waited.
    """
    offset = facts.scope.offset_ns
    known = all(facts.has(n) for n in ("thread_counters", "spans", "os_series", "processes"))
    if facts.tables.several_hosts or offset is None or not known or not facts.tasks.count:
        return None
    if "c_pieces" not in facts.tables.defined:
        return None
    first = facts.tables.scalar("SELECT min(launch_wall_ns) FROM tasks")
    if first is None:
        return None
    facts.tables.define("beside_pids", _PROGRAMS.format(first=int(first) - offset, own=OWN_PROCESS))
    count = int(facts.tables.scalar("SELECT count(*) FROM beside_pids") or 0)
    if not count:
        return None
    define_steps(facts.scope)
    pieces = facts.tables.columns(_BY_PIECE.format(own=OWN_PROCESS))
    held, waited, tasks = (np.asarray(pieces[name]) for name in ("held", "waited", "tasks"))
    part = np.divide(tasks, waited, out=np.zeros_like(tasks), where=waited > 0)
    edges = np.append(np.asarray(pieces["since"]), np.asarray(pieces["until"])[-1:]) + offset
    begin = np.array([one.submit_ns for one in facts.stages], dtype=np.float64)
    end = np.array([one.complete_ns for one in facts.stages], dtype=np.float64)

    def within(values: Floats) -> Floats:
        upto = np.append(0.0, np.cumsum(values))
        found: Floats = np.interp(end, edges, upto) - np.interp(begin, edges, upto)
        return found

    whole = within(tasks)
    shares = [
        np.divide(within(behind), whole, out=np.zeros_like(whole), where=whole > 0)
        for behind in (np.minimum(tasks, held * part), np.minimum(tasks, held))
    ]
    least, most = (dict(enumerate(np.clip(one, 0.0, 1.0).tolist())) for one in shares)
    used = [(str(comm), float(ns)) for comm, ns in facts.tables.query(_NAMES) if ns]
    names = tuple(sorted(used, key=lambda one: -one[1])[:MOST_NAMED])
    return Beside(names, count, float(held.sum()), least, most, int((held > 0).sum()))
