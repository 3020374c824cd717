"""Layouts as an experiment: executor JVMs × task slots × heap, the same in all, and where they run.

A placement is the part of the machine that a layout may use, named as in a published study of NUMA
(``1B``, ``4B``, ``NB``): a number, and how JVMs are pinned to it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyrometer.core.errors import UsageError
from pyrometer.guests.machine import Machine
from pyrometer.trial.layout import MIB, Binding, Layout

GIB = 1 << 30

MOST_JVMS = 8
"""Most JVMs of a layout by default, as in the published studies."""

LEAST_HEAP = 450 * MIB
"""Spark starts no executor with less (``UnifiedMemoryManager``: 1.5 times its reserved memory)."""

SLOT_HEAP = GIB
"""Heap for each task slot, unless the sum is given."""

HEAP_SHARE = 0.5
"""Share of the host's memory that heaps take at most, unless the sum is given."""

UNBOUND = "NB"
PLACE = re.compile(r"([1-9][0-9]{0,3})([BIC])")
HOW = {
    UNBOUND: "not bound: the kernel decides",
    "B": "NUMA nodes: each JVM bound to one, CPUs and memory (to several, if there are fewer JVMs)",
    "I": "NUMA nodes: memory from all of them in turn",
    "C": "CPUs: each JVM bound to its own",
}
"""Descriptions of placements, by letter."""


@dataclass(frozen=True)
class Host:
    """The machine: CPUs that may be used, in total and by NUMA node."""

    cpus: int
    nodes: Mapping[int, int]

    def cpus_in(self, place: str) -> int:
        """Count the CPUs of a placement; of missing nodes, none."""
        count, how = split(place)
        if how == "C":
            return count
        if not count or not self.nodes:
            return self.cpus
        return sum(self.nodes[node] for node in sorted(self.nodes)[:count])

    def binding(self, place: str) -> Binding:
        """Give the binding of a placement.

        Examples
        --------
        >>> host = Host(4, {0: 2, 8: 2})
        >>> host.binding("2B").levels(), host.binding("2C").name
        ({'numa.nodes': '0,8', 'numa.bind': 'bind'}, '2C')
        """
        count, how = split(place)
        if how == UNBOUND:
            return Binding()
        if how == "C":
            return Binding(count, own_cpus=True)
        nodes = sorted(self.nodes)[:count]
        beyond = max(nodes, default=-1) + 1
        nodes += range(beyond, beyond + count - len(nodes))
        return Binding(nodes=tuple(nodes), memory="bind" if how == "B" else "interleave")


def host_in(machine: Machine) -> Host:
    """Give the CPUs and nodes of a virtual machine, as its trials will find them.

    Examples
    --------
    >>> from pyrometer.guests.machine import machine_of
    >>> host_in(machine_of({"machine.numa": "2", "machine.cpus": 6}, 1))
    Host(cpus=6, nodes={0: 3, 1: 3})
    """
    if machine.topology is None:
        return Host(machine.cpus_count, {0: machine.cpus_count})
    nodes = {at: len(node.cpus) for at, node in enumerate(machine.topology.nodes)}
    return Host(machine.cpus_count, {at: count for at, count in nodes.items() if count})


def split(place: str) -> tuple[int, str]:
    """Split a placement: how many nodes or CPUs (0 without a number), and how JVMs are pinned.

    Raises
    ------
    UsageError
        If it is not a placement.

    Examples
    --------
    >>> split("4B"), split("NB")
    ((4, 'B'), (0, 'NB'))
    """
    found = PLACE.fullmatch(place)
    if found:
        return int(found[1]), found[2]
    if place == UNBOUND:
        return 0, UNBOUND
    raise UsageError(
        f"{place!r} is not a known place",
        "use NB (not bound), 2B (bound to two NUMA nodes), 2I (interleaved), 2C (two CPUs)",
    )


def default_placements(host: Host) -> list[str]:
    """Choose the placements to compare: NUMA nodes if there are several, else parts of the CPUs.

    With one node, ``1B`` is among them: the plan says what this host lacks for it.

    Examples
    --------
    >>> default_placements(Host(8, {0: 2, 1: 2, 2: 2, 3: 2}))
    ['NB', '1B', '2B', '3B', '4B', '4I']
    >>> default_placements(Host(8, {0: 8}))
    ['NB', '2C', '4C', '8C', '1B']
    """
    nodes = len(host.nodes)
    if nodes > 1:
        counts = sorted({1, 2, 3, 4, *(1 << at for at in range(3, 10)), nodes})
        return [UNBOUND, *(f"{one}B" for one in counts if one <= nodes), f"{nodes}I"]
    parts = sorted({host.cpus // 4, host.cpus // 2, host.cpus} - {0})
    return [UNBOUND, *(f"{one}C" for one in parts), "1B"]


def layouts(
    host: Host,
    places: Sequence[str],
    jvms: Sequence[int] | None,
    slots: int,
    memory: int,
) -> tuple[list[Layout], list[str]]:
    """List the layouts of all placements, and what is omitted, with the reason.

    Parameters
    ----------
    host : Host
        The machine.
    jvms : sequence of int, optional
        Numbers of JVMs; by default, powers of two.
    slots, memory : int
        Task slots and heap (bytes) of all JVMs on the whole machine; a placement has the share of
        its CPUs.

    Raises
    ------
    UsageError
        If no layout remains.

    Examples
    --------
    >>> found, out = layouts(Host(2, {0: 2}), ["NB", "1C"], None, 2, 2 * GIB)
    >>> [(one.binding.name, one.name, one.heap_mib) for one in found], out
    ([('NB', '1×2', 2048), ('NB', '2×1', 1024), ('1C', '1×1', 1024)], [])
    """
    chosen, out = [], []
    for place in dict.fromkeys(places):
        part = host.cpus_in(place) / host.cpus
        whole, heap = max(1, round(slots * part)), round(memory * part)
        counts = jvms or [1 << at for at in range(MOST_JVMS.bit_length()) if 1 << at <= whole]
        for count in dict.fromkeys(counts):
            why = None
            if whole % count:
                why = f"{count} JVMs cannot share {whole} task slots equally"
            elif heap // count < LEAST_HEAP:
                why = f"a heap of {heap // count // MIB} MiB; Spark needs {LEAST_HEAP // MIB}"
            if why is None:
                size = heap // count // MIB * MIB
                chosen.append(Layout(count, whole // count, size, binding=host.binding(place)))
            elif jvms or "heap" in why:
                out.append(f"{place}, {count} JVMs: {why}")
    if not chosen:
        raise UsageError(f"no layout is left: {'; '.join(out)}", "--memory 4g, --jvms 1,2")
    return chosen, out
