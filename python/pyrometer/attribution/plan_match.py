"""Find the node of the plan that a stack's frames show it worked for. Pure: no tables here.

Generated code fuses the operators of a pipeline: the method of a pipeline's last operator
(``hashAgg_doAggregateWithKeys``, ``sort_addToSorter``, ``processNext``) also holds the code of
those below it, and its name says nothing of them. Such samples belong to the code generation
cluster, unless what they do can only have been written for one of its operators.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from pyrometer.core import schema

CLUSTER = "WholeStageCodegen"
NUMBERS = frozenset(
    {"tinyint", "smallint", "int", "bigint", "float", "double", "byte", "short", "long"}
)
_PIPELINE = re.compile(
    r"^processNext$|_doAggregateWith(out)?Keys?_\d|_doAggregate_\d|_addToSorter_\d"
)
# What distinguishes columns of one plan: ``id#13L``.
NUMBER = re.compile(r"#\d+L?")
# Words in frames whose operators have other names in a plan.
_ALIASES = {
    "scan": ("scan", "batchscan"),
    "filesourcescan": ("scan",),
    "datasourcescan": ("scan",),
    "shuffleexchange": ("exchange",),
    "limit": ("collectlimit", "locallimit", "globallimit"),
    "aqeshuffleread": ("aqeshuffleread", "customshufflereader"),
    # AggregationIterator: what iterators of both share.
    "aggregate": ("hashaggregate", "sortaggregate"),
    "projection": ("project",),
}


@dataclass(frozen=True)
class PlanNode:
    """One node of a final plan, as far as mapping needs it."""

    node_id: int
    name: str
    codegen_stage_id: int | None
    simple_string: str
    stage_ids: frozenset[int]
    parent_node_id: int | None = None

    @property
    def operator(self) -> str:
        """First word of the name: no table, not a number."""
        return self.name.split(" ")[0]


@dataclass(frozen=True)
class Evidence:
    """What a group of samples has in common; ``None`` where its stacks do not show it."""

    operator: str | None = None
    stage_id: int | None = None
    codegen_stage_id: int | None = None
    method: str | None = None
    converts: bool = False

    @property
    def is_generated(self) -> bool:
        """Whether no frame below the generated code names another operator."""
        named = method_operator(self.method) if self.method else None
        return self.codegen_stage_id is not None and self.operator in (None, CLUSTER, named)


def cluster_id(name: str) -> int | None:
    """Give the number of a code generation cluster's node.

    Examples
    --------
    >>> cluster_id("WholeStageCodegen (12)"), cluster_id("Project")
    (12, None)
    """
    found = re.match(rf"{CLUSTER} \((\d+)\)", name)
    return int(found[1]) if found else None


@lru_cache(maxsize=4096)
def plain(name: str) -> str:
    """Give an operator's or node's name for comparing: no suffix, no table, lower case.

    Examples
    --------
    >>> plain("BroadcastNestedLoopJoinExec"), plain("Scan parquet spark_catalog.web_sales")
    ('broadcastnestedloopjoin', 'scan')
    """
    word = name.strip().split(" ")[0] if name.strip() else ""
    return re.sub(r"Exec$", "", word).lower()


def unnumbered(expression: str) -> str:
    """Leave out the numbers that distinguish columns of one plan.

    Examples
    --------
    >>> unnumbered("cast(lo#2 as bigint), cast(hi#33L as bigint)")
    'cast(lo as bigint), cast(hi as bigint)'
    """
    return NUMBER.sub("", expression)


def is_pipeline(method: str | None) -> bool:
    """Whether a generated method holds the code of a whole pipeline.

    Examples
    --------
    >>> is_pipeline("hashAgg_doAggregateWithoutKey_0$"), is_pipeline("bnlj_doConsume_0")
    (True, False)
    """
    return method is not None and _PIPELINE.search(method) is not None


@cache
def method_operator(method: str) -> str | None:
    """Give the operator that the name of a generated method stands for, by the rules for stacks.

    Examples
    --------
    >>> method_operator("bnlj_doConsume_0"), method_operator("processNext")
    ('BroadcastNestedLoopJoin', None)
    """
    rules = schema.generated_prefixes()
    return next((operator for pattern, operator in rules if pattern.search(method)), None)


def attribute(
    nodes: Sequence[PlanNode], evidence: Evidence, types: Mapping[str, str]
) -> PlanNode | None:
    """Find the node that samples worked for.

    Parameters
    ----------
    nodes : sequence of PlanNode
        The final plan, in pre-order.
    evidence : Evidence
        What the samples show.
    types : mapping of str to str
        Types of the columns that the plan reads.

    Returns
    -------
    PlanNode or None
        ``None`` where nothing, or more than one node, fits equally well.
    """
    found = evidence
    if found.is_generated and is_pipeline(found.method):
        if found.converts:
            writers = [
                n
                for n in nodes
                if n.codegen_stage_id == found.codegen_stage_id
                and cluster_id(n.name) is None
                and conversions(n.simple_string, types)
            ]
            if len(writers) == 1:
                return writers[0]
        found = Evidence(CLUSTER, found.stage_id, found.codegen_stage_id)
    return match(nodes, found.operator, found.stage_id, found.codegen_stage_id)


def match(
    nodes: Iterable[PlanNode], operator: str | None, stage: int | None, codegen: int | None
) -> PlanNode | None:
    """Find the node of that name, in that cluster, in that stage.

    Parameters
    ----------
    nodes : iterable of PlanNode
        Nodes of the final plan, in pre-order.
    operator, stage, codegen
        ``None`` where frames and task do not show it.
    """
    if operator is None and codegen is None:
        return None
    name = plain(operator or CLUSTER)
    wanted = _ALIASES.get(name, (name,))
    plan = {n.node_id: n for n in nodes}
    fits = [n for n in plan.values() if plain(n.name) in wanted]
    if name == "projection":
        # Within a cluster no class stands for a projection.
        fits = [n for n in fits if n.codegen_stage_id is None]
    if name == plain(CLUSTER) and codegen is not None:
        fits = [n for n in fits if n.codegen_stage_id == codegen]
    for narrower in (
        [n for n in fits if codegen is not None and n.codegen_stage_id == codegen],
        # The innermost generated code of a stack is what asked an operator outside it for rows.
        [n for n in fits if codegen is not None and _reader(plan, n) == codegen],
        [n for n in fits if stage is not None and stage in n.stage_ids],
    ):
        if len(fits) > 1 and narrower:
            fits = narrower
    return fits[0] if len(fits) == 1 else None


def _reader(plan: Mapping[int, PlanNode], node: PlanNode) -> int | None:
    """Give the number of the cluster whose generated code pulls rows out of a node."""
    above: PlanNode | None = node
    while above is not None and above.codegen_stage_id is None:
        above = plan.get(above.parent_node_id) if above.parent_node_id is not None else None
    return above.codegen_stage_id if above else None


def fused(nodes: Iterable[PlanNode], cluster: PlanNode) -> list[PlanNode]:
    """Operators whose code a cluster holds, the last of the pipeline first."""
    return [
        n
        for n in nodes
        if n.codegen_stage_id == cluster.codegen_stage_id and cluster_id(n.name) is None
    ]


def casts(simple_string: str) -> list[str]:
    """Conversions written in a node's text, each once, in order.

    Examples
    --------
    >>> casts("BNLJ (ts#1 >= cast(lo#2 as timestamp)) AND (ts#1 <= cast(f(hi#3) as timestamp))")
    ['cast(lo#2 as timestamp)', 'cast(f(hi#3) as timestamp)']
    """
    found: list[str] = []
    for start in re.finditer(r"\b(?:try_|ansi_)?cast\(", simple_string):
        depth = 0
        for end in range(start.end() - 1, len(simple_string)):
            depth += {"(": 1, ")": -1}.get(simple_string[end], 0)
            if depth == 0:
                found.append(simple_string[start.start() : end + 1])
                break
    return list(dict.fromkeys(found))


def conversions(simple_string: str, types: Mapping[str, str]) -> list[str]:
    """Give the casts of a node that call a method: between plain numbers they are one instruction.

    Examples
    --------
    >>> text = "f(cast(n#1 as bigint), cast(lo#2 as timestamp))"
    >>> conversions(text, {"n": "int", "lo": "decimal(18,6)"})
    ['cast(lo#2 as timestamp)']
    """
    return [text for text in casts(simple_string) if not _is_instruction(text, types)]


def _is_instruction(text: str, types: Mapping[str, str]) -> bool:
    found = re.fullmatch(r"(?:try_|ansi_)?cast\((\w+)#\d+(L?) as (\w+)\)", text)
    if found is None or found[3] not in NUMBERS:
        return False
    source = "bigint" if found[2] else types.get(found[1])
    return source in NUMBERS


def column_types(texts: Iterable[str]) -> dict[str, str]:
    """Types of the columns that scans read, from their ``ReadSchema``.

    Examples
    --------
    >>> column_types(["FileScan parquet [..], ReadSchema: struct<n:int,lo:decimal(18,6)>"])
    {'n': 'int', 'lo': 'decimal(18,6)'}
    """
    found: dict[str, str] = {}
    for text in texts:
        schema = re.search(r"ReadSchema: struct<(.*)>", text)
        for name, kind in re.findall(r"(\w+):(\w+(?:\([\d,]+\))?)", schema[1] if schema else ""):
            found[name] = kind
    return found
