"""Sleeps of threads, distinguished pass by pass, and the profiler's samples that lie in them.

The probe sees a thread's state in passes, the profiler's wall samples see its Java stack in
between. A sleeping thread's stack cannot change: a sample belongs to a pass if the thread did not
run between the two. Rows of ``thread_states`` that follow each other are

- one *episode*, a sleep, if the counter of context switches grew by no more than the signals that
  the profiler sent in between (each wakes the thread, which then sleeps on: one switch); where
  switches are not known, if the thread ran for at most `SAME_RUN_NS`;
- one *stretch*, all of which has one stack, if they are one episode, or the thread ran for at most
  `SAME_RUN_NS` in between: it has woken and gone on waiting;

and in both cases wait at the same place: same user stack pointer and instruction, or, where these
cannot be read, same kernel stack.

Where the scheduler's events were recorded (tier T0), passes and samples lie in intervals off the
CPU of known begin, end and waker. An interval that the profiler's signal ended goes on in the next
one if the thread hardly ran in between: such a *chain* is one sleep with one stack, whatever a pass
saw of it.
"""

from __future__ import annotations

from pyrometer.store.tables import Tables

SAME_RUN_NS = 500_000
"""CPU time within which a thread is assumed to still wait at the same place."""
_SINGLE = "count = 1 AND off_ns = end_mono_ns - begin_mono_ns"

# The profiler's timer has no name: it is what woke threads right before their samples.
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
        Whether threads of several hosts are to be distinguished.
    """
    tables.define("signal_senders", _SENDERS)
    tables.define("sleep_intervals", _INTERVALS)
    tables.define("sleep_chains", _CHAINS)
    same = "AND g.host = c.host" if hosts else ""
    tables.define("signal_chains", _IN_CHAINS.format(hosts=same))


# Readings of counters and of states belong to one pass if no further apart.
_PASS_NS = 2_000_000
# A profiler that gave no sample of a process for so long was not recording.
GAP_NS = 2_000_000_000

SHORTEST = """
    SELECT min(weight) AS shortest FROM samples
    WHERE event = 'wall' AND weight > 0 AND source IS DISTINCT FROM 'python'
"""
"""What one tick of the profiler's wall clock weighs."""

# A sleeping thread is signalled once; for later ticks in which it did not run there is one more
# sample, of as many. One of a single tick cannot be distinguished from a second signal.
_SIGNALS = """
    SELECT * EXCLUDE (java_before), NOT lasts AND NOT coalesce(java_stack = java_before, false)
            AS surely_sent
    FROM (SELECT row_number() OVER () AS signal, host, pid, tid, t_ns, state = 'sleeping' AS asleep,
            java_stack, operator, codegen_stage_id, thread_name, weight > shortest AS lasts,
            t_ns + weight - shortest AS until_ns,
            lag(CASE WHEN state = 'sleeping' THEN java_stack END) OVER (
                PARTITION BY host, pid, tid ORDER BY t_ns) AS java_before
        FROM samples, shortest_samples
        WHERE event = 'wall' AND clock = 'mono' AND source IS DISTINCT FROM 'python')
"""

# What is compared row by row is kept apart from the rest of a row, which is four times as wide.
_SEEN = """
    SELECT row_number() OVER (ORDER BY host, pid, tid, begin_mono_ns) AS seen_row,
        *, state NOT IN ('on_cpu', 'run_queue') AS asleep FROM thread_states
"""

_COUNTED = """
    SELECT s.seen_row, s.host, s.pid, s.tid, s.begin_mono_ns, s.end_mono_ns, s.asleep,
        s.switches_count, s.user_sp, s.user_pc, s.kernel_stack,
        {chain} AS chain, {at_begin} AS run_begin_ns, {at_end} AS run_end_ns
    FROM seen_states s {joins}
"""

_KEYS = "SELECT seen_row, host, pid, tid, begin_mono_ns, end_mono_ns, asleep FROM seen_states"

_HITS = """
    SELECT h.*, {chain} AS chain FROM (
        SELECT g.*, s.seen_row, g.t_ns > s.end_mono_ns AS after
        FROM signals g ASOF JOIN counted s
            ON g.pid = s.pid AND g.tid = s.tid {hosts} AND g.t_ns >= s.begin_mono_ns) h {joins}
"""

_LINKED = f"""
    WITH signalled AS (
        SELECT c.*, coalesce(h.signals, 0) AS signals_after, coalesce(h.sure, 0) AS sure_after
        FROM counted c LEFT JOIN (
            SELECT seen_row, count(*) AS signals, count(*) FILTER (surely_sent) AS sure
            FROM hits WHERE after AND asleep AND NOT lasts GROUP BY 1
        ) h USING (seen_row)
    ), compared AS (
        SELECT *, lag(asleep) OVER th AS was_asleep,
            -- Sleeps begun since the row before, those apart that a signal interrupted.
            switches_count - lag(switches_count) OVER th - lag(signals_after) OVER th AS sleeps,
            lag(signals_after = sure_after) OVER th AS signals_are_sure,
            run_begin_ns - lag(run_end_ns) OVER th AS ran_ns, chain = lag(chain) OVER th AS chained,
            CASE WHEN user_sp IS NOT NULL AND lag(user_sp) OVER th IS NOT NULL
                THEN user_sp = lag(user_sp) OVER th
                    AND user_pc IS NOT DISTINCT FROM lag(user_pc) OVER th
                ELSE kernel_stack IS NOT DISTINCT FROM lag(kernel_stack) OVER th END AS same_place
        FROM signalled WINDOW th AS (PARTITION BY host, pid, tid ORDER BY begin_mono_ns)
    ), linked AS (
        SELECT *, coalesce(was_asleep AND asleep AND same_place, false) AS slept_on,
            coalesce(ran_ns <= {SAME_RUN_NS}, false) AS hardly_ran FROM compared
    )
    SELECT seen_row, host, pid, tid, begin_mono_ns, end_mono_ns, asleep, chain, sleeps,
        signals_are_sure, ran_ns, slept_on AND CASE WHEN chained IS NOT NULL THEN chained
            WHEN sleeps IS NULL THEN hardly_ran
            ELSE sleeps = 0 AND (ran_ns IS NULL OR hardly_ran) END AS goes_on,
        slept_on AND hardly_ran AS stays
    FROM linked
"""

_ROWS = """
    SELECT * EXCLUDE (goes_on, stays),
        sum(CASE WHEN goes_on THEN 0 ELSE 1 END) OVER (ORDER BY seen_row) AS episode_id,
        sum(CASE WHEN stays OR goes_on THEN 0 ELSE 1 END) OVER (ORDER BY seen_row) AS stretch_id
    FROM linked_states
"""

# The sleep that a sample of a sleeping thread lies in, where that is certain.
_PLACED = f"""
    WITH adjacent AS (
        SELECT h.signal, h.t_ns, h.until_ns, h.lasts, h.after, h.chain, h.java_stack, h.operator,
            h.codegen_stage_id, h.thread_name, h.seen_row,
            p.asleep AS p_asleep, p.episode_id AS p_episode, p.stretch_id AS p_stretch,
            q.asleep AS q_asleep, q.episode_id AS q_episode, q.stretch_id AS q_stretch,
            CASE WHEN q.signals_are_sure THEN q.sleeps END AS sleeps,
            q.sleeps IS NULL AS uncounted, q.ran_ns, q.seen_row AS q_row,
            q.begin_mono_ns AS q_begin, p.chain AS p_chain, q.chain AS q_chain
        FROM (SELECT *, CASE WHEN after THEN seen_row + 1 END AS next_row FROM hits
            WHERE asleep AND java_stack IS NOT NULL) h JOIN state_rows p USING (seen_row)
        LEFT JOIN state_rows q ON q.seen_row = h.next_row
            AND q.pid = h.pid AND q.tid = h.tid AND q.host = p.host
    )
    SELECT *, CASE
        WHEN chain = p_chain THEN 'before'
        WHEN chain = q_chain OR (lasts AND q_asleep AND q_begin <= until_ns) THEN 'after'
        WHEN NOT after THEN CASE WHEN p_asleep THEN 'before' END
        WHEN p_asleep AND p_stretch = q_stretch THEN 'before'
        WHEN p_asleep AND NOT q_asleep AND (sleeps = 0 OR (uncounted
            AND ran_ns <= {SAME_RUN_NS})) THEN 'before'
        WHEN NOT p_asleep AND q_asleep AND sleeps = 1 THEN 'after' END AS side
    FROM adjacent
"""

_SURE = """
    SELECT signal, t_ns, until_ns, java_stack, operator, codegen_stage_id, thread_name,
        CASE side WHEN 'before' THEN p_episode ELSE q_episode END AS episode_id,
        CASE side WHEN 'before' THEN p_stretch ELSE q_stretch END AS stretch_id
    FROM placed_signals WHERE side IS NOT NULL
"""

_JOINED = """
    WITH before AS (
        SELECT s.seen_row, g.signal, greatest(0, s.begin_mono_ns - g.until_ns) AS skew
        FROM state_rows s ASOF JOIN sure_signals g
            ON g.stretch_id = s.stretch_id AND s.end_mono_ns >= g.t_ns
        WHERE s.asleep
    ), behind AS (
        SELECT s.seen_row, g.signal, g.t_ns - s.end_mono_ns AS skew
        FROM state_rows s ASOF JOIN sure_signals g
            ON g.stretch_id = s.stretch_id AND s.end_mono_ns < g.t_ns
        WHERE s.asleep
    ), nearest AS (
        SELECT seen_row, coalesce(a.skew <= b.skew, a.signal IS NOT NULL) AS is_before,
            CASE WHEN is_before THEN a.signal ELSE b.signal END AS signal,
            CASE WHEN is_before THEN a.skew ELSE b.skew END AS skew_ns
        FROM before a FULL JOIN behind b USING (seen_row)
    )
    SELECT n.seen_row, g.java_stack, g.operator, g.codegen_stage_id, g.thread_name, n.skew_ns,
        CASE WHEN g.episode_id = s.episode_id THEN 'joined' ELSE 'joined_by_run_time' END AS how
    FROM nearest n JOIN sure_signals g USING (signal) JOIN state_rows s USING (seen_row)
"""

_IN_TASKS = """
    SELECT s.seen_row, t.task_attempt_id AS in_task
    FROM (SELECT seen_row, host, pid, tid, begin_mono_ns FROM seen_states
        WHERE task_attempt_id IS NULL) s ASOF JOIN spans t
        ON t.pid = s.pid AND t.tid = s.tid {hosts} AND s.begin_mono_ns >= t.start_mono_ns
    WHERE s.begin_mono_ns < coalesce(t.end_mono_ns, 9223372036854775807)
    UNION ALL SELECT seen_row, task_attempt_id FROM seen_states WHERE task_attempt_id IS NOT NULL
"""

_UNSURE = """
    SELECT DISTINCT unnest(CASE WHEN q_row IS NULL THEN [seen_row] ELSE [seen_row, q_row] END)
        AS seen_row
    FROM placed_signals WHERE side IS NULL
"""

_STATUS = """
    SELECT s.seen_row, s.pid, s.begin_mono_ns, s.end_mono_ns,
        CASE WHEN s.state = 'on_cpu' THEN 'on_cpu' WHEN NOT s.asleep THEN 'runnable'
        WHEN w.how IS NOT NULL THEN w.how
        WHEN i.in_task IS NULL OR s.pid NOT IN (SELECT pid FROM spans) THEN 'not_sampled'
        -- Takes a signal once it wakes: whether a sample is of that moment is not known.
        WHEN s.state = 'disk' THEN 'uninterruptible'
        WHEN u.seen_row IS NOT NULL THEN 'ran_between' END AS status
    FROM seen_states s LEFT JOIN with_stacks w USING (seen_row)
    LEFT JOIN in_tasks i USING (seen_row) LEFT JOIN unsure u USING (seen_row)
"""

_GAPS = f"""
    SELECT j.seen_row, f.t_ns IS NULL OR (j.begin_mono_ns - f.t_ns > {GAP_NS}
        AND coalesce(n.t_ns - j.end_mono_ns, {GAP_NS} + 1) > {GAP_NS}) AS is_gap
    FROM (FROM statuses WHERE status IS NULL) j
    ASOF LEFT JOIN recorded f ON f.pid = j.pid AND j.end_mono_ns >= f.t_ns
    ASOF LEFT JOIN recorded n ON n.pid = j.pid AND j.end_mono_ns < n.t_ns
"""

_EPISODES = """
    SELECT s.*, r.episode_id, r.stretch_id, w.* EXCLUDE (seen_row, how), i.in_task,
        coalesce(j.status, CASE WHEN g.is_gap THEN 'profiler_gap' ELSE 'no_sample' END)
            AS join_status
    FROM seen_states s JOIN state_rows r USING (seen_row) JOIN statuses j USING (seen_row)
    LEFT JOIN with_stacks w USING (seen_row) LEFT JOIN in_tasks i USING (seen_row)
    LEFT JOIN gaps g USING (seen_row)
"""

# Without events: no chain, and nothing to join for it.
_NONE = ("NULL::BIGINT", "")


def define_episodes(tables: Tables, hosts: bool) -> None:
    """Make temporary table ``episode_rows``: rows of ``thread_states`` with sleep and Java stack.

    Added columns: ``asleep``, ``episode_id``, ``stretch_id``, ``java_stack``, ``operator``,
    ``codegen_stage_id``, ``skew_ns`` (from the pass to the sample whose stack it has) and
    ``join_status``; and ``in_task``, the task whose span it lies in.

    Parameters
    ----------
    tables : Tables
        With table ``shortest_samples`` (`SHORTEST`).
    hosts : bool
        Whether threads of several hosts are to be distinguished.
    """
    events = tables.has("off_cpu")
    tables.define("signals", _SIGNALS)
    if events:
        define_chains(tables, hosts)
    tables.define("seen_states", _SEEN)
    tables.define("counted", _counted(tables, hosts, events))
    same = "AND g.host = s.host" if hosts else ""
    chain, joins = ("c.chain", "LEFT JOIN signal_chains c USING (signal)") if events else _NONE
    tables.define("hits", _HITS.format(hosts=same, chain=chain, joins=joins))
    tables.define("linked_states", _LINKED)
    tables.drop("counted")
    tables.define("state_rows", _ROWS)
    tables.drop("linked_states")
    tables.define("placed_signals", _PLACED)
    tables.define("sure_signals", _SURE)
    tables.define("unsure", _UNSURE)
    tables.define(
        "recorded", "SELECT DISTINCT pid, t_ns // 100000000 * 100000000 AS t_ns FROM signals"
    )
    tables.define("with_stacks", _JOINED)
    tables.define("in_tasks", _IN_TASKS.format(hosts="AND t.host = s.host" if hosts else ""))
    tables.define("statuses", _STATUS)
    tables.define("gaps", _GAPS)
    tables.define("episode_rows", _EPISODES)
    tables.drop("seen_states", "state_rows", "with_stacks", "in_tasks", "statuses", "gaps")


def _counted(tables: Tables, hosts: bool, events: bool) -> str:
    """Rows with the thread's CPU time at their first and last pass and the chain they lie in."""

    def joined(table: str, name: str, value: str, reached: str, only: str = "true") -> str:
        same = "AND x.host = k.host" if hosts else ""
        return (
            f" LEFT JOIN (SELECT k.seen_row, x.{value} FROM ({_KEYS}) k ASOF JOIN {table} x"
            f" ON x.pid = k.pid AND x.tid = k.tid {same} AND {reached} WHERE {only})"
            f" {name} USING (seen_row)"
        )

    (chain, joins), at_begin, at_end = _NONE, "NULL::BIGINT", "NULL::BIGINT"
    if events:
        chain, inside = "c.chain", "k.asleep AND k.end_mono_ns <= x.end_mono_ns"
        joins = joined("sleep_chains", "c", "chain", "k.begin_mono_ns >= x.begin_mono_ns", inside)
    if tables.has("thread_counters"):
        at_begin, at_end = "b.run_ns", "e.run_ns"
        for name, end in (("b", "begin_mono_ns"), ("e", "end_mono_ns")):
            reached = f"k.{end} + {_PASS_NS} >= x.t_mono_ns"
            joins += joined("thread_counters", name, "run_ns", reached)
    return _COUNTED.format(chain=chain, at_begin=at_begin, at_end=at_end, joins=joins)
