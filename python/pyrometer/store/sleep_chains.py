"""Sleeps by the scheduler's own events (tier T0): intervals off the CPU that signals cut apart.

An interval that the profiler's signal ended goes on in the next one, if the thread hardly ran in
between: intervals that are linked so are a *chain*, one sleep with one stack.
"""

from __future__ import annotations

from pyrometer.store.tables import Tables

SAME_RUN_NS = 500_000
"""CPU time within which a thread is taken not to have left the place where it waited."""
_SINGLE = "count = 1 AND off_ns = end_mono_ns - begin_mono_ns"

# The profiler's timer has no name of its own: it is who woke threads right before their samples.
_SENDERS = f"""
    SELECT g.pid, mode(o.waker_tid) AS sender FROM signals g ASOF JOIN (
        SELECT * FROM off_cpu WHERE {_SINGLE} AND waker_pid = pid AND NOT waker_interrupt) o
        ON g.pid = o.pid AND g.tid = o.tid AND g.t_ns >= o.end_mono_ns
    WHERE g.asleep AND NOT g.lasts AND g.t_ns <= o.end_mono_ns + {SAME_RUN_NS} GROUP BY 1
"""

_INTERVALS = f"""
    SELECT row_number() OVER th AS interval, *,
        begin_mono_ns - lag(end_mono_ns) OVER one - (queued - lag(queued) OVER one) AS ran_ns
    FROM (
        SELECT host, pid, tid, begin_mono_ns, end_mono_ns, kind,
            coalesce(waker_tid = sender AND NOT waker_interrupt, false) AS interrupted,
            sum(CASE WHEN kind IN ('sleeping', 'disk') THEN 0 ELSE off_ns END) OVER (
                PARTITION BY host, pid, tid ORDER BY begin_mono_ns) AS queued
        FROM off_cpu LEFT JOIN signal_senders USING (pid)
        WHERE {_SINGLE} AND (pid, tid) IN (SELECT (pid, tid) FROM signals))
    WHERE kind IN ('sleeping', 'disk')
    WINDOW th AS (ORDER BY host, pid, tid, begin_mono_ns),
        one AS (PARTITION BY host, pid, tid ORDER BY begin_mono_ns)
"""

_CHAINS = f"""
    SELECT *, sum(CASE WHEN continued THEN 0 ELSE 1 END) OVER (ORDER BY interval) AS chain
    FROM (SELECT *, coalesce(ran_ns <= {SAME_RUN_NS} AND lag(interrupted) OVER (
            PARTITION BY host, pid, tid ORDER BY begin_mono_ns), false) AS continued
        FROM sleep_intervals)
"""

# Its own signal wakes a thread just before the sample is taken.
_IN_CHAINS = f"""
    SELECT g.signal, c.chain FROM signals g ASOF JOIN sleep_chains c
        ON g.pid = c.pid AND g.tid = c.tid {{hosts}} AND g.t_ns >= c.begin_mono_ns
    WHERE g.t_ns <= c.end_mono_ns + CASE WHEN c.interrupted THEN {SAME_RUN_NS} ELSE 0 END
"""


def define_chains(tables: Tables, hosts: bool) -> None:
    """Make ``sleep_chains``, intervals with their ``chain``, and ``signal_chains``.

    Parameters
    ----------
    tables : Tables
        With table ``signals``: what the profiler sampled of threads by its wall clock.
    hosts : bool
        Whether threads of several hosts are to be told apart.
    """
    tables.define("signal_senders", _SENDERS)
    tables.define("sleep_intervals", _INTERVALS)
    tables.define("sleep_chains", _CHAINS)
    same = "AND g.host = c.host" if hosts else ""
    tables.define("signal_chains", _IN_CHAINS.format(hosts=same))
