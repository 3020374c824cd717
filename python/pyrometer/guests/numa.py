"""NUMA nodes of a machine: read from a level of ``machine.numa``, and checked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import find_factor, parse_numbers, size_of, write_numbers

FACTOR = "machine.numa"
LOCAL, REMOTE = 10, 20
"""Distances as firmware gives them (ACPI SLIT): of a node from itself, and from any other."""
FURTHEST = 254
"""255 means that a node cannot be reached."""
MOST_NODES = 16
GRAIN = 1 << 20
_CPUS = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")


@dataclass(frozen=True)
class Node:
    """CPUs and memory that are near each other.

    Attributes
    ----------
    cpus : tuple of int
        Numbers of its CPUs; empty: memory alone.
    memory_bytes : int
        Its memory.
    """

    cpus: tuple[int, ...]
    memory_bytes: int


@dataclass(frozen=True)
class Topology:
    """Nodes and how far they are from each other.

    Attributes
    ----------
    nodes : tuple of Node
        In the order of their numbers.
    distances : tuple of tuple of int
        A row for each node.
    """

    nodes: tuple[Node, ...]
    distances: tuple[tuple[int, ...], ...]

    @property
    def cpus_count(self) -> int:
        """CPUs of all nodes."""
        return sum(len(node.cpus) for node in self.nodes)

    @property
    def memory_bytes(self) -> int:
        """Memory of all nodes."""
        return sum(node.memory_bytes for node in self.nodes)


def topology(text: str, cpus: int | None, memory_bytes: int | None, default: Node) -> Topology:
    """Read a level of ``machine.numa``.

    Parameters
    ----------
    text : str
        A number of equal nodes, or CPUs and memory of each; distances behind ``@``.
    cpus, memory_bytes : int or None
        What ``machine.cpus`` and ``machine.memory`` say; sums must agree with it.
    default : Node
        CPUs and memory of the machine where these say nothing.

    Raises
    ------
    UsageError
        If CPUs or memory cannot be shared, do not add up, or distances are none.

    Examples
    --------
    >>> found = topology("2", 4, 2 << 30, Node((0,), 1 << 30))
    >>> [node.cpus for node in found.nodes], found.distances
    ([(0, 1), (2, 3)], ((10, 20), (20, 10)))
    >>> topology("0-1:1g+2:512m@10,21/21,10", None, None, Node((0,), 1 << 30)).distances
    ((10, 21), (21, 10))
    """
    shape, _, far = text.partition("@")
    if shape.isdecimal():
        nodes = _equal(
            text,
            int(shape),
            len(default.cpus) if cpus is None else cpus,
            default.memory_bytes if memory_bytes is None else memory_bytes,
        )
    else:
        nodes = tuple(_node(text, part) for part in shape.split("+"))
        _check_sums(text, nodes, cpus, memory_bytes)
    if not 1 <= len(nodes) <= MOST_NODES:
        raise UsageError(f"{FACTOR}={text}: {len(nodes)} nodes", f"give from 1 to {MOST_NODES}")
    return Topology(nodes, _distances(text, far, len(nodes)))


def _equal(text: str, count: int, cpus: int, memory_bytes: int) -> tuple[Node, ...]:
    if not 1 <= count <= MOST_NODES:
        raise UsageError(f"{FACTOR}={text}: {count} nodes", f"give from 1 to {MOST_NODES}")
    if cpus % count or memory_bytes % (count * GRAIN):
        raise UsageError(
            f"{FACTOR}={text}: {cpus} CPUs and {memory_bytes // GRAIN} MiB cannot be shared alike",
            "choose machine.cpus and machine.memory that can, or write the nodes out:"
            " 0-1:1g+2:512m",
        )
    each = cpus // count
    return tuple(
        Node(tuple(range(at * each, (at + 1) * each)), memory_bytes // count) for at in range(count)
    )


def _node(text: str, part: str) -> Node:
    cpus, _, memory = part.partition(":")
    # Memory alone has none; else a range that is empty, or of a length that nobody has, is none.
    ranges = [_CPUS.fullmatch(one) for one in cpus.split(",")] if cpus else []
    if not all(one and int(one[1]) <= int(one[2] or one[1]) for one in ranges):
        raise UsageError(f"{FACTOR}={text}: {cpus} is not a set of CPUs", "0-1, or 0,2-3")
    numbers = tuple(parse_numbers(cpus))
    size = size_of(FACTOR, memory)
    if size < GRAIN or size % GRAIN:
        raise UsageError(
            f"{FACTOR}={text}: {memory} is not a whole number of MiB", "for example 1g"
        )
    return Node(numbers, size)


def _check_sums(
    text: str, nodes: tuple[Node, ...], cpus: int | None, memory_bytes: int | None
) -> None:
    numbers = [cpu for node in nodes for cpu in node.cpus]
    if sorted(numbers) != list(range(len(numbers))) or not numbers:
        raise UsageError(
            f"{FACTOR}={text}: its CPUs are {write_numbers(numbers) or 'none'}",
            "put each CPU from 0 up into exactly one node",
        )
    if cpus is not None and cpus != len(numbers):
        raise UsageError(
            f"{FACTOR}={text}: {len(numbers)} CPUs, but machine.cpus={cpus}", "leave one out"
        )
    total = sum(node.memory_bytes for node in nodes)
    for found, name, shown in ((len(numbers), "cpus", str), (total, "memory", units.size)):
        low, high = find_factor(f"machine.{name}").range or (found, found)
        if not low <= found <= high:
            raise UsageError(
                f"{FACTOR}={text}: {name} of {shown(found)} in all",
                f"give from {shown(int(low))} to {shown(int(high))}, as for machine.{name}",
            )
    if memory_bytes is not None and memory_bytes != total:
        raise UsageError(
            f"{FACTOR}={text}: {total // GRAIN} MiB in all, but"
            f" machine.memory={memory_bytes // GRAIN}m",
            "leave one out",
        )


def _distances(text: str, far: str, count: int) -> tuple[tuple[int, ...], ...]:
    if "," not in far and "/" not in far:
        other = int(far or REMOTE)
        rows = [[LOCAL if a == b else other for b in range(count)] for a in range(count)]
    else:
        rows = [[int(one) for one in row.split(",")] for row in far.split("/")]
    if len(rows) != count or any(len(row) != count for row in rows):
        raise UsageError(
            f"{FACTOR}={text}: distances are not a table of {count} rows of {count}",
            "@20, or for two nodes @10,20/20,10",
        )
    for a, row in enumerate(rows):
        for b, one in enumerate(row):
            if (one != LOCAL) if a == b else not LOCAL < one <= FURTHEST:
                raise UsageError(
                    f"{FACTOR}={text}: distance {one} from node {a} to {b}",
                    f"give {LOCAL} to itself, and {LOCAL + 1} to {FURTHEST} to others",
                )
    return tuple(map(tuple, rows))
