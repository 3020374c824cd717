"""What a rule suspects in each iteration of a workload is one suspicion, not several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace

from pyrometer.accounts.plan_schema import Sql
from pyrometer.core import units
from pyrometer.explain.evidence.alike import weighed
from pyrometer.explain.evidence.plan_nodes import unnumbered
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place

Suspicion = tuple[Rule, Suspect]
QueryOf = Callable[[Place], Hashable]
"""Names the query of a place: the same in each iteration, another for each query of one."""


def once(found: Sequence[Suspicion], query_of: QueryOf) -> list[Suspicion]:
    """Join what a rule suspects at the same place of repeated executions, in order.

    The same place: query, operator, node of the plan, expression, line of code, setting and host;
    stages and SQL executions differ from one iteration to the next.
    """
    groups: dict[tuple[object, ...], list[Suspicion]] = {}
    for number, (rule, suspect) in enumerate(found):
        place = suspect.place
        where = (place.operator, place.node_id, place.expression, place.source)
        # A cause without a place of its own is not the same as another.
        key = where if any(one is not None for one in where) else (number,)
        same = (rule.code, place.setting, place.host, query_of(place), *key)
        groups.setdefault(same, []).append((rule, suspect))
    return [(group[0][0], _joined([suspect for _, suspect in group])) for group in groups.values()]


def queries_of(facts: Facts) -> QueryOf:
    """Give what names the queries of an application; code outside SQL has none."""
    app = None if facts.measured is None else facts.measured.app_index
    names = _names(one for one in facts.summary.sql if one.app_index == app)
    of_stages = dict(
        facts.tables.query(
            "SELECT stage_id, any_value(sql_id) FROM stages WHERE app_index = $1 GROUP BY 1", [app]
        )
    )

    def query_of(place: Place) -> Hashable:
        sql_id = of_stages.get(place.stage_id) if place.sql_id is None else place.sql_id
        return names.get(sql_id)

    return query_of


def _names(queries: Iterable[Sql]) -> dict[int | None, Hashable]:
    """Name queries by their description and, as those of one line share it, by their plan.

    Paths and numbers in a plan may differ from one iteration to the next, so it counts as which of
    the plans of that description it is in its iteration.
    """
    seen: dict[Hashable, dict[Hashable, int]] = defaultdict(dict)
    found: dict[int | None, Hashable] = {}
    for one in sorted(queries, key=lambda query: query.sql_id):
        plan = tuple(unnumbered(node.simple_string) for node in one.nodes)
        plans = seen[one.iteration, one.description]
        found[one.sql_id] = one.description, plans.setdefault(plan, len(plans))
    return found


def _joined(group: Sequence[Suspect]) -> Suspect:
    first = group[0]
    if len(group) == 1:
        return first
    return replace(
        first,
        place=first.place.model_copy(
            update={"stages_count": sum(max(1, one.place.stages_count) for one in group)}
        ),
        mechanism=f"{first.mechanism} The same {units.counted(len(group) - 1, 'more time')}.",
        change=tuple(edit for one in group for edit in one.change),
        extent=weighed([(1.0, one.extent) for one in group]),
        unseen_count=sum(one.unseen_count for one in group),
    )
