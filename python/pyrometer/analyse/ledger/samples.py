"""Samples of task threads, counted by task: what shares of CPU and of waiting are made of.

CPU samples count by category and operator. Wall-clock samples count as asleep by wait class and
operator, as asleep in a pause (which is the pause's time), or as awake.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from pyrometer.analyse.attribution import CATEGORY, CONVERSION, UNCLASSIFIED
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.told import EVIDENCE, define_told

Parts = dict[tuple[str, str | None], int]


@dataclass
class Counts:
    """Samples of a group.

    Attributes
    ----------
    on_cpu, asleep : dict
        Hits by (category or wait class, operator); ``None`` where no stack names an operator.
    walls : int
        All wall-clock samples in tasks.
    in_pauses, asleep_in_pauses : int
        Those in pauses, and of them those asleep.
    """

    on_cpu: Parts = field(default_factory=lambda: defaultdict(int))
    asleep: Parts = field(default_factory=lambda: defaultdict(int))
    walls: int = 0
    in_pauses: int = 0
    asleep_in_pauses: int = 0


def define_samples_of_tasks(scope: Scope) -> None:
    """Define ``l_samples``: hits by task, kind, name and operator."""
    define_told(scope)
    same = " AND ".join(f"o.{key} IS NOT DISTINCT FROM x.{key}" for key in EVIDENCE)
    paused = (
        "EXISTS (SELECT 1 FROM w_pauses p WHERE (p.pid = x.pid OR p.pid IS NULL)"
        " AND x.t_ns >= p.start_ns AND x.t_ns < p.end_ns)"
    )
    scope.tables.define(
        "l_samples",
        "WITH seen AS (SELECT x.*, coalesce(x.category = "
        f"'{CONVERSION}', false) AS converts, x.event = 'wall' AND {paused} AS paused"
        "  FROM task_samples x"
        "  WHERE x.event = 'cpu' OR (x.event = 'wall' AND x.task_attempt_id IS NOT NULL))"
        " SELECT t.task, CASE WHEN x.event = 'cpu' THEN 'cpu'"
        "   WHEN x.state = 'sleeping' AND x.paused THEN 'asleep in pause'"
        "   WHEN x.state = 'sleeping' THEN 'asleep'"
        "   WHEN x.paused THEN 'awake in pause' ELSE 'awake' END AS kind,"
        f" CASE WHEN x.event = 'cpu' THEN {CATEGORY}"
        f"  ELSE coalesce(x.wait_class, '{UNCLASSIFIED}') END AS name,"
        " o.told AS operator, sum(x.hits)::BIGINT AS hits"
        " FROM seen x LEFT JOIN l_tasks t ON t.task_attempt_id = x.task_attempt_id"
        "  AND t.app_index IS NOT DISTINCT FROM x.app_index"
        f" LEFT JOIN told_evidence o ON {same}"
        " GROUP BY ALL",
    )


def counts(scope: Scope) -> dict[int, Counts]:
    """Count samples of each group of ``l_groups``."""
    found: dict[int, Counts] = defaultdict(Counts)
    for number, kind, name, operator, hits in scope.tables.query(
        "SELECT g.number, s.kind, s.name, s.operator, sum(s.hits)::BIGINT FROM l_samples s"
        " JOIN l_groups g ON g.task IS NOT DISTINCT FROM s.task GROUP BY ALL ORDER BY ALL"
    ):
        group = found[int(number)]
        if kind == "cpu":
            group.on_cpu[name, operator] += hits
            continue
        group.walls += hits
        if kind == "asleep":
            group.asleep[name, operator] += hits
        if kind.endswith("in pause"):
            group.in_pauses += hits
        if kind == "asleep in pause":
            group.asleep_in_pauses += hits
    return found


def by_name(parts: Parts) -> dict[str, dict[str | None, int]]:
    """Hits by name and, within it, by operator; largest first."""
    found: dict[str, dict[str | None, int]] = defaultdict(dict)
    for (name, operator), hits in parts.items():
        found[name][operator] = hits
    return dict(sorted(found.items(), key=lambda item: (-sum(item[1].values()), item[0])))
