"""Two applications that one JVM ran, one after the other: numbers begin at 0 in both."""

from __future__ import annotations

from tests.support.tables import StageSpec, World, mono, wall

BETWEEN_MS = 900
"""When the second application began."""


def two_contexts() -> World:
    """Give the tables of both: a stage with one task of 100 ms, and one with two of 200 ms."""
    made = World([StageSpec([100])])
    later = World([StageSpec([200, 200])], now_ms=BETWEEN_MS + 100)
    for row in (*later.rows["apps"], *later.rows["processes"]):
        row["app_id"] = "local-2"
    later.rows["apps"][0]["start_wall_ns"] = wall(BETWEEN_MS)
    later.rows["executors"][0]["add_wall_ns"] = wall(BETWEEN_MS + 10)
    later.rows["processes"][0]["start_mono_ns"] = mono(BETWEEN_MS)
    later.rows["sql_executions"][0]["start_wall_ns"] = wall(BETWEEN_MS + 100)
    for table in ("apps", "executors", "sql_executions", "stages", "tasks"):
        made.rows[table] += [{**row, "app_index": 1} for row in later.rows[table]]
    for table in ("processes", "spans", "samples"):
        made.rows[table] += later.rows[table]
    made.end_ms = later.end_ms
    return made
