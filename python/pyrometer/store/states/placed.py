"""States of threads with their sleep, Java stack, kernel stack and task, a few hosts at a time.

Threads of one host have nothing to do with those of another: of very many hosts so many are read
at once as a bounded memory holds, and what is found of them is written to a file.
"""

from __future__ import annotations

from pathlib import Path

from pyrometer.store.sql.host_groups import host_groups
from pyrometer.store.states.sleeps import SHORTEST, define_episodes
from pyrometer.store.tables import Tables
from pyrometer.store.thread_roles import role_case

MOST_ROWS = 50_000
"""States of threads that are joined at once; of one host all are."""

_PAUSES = """
    SELECT pid, start_ns, max(end_ns) AS end_ns FROM (
        SELECT pid, end_mono_ns - total_ns AS start_ns, end_mono_ns AS end_ns FROM safepoints
        UNION ALL SELECT pid, start_mono_ns, start_mono_ns + duration_ns FROM gc_pauses
            WHERE pid NOT IN (SELECT pid FROM safepoints WHERE pid IS NOT NULL))
    WHERE pid IS NOT NULL AND start_ns IS NOT NULL AND end_ns > start_ns GROUP BY ALL
"""

# What the two ends of a row stand for beyond its passes is paused if the pass was.
_PAUSED = """
    SELECT seen_row, t_ns, CASE WHEN begins THEN until_ns END AS over_ns,
        (inside + CASE WHEN begins THEN edge // 2 ELSE 0 END
        + CASE WHEN ends THEN edge - edge // 2 ELSE 0 END)::BIGINT AS weight
    FROM (
        SELECT r.seen_row, greatest(p.start_ns, r.begin_mono_ns) AS t_ns,
            greatest(0, least(p.end_ns, r.end_mono_ns) - greatest(p.start_ns, r.begin_mono_ns))
                AS inside,
            greatest(0, r.weight_ns - (r.end_mono_ns - r.begin_mono_ns)) AS edge,
            r.begin_mono_ns >= p.start_ns AND r.begin_mono_ns < p.end_ns AS begins,
            r.end_mono_ns >= p.start_ns AND r.end_mono_ns < p.end_ns AS ends,
            least(p.end_ns, r.end_mono_ns) AS until_ns
        FROM episode_rows r JOIN jvm_pauses p
            ON p.pid = r.pid AND p.start_ns <= r.end_mono_ns AND p.end_ns > r.begin_mono_ns
        WHERE r.asleep AND r.in_task IS NOT NULL)
    WHERE inside > 0 OR begins OR ends
"""

_PIECES = """
    SELECT r.*, coalesce(p.over_ns, r.begin_mono_ns) AS t_ns, false AS paused,
        greatest(0, r.weight_ns - coalesce(p.weight, 0)) AS weight
    FROM episode_rows r LEFT JOIN (
        SELECT seen_row, sum(weight)::BIGINT AS weight, max(over_ns) AS over_ns
        FROM paused_parts GROUP BY 1) p
        USING (seen_row)
    WHERE r.weight_ns > coalesce(p.weight, 0)
    UNION ALL
    SELECT r.*, p.t_ns, true, p.weight FROM paused_parts p JOIN episode_rows r USING (seen_row)
"""

_THREADS = f"""
    SELECT pid, tid, any_value(comm) AS comm, any_value({role_case("comm")}) AS role,
        any_value(name) AS name
    FROM (SELECT pid, tid, arg_max(comm, t_mono_ns) AS comm FROM thread_counters GROUP BY ALL)
    FULL JOIN (SELECT pid, tid, any_value(thread_name) AS name FROM signals GROUP BY ALL)
        USING (pid, tid)
    GROUP BY ALL
"""

# A second SparkContext of a JVM counts tasks from 0 again: each span stands until the next of its
# id begins, the first one before it, too.
_SPANS = """
    SELECT *, CASE WHEN lag(start_ns) OVER one IS NULL THEN -9223372036854775807
            ELSE start_ns END AS from_ns,
        coalesce(lead(start_ns) OVER one, 9223372036854775807) AS until_ns
    FROM (SELECT pid, task_attempt_id AS in_task, start_mono_ns AS start_ns,
            any_value(job_id) AS job_id, any_value(iteration) AS iteration,
            any_value(stage_id) AS stage_id, any_value(stage_attempt) AS stage_attempt,
            any_value(sql_id) AS sql_id
        FROM spans GROUP BY ALL)
    WINDOW one AS (PARTITION BY pid, in_task ORDER BY start_ns)
"""

_TASKS_OF_ONE_PROCESS = f"""
    SELECT in_task, job_id, iteration, from_ns, until_ns FROM ({_SPANS})
    WHERE in_task IN (
        SELECT task_attempt_id FROM spans GROUP BY 1 HAVING count(DISTINCT pid) = 1)
"""

_CONTEXT = f"""
    SELECT p.host, p.pid, p.tid, p.t_ns, p.weight, p.state, p.io_wait, p.syscall, p.user_sp,
        p.user_pc, p.asleep, p.paused, p.in_task, p.java_stack, p.operator, p.codegen_stage_id,
        p.join_status, (p.episode_id + {{before}})::BIGINT AS episode_id,
        coalesce(s.job_id, o.job_id) AS job_id,
        coalesce(s.iteration, o.iteration) AS iteration,
        coalesce(p.stage_id, s.stage_id) AS of_stage,
        coalesce(p.stage_attempt, s.stage_attempt) AS of_attempt,
        coalesce(p.sql_id, s.sql_id) AS of_sql,
        p.in_task IS NOT NULL AS task,
        -- A Python worker works for a task, but has no slot of its own.
        CASE WHEN s.in_task IS NOT NULL THEN 'task' ELSE coalesce(t.role, 'other') END AS role,
        coalesce(p.thread_name, t.name, t.comm) AS named, k.symbols
    FROM pieces p
    LEFT JOIN ({_SPANS}) s ON s.pid = p.pid AND s.in_task = p.in_task
        AND p.begin_mono_ns >= s.from_ns AND p.begin_mono_ns < s.until_ns
    LEFT JOIN tasks_of_one_process o ON o.in_task = p.in_task
        AND p.begin_mono_ns >= o.from_ns AND p.begin_mono_ns < o.until_ns
    LEFT JOIN state_threads t ON t.pid = p.pid AND t.tid = p.tid
    LEFT JOIN (SELECT host, stack_id, any_value(symbols) AS symbols FROM kernel_stacks
        GROUP BY ALL) k ON k.host = p.host AND k.stack_id = p.kernel_stack
"""


def place_states(tables: Tables, folder: Path) -> list[Path]:
    """Write files of ``placed_states``: pieces of rows of ``thread_states`` with all of that.

    Parameters
    ----------
    tables : Tables
        The tables, with the processes of hosts told apart.
    folder : Path
        Where the files are written.

    Returns
    -------
    list of Path
        The files, in the order of their hosts.
    """
    states = "SELECT host, count(*) FROM thread_states GROUP BY host ORDER BY host"
    counts = tables.query(states)
    groups = (tables.several_hosts and list(host_groups(counts, MOST_ROWS))) or [[]]
    tables.define_for_hosts("shortest_samples", SHORTEST)
    tables.define_for_hosts("tasks_of_one_process", _TASKS_OF_ONE_PROCESS)
    files: list[Path] = []
    episodes = 0
    for group in groups:
        with tables.of_hosts(*(group if len(groups) > 1 else ())) as own:
            files.append(folder / f"placed-{len(files)}.parquet")
            episodes += _place(own, len(counts) > 1, episodes, files[-1])
    return files


def _place(tables: Tables, several: bool, before: int, file: Path) -> int:
    """Write the states of some hosts, after so many sleeps of others; gives theirs."""
    define_episodes(tables, several)
    tables.define("jvm_pauses", _PAUSES)
    tables.define("paused_parts", _PAUSED)
    tables.define("pieces", _PIECES)
    episodes = int(tables.scalar("SELECT coalesce(max(episode_id), 0) FROM episode_rows"))
    tables.drop("episode_rows", "paused_parts")
    tables.define("state_threads", _THREADS)
    tables.write(_CONTEXT.format(before=before), file, "snappy")
    return episodes
