"""Where JVMs run: CPUs and NUMA nodes of the application, and of each executor."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyrometer.collect.host import bind, facts
from pyrometer.collect.host.facts import Cpu, Machine
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.trial.factors import Level, write_numbers
from pyrometer.trial.layout import Binding, Layout

Memory = tuple[str, tuple[int, ...]]
"""How memory is taken, ``bind`` or ``interleave``, and from which nodes."""


@dataclass(frozen=True)
class Place:
    """CPUs and memory of one process; ``None``: as the kernel does."""

    cpus: frozenset[int] | None = None
    memory: Memory | None = None

    @property
    def options(self) -> list[str]:
        """Options by which ``bind.py`` goes there."""
        options = ["--cpus", write_numbers(self.cpus)] if self.cpus else []
        if self.memory:
            options += ["--memory", f"{self.memory[0]}:{write_numbers(self.memory[1])}"]
        return options


ANYWHERE = Place()


@dataclass(frozen=True)
class Placement:
    """Where everything runs.

    Attributes
    ----------
    application : Place
        Of all that is started.
    executors : tuple of Place
        Of each executor JVM, in their order; empty: anywhere in the application's.
    """

    application: Place = ANYWHERE
    executors: tuple[Place, ...] = ()

    @property
    def executor_cpus(self) -> int | None:
        """CPUs of the smallest place of an executor; ``None``: not pinned."""
        return min((len(place.cpus) for place in self.executors if place.cpus), default=None)


def placed_here(layout: Layout, treatment: Mapping[str, Level]) -> Placement:
    """Place on this host; see :func:`placement`."""
    allowed = frozenset(os.sched_getaffinity(0))
    return placement(layout, facts.read(), allowed, smt=treatment.get("os.smt") != "off")


def placement(
    layout: Layout, machine: Machine, allowed: frozenset[int], *, smt: bool = True
) -> Placement:
    """Decide where the JVMs of a layout run.

    Parameters
    ----------
    layout : Layout
        The JVMs, and what they are pinned to.
    machine : Machine
        The host.
    allowed : set of int
        CPUs that we may use.
    smt : bool
        Whether more than the first hardware thread of a core may be used.

    Raises
    ------
    UsageError, CapabilityError
        The host has no such CPUs or nodes, or too few of them.
    """
    binding, executors, how = layout.binding, layout.executors, layout.binding.memory
    if not smt:
        allowed &= machine.first_threads
    nodes = _nodes(binding, machine)
    chosen = _chosen(binding, allowed)
    if chosen is None and not smt:
        chosen = allowed
    usable = [cpu for cpu in machine.cpus if cpu.number in (chosen or allowed)]
    if how != "none" or nodes is not None:
        _require_numa(how, machine)
    if nodes is not None:
        usable = [cpu for cpu in usable if cpu.node in nodes]
        chosen = frozenset(cpu.number for cpu in usable)
        if not chosen:
            raise UsageError(f"numa.nodes={write_numbers(nodes)}: no CPU there may be used")
    within = nodes or machine.nodes
    alone = how == "bind" and executors is None
    taken = "interleave" if how == "interleave" else "bind"
    memory = (taken, within) if nodes is not None or how == "interleave" or alone else None
    places: tuple[Place, ...] = ()
    if executors is not None and (binding.own_cpus or how == "bind"):
        places = _per_executor(usable, executors, bind=how == "bind", own=binding.own_cpus)
    return Placement(Place(chosen, memory), places)


def _chosen(binding: Binding, allowed: frozenset[int]) -> frozenset[int] | None:
    """CPUs of ``host.cpus``: the first n of those we may use, or the set given."""
    wanted = binding.cpus
    if wanted is None:
        return None
    cpus = frozenset(sorted(allowed)[:wanted]) if isinstance(wanted, int) else wanted
    count = wanted if isinstance(wanted, int) else len(wanted)
    if len(cpus) < count or not cpus <= allowed:
        raise UsageError(
            f"host.cpus={binding.levels()['host.cpus']}: this process may use {len(allowed)} CPUs: "
            + write_numbers(allowed),
            "give a smaller number or some of these",
        )
    return cpus


def _nodes(binding: Binding, machine: Machine) -> tuple[int, ...] | None:
    nodes = binding.nodes
    if nodes is not None and set(nodes) - set(machine.nodes):
        raise CapabilityError(
            f"numa.nodes={write_numbers(nodes)}: this host has NUMA nodes"
            f" {write_numbers(machine.nodes)}",
            "choose from those that lscpu shows",
        )
    return nodes


def _require_numa(how: str, machine: Machine) -> None:
    if how != "none" and len(machine.nodes) < 2:
        raise CapabilityError(
            f"numa.bind={how}: this host has one NUMA node: it would change nothing",
            "choose a host with several: numactl --hardware, or lscpu, shows them",
        )
    if not bind.supported():
        raise CapabilityError("NUMA policies of this processor's Linux are not known")


def _per_executor(
    usable: Sequence[Cpu], executors: int, *, bind: bool, own: bool
) -> tuple[Place, ...]:
    nodes = sorted({cpu.node for cpu in usable})
    groups = [_group(nodes, number, executors) if bind else nodes for number in range(executors)]
    places = []
    for number, group in enumerate(groups):
        cpus = [cpu for cpu in usable if cpu.node in group]
        if own:
            sharing = [other for other, one in enumerate(groups) if one == group]
            cpus = _share(cpus, sharing.index(number), len(sharing))
        memory: Memory | None = ("bind", tuple(group)) if bind else None
        places.append(Place(frozenset(cpu.number for cpu in cpus), memory))
    return tuple(places)


def _group(nodes: Sequence[int], number: int, executors: int) -> list[int]:
    """Nodes of an executor: several each, or one that several share, in turn."""
    if executors >= len(nodes):
        return [nodes[number % len(nodes)]]
    first, last = (at * len(nodes) // executors for at in (number, number + 1))
    return list(nodes[first:last])


def _share(cpus: Sequence[Cpu], at: int, among: int) -> list[Cpu]:
    """Give the share of one of several: whole cores where there are enough."""
    cores: dict[int, list[Cpu]] = {}
    for cpu in cpus:
        cores.setdefault(cpu.core, []).append(cpu)
    parts = list(cores.values()) if len(cores) >= among else [[cpu] for cpu in cpus]
    if len(parts) < among:
        raise UsageError(
            f"cpu.bind=own: {len(cpus)} CPUs for {among} executors", "use fewer layout.executors"
        )
    mine = parts[at * len(parts) // among : (at + 1) * len(parts) // among]
    return [cpu for part in mine for cpu in part]


def write_java(folder: Path, java: str, places: Sequence[Place]) -> Path:
    """Write a Java home whose ``java`` binds each executor to its place.

    Spark starts executors by ``$JAVA_HOME/bin/java … --executor-id N``, on a local cluster and a
    standalone one alike; N counts from 0.

    Parameters
    ----------
    folder : Path
        Where.
    java : str
        The Java that is meant.
    places : sequence of Place
        By executor; an executor that replaces a lost one takes the next place in turn.
    """
    lines = [
        "#!/bin/sh",
        "# Written for this run: each executor on its own CPUs and memory.",
        "id=0 last=",
        'for word in "$@"; do [ "$last" = --executor-id ] && id=$word; last=$word; done',
        "case $id in *[!0-9]*) id=0;; esac",
        f"case $((id % {len(places)})) in",
    ]
    wrapper = [sys.executable, "-I", "-S", bind.__file__]
    for number, place in enumerate(places):
        command = shlex.join([*wrapper, *place.options, "--", java])
        lines.append(f'{number}) exec {command} "$@";;')
    lines.append("esac")
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text("\n".join(lines) + "\n", encoding="utf-8")
    program.chmod(0o755)
    return folder
