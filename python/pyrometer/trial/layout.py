"""How many JVMs run an application's tasks, with how many slots and how much heap, and where.

The one place that reads the factors of a layout from a treatment, and writes them as levels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pyrometer.core.errors import UsageError
from pyrometer.core.schema import spark_unit
from pyrometer.trial.factors import (
    Level,
    find_factor,
    parse_cpus,
    parse_level,
    parse_numbers,
    write_cpus,
)

TASKS = "layout.tasks"
EXECUTORS = "layout.executors"
CORES = "layout.cores_per_executor"
CLUSTER = "layout.cluster"
HEAP = "jvm.heap"
EXECUTOR_MEMORY = "spark.executor.memory"

FACTORS = (
    TASKS, EXECUTORS, CORES, CLUSTER, HEAP, "host.cpus", "cpu.bind", "numa.nodes", "numa.bind",
)  # fmt: skip
"""Factors that a layout is read from."""

MIB = 1 << 20
DEFAULT_HEAP = 1024 * MIB
"""Heap of an executor unless one is given: Spark's default."""

NumaMemory = Literal["none", "bind", "interleave"]
Cluster = Literal["local-cluster", "standalone"]


@dataclass(frozen=True)
class Binding:
    """Which CPUs and NUMA nodes the JVMs may use.

    Attributes
    ----------
    cpus : int, frozenset of int or None
        A number of CPUs, or a set of them; ``None``: all.
    own_cpus : bool
        Whether each executor has CPUs of its own.
    nodes : tuple of int or None
        NUMA nodes; ``None``: all.
    memory : {"none", "bind", "interleave"}
        How memory of the nodes is taken.
    """

    cpus: int | frozenset[int] | None = None
    own_cpus: bool = False
    nodes: tuple[int, ...] | None = None
    memory: NumaMemory = "none"

    @property
    def name(self) -> str:
        """Name as published studies write it: ``NB``, ``2C``, ``4B``, ``4I``; else its levels.

        Examples
        --------
        >>> Binding().name, Binding(nodes=(0, 8), memory="bind").name
        ('NB', '2B')
        >>> Binding(memory="interleave").name
        'numa.bind=interleave'
        """
        if self == Binding():
            return "NB"
        if isinstance(self.cpus, int) and self == Binding(self.cpus, own_cpus=True):
            return f"{self.cpus}C"
        if self.nodes and self == Binding(nodes=self.nodes, memory=self.memory) != Binding(
            nodes=self.nodes
        ):
            return f"{len(self.nodes)}{'B' if self.memory == 'bind' else 'I'}"
        return ", ".join(f"{factor}={level}" for factor, level in self.levels().items())

    def levels(self) -> dict[str, str]:
        """Write it as levels of factors.

        Examples
        --------
        >>> Binding(2, own_cpus=True).levels(), Binding().levels()
        ({'host.cpus': '2', 'cpu.bind': 'own'}, {'cpu.bind': 'none'})
        """
        levels = {}
        if self.cpus is not None:
            levels["host.cpus"] = write_cpus(self.cpus)
        if self.own_cpus:
            levels["cpu.bind"] = "own"
        if self.nodes is not None:
            levels["numa.nodes"] = ",".join(map(str, self.nodes))
        if self.memory != "none":
            levels["numa.bind"] = self.memory
        return levels or {"cpu.bind": "none"}


@dataclass(frozen=True)
class Layout:
    """The JVMs in which tasks run.

    Attributes
    ----------
    executors : int or None
        Executor JVMs on this machine; ``None``: tasks run in the driver's, or the application
        decides.
    slots : int or None
        Task slots of each; ``None``: the application decides.
    heap_bytes : int or None
        Heap of each; ``None``: the application decides.
    cluster : {"local-cluster", "standalone"}
        How executors are started.
    binding : Binding
        CPUs and NUMA nodes that all JVMs may use.
    """

    executors: int | None = None
    slots: int | None = None
    heap_bytes: int | None = None
    cluster: Cluster = "local-cluster"
    binding: Binding = Binding()

    @property
    def name(self) -> str:
        """JVMs × slots of each, for people."""
        return f"{self.executors or 1}×{self.slots}"

    @property
    def tasks(self) -> int | None:
        """Task slots in all."""
        return None if self.slots is None else self.slots * (self.executors or 1)

    @property
    def heap_mib(self) -> int:
        """Whole MiB of heap of an executor, with Spark's default."""
        return mib(DEFAULT_HEAP if self.heap_bytes is None else self.heap_bytes)

    @property
    def standalone(self) -> bool:
        """Whether executors run on a standalone cluster, which is launched for them."""
        return self.executors is not None and self.cluster == "standalone"

    @property
    def master(self) -> str | None:
        """Spark's master; ``None`` if the application decides, or a cluster must start first.

        Examples
        --------
        >>> Layout(slots=3).master, Layout(2, 1, 1 << 30).master, Layout().master
        ('local[3]', 'local-cluster[2,1,1024]', None)
        """
        if self.slots is None or self.standalone:
            return None
        if self.executors is None:
            return f"local[{self.slots}]"
        return f"local-cluster[{self.executors},{self.slots},{self.heap_mib}]"

    def levels(self) -> dict[str, str]:
        """Write it as levels of factors.

        Examples
        --------
        >>> Layout(2, 1, 1 << 30).levels()  # doctest: +NORMALIZE_WHITESPACE
        {'layout.executors': '2', 'layout.cores_per_executor': '1', 'jvm.heap': '1024m',
         'cpu.bind': 'none'}
        """
        levels = {}
        if self.executors is not None:
            levels[EXECUTORS] = str(self.executors)
        if self.slots is not None:
            levels[TASKS if self.executors is None else CORES] = str(self.slots)
        if self.standalone:
            levels[CLUSTER] = self.cluster
        if self.heap_bytes is not None:
            levels[HEAP] = f"{mib(self.heap_bytes)}m"
        return {**levels, **self.binding.levels()}


def is_layout(factor: str) -> bool:
    """Whether a factor is one of ``layout.*``."""
    return factor.startswith("layout.")


def resolve_layout(treatment: Mapping[str, Level]) -> Layout:
    """Read the layout of a treatment.

    Parameters
    ----------
    treatment : mapping
        Levels, as :func:`~pyrometer.trial.factors.parse_treatment` gives them; those that
        are not about a layout are ignored.

    Raises
    ------
    UsageError
        If the levels contradict each other, or one needs another.

    Examples
    --------
    >>> found = resolve_layout({"layout.tasks": 12, "layout.executors": 4, "jvm.gc": "z"})
    >>> found.executors, found.slots, found.tasks
    (4, 3, 12)
    """
    heap = treatment.get(HEAP)
    executors, slots = _executors_and_slots(treatment)
    return Layout(
        executors=executors,
        slots=slots,
        heap_bytes=None if heap is None else int(heap),
        cluster="standalone" if treatment.get(CLUSTER) == "standalone" else "local-cluster",
        binding=_binding(treatment, executors),
    )


def _executors_and_slots(treatment: Mapping[str, Level]) -> tuple[int | None, int | None]:
    tasks, executors, cores = (
        None if name not in treatment else int(treatment[name])
        for name in (TASKS, EXECUTORS, CORES)
    )
    if executors is None:
        alone = next((name for name in (CORES, CLUSTER) if name in treatment), None)
        if alone is not None:
            raise UsageError(f"{alone} needs {EXECUTORS}", "give both")
        return None, tasks
    if cores is None:
        if tasks is None or tasks % executors:
            raise UsageError(
                f"{EXECUTORS}={executors} needs {CORES}",
                f"give it, or {TASKS} that the executors can share equally",
            )
        cores = tasks // executors
    if tasks is not None and tasks != executors * cores:
        raise UsageError(
            f"{TASKS}={tasks} is not {EXECUTORS} × {CORES} = {executors * cores}",
            f"leave {TASKS} out",
        )
    return executors, cores


def _binding(treatment: Mapping[str, Level], executors: int | None) -> Binding:
    own_cpus = treatment.get("cpu.bind") == "own"
    if own_cpus and executors is None:
        raise UsageError(
            f"cpu.bind=own needs {EXECUTORS}", "give both, or use host.cpus with one JVM"
        )
    memory: NumaMemory = "none"
    if treatment.get("numa.bind") in ("bind", "interleave"):
        memory = "bind" if treatment["numa.bind"] == "bind" else "interleave"
    nodes = treatment.get("numa.nodes")
    return Binding(
        cpus=parse_cpus(str(treatment["host.cpus"])) if "host.cpus" in treatment else None,
        own_cpus=own_cpus,
        nodes=None if nodes is None else tuple(parse_numbers(str(nodes))),
        memory=memory,
    )


def with_room(layout: Layout, settings: Mapping[str, str]) -> Layout:
    """Give workers room for the executors that settings ask for: Spark starts no larger one.

    Examples
    --------
    >>> with_room(Layout(2, 1), {"spark.executor.memory": "4g"}).master
    'local-cluster[2,1,4096]'
    """
    asked = executor_mib(settings)
    if asked is None:
        return layout
    return replace(layout, heap_bytes=max(asked, layout.heap_mib) * MIB)


def executor_mib(settings: Mapping[str, str]) -> int | None:
    """Whole MiB that settings ask for an executor; ``None``: nothing, or no size."""
    text = settings.get(EXECUTOR_MEMORY, "")
    text += spark_unit(EXECUTOR_MEMORY) * text.isdigit()
    try:
        return mib(int(parse_level(find_factor(HEAP), HEAP, text)))
    except UsageError:
        return None  # Spark says so itself.


def mib(size: int) -> int:
    """Whole MiB of a size, at least one."""
    return max(1, size // MIB)
