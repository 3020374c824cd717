"""Parts of plans that queries share: what one computed, another computes again.

Spark prunes columns for each query, so that shared parts differ in text. They are compared by what
decides their rows: inputs, conditions, keys of exchanges, sorts, windows, joins and aggregates, and
by the number of rows that they give. How an aggregate finds its groups, by a hash table or by
sorting, decides no rows. A part of which only some inputs are reused exchanges is computed again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache

from pyrometer.accounts.plan_schema import Node
from pyrometer.explain.evidence.plan_nodes import (
    CACHE,
    SHELLS,
    TEXTS,
    Plan,
    metric,
    plans,
    unnumbered,
)
from pyrometer.explain.evidence.scans.scan_filters import conjuncts
from pyrometer.explain.evidence.scans.scan_text import NULL_CHECK, parts
from pyrometer.explain.facts import Facts

_INPUT = re.compile(r"Location: (.*?), PartitionFilters: (.*?)(?:, [A-Z]\w+: |$)")
_KEYS = re.compile(r"keys?=(\[.*?\])")
_PARTITIONING = re.compile(r"^\w+ (\w+\(.*?\)|SinglePartition)(?:, [A-Z]|$)")
_WORKS = re.compile(
    r"^(Exchange|\w*Aggregate|Window|Sort|Generate|Expand|\w*Join|CartesianProduct)\b"
)
KEPT = re.compile(rf"^(?:{CACHE}|InMemoryRelation|ReusedExchange)\b")
"""What is there already: nothing above it is computed again from its inputs."""
_REUSED = "ReusedExchange"
_LOCAL_SORT = re.compile(r"^Sort \[.*\], false\b")
PASSES = re.compile(rf"^(?:{SHELLS}|Project)\b")
_MADE = re.compile(r"(?<!\w)_\w+")
"""Names that Spark gives to expressions, such as `_groupingexpression`: they hide what differs."""
_NO_WORK = re.compile(r"^(WholeStageCodegen|InputAdapter|AQEShuffleRead|\w*QueryStage)\b")


@dataclass(frozen=True)
class Part:
    """A node with all that lies under it, in one query.

    Attributes
    ----------
    inputs : frozenset of str
        What it reads.
    node_ids : range
        Of its nodes: they are numbered in pre-order.
    """

    plan: Plan
    node: Node
    inputs: frozenset[str]
    node_ids: range = field(compare=False)

    @property
    def order(self) -> tuple[int, int]:
        """Place among the parts of all queries."""
        return self.plan.sql.sql_id, self.node.node_id


@dataclass(slots=True)
class _Seen:
    """What is known of a node.

    Attributes
    ----------
    kind : int
        Number of what decides its rows.
    works : bool
        It is more than a filtered scan.
    made : dict of str to str
        Expressions behind names of Spark's own.
    unsorted : int
        The same as `kind` without the sort within partitions that ends it, if one does.
    is_reused : bool
        All of it comes from exchanges that another part filled.
    """

    kind: int
    inputs: frozenset[str]
    works: bool
    made: dict[str, str]
    unsorted: int
    is_reused: bool = False


def computed_again(facts: Facts) -> list[tuple[Part, Part]]:
    """Give the largest parts that were computed before, each with the first that did.

    Iterations of a benchmark repeat on purpose: each is looked at by itself.
    """
    numbers: dict[object, int] = {}
    every = sorted(plans(facts), key=lambda plan: plan.sql.sql_id)
    found: dict[tuple[int, int], tuple[object, Part]] = {}
    first: dict[object, Part] = {}
    for plan in every:
        for rows, seen, part in _parts(plan, numbers):
            key = (plan.sql.iteration, seen.kind, rows)
            found[part.order] = key, part
            first.setdefault(key, part)
    again = []
    for plan in every:
        until = -1
        for node in plan.sql.nodes:
            known = found.get((plan.sql.sql_id, node.node_id))
            if node.node_id < until or known is None:
                continue
            kind, part = known
            if first[kind] is not part:
                again.append((part, first[kind]))
                until = part.node_ids.stop  # what lies under it is told with it
    return again


def _parts(plan: Plan, numbers: dict[object, int]) -> Iterator[tuple[int, _Seen, Part]]:
    """Give the parts of a plan whose rows are known, the outer ones first."""
    known: dict[int, _Seen | None] = {}
    ends: dict[int, int] = {}
    # Numbered in pre-order: what lies below a node comes behind it.
    for node in reversed(plan.sql.nodes):
        children = plan.children.get(node.node_id, [])
        ends[node.node_id] = max((ends[one.node_id] for one in children), default=node.node_id + 1)
        known[node.node_id] = _seen(node, [known[one.node_id] for one in children], numbers)
    within = _beneath_reused(plan)
    for node in plan.sql.nodes:
        seen = known[node.node_id]
        rows = metric(node, "number of output rows", "shuffle records written")
        if seen is None or seen.is_reused:
            continue
        if rows is not None or node.node_id in within:
            # What a node only hands on is told with the node.
            below = plan.children.get(node.node_id, [])
            within |= {
                one.node_id for one in below
                if (under := known[one.node_id]) is not None and under.kind == seen.kind
            }  # fmt: skip
        if rows is not None and seen.works and node.node_id not in within:
            yield rows, seen, Part(plan, node, seen.inputs, range(node.node_id, ends[node.node_id]))


def _seen(node: Node, below: list[_Seen | None], numbers: dict[object, int]) -> _Seen | None:
    """Say what decides a node's rows; None of what reads a cache, or an exchange not shown."""
    text = unnumbered(node.simple_string or node.name)
    under = [one for one in below if one is not None]
    if node.name.startswith(_REUSED) and len(under) == 1:
        return replace(under[0], is_reused=True)
    if KEPT.match(text) or KEPT.match(node.name) or None in below:
        return None
    if not under:
        name = _input(node, text)
        kind = _number(numbers, (name,))
        return _Seen(kind, frozenset([name]), False, {}, kind)
    made, inputs = under[0].made, under[0].inputs
    if len(under) > 1:
        made = {name: said for one in under for name, said in one.made.items()}
        inputs = frozenset().union(*(one.inputs for one in under))
    if node.name == "Project":
        made = made | _aliases(text)
    works = _WORKS.match(node.name) is not None or any(one.works for one in under)
    is_reused = all(one.is_reused for one in under)
    words = None if PASSES.match(node.name) else _words(node.name, text)
    if words is None and len(under) == 1:
        return _Seen(under[0].kind, inputs, works, made, under[0].unsorted, is_reused)
    said = words or node.name
    if made:
        said = _MADE.sub(lambda found: made.get(found[0], found[0]), said)
    groups = "Aggregate" in node.name
    kind = _number(numbers, (said, *(one.unsorted if groups else one.kind for one in under)))
    unsorted = under[0].unsorted if _LOCAL_SORT.match(text) else kind
    return _Seen(kind, inputs, works, made, unsorted, is_reused)


def _beneath_reused(plan: Plan) -> set[int]:
    """Give the nodes that are shown below a reused exchange: they ran elsewhere in the plan."""
    found: set[int] = set()
    depth = None
    for node in plan.sql.nodes:  # in pre-order
        if depth is not None and node.depth > depth:
            found.add(node.node_id)
        else:
            depth = node.depth if node.name.startswith(_REUSED) else None
    return found


def _number(numbers: dict[object, int], kind: object) -> int:
    return numbers.setdefault(kind, len(numbers))


def input_of(node: Node) -> str:
    """Name the input that a scan reads, whatever it takes of it: files by place; else its text."""
    text = unnumbered(node.simple_string)
    read = _INPUT.search(text)
    if read is None:
        return f"{node.name.strip()} {text}"
    # Of a path that Spark cut, the files must be as many, and as large.
    return f"{node.name.strip()} {read[1]} {_files(node) if '...' in read[1] else ''}"


def _files(node: Node) -> tuple[int | None, int | None]:
    return metric(node, "number of files read"), metric(node, "size of files read")


def _input(node: Node, text: str) -> str:
    """Name what a leaf reads: a table, or files by place, number and size; else its whole text."""
    read = _INPUT.search(text)
    place = text
    # Spark cuts long paths: then all that is left of the text must be the same.
    if read is not None and "..." not in read[1] + read[2]:
        place = f"{read[1]} {read[2]}"
    return f"{node.name.strip()} {place} {_files(node)}"


@lru_cache(TEXTS)
def _aliases(text: str) -> dict[str, str]:
    """Give the expressions that a projection gives names of Spark's own.

    Examples
    --------
    >>> _aliases("Project [zone, hour(at) AS _groupingexpression]")
    {'_groupingexpression': 'hour(at)'}
    """
    inner = text.removeprefix("Project [").removesuffix("]")
    pairs = (one.rpartition(" AS ") for one in parts(inner, ","))
    return {name: said for said, _, name in pairs if _MADE.fullmatch(name)}


@lru_cache(TEXTS)
def _words(name: str, text: str) -> str | None:
    """Give what decides the rows of a node that has others below; None of a filter of nulls."""
    if name == "Filter":
        said = [one for one in conjuncts(text.removeprefix("Filter").strip())
                if not NULL_CHECK.match(one)]  # fmt: skip
        return f"Filter {sorted(said)}" if said else None
    if "Aggregate" in name:
        keys = _KEYS.search(text)
        return f"Aggregate {keys[1] if keys else text}"
    if name == "Exchange":
        found = _PARTITIONING.match(text)
        return f"Exchange {found[1] if found else text}"
    return text


def stages_of(facts: Facts, part: Part) -> tuple[set[int], set[int]]:
    """Give the numbers of stages that only work for a part, and of those that do more."""
    others: set[int] = set()
    mine: set[int] = set()
    reused = _beneath_reused(part.plan)
    for node in part.plan.sql.nodes:
        if not _NO_WORK.match(node.name):
            is_mine = node.node_id in part.node_ids and node.node_id not in reused
            (mine if is_mine else others).update(node.stage_ids)
    whole = {facts.number(stage) for stage in mine - others}
    some = {facts.number(stage) for stage in mine & others}
    return {n for n in whole if n is not None}, {n for n in some if n is not None}
