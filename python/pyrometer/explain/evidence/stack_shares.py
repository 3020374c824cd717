"""Shares of the CPU samples of stages that lie in some code: by frames, or by how it was run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from pyrometer.accounts.memory import define_stack_code
from pyrometer.attribution.schema import Operator
from pyrometer.core.estimate import Estimate
from pyrometer.explain.facts import Facts
from pyrometer.explain.what_if import Extent
from pyrometer.statistics.shares import LEVEL, wilson

_SHARES = """
SELECT x.stage_id, coalesce(a.stage_attempt, 0), coalesce(sum(x.hits) FILTER (mine), 0)::BIGINT,
  sum(x.hits)::BIGINT, mode(x.operator) FILTER (mine)
FROM (SELECT *, coalesce({mine}, false) AS mine FROM w_samples) x
LEFT JOIN ({attempts}) a USING (task_attempt_id)
WHERE x.event = '{event}' AND x.role = 'task' AND x.stage_id IS NOT NULL
  AND coalesce(x.app_index, {app}) = {app}
GROUP BY ALL HAVING sum(x.hits) > 0
"""


@dataclass(frozen=True)
class Shares:
    """Samples of some code by number of the stage, of all samples of these stages.

    Attributes
    ----------
    operators : mapping of int to str
        The operator that most of a stage's samples of the code are of.
    """

    hits: Mapping[int, int]
    totals: Mapping[int, int]
    operators: Mapping[int, str | None] = field(default_factory=dict)

    @property
    def by_stage(self) -> dict[int, float]:
        """Give the share of each stage that has any."""
        return {number: hits / self.totals[number] for number, hits in self.hits.items() if hits}

    @property
    def n(self) -> int:
        """Samples of all stages."""
        return sum(self.totals.values())

    @property
    def found(self) -> int:
        """Samples of the code."""
        return sum(self.hits.values())

    @property
    def estimate(self) -> Estimate:
        """Give the share over all stages, with its interval after Wilson."""
        low, high = wilson(self.found, self.n)
        value = self.found / self.n if self.n else None
        return Estimate(value=value, low=low, high=high, level=LEVEL, n=self.n, method="wilson")

    def extent(self, low: float = 1.0, high: float = 1.0) -> Extent:
        """Give how much of the shares is sure, where a remedy achieves between two bounds of it.

        Examples
        --------
        >>> extent = Shares({0: 50}, {0: 100}).extent()
        >>> extent.value, round(extent.low, 2), round(extent.high, 2)
        (1.0, 0.81, 1.19)
        """
        if not self.found:
            return Extent(0.0, 0.0, 0.0)
        value = self.found / self.n
        least, most = wilson(self.found, self.n)
        return Extent(1.0, least / value, most / value, self.n).times(low, high)


def through(facts: Facts, frames: str, without: str | None = None, event: str = "cpu") -> Shares:
    """Give the samples of tasks whose stacks go through frames of some names.

    Parameters
    ----------
    frames, without : str
        Regular expressions on ``class.method`` (``symbol`` of native code): a stack must have a
        frame of the first, and none of the second.
    event : str
        ``cpu``; or ``wall``: shares of time, with all waits.
    """
    mine = f"java_stack IN ({_stacks(frames, event)})"
    if without is not None:
        mine += f" AND java_stack NOT IN ({_stacks(without, event)})"
    return shares(facts, mine, event)


def interpreted(facts: Facts, *kinds: str, where: str = "true") -> Shares:
    """Give the samples of tasks whose innermost Java method was run in some way.

    Parameters
    ----------
    *kinds : str
        ``interpreted``, ``c1``, ``c2``.
    where : str
        Condition on columns of ``w_samples``, for example on its cluster.
    """
    define_stack_code(facts.scope)
    names = ", ".join(f"'{kind}'" for kind in kinds)
    stacks = f"SELECT stack_id FROM stack_code WHERE kind IN ({names})"
    return shares(facts, f"({where}) AND java_stack IN ({stacks})")


def of_nodes(facts: Facts, sql_id: int, node_ids: Collection[int]) -> Shares:
    """Give the samples of some nodes of a plan; of several stages, in proportion to their samples.

    Samples are attributed to nodes over all stages of a node. Those of which only the operator's
    name is known, as iterators of several nodes are of one class, count where all that ran of the
    plan's nodes of that name are meant.
    """
    totals = {number: sum(kinds.values()) for number, kinds in facts.samples_by_stage.items()}
    hits: dict[int, int] = dict.fromkeys(totals, 0)
    app = 0 if facts.measured is None else facts.measured.app_index
    for one in facts.summary.operators:
        if one.sql_id != sql_id or one.app_index not in (None, app):
            continue
        if not _is_of(facts, one, node_ids):
            continue
        numbers = [facts.number(stage_id) for stage_id in one.stage_ids]
        known = [number for number in numbers if number in totals]
        whole = sum(totals[number] for number in known if number is not None)
        for number in known:
            if number is not None and whole:
                hits[number] += round(one.samples_count * totals[number] / whole)
    capped = {number: min(found, totals[number]) for number, found in hits.items() if found}
    return Shares(capped, {number: totals[number] for number in capped})


def _is_of(facts: Facts, one: Operator, node_ids: Collection[int]) -> bool:
    """Whether samples are of some nodes, and of no other."""
    if one.node_id is not None:
        return one.node_id in node_ids
    sql = facts.sql_of(one.sql_id)
    alike = [
        node.node_id for node in (sql.nodes if sql else ())
        if node.name.rstrip() == one.operator and (node.stage_ids or node.node_id in node_ids)
    ]  # fmt: skip
    return bool(alike) and all(node_id in node_ids for node_id in alike)


def shares(facts: Facts, mine: str, event: str = "cpu") -> Shares:
    """Give the samples of tasks that a condition is true of."""
    app = 0 if facts.measured is None else facts.measured.app_index
    hits, totals, operators = {}, {}, {}
    for stage_id, attempt, found, all_of_it, operator in facts.tables.query(
        _SHARES.format(mine=mine, app=app, attempts=facts.attempts, event=event)
    ):
        number = facts.number(stage_id, attempt)
        if number is not None:
            hits[number], totals[number], operators[number] = found, all_of_it, operator
    return Shares(hits, totals, operators)


def _stacks(frames: str, event: str) -> str:
    """Write the query of stacks of tasks' samples that have a frame of some names."""
    text = frames.replace("'", "''")
    return (
        "SELECT s.stack_id FROM (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks"
        "  WHERE stack_id IN (SELECT java_stack FROM w_samples"
        f"  WHERE event = '{event}' AND role = 'task')) s"
        " SEMI JOIN (SELECT frame_id FROM frames WHERE"
        f" regexp_matches(coalesce(class_name || '.', '') || method, '{text}')) f"
        " USING (frame_id)"
    )
