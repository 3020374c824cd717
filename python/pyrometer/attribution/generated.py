"""Generated source: which one an execution ran, and what a line of it is for. Pure, but for load.

A source has, in the comment at its head, the plan below its cluster as the *first* execution
numbered it: later executions of the same text run the same class. So an execution's source is
found by its cluster's nodes without their numbers; literals distinguish sources.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyrometer.attribution.plan_match import NUMBER, NUMBERS, PlanNode, casts, unnumbered

if TYPE_CHECKING:
    from pyrometer.store import Tables

# What the line of a node begins with, the root's mark included.
_BEGINNINGS = frozenset(" :+*")
_NODE = re.compile(r"^([ :|+-]*)(?:\*\((\d+)\) )?(.*)$")
# The tree names the output of aggregates, plans as Spark logs them do not.
_OUTPUT = re.compile(r", output=\[.*\]\)$")
_CONSTRUCTORS = ("<init>", "<clinit>")
_COLUMN = re.compile(r"[^\s(\[,]+#\d+L?")
_CAST = re.compile(r"(?:try_|ansi_)?cast\((?:input\[\d+, (\w+), \w+\]|.* as (\w+)\)) as (\w+)\)")
_PLAN_ID = re.compile(r"plan_id=\d+")
Place = tuple[str | None, int]


@dataclass(frozen=True)
class Line:
    """What one line of a generated stage is for.

    Attributes
    ----------
    position : int or None
        Which of the cluster's nodes, in pre-order.
    converting : sequence of str
        Expressions of the same node that convert something.
    """

    operator: str
    position: int | None
    method: str | None
    expression: str | None
    converting: Sequence[str] = ()

    @property
    def conversion(self) -> str | None:
        """The only conversion by a method that the line can compute."""
        return conversion_of(self.expression, self.converting) if self.expression else None

    def means(self) -> tuple[object, ...]:
        """Give what has to agree between sources that cannot be distinguished."""
        return self.operator, self.position, unnumbered(self.expression or "")


@dataclass(frozen=True)
class Source:
    """One generated stage: nodes of its cluster in pre-order, as its tree has them.

    ``borrowed``: its comments are those of another plan whose code is the same.
    """

    source_id: int
    codegen_stage_id: int
    nodes: tuple[str, ...]
    lines: Mapping[int, Line]
    max_method_bytes: int | None = None
    borrowed: bool = False

    def lent(self) -> Source:
        """Give what it says to a plan of other columns: operators, and no expressions."""
        lines = {n: replace(x, expression=None) for n, x in self.lines.items()}
        return replace(self, lines=lines, borrowed=True)

    def line(self, place: Place) -> Line | None:
        """Give the line of a place, unless frames name another method than it lies in."""
        method, number = place
        found = self.lines.get(number)
        if found is None or method in (None, *_CONSTRUCTORS) or found.method is None:
            return found
        return found if found.method == method else None

    def misses(self, places: Iterable[Place]) -> int:
        """Count the sampled lines that lie in other methods than their frames name."""
        return sum(p[1] in self.lines and self.line(p) is None for p in places)


def cluster_nodes(tree: str, codegen_stage_id: int) -> tuple[list[str], dict[int, int]]:
    r"""Find the nodes of a cluster in a tree, and their positions among all with its mark.

    Subqueries and cached plans below are numbered again: a node belongs to the cluster only where
    its parent does.

    Examples
    --------
    >>> cluster_nodes("*(1) Filter a#1\n:  Subquery b\n:  +- *(1) Scan\n+- *(1) Range", 1)
    (['Filter a#1', 'Range'], {0: 0, 2: 1})
    """
    nodes: list[str] = []
    positions: dict[int, int] = {}
    inside: dict[int, bool] = {}
    marked = 0
    ours = False
    for text in tree.split("\n"):
        found = _NODE.match(text)
        if found is None:
            continue
        if text[:1] not in _BEGINNINGS:
            # A node's text may have several lines.
            if ours:
                nodes[-1] += f"\n{text}"
            continue
        depth = len(found[1]) // 3
        mine = found[2] == str(codegen_stage_id)
        inside[depth] = mine and (depth == 0 or inside.get(depth - 1, False))
        ours = inside[depth]
        if ours:
            positions[marked] = len(nodes)
            nodes.append(found[3])
        marked += mine
    return nodes, positions


def conversion_of(expression: str, others: Iterable[str]) -> str | None:
    """Give the only conversion that code below an expression's comment can compute.

    Spark leaves out a comment that the one before it contains, so the code of an expression's
    first part stands below the whole's comment. Parts with separate comments are ``others``.

    Examples
    --------
    >>> low, high = (f"cast(input[{n}, string, true] as date)" for n in (1, 2))
    >>> conversion_of(f"(({low} > 0) AND ({high} < 9))", [f"({high} < 9)"])
    'cast(input[1, string, true] as date)'
    """
    parts = {text for text in others if text != expression and text in expression}
    elsewhere = {text for part in parts for text in casts(part)}
    own = [text for text in casts(expression) if text not in elsewhere and not is_instruction(text)]
    return own[0] if len(own) == 1 else None


def is_instruction(cast: str) -> bool:
    """Whether a conversion between numbers is one instruction, and calls no method.

    Examples
    --------
    >>> is_instruction("cast(input[0, int, true] as bigint)")
    True
    >>> is_instruction("cast(cast(input[0, string, true] as int) as bigint)")
    True
    >>> is_instruction("cast(input[0, string, true] as int)")
    False
    """
    found = _CAST.fullmatch(cast)
    return found is not None and found[3] in NUMBERS and (found[1] or found[2]) in NUMBERS


def comparable(text: str) -> str:
    """Text of a node for comparing executions: without numbers, and as plans are logged.

    Examples
    --------
    >>> comparable("HashAggregate(keys=[k#2L], functions=[count(1)], output=[k#2L, n#5L])")
    'HashAggregate(keys=[k], functions=[count(1)])'
    """
    return _PLAN_ID.sub("plan_id", unnumbered(_logged(text)))


def shape(text: str) -> str:
    """Text of a node without the names of columns.

    Examples
    --------
    >>> shape("Filter (isnotnull(a#1) AND (b#2L > 5))")
    'Filter (isnotnull(#) AND (# > 5))'
    """
    return _PLAN_ID.sub("plan_id", _COLUMN.sub("#", _logged(text)))


def _logged(text: str) -> str:
    """Give a node's text as plans are logged."""
    return _OUTPUT.sub(")", text.strip())


def renumbering(source: Sequence[str], nodes: Sequence[PlanNode]) -> Callable[[str], str]:
    """Return a function that translates a source's column numbers into those of an execution.

    Parameters
    ----------
    source : sequence of str
        Nodes as the source has them.
    nodes : sequence of PlanNode
        The same nodes of the execution.

    Examples
    --------
    >>> node = PlanNode(4, "Filter", 1, "Filter (a#40 > b#41L)", frozenset())
    >>> renumbering(["Filter (a#1 > b#2L)"], [node])("(a#1 > 5) OR c#9")
    '(a#40 > 5) OR c'
    """
    known: dict[str, str] = {}
    for text, node in zip(source, nodes, strict=True):
        theirs, ours = (NUMBER.findall(_logged(t)) for t in (text, node.simple_string))
        known.update(zip(theirs, ours, strict=False))
    return lambda expression: NUMBER.sub(lambda found: known.get(found[0], ""), expression)


class Sources:
    """The generated stages of a run, found by the nodes of a cluster."""

    def __init__(self, sources: Iterable[Source]) -> None:
        self._by_nodes: dict[tuple[int, tuple[str, ...]], list[Source]] = defaultdict(list)
        self._by_shapes: dict[tuple[int, tuple[str, ...]], list[Source]] = defaultdict(list)
        for source in sources:
            key = (source.codegen_stage_id, tuple(map(comparable, source.nodes)))
            self._by_nodes[key].append(source)
            self._by_shapes[(key[0], tuple(map(shape, source.nodes)))].append(source)

    def of(
        self, codegen_stage_id: int, cluster: Sequence[PlanNode], places: Iterable[Place]
    ) -> tuple[Source, ...]:
        """Find the sources that a cluster may have run, by its nodes and where it was sampled.

        Spark compiles equal code once, whatever its comments say. So a cluster without a source
        of its own ran one that differs in the names of columns alone, and that no sample
        contradicts.

        Parameters
        ----------
        codegen_stage_id : int
            Number of the cluster.
        cluster : sequence of PlanNode
            Its nodes in pre-order.
        places : iterable of (method, line)
            Where its code was sampled.
        """
        texts = tuple(comparable(node.simple_string) for node in cluster)
        seen = list(places)
        own = self._by_nodes.get((codegen_stage_id, texts), [])
        if not own:
            shapes = tuple(shape(node.simple_string) for node in cluster)
            alike = self._by_shapes.get((codegen_stage_id, shapes), [])
            return tuple(s.lent() for s in alike if s.misses(seen) == 0)
        missed = [(s.misses(seen), s) for s in own]
        least = min((n for n, _ in missed), default=0)
        return tuple(s for n, s in missed if n == least and 2 * n <= len(seen))


def agreed_line(candidates: Sequence[Source], place: Place) -> Line | None:
    """Give the line at a place, where all sources that may have run there agree on it."""
    found = [source.line(place) for source in candidates]
    first = found[0] if found else None
    if first is None or any(f is None or f.means() != first.means() for f in found):
        return None
    return first


def load(tables: Tables) -> list[Source]:
    """Read the generated stages of a run, with those of their lines that the window sampled."""
    lines: dict[int, dict[int, tuple[str, int | None, str | None, str | None]]] = defaultdict(dict)
    for source_id, line, operator, index, method, expression in tables.query(
        "SELECT source_id, line, operator, node_index, rtrim(method, '$'), expression"
        " FROM codegen_lines JOIN codegen_sources USING (source_id)"
        " SEMI JOIN w_samples USING (codegen_stage_id, line)"
    ):
        lines[source_id][line] = (operator, index, method, expression)
    converting: dict[tuple[int, int | None], list[str]] = defaultdict(list)
    for source_id, index, text in tables.query(
        "SELECT DISTINCT source_id, node_index, expression FROM codegen_lines"
        " WHERE contains(expression, 'cast(') ORDER BY ALL"
    ):
        converting[(source_id, index)].append(text)
    sources = []
    for source_id, stage, tree, most in tables.query(
        "SELECT source_id, codegen_stage_id, tree, max_method_bytes FROM codegen_sources"
        " WHERE tree IS NOT NULL AND codegen_stage_id IS NOT NULL ORDER BY source_id"
    ):
        nodes, positions = cluster_nodes(tree, stage)
        sampled = {
            line: Line(
                operator,
                None if index is None else positions.get(index),
                method,
                text,
                converting[(source_id, index)],
            )
            for line, (operator, index, method, text) in lines[source_id].items()
        }
        sources.append(Source(source_id, stage, tuple(nodes), sampled, most))
    return sources
