"""Extended stacks: states of threads with their wait, Java stack, kernel stack and task.

Rows of table ``samples`` with source ``probe`` and event ``state``, derived from ``thread_states``
once probe and profiler were read. Their weights add up to those of ``thread_states``. A row during
which the JVM was stopped for a part becomes two: the time inside pauses, and the rest.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyrometer.store.sql.host_views import HostRows, as_recorded
from pyrometer.store.sql.text import NO_PARTITIONS, file_literal, from_parquet
from pyrometer.store.states.placed import place_states
from pyrometer.store.tables import Tables
from pyrometer.store.write_tables import write_part

SOURCE = "probe"
EVENT = "state"
PART = "probe"
ON_CPU = "on_cpu"
_READ = (
    *("thread_states", "thread_counters", "off_cpu", "kernel_stacks", "spans"),
    *("samples", "stacks", "frames", "gc_pauses", "safepoints"),
)

_KERNEL_STACKS = """
    SELECT symbols, ? + row_number() OVER (ORDER BY symbols) AS stack_id,
        string_split(symbols, ';') AS names
    FROM (SELECT DISTINCT symbols FROM kernel_stacks WHERE symbols <> '')
"""

_KERNEL_FRAMES = """
    SELECT name, ? + row_number() OVER (ORDER BY name) AS frame_id
    FROM (SELECT DISTINCT unnest(names) AS name FROM numbered_kernel_stacks)
"""

_LINKS = """
    SELECT stack_id, symbols, list(frame_id ORDER BY place) AS frame_ids FROM (
        SELECT stack_id, symbols, unnest(names) AS name, generate_subscripts(names, 1) AS place
        FROM numbered_kernel_stacks) JOIN numbered_kernel_frames USING (name)
    GROUP BY ALL
"""

_KEY = ("state", "io_wait", "syscall", "symbols", "java_stack", "role", "task", "paused")

_MOMENTS = f"""
    SELECT row_number() OVER () AS id, * FROM (
        SELECT DISTINCT {", ".join(_KEY)} FROM placed_states WHERE state <> '{ON_CPU}')
"""

_TEXTS = """
    SELECT s.stack_id, string_agg(f.text, chr(10) ORDER BY s.place DESC) AS frames
    FROM (SELECT stack_id, unnest(frame_ids) AS frame_id,
            generate_subscripts(frame_ids, 1) AS place
        FROM stacks WHERE stack_id IN (SELECT java_stack FROM moments)) s
    JOIN (SELECT frame_id, CASE WHEN kind = 'kernel' THEN 'kernel!' || method
            WHEN kind IN ('native', 'cpp') THEN coalesce(library, '') || '!' || method
            ELSE coalesce(class_name, '') || '.' || method END AS text FROM frames) f
        USING (frame_id)
    GROUP BY s.stack_id
"""

# Joined stacks with the kernel's at their leaf: what a flame graph of all time draws.
_WHOLE = """
    SELECT p.java_stack, p.symbols, ? + row_number() OVER (ORDER BY p.java_stack, p.symbols)
        AS stack_id, list_concat(j.frame_ids, k.frame_ids) AS frame_ids, j.truncated
    FROM (SELECT DISTINCT java_stack, symbols FROM placed_states
        WHERE java_stack IS NOT NULL AND symbols IS NOT NULL) p
    JOIN stacks j ON j.stack_id = p.java_stack JOIN kernel_links k USING (symbols)
"""

# Where a thread's joined sleeps at one place (stack pointer, instruction, kernel stack) had one
# class, its other sleeps there have it, too; their Java stack stays unknown.
_PLACES = """
    SELECT p.pid, p.tid, p.user_sp, p.user_pc, p.symbols, any_value(m.class) AS class
    FROM placed_states p JOIN classed m ON {same}
    WHERE p.java_stack IS NOT NULL AND p.user_sp IS NOT NULL AND NOT p.paused
    GROUP BY ALL HAVING count(DISTINCT m.class) = 1
"""

_SAMPLES = """
    SELECT p.host, p.pid, p.tid, p.t_ns, 'mono' AS clock, '{source}' AS source,
        '{event}' AS event, p.weight, 'ns' AS unit, p.state,
        CASE WHEN l.class IS NULL THEN m.class ELSE l.class END AS wait_class, p.role,
        p.named AS thread_name, p.in_task AS task_attempt_id, p.of_stage AS stage_id,
        p.of_attempt AS stage_attempt, p.job_id, p.of_sql AS sql_id, p.operator,
        p.codegen_stage_id, p.iteration, p.java_stack, k.stack_id AS kernel_stack,
        h.stack_id AS whole_stack,
        CASE WHEN p.asleep THEN p.episode_id END AS episode_id,
        CASE WHEN l.class IS NULL THEN p.join_status ELSE 'same_place' END AS join_status
    FROM placed_states p
    LEFT JOIN classed m ON {same}
    LEFT JOIN places l ON m.class = 'unclassified' AND p.java_stack IS NULL AND l.pid = p.pid
        AND l.tid = p.tid AND l.user_sp = p.user_sp
        AND l.user_pc IS NOT DISTINCT FROM p.user_pc AND l.symbols IS NOT DISTINCT FROM p.symbols
    LEFT JOIN numbered_kernel_stacks k ON k.symbols = p.symbols
    LEFT JOIN whole_stacks h ON h.symbols = p.symbols AND h.java_stack = p.java_stack
"""
_SAME = " AND ".join(f"m.{column} IS NOT DISTINCT FROM p.{column}" for column in _KEY)


def join_states(folder: Path, core: Any) -> str:
    """Write parts of ``samples``, ``stacks`` and ``frames`` with the states of threads.

    Parameters
    ----------
    folder : Path
        Folder of the tables; those of probe, profiler, plugin and GC log are there already.
    core : module
        The native module: it knows the rules of wait classes.

    Returns
    -------
    str
        What the native readers return: a JSON object of ``tables``, ``doubts`` and ``stats``.
    """
    with Tables(folder, HostRows.APART, only=_READ) as tables:
        if not tables.has("thread_states"):
            return json.dumps({"tables": {}, "doubts": [], "stats": {"samples": 0}})
        with TemporaryDirectory(prefix=".states-", dir=folder) as scratch:
            placed = place_states(tables, Path(scratch))
            tables.define_view("placed_states", _rows_of(placed))
            moments = _define_words(tables, folder, core)
            samples = _write_samples(tables, placed)
    return json.dumps(
        {"tables": {}, "doubts": [], "stats": {"samples": samples, "moments": moments}}
    )


def _write_samples(tables: Tables, placed: Sequence[Path]) -> int:
    """Write the part of ``samples``, by way of a file for each group of hosts; gives its rows."""
    parts = [file.with_name(f"samples-{n}.parquet") for n, file in enumerate(placed)]
    for file, part in zip(placed, parts, strict=True):
        tables.define_view("placed_states", _rows_of([file]))
        tables.define("places", _PLACES.format(same=_SAME))
        sql = _SAMPLES.format(same=_SAME, source=SOURCE, event=EVENT)
        sql = as_recorded(sql) if tables.several_hosts else sql
        if len(parts) == 1:
            return write_part(tables, "samples", PART, sql)
        tables.write(sql, part)
    return write_part(tables, "samples", PART, _rows_of(parts))


def _rows_of(files: Sequence[Path]) -> str:
    return f"FROM {from_parquet(*files)}"


def _define_words(tables: Tables, folder: Path, core: Any) -> int:
    """Write the stacks of all states, and classify their moments; gives how many these are."""
    last = tables.scalar("SELECT coalesce(max(stack_id), -1) FROM stacks")
    tables.define("numbered_kernel_stacks", _KERNEL_STACKS, [last])
    frame = tables.scalar("SELECT coalesce(max(frame_id), -1) FROM frames")
    tables.define("numbered_kernel_frames", _KERNEL_FRAMES, [frame])
    moments = _classify(tables, folder, core)
    tables.define("kernel_links", _LINKS)
    last = tables.scalar("SELECT coalesce(max(stack_id), ?) FROM kernel_links", [last])
    tables.define("whole_stacks", _WHOLE, [last])
    write_part(
        tables,
        "stacks",
        PART,
        "SELECT stack_id, frame_ids, false AS truncated FROM kernel_links"
        " UNION ALL SELECT stack_id, frame_ids, truncated FROM whole_stacks",
    )
    write_part(
        tables,
        "frames",
        PART,
        "SELECT frame_id, name AS method, 'kernel' AS kind FROM numbered_kernel_frames",
    )
    return moments


def _classify(tables: Tables, folder: Path, core: Any) -> int:
    """Make ``classed``: distinct moments with their wait class. The rules are native code."""
    tables.define("moments", _MOMENTS)
    tables.define("stack_texts", _TEXTS)
    moments, classes = folder / ".moments.parquet", folder / ".moments.csv"
    try:
        tables.write(
            "SELECT m.id, m.state, m.io_wait, m.syscall, m.symbols AS kernel, t.frames,"
            " m.role, m.task, m.paused FROM moments m LEFT JOIN stack_texts t"
            " ON t.stack_id = m.java_stack",
            moments,
            "snappy",
        )
        stats = json.loads(core.classify_waits(str(moments), str(classes)))["stats"]
        tables.define(
            "classed",
            f"SELECT m.*, c.class FROM moments m JOIN read_csv({file_literal(classes)},"
            f" {NO_PARTITIONS}, header=true, columns={{'id': 'BIGINT', 'class': 'VARCHAR'}}) c"
            " USING (id)",
        )
    finally:
        moments.unlink(missing_ok=True)
        classes.unlink(missing_ok=True)
    return int(stats["moments"])
