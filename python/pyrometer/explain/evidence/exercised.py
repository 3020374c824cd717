"""What an application did that settings are about: shuffles, spills, nodes of its plans."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from pyrometer.explain.evidence.plan_nodes import CACHE
from pyrometer.explain.facts import Facts

CACHED = rf"^(?:inmemory|{CACHE.lower()})"
"""Nodes of cached plans, by their names in `Exercised.nodes`."""
_SUMS = """
SELECT coalesce(sum(coalesce(shuffle_written_records_count, 0) + coalesce(shuffle_written_bytes, 0)
    + coalesce(shuffle_read_records_count, 0)), 0),
  coalesce(sum(coalesce(memory_spilled_bytes, 0) + coalesce(disk_spilled_bytes, 0)), 0),
  coalesce(bool_and(has_metrics) FILTER (status = 'success'), false)
FROM tasks WHERE app_index = $1
"""
_READERS = """
SELECT max(n) FROM (SELECT count(DISTINCT task_index) AS n FROM tasks WHERE app_index = $1
  GROUP BY stage_id, stage_attempt HAVING sum(shuffle_read_records_count) > 0)
"""
_NODES = """
SELECT lower(name), bool_or(lower(simple_string) LIKE '%parquet%' OR lower(name) LIKE '%parquet%'),
  bool_or(NOT EXISTS (SELECT * FROM plan_nodes c WHERE c.app_index = p.app_index
    AND c.sql_id = p.sql_id AND c.plan_version = p.plan_version
    AND c.parent_node_id = p.node_id))
FROM plan_nodes p WHERE app_index = $1 GROUP BY 1
"""


@dataclass(frozen=True)
class Exercised:
    """What an application did that settings are about."""

    facts: Facts
    app: int
    master: str
    version: tuple[int, int]

    @property
    def ended(self) -> bool:
        """Whether the log has the application's end: what did not occur may come yet."""
        return self.facts.measured is not None and not self.facts.measured.open_ended

    @cached_property
    def sums(self) -> tuple[int, int, bool]:
        """Shuffled, spilled, and whether that is of all tasks: of a whole log, with metrics."""
        shuffled, spilled, whole = self.facts.tables.query(_SUMS, [self.app])[0]
        return int(shuffled), int(spilled), bool(whole) and self.ended

    @cached_property
    def nodes(self) -> dict[str, tuple[bool, bool]]:
        """Names of nodes of any plan: whether they say Parquet, and whether any is a leaf."""
        if not self.facts.has("plan_nodes"):
            return {}
        rows = self.facts.tables.query(_NODES, [self.app])
        return {name: (parquet, leaf) for name, parquet, leaf in rows}

    @cached_property
    def all_sql(self) -> bool:
        """Whether each stage is of an SQL execution."""
        rows = self.facts.tables.query(
            "SELECT count(*), count(sql_id) FROM stages WHERE app_index = $1", [self.app]
        )
        return self.ended and bool(rows[0][0]) and rows[0][0] == rows[0][1]

    @cached_property
    def planned(self) -> bool:
        """Whether plans show all that ran: no RDDs, no caches, no commands without children."""
        hidden = any(
            re.search(CACHED, name) or (name.startswith("execut") and leaf)
            for name, (_, leaf) in self.nodes.items()
        )
        return bool(self.nodes) and self.all_sql and not hidden

    @cached_property
    def most_readers(self) -> int:
        """Most tasks of a stage that read a shuffle; 0 where none did."""
        return int(self.facts.tables.query(_READERS, [self.app])[0][0] or 0)

    def any_node(self, pattern: str) -> bool:
        """Whether any node has a name like it."""
        return any(re.search(pattern, name) for name in self.nodes)

    def off(self, name: str) -> bool:
        """Whether a switch that is off by default is off."""
        return not self.facts.is_on(name)
