"""Plans that an application cached: which stages computed their blocks, and which read them.

A cached plan is the same wherever it is read: the nodes below each scan of it have the same text,
numbers of columns included, and the same accumulators. A stage that updates these accumulators
computes blocks; one in which rows come out of the scan reads them. What the statement `CACHE TABLE`
counts only fills the cache: nobody sees the count.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from pyrometer.explain.evidence.plan_nodes import CACHE, SHELLS
from pyrometer.explain.facts import Facts
from pyrometer.simulation.measured import Floats

_SCANS = f"regexp_matches(name::VARCHAR, '^(?:{CACHE})')"
_NODES = f"""
SELECT sql_id, node_id, parent_node_id, name::VARCHAR AS name, simple_string FROM plan_nodes
WHERE app_index = $1 AND is_final AND sql_id IN
  (SELECT sql_id FROM plan_nodes WHERE app_index = $1 AND is_final AND {_SCANS})
ORDER BY sql_id, node_id
"""
_UPDATES = f"""
SELECT m.sql_id, m.node_id, m.accumulator_id, m.stage_id, coalesce(m.stage_attempt, 0),
  max(m.updates_count), bool_or(m.metric = 'number of output rows' AND m.value_sum > 0)
FROM node_metrics m JOIN (
  SELECT DISTINCT app_index, sql_id, plan_version FROM plan_nodes WHERE is_final AND {_SCANS}
) USING (app_index, sql_id, plan_version)
WHERE app_index = $1 AND m.stage_id IS NOT NULL AND m.accumulator_id IS NOT NULL GROUP BY ALL
"""
_STATEMENTS = """
SELECT DISTINCT s.sql_id, t.stage_id FROM sql_executions s
JOIN plan_nodes p ON p.app_index = s.app_index AND p.sql_id = s.root_sql_id
LEFT JOIN stages t ON t.app_index = s.app_index AND t.sql_id = s.sql_id
WHERE s.app_index = $1 AND s.sql_id <> s.root_sql_id
  AND p.name::VARCHAR IN ('CacheTable', 'CacheTableAsSelect')
"""
_LINEAGES = """
SELECT stage_id, rdd_names FROM stages WHERE app_index = $1 AND submit_wall_ns IS NOT NULL
ORDER BY submit_wall_ns, stage_id
"""
_SCAN = re.compile(rf"^(?:{CACHE})")
_MOVES = re.compile(rf"^(?:{SHELLS}|\w*Exchange)\b")
_COLUMN = re.compile(r"(\w*)#(\d+)")


@dataclass
class CachedPlan:
    """A plan whose rows were kept.

    Attributes
    ----------
    text : str
        Its first node.
    scans : dict of (int, int) to str
        Text of each scan of it by number of the SQL execution and of the node.
    read : dict of (int, int) to set of int
        Stages in which rows came out of a scan.
    computed : dict of int to dict
        By accumulator below the scans: tasks that updated it by stage and attempt.
    statements : dict of int to set of int
        Stages of what statements that fill it run, by number of the SQL execution.
    """

    text: str
    scans: dict[tuple[int, int], str] = field(default_factory=dict)
    read: dict[tuple[int, int], set[int]] = field(default_factory=lambda: defaultdict(set))
    computed: dict[int, dict[tuple[int, int], int]] = field(
        default_factory=lambda: defaultdict(dict)
    )
    statements: dict[int, set[int]] = field(default_factory=dict)

    @cached_property
    def readers(self) -> set[int]:
        """All stages that read it."""
        return set().union(*self.read.values())

    @cached_property
    def asking(self) -> dict[tuple[int, int], str]:
        """Scans whose rows a query works on: not those of statements that only fill the cache."""
        return {place: text for place, text in self.scans.items()
                if place[0] not in self.statements}  # fmt: skip

    @cached_property
    def asking_readers(self) -> set[int]:
        """All stages of queries that read it."""
        return set().union(*(self.read[place] for place in self.asking if place in self.read))

    @property
    def counters(self) -> set[int]:
        """All stages that only count its rows, for a statement that fills it."""
        return self.readers - self.asking_readers - self.fillers

    @cached_property
    def fillers(self) -> set[int]:
        """All stages that computed blocks of it."""
        return {stage for stages in self.computed.values() for stage, _ in stages}

    @property
    def unread(self) -> bool:
        """Whether it has columns that no scan asked for, as far as texts tell."""
        found = [match[-1] for match in map(_COLUMN.findall, _items(self.text)) if match]
        read = [one for text in self.scans.values() for one in _COLUMN.findall(text)]
        own, asked = {number for _, number in found}, {number for _, number in read}
        if not own & asked:  # a view's columns have numbers of their own: names tell, if unique
            own, asked = {name for name, _ in found}, {name for name, _ in read}
            if len(own) < len(found):
                return False
        return bool(own - asked) and asked <= own


def cached_plans(facts: Facts) -> list[CachedPlan]:
    """Give the cached plans of the application, those that its window does not read included."""
    if facts.measured is None or not (facts.has("plan_nodes") and facts.has("node_metrics")):
        return []
    app = facts.measured.app_index
    rows = facts.tables.query(_NODES, [app])
    if not rows:
        return []
    children: dict[tuple[int, int], list[int]] = defaultdict(list)
    nodes = {}
    for sql_id, node_id, parent, name, text in rows:
        nodes[sql_id, node_id] = name, text or name
        if parent is not None:
            children[sql_id, parent].append(node_id)
    statements: dict[int, set[int]] = defaultdict(set)
    for sql_id, stage in facts.tables.query(_STATEMENTS, [app]):
        statements[sql_id] |= set() if stage is None else {stage}
    found: dict[tuple[str, ...], CachedPlan] = {}
    owner: dict[tuple[int, int], CachedPlan] = {}
    beneath: set[tuple[int, int]] = set()
    for (sql_id, node_id), (name, text) in nodes.items():
        if not _SCAN.match(name):
            continue
        is_first = (sql_id, node_id) not in beneath
        below = list(_beneath(children, sql_id, node_id))
        beneath.update(below)
        texts = [nodes[one][1] for one in below if not _MOVES.match(nodes[one][0])]
        if not texts:
            continue  # versions of Spark that do not show what was cached
        plan = found.setdefault(tuple(sorted(set(texts))), CachedPlan(texts[0]))
        plan.scans[sql_id, node_id] = text
        if is_first and sql_id in statements:  # what fills it may read another cache in earnest
            plan.statements[sql_id] = statements[sql_id]
        owner |= dict.fromkeys(below, plan)
        owner[sql_id, node_id] = plan
    for sql_id, node_id, accumulator, stage, attempt, updates, rows_out in facts.tables.query(
        _UPDATES, [app]
    ):
        place = sql_id, node_id
        known = owner.get(place)
        if known is None:
            continue
        if place in known.scans:
            if rows_out:
                known.read[place].add(stage)
        else:
            known.computed[accumulator][stage, attempt] = updates or 0
    return list(found.values())


def lineages(facts: Facts) -> dict[int, frozenset[int]]:
    """Give the numbers of the RDDs of each stage that ran, in the order they were submitted."""
    if facts.measured is None:
        return {}
    return {
        stage: frozenset(one["id"] for one in json.loads(text or "[]") if "id" in one)
        for stage, text in facts.tables.query(_LINEAGES, [facts.measured.app_index])
    }


def partitions(facts: Facts) -> Floats:
    """Give the partition of each task of `Facts.tasks`."""
    found = facts.more_of_tasks(
        "max(coalesce(t.partition, t.task_index))::DOUBLE AS partition"
    ).get("partition")
    return np.zeros(0) if found is None else np.asarray(found)


def computed_again(facts: Facts, plan: CachedPlan, of_task: Floats) -> dict[int, int]:
    """Give how many tasks of a stage computed a block that an earlier stage had computed.

    Parameters
    ----------
    of_task : array
        Partitions of all tasks.

    Returns
    -------
    dict of int to int
        By number of the stage.
    """
    found: dict[int, int] = {}
    for stages in plan.computed.values():
        numbers = {facts.number(*stage): updates for stage, updates in stages.items()}
        order = sorted((number for number in numbers if number is not None),
                       key=lambda number: facts.stages[number].submit_ns)  # fmt: skip
        seen = np.zeros(0)
        for number in order:
            own = np.unique(of_task[facts.place_of(number)])
            first = int(np.count_nonzero(~np.isin(own, seen)))
            again = min(numbers[number], own.size) - first
            if again > 0:
                found[number] = max(found.get(number, 0), again)
            seen = np.union1d(seen, own)
    return found


def putters(plan: CachedPlan, lineage: Mapping[int, frozenset[int]]) -> set[int]:
    """Give the stages that put blocks of a cached plan into memory.

    They have its RDDs, as those that read them. Other stages that compute for it give shuffles and
    broadcasts to these.
    """
    read = frozenset().union(*(lineage.get(stage, frozenset()) for stage in plan.asking_readers))
    return {stage for stage in plan.fillers if lineage.get(stage, frozenset()) & read}


def used_once(plan: CachedPlan, lineage: Mapping[int, frozenset[int]]) -> bool:
    """Whether queries read a cached plan in one stage only, as far as all stages of the run show.

    Statements that only fill it do not count.
    """
    fillers = putters(plan, lineage)
    if len(plan.asking) != 1 or len(plan.asking_readers) != 1 or not fillers:
        return False
    mine = plan.asking_readers | fillers
    parts = [lineage.get(stage, frozenset()) for stage in mine]
    shared = frozenset.intersection(*parts)
    others = lineage.keys() - mine - set().union(*plan.statements.values())
    # RDDs of a cached plan are in every stage that reads it, also where no plan says so.
    return bool(shared) and not any(shared & lineage[stage] for stage in others)


def _beneath(
    children: Mapping[tuple[int, int], list[int]], sql_id: int, node_id: int
) -> Iterator[tuple[int, int]]:
    """Give the nodes below one, in pre-order: plans may be deeper than Python's stack."""
    left = list(reversed(children.get((sql_id, node_id), ())))
    while left:
        at = left.pop()
        yield sql_id, at
        left += reversed(children.get((sql_id, at), ()))


def _items(text: str) -> list[str]:
    """Split the first list of a node's text at its outermost commas."""
    start = text.find("[")
    items, depth, last = [], 0, start + 1
    for place in range(start, len(text)) if start >= 0 else ():
        depth += (text[place] in "[(") - (text[place] in "])")
        if depth == 0 or (depth == 1 and text[place] == ","):
            items.append(text[last:place])
            last = place + 1
        if depth == 0:
            break
    return items
