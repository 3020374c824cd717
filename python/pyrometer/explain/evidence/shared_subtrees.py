"""Parts of plans that queries share: what one computed, another computes again.

Spark prunes columns for each query, so that shared parts differ in text. They are compared by what
decides their rows: inputs, conditions, keys of exchanges, sorts, windows, joins and aggregates, and
by the number of rows that they give.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import Plan, metric, plans, unnumbered
from pyrometer.explain.evidence.scans.scan_filters import conjuncts
from pyrometer.explain.evidence.scans.scan_text import NULL_CHECK
from pyrometer.explain.facts import Facts

_INPUT = re.compile(r"Location: (.*?), PartitionFilters: (.*?)(?:, [A-Z]\w+: |$)")
_KEYS = re.compile(r"keys?=(\[.*?\])")
_PARTITIONING = re.compile(r"^\w+ (\w+\(.*?\)|SinglePartition)(?:, [A-Z]|$)")
_WORKS = re.compile(
    r"^(Exchange|\w*Aggregate|Window|Sort|Generate|Expand|\w*Join|CartesianProduct)\b"
)
_KEPT = ("InMemoryTableScan", "InMemoryRelation")
_NO_WORK = re.compile(r"^(WholeStageCodegen|InputAdapter|AQEShuffleRead|\w*QueryStage)\b")

Kind = tuple[object, ...]


@dataclass(frozen=True)
class Part:
    """A node with all that lies under it, in one query.

    Attributes
    ----------
    inputs : frozenset of str
        What it reads.
    """

    plan: Plan
    node: Node
    inputs: frozenset[str]
    node_ids: frozenset[int] = field(compare=False)

    @property
    def order(self) -> tuple[int, int]:
        """Place among the parts of all queries."""
        return self.plan.sql.sql_id, self.node.node_id


def computed_again(facts: Facts) -> list[tuple[Part, Part]]:
    """Give the largest parts that were computed before, each with the first that did."""
    kinds: dict[Kind, list[Part]] = defaultdict(list)
    of_node: dict[tuple[int, int], Kind] = {}
    every = list(plans(facts))
    for plan in every:
        for kind, part in _parts(plan):
            kinds[kind].append(part)
            of_node[part.order] = kind
    found = []
    for plan in every:
        for node in _roots(plan):
            found += list(_largest(plan, node, kinds, of_node))
    return found


def _roots(plan: Plan) -> list[Node]:
    return [node for node in plan.sql.nodes if node.parent_node_id is None]


def _largest(
    plan: Plan, node: Node, kinds: dict[Kind, list[Part]], of_node: dict[tuple[int, int], Kind]
) -> Iterator[tuple[Part, Part]]:
    kind = of_node.get((plan.sql.sql_id, node.node_id))
    alike = [] if kind is None else kinds[kind]
    first = min(alike, key=lambda one: one.order, default=None)
    mine = next((one for one in alike if one.order == (plan.sql.sql_id, node.node_id)), None)
    if first is not None and mine is not None and first is not mine:
        yield mine, first
        return
    if len(alike) > 1:
        return  # the first of its kind: what is in it is computed for the first time
    for child in plan.children.get(node.node_id, ()):
        yield from _largest(plan, child, kinds, of_node)


def _parts(plan: Plan) -> Iterator[tuple[Kind, Part]]:
    known: dict[int, tuple[Kind, frozenset[str], bool] | None] = {}

    def of(node: Node) -> tuple[Kind, frozenset[str], bool] | None:
        if node.node_id not in known:
            known[node.node_id] = _kind(node, [of(child) for child in plan.below(node)])
        return known[node.node_id]

    for node in plan.sql.nodes:
        found = of(node)
        rows = metric(node, "number of output rows", "shuffle records written")
        if found is None or rows is None or not found[2]:
            continue
        ids = frozenset(one.node_id for one in plan.beneath(node))
        yield (*found[0], rows), Part(plan, node, found[1], ids)


def _kind(
    node: Node, below: list[tuple[Kind, frozenset[str], bool] | None]
) -> tuple[Kind, frozenset[str], bool] | None:
    """Say what decides a node's rows, what it reads, and whether it is more than a filtered scan.

    None of what reads a cache: that is kept already.
    """
    text = unnumbered(node.simple_string or node.name)
    if any(text.startswith(name) for name in _KEPT) or None in below:
        return None
    under = [one for one in below if one is not None]
    if not under:
        read = _INPUT.search(text)
        name = f"{read[1]} {read[2]}" if read else text
        return (name,), frozenset([name]), False
    inputs = frozenset().union(*(one[1] for one in under))
    works = _WORKS.match(node.name) is not None or any(one[2] for one in under)
    words = _words(node.name, text)
    if words is None:
        return under[0][0], inputs, works
    return (words, *(one[0] for one in under)), inputs, works


def _words(name: str, text: str) -> str | None:
    """Give what decides the rows of a node that has others below; None of a filter of nulls."""
    if name == "Filter":
        said = [one for one in conjuncts(text.removeprefix("Filter").strip())
                if not NULL_CHECK.match(one)]  # fmt: skip
        return f"Filter {sorted(said)}" if said else None
    if "Aggregate" in name:
        keys = _KEYS.search(text)
        return f"{name} {keys[1] if keys else text}"
    if name == "Exchange":
        found = _PARTITIONING.match(text)
        return f"Exchange {found[1] if found else text}"
    return text


def stages_of(facts: Facts, part: Part) -> tuple[set[int], set[int]]:
    """Give the numbers of stages that only work for a part, and of those that do more."""
    whole: set[int] = set()
    some: set[int] = set()
    others = {
        stage for node in part.plan.sql.nodes
        if node.node_id not in part.node_ids and not _NO_WORK.match(node.name)
        for stage in node.stage_ids
    }  # fmt: skip
    for node in part.plan.beneath(part.node):
        if _NO_WORK.match(node.name):
            continue
        for stage in node.stage_ids:
            number = facts.number(stage)
            if number is not None:
                (some if stage in others else whole).add(number)
    return whole, some
