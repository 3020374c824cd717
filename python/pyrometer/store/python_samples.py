"""Samples of Python processes: raw lines to parts of tables ``samples``, ``stacks``, ``frames``.

Which task a worker ran is in the line; the plugin's span of that task gives stage, query and
iteration, and the plan which node drove the worker: the one that sent data to Python in that
stage, or, of several, the one whose text names the functions in its stacks. A worker's time before
its first task (it is forked, imports pyspark) is the task's that it was started for, its time
after a task that task's.

Which node of the plan drove a worker, in SQL over ``placed`` and ``numbered_stacks``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pyrometer.core.doubt import Severity
from pyrometer.store.sql.host_views import HostRows, as_recorded
from pyrometer.store.sql.text import NO_PARTITIONS, file_literal, literal
from pyrometer.store.tables import Tables
from pyrometer.store.write_tables import write_part

SHARED = "Python"
"""Operator where several nodes may have driven a worker."""
NODES = "Python|InPandas|InArrow"
"""Regular expression of the names of operators that call Python workers."""

# Nodes that may have driven workers of a stage: those that say so, else the only one of its kind.
DRIVERS = f"""
    WITH of_jvm AS (
        SELECT p.pid AS jvm, min(a.app_index) AS app_index
        FROM processes p JOIN apps a USING (app_id) GROUP BY p.pid
    ), final AS (
        SELECT n.* FROM plan_nodes n LEFT JOIN plan_nodes up ON up.app_index = n.app_index
            AND up.sql_id = n.sql_id AND up.plan_version = n.plan_version
            AND up.node_id = n.parent_node_id
        WHERE n.is_final AND coalesce(up.name, '') NOT LIKE 'Reused%'
    ), places AS (
        SELECT DISTINCT x.jvm, x.sql_id, x.stage_id,
            coalesce(j.app_index, (SELECT min(app_index) FROM apps)) AS app_index
        FROM placed x LEFT JOIN of_jvm j USING (jvm) WHERE x.sql_id IS NOT NULL
    ), saying AS (
        SELECT DISTINCT p.*, n.node_id, n.plan_version, n.name, n.simple_string
        FROM places p JOIN node_metrics m USING (app_index, sql_id, stage_id)
        JOIN final n USING (app_index, sql_id, plan_version, node_id)
        WHERE m.metric = 'data sent to Python workers'
    ), named AS (
        SELECT p.*, n.node_id, n.plan_version, n.name, n.simple_string
        FROM places p JOIN final n USING (app_index, sql_id)
        WHERE regexp_matches(n.name, '{NODES}')
        QUALIFY count(*) OVER (PARTITION BY p.jvm, p.sql_id, p.stage_id) = 1
    )
    SELECT * FROM saying
    UNION ALL SELECT * FROM named ANTI JOIN saying USING (jvm, sql_id, stage_id)
"""

# A worker serves one node at a time: what any of its stacks says of a task, holds for all of them.
OWNERS = f"""
    WITH drives AS (
        SELECT DISTINCT pid, since, task, jvm, sql_id, stage_id FROM placed
        WHERE sql_id IS NOT NULL
    ), functions AS (
        SELECT DISTINCT stack_id, regexp_extract(u.f, '[^.]+$') AS f FROM (
            SELECT stack_id, unnest(frames) AS u FROM numbered_stacks)
        WHERE u.m IS NOT NULL AND u.m NOT LIKE 'pyspark.%'
    ), seen AS (
        SELECT DISTINCT p.pid, p.since, p.task, f.f
        FROM placed p JOIN functions f USING (stack_id)
    ), named AS (
        SELECT jvm, sql_id, stage_id, node_id,
            unnest(list_distinct(regexp_extract_all(simple_string, '([\\w<>]+)\\(', 1))) AS f
        FROM drivers
    ), fits AS (
        SELECT d.*, r.node_id, r.plan_version, r.name, count(s.f) AS matched, count(n.f) AS said
        FROM drives d JOIN drivers r USING (jvm, sql_id, stage_id)
        LEFT JOIN named n USING (jvm, sql_id, stage_id, node_id)
        LEFT JOIN seen s ON s.pid = d.pid AND s.since = d.since AND s.task = d.task AND s.f = n.f
        GROUP BY ALL
    ), best AS (
        SELECT *, count(*) OVER drive AS nodes,
            min(name) OVER drive = max(name) OVER drive AS alike,
            rank() OVER (PARTITION BY pid, since, task, stage_id
                ORDER BY matched DESC, said) AS place
        FROM fits WINDOW drive AS (PARTITION BY pid, since, task, stage_id)
    )
    SELECT pid, since, task, stage_id, any_value(plan_version) AS plan_version,
        CASE WHEN any_value(nodes) = 1 OR (count(*) = 1 AND any_value(matched) > 0)
             THEN any_value(node_id) END AS node_id,
        CASE WHEN any_value(alike) OR (count(*) = 1 AND any_value(matched) > 0)
             THEN any_value(name) ELSE '{SHARED}' END AS operator
    FROM best WHERE place = 1 GROUP BY pid, since, task, stage_id
"""


SOURCE = "python"
PART = "python"
OUTSIDE_SQL = "RDD Python"
_READ = ("apps", "processes", "plan_nodes", "node_metrics", "spans", "stacks", "frames")

_COLUMNS = {
    "k": "VARCHAR",
    "kind": "VARCHAR",
    "jvm": "BIGINT",
    "pid": "BIGINT",
    "since": "BIGINT",
    "id": "BIGINT",
    "cut": "BOOLEAN",
    "frames": "STRUCT(m VARCHAR, f VARCHAR, s VARCHAR, l INTEGER)[]",
    "own": "BIGINT",
    "at": "BIGINT",
    **dict.fromkeys(("t", "tid", "cpu", "off", "stack", "task"), "BIGINT[]"),
    "message": "VARCHAR",
}
# Stacks without a line: CPU of threads without Python frames, of the sampler itself, and of the
# daemon until it forked the worker.
_SYNTHETIC = {
    -1: (None, "[threads of native libraries]"),
    -2: (None, "[Pyrometer's sampler]"),
    -3: ("pyspark.daemon", "[imports, forks workers]"),
}
_LONGEST_LINE = 64 << 20

_PROCESSES = """
    SELECT pid, since, any_value(kind) AS kind,
        CASE WHEN any_value(jvm) IN (SELECT pid FROM spans) THEN any_value(jvm)
             -- A wrapper around Python stands between it and the JVM.
             WHEN (SELECT count(DISTINCT pid) FROM spans) = 1 THEN (SELECT min(pid) FROM spans)
        END AS jvm, any_value(host) AS host
    FROM raw WHERE k = 'process' GROUP BY ALL
"""


def _synthetic() -> str:
    return ", ".join(
        f"({n}, {'NULL' if m is None else literal(m)}, {literal(f)})"
        for n, (m, f) in _SYNTHETIC.items()
    )


_STACKS = f"""
    WITH named AS (
        SELECT pid, since, id, list_transform(frames, x -> struct_pack(
            -- The daemon is run as a program: its own name says nothing.
            m := CASE WHEN x.m = '__main__' AND contains(x.s, '/pyspark/') THEN 'pyspark.'
                || replace(regexp_extract(x.s, '/pyspark/([^.]*)[.]py$', 1), '/', '.')
                ELSE x.m END,
            f := x.f, s := x.s, l := x.l)) AS frames, cut
        FROM raw WHERE k = 'stack'
        UNION ALL SELECT NULL, NULL, v.id, [{{m: v.m, f: v.f, s: NULL, l: NULL}}], false
        FROM (VALUES {_synthetic()}) v(id, m, f))
    SELECT *, ? + dense_rank() OVER (ORDER BY frames, cut) AS stack_id FROM named
"""

_FRAMES = """
    SELECT *, ? + row_number() OVER (ORDER BY m, f, s, l) AS frame_id
    FROM (SELECT DISTINCT u.m, u.f, u.s, u.l
          FROM (SELECT unnest(frames) AS u FROM (SELECT DISTINCT frames FROM numbered_stacks)))
"""

_LINKS = """
    SELECT p.stack_id, list(f.frame_id ORDER BY p.place) AS frame_ids, any_value(p.cut) AS cut
    FROM (SELECT stack_id, cut, unnest(frames) AS u, generate_subscripts(frames, 1) AS place
          FROM (SELECT DISTINCT stack_id, frames, cut FROM numbered_stacks)) p
    JOIN numbered_frames f ON f.m IS NOT DISTINCT FROM p.u.m AND f.f = p.u.f
        AND f.s IS NOT DISTINCT FROM p.u.s AND f.l IS NOT DISTINCT FROM p.u.l
    GROUP BY p.stack_id
"""

_TAKEN = """
    WITH lines AS (
        SELECT pid, since, unnest(t) AS t, unnest(tid) AS tid, unnest(cpu) AS cpu,
            unnest("off") AS "off", unnest(stack) AS stack, unnest(task) AS task
        FROM raw WHERE k = 'samples'
    ), firsts AS (
        SELECT pid, since, arg_min(task, t) AS task FROM lines
        WHERE task IS NOT NULL GROUP BY ALL
    )
    SELECT l.* REPLACE (coalesce(last_value(l.task IGNORE NULLS) OVER earlier, f.task) AS task)
    FROM lines l LEFT JOIN firsts f USING (pid, since)
    WINDOW earlier AS (PARTITION BY pid, since ORDER BY l.t)
    UNION ALL
    SELECT pid, since, "at", NULL, own, 0, -2, NULL FROM raw WHERE k = 'samples' AND own > 0
"""

_PLACED = """
    SELECT x.*, p.kind, coalesce(s.host, p.host) AS host, s.pid AS jvm,
        s.task_attempt_id, s.stage_id, s.stage_attempt, s.job_id, s.sql_id, s.iteration, k.stack_id
    FROM taken x JOIN processes_seen p USING (pid, since)
    ASOF LEFT JOIN spans s
        ON s.pid = p.jvm AND s.task_attempt_id = x.task AND s.start_mono_ns <= x.t
    LEFT JOIN numbered_stacks k ON k.id = x.stack
        AND (k.id < 0 OR (k.pid = x.pid AND k.since = x.since))
"""

_SAMPLES = f"""
    SELECT x.host, x.pid, x.tid, x.t AS t_ns, 'mono' AS clock,
        '{SOURCE}' AS source, e.event, e.weight, 'ns' AS unit,
        CASE e.event WHEN 'wall' THEN 'sleeping' END AS state,
        CASE WHEN e.event = 'cpu' THEN e.role END AS category, e.role AS role,
        'Python ' || x.kind AS thread_name, x.task_attempt_id, x.stage_id, x.stage_attempt,
        x.job_id, x.sql_id, o.node_id,
        CASE WHEN o.node_id IS NOT NULL THEN o.plan_version END AS plan_version,
        CASE WHEN x.stage_id IS NULL THEN NULL
             WHEN x.sql_id IS NULL THEN '{OUTSIDE_SQL}'
             ELSE coalesce(split_part(o.operator, ' ', 1), '{SHARED}') END AS operator,
        x.iteration, x.stack_id AS java_stack
    FROM placed x
    CROSS JOIN LATERAL (
        SELECT CASE WHEN x.stack = -2 THEN 'pyrometer' ELSE 'python' END AS role, event, weight
        FROM (VALUES ('cpu', x.cpu), ('wall', x."off")) v(event, weight) WHERE weight > 0) e
    LEFT JOIN owners o ON o.pid = x.pid AND o.since = x.since AND o.task = x.task
        AND o.stage_id = x.stage_id
"""


def ingest_python(files: Sequence[Path], folder: Path, hosts: Sequence[str | None]) -> str:
    """Write parts of ``samples``, ``stacks`` and ``frames`` beside those of the JVM's profiler.

    Parameters
    ----------
    files : sequence of Path
        ``raw/python-*.ndjson``.
    folder : Path
        Folder of the tables; those of event log, plugin and profiles are there already.
    hosts : sequence of str or None
        Host of each file.

    Returns
    -------
    str
        What the native readers return: a JSON object of ``tables``, ``doubts`` and ``stats``.
    """
    with Tables(folder, HostRows.APART, only=_READ) as tables:
        tables.define("raw", _raw(tables, [str(file) for file in files], hosts))
        tables.define("processes_seen", _PROCESSES)
        last = tables.scalar("SELECT coalesce(max(stack_id), -1) FROM stacks")
        tables.define("numbered_stacks", _STACKS, [last])
        last = tables.scalar("SELECT coalesce(max(frame_id), -1) FROM frames")
        tables.define("numbered_frames", _FRAMES, [last])
        tables.define("taken", _TAKEN)
        tables.define("placed", _PLACED)
        tables.define("drivers", DRIVERS)
        tables.define("owners", OWNERS)
        write_part(
            tables, "stacks", PART, f"SELECT stack_id, frame_ids, cut AS truncated FROM ({_LINKS})"
        )
        write_part(
            tables,
            "frames",
            PART,
            "SELECT frame_id, m AS class_name, f AS method, l AS line, s AS library,"
            " CASE WHEN m IS NULL THEN 'native' ELSE 'python' END AS kind FROM numbered_frames",
        )
        sql = as_recorded(_SAMPLES) if tables.several_hosts else _SAMPLES
        samples = write_part(tables, "samples", PART, sql)
        return json.dumps({"tables": {}, "doubts": _doubts(tables), "stats": {"samples": samples}})


def _raw(tables: Tables, files: Sequence[str], hosts: Sequence[str | None]) -> str:
    """Read the lines of all files, with their host; numbers of processes are told apart by it."""
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in _COLUMNS.items())
    places = ", ".join(
        f"({literal(file)}, {'NULL' if host is None else literal(host)}, {tables.key_of(host)})"
        for file, host in zip(files, hosts, strict=True)
    )
    return (
        "SELECT x.* EXCLUDE (filename) REPLACE (x.pid + f.key AS pid, x.jvm + f.key AS jvm), f.host"
        f" FROM read_ndjson([{', '.join(map(file_literal, files))}], columns={{{columns}}},"
        f" {NO_PARTITIONS}, filename=true, ignore_errors=true,"
        f" maximum_object_size={_LONGEST_LINE}) x"
        f" JOIN (VALUES {places}) f(file, host, key) ON f.file = x.filename"
    )


def _doubts(tables: Tables) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []

    def add(code: str, severity: Severity, message: str, count: int) -> None:
        if count:
            found.append({"code": code, "severity": severity, "message": message, "count": count})

    broken = int(tables.scalar("SELECT count(*) FROM raw WHERE k IS NULL"))
    add("python_line_unreadable", "warning", f"{broken} line(s) of Python samples", broken)
    for message, count in tables.query(
        "SELECT message, count(*) FROM raw WHERE k = 'error' GROUP BY ALL ORDER BY 1"
    ):
        add("python_sampler_stopped", "warning", f"{message} ({count} process(es))", count)
    astray = int(
        tables.scalar("SELECT count(*) FROM placed WHERE task IS NOT NULL AND stage_id IS NULL")
    )
    message = f"{astray} samples name a task that the plugin did not see"
    add("python_task_unknown", "info", message, astray)
    return found
