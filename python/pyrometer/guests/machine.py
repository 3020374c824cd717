"""A virtual machine as it is asked for: the levels of ``machine.*`` as one checked value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyrometer.core.errors import UsageError
from pyrometer.guests import disk, numa
from pyrometer.guests.disk import Limits
from pyrometer.guests.numa import Node, Topology
from pyrometer.trial.factors import Level, find_factor

PREFIX = "machine."
MEMORY_BYTES = 2 << 30
"""Memory unless given."""

OURS = (
    "console", "earlyprintk", "init", "initrd", "maxcpus", "mem", "numa", "panic", "rdinit",
    "root", "rootfstype", "ro", "rw", "nr_cpus",
)  # fmt: skip
"""Words of the command line that would undo what another factor asks for, or the boot itself."""
_WORD = re.compile(r"[!-~]+")
LONGEST_CMDLINE = 1024
"""Characters; the kernel keeps 2048 in all (COMMAND_LINE_SIZE of x86)."""


@dataclass(frozen=True)
class Machine:
    """What a virtual machine is to have.

    Attributes
    ----------
    cpus_count, memory_bytes : int
        CPUs and memory.
    threads_per_core : int
        Hardware threads of each core.
    topology : Topology or None
        NUMA nodes; ``None``: one, and nothing is said of distances.
    kernel : str or None
        Which kernel, in the words of ``machine.kernel``; ``None``: any that fits.
    cmdline : str
        Further words of its command line.
    swap_bytes : int
        Swap.
    lru_gen : bool or None
        Multi-generational LRU; ``None``: as the kernel has it.
    limits : Limits
        Of disks with data and working files.
    filesystem : str or None
        Of the disk with working files, as its mkfs makes it; ``None``: ours.
    """

    cpus_count: int
    memory_bytes: int = MEMORY_BYTES
    threads_per_core: int = 1
    topology: Topology | None = None
    kernel: str | None = None
    cmdline: str = ""
    swap_bytes: int = 0
    lru_gen: bool | None = None
    limits: Limits = field(default_factory=Limits)
    filesystem: str | None = None


def is_machine(factor: str) -> bool:
    """Whether a factor is one of ``machine.*``."""
    return factor.startswith(PREFIX)


def split(treatment: Mapping[str, Level]) -> tuple[dict[str, Level], dict[str, Level]]:
    """Part a treatment in the levels of the machine, and all others, which apply within it.

    Examples
    --------
    >>> split({"machine.memory": 1 << 30, "jvm.gc": "z"})
    ({'machine.memory': 1073741824}, {'jvm.gc': 'z'})
    """
    ours = {name: level for name, level in treatment.items() if is_machine(name)}
    return ours, {name: level for name, level in treatment.items() if name not in ours}


def machine_of(treatment: Mapping[str, Level], cpus: int) -> Machine | None:
    """Describe the machine that a treatment asks for.

    Parameters
    ----------
    treatment : mapping
        Levels, as :func:`~pyrometer.trial.factors.parse_treatment` gives them.
    cpus : int
        How many CPUs it has unless the treatment says; no more than ``machine.cpus`` may be.

    Returns
    -------
    Machine or None
        ``None`` if it asks for none.

    Raises
    ------
    UsageError, CapabilityError
        If levels contradict each other, or a machine cannot have one.

    Examples
    --------
    >>> found = machine_of({"machine.numa": "2", "machine.cpus": 4}, 1)
    >>> found.cpus_count, found.memory_bytes, len(found.topology.nodes)
    (4, 2147483648, 2)
    """
    asked: dict[str, Any] = {
        name.removeprefix(PREFIX): one for name, one in split(treatment)[0].items()
    }
    if not asked:
        return None
    threads = int(asked.get("smt", 1))
    _, most = find_factor("machine.cpus").range or (1, cpus)
    cpus = min(cpus, int(most) // threads * threads)
    count, memory = asked.get("cpus"), asked.get("memory")
    nodes = None
    if "numa" in asked:
        default = Node(tuple(range(cpus)), MEMORY_BYTES)
        nodes = numa.topology(str(asked["numa"]), count, memory, default)
        count, memory = nodes.cpus_count, nodes.memory_bytes
    found = Machine(
        cpus_count=int(count or cpus),
        memory_bytes=int(memory or MEMORY_BYTES),
        threads_per_core=threads,
        topology=nodes,
        kernel=asked.get("kernel"),
        cmdline=_cmdline(str(asked.get("cmdline", ""))),
        swap_bytes=int(asked.get("swap", 0)),
        lru_gen=asked["lru_gen"] == "on" if "lru_gen" in asked else None,
        limits=disk.limits(str(asked["disk"])) if "disk" in asked else Limits(),
        filesystem=asked.get("filesystem"),
    )
    _check(found)
    return found


def _cmdline(text: str) -> str:
    words = text.split()
    for word in words:
        if not _WORD.fullmatch(word):
            raise UsageError(
                f"machine.cmdline: {word!r} has characters that a kernel command line cannot have",
                "use letters, digits and punctuation of ASCII",
            )
        name = word.partition("=")[0]
        if name.replace("-", "_") in OURS or name == "--":
            raise UsageError(
                f"machine.cmdline: {word} would undo how the machine is made", "leave it out"
            )
    if len(text) > LONGEST_CMDLINE:
        raise UsageError(
            f"machine.cmdline has {len(text)} characters", f"give {LONGEST_CMDLINE} at most"
        )
    return " ".join(words)


def _check(found: Machine) -> None:
    if found.memory_bytes % numa.GRAIN or found.swap_bytes % 4096:
        raise UsageError(
            f"machine.memory={found.memory_bytes}, machine.swap={found.swap_bytes}: memory is"
            " whole MiB, swap whole pages of 4096 bytes",
            "for example 2g",
        )
    threads = found.threads_per_core
    if found.cpus_count % threads:
        raise UsageError(
            f"machine.smt={threads}: {found.cpus_count} CPUs are not whole cores",
            f"machine.cpus={-(-found.cpus_count // threads) * threads}",
        )
    for number, node in enumerate(found.topology.nodes if found.topology else ()):
        cores = {cpu // threads for cpu in node.cpus}
        if len(cores) * threads != len(node.cpus):
            raise UsageError(
                f"machine.smt={threads}: node {number} would have a part of a core",
                "keep the threads of a core in one node",
            )
