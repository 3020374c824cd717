"""Memory that a configuration takes, before it is launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyrometer.core.units import size as binary
from pyrometer.experiments.plan.constraints import number_or_text
from pyrometer.simulation.executor_memory import LEAST_BESIDE as LEAST
from pyrometer.simulation.executor_memory import MOST, beside
from pyrometer.tune.space.levels import with_unit
from pyrometer.tune.space.space import Configuration

SPARKS_HEAP = float(1 << 30)
"""Heap of a driver and of an executor where nobody says (``spark.driver.memory``)."""

ELSEWHERE = "elsewhere"
"""Fact of a job whose executors run on other machines: what this one has is not theirs."""

OF_EXECUTORS = {
    "overhead": "spark.executor.memoryOverhead",
    "overhead_ratio": "spark.executor.memoryOverheadFactor",
    "python": "spark.executor.pyspark.memory",
}
"""Facts of a job, each with the setting that says it: what an executor has beside its heap."""

TAKES = frozenset(
    {
        "cgroup.memory", "jvm.heap", "layout.executors", "spark.driver.memory",
        "spark.executor.memory", "spark.memory.offHeap.enabled", "spark.memory.offHeap.size",
        *OF_EXECUTORS.values(),
    }
)  # fmt: skip
"""Factors that change how much memory JVMs take or have."""


@dataclass(frozen=True)
class Memory:
    """What the JVMs of a configuration may take in all, in bytes.

    Attributes
    ----------
    jvms : int
        Executors, or the one JVM that runs driver and tasks.
    heap, off_heap, beside, python : float
        Of each of them: ``beside`` the heap, and of its Python workers where they have a limit.
    driver : float
        Of a driver in a JVM of its own; 0 where there is none.
    """

    jvms: int
    heap: float
    off_heap: float
    beside: float
    driver: float
    python: float = 0.0

    @property
    def each(self) -> float:
        """That of one of them."""
        return self.heap + self.off_heap + self.beside + self.python

    @property
    def total(self) -> float:
        """All of it."""
        return self.jvms * self.each + self.driver


def memory_of(configuration: Configuration, facts: Mapping[str, float]) -> Memory:
    """Reckon the memory that a configuration may take.

    Parameters
    ----------
    configuration : mapping of str to str
        Levels.
    facts : mapping of str to float
        ``heap``, ``off_heap`` in bytes and ``jvms`` of the job as it is, ``driver_heap`` and
        ``executor_heap`` for where these are apart, those of :data:`OF_EXECUTORS`, as far as they
        are known.

    Examples
    --------
    >>> found = memory_of({"jvm.heap": "2g", "layout.executors": "3"}, {})
    >>> found.jvms, round(found.total / (1 << 30), 2)
    (3, 9.5)
    """
    given = {name: number_or_text(with_unit(name, text)) for name, text in configuration.items()}

    def size(name: str) -> float | None:
        value = given.get(name)
        return value if isinstance(value, float) else None

    executors = size("layout.executors")
    jvms = int(executors if executors is not None else facts.get("jvms", 1.0))
    apart = executors is not None or jvms > 1 or ELSEWHERE in facts
    heap = _first(
        size("jvm.heap"),
        size("spark.executor.memory") if apart else size("spark.driver.memory"),
        facts.get("executor_heap") if apart else None,
        facts.get("heap"),
        SPARKS_HEAP,
    )
    uses = configuration.get("spark.memory.offHeap.enabled")
    off_heap = facts.get("off_heap", 0.0) if uses != "false" else 0.0
    if uses == "true" or off_heap:
        off_heap = _first(size("spark.memory.offHeap.size"), off_heap)
    driver = 0.0
    if apart:
        own = _first(
            size("spark.driver.memory"), size("jvm.heap"), facts.get("driver_heap"), SPARKS_HEAP
        )
        driver = own + beside(own)
    of = {fact: _known(size(name), facts.get(fact)) for fact, name in OF_EXECUTORS.items()}
    extra = beside(heap)
    if apart:
        # Spark gives the driver's JVM none of these where that runs the tasks.
        ratio = of["overhead_ratio"]
        extra = _first(of["overhead"], None if ratio is None else max(ratio * heap, LEAST), extra)
    return Memory(jvms, heap, off_heap, extra, driver, of["python"] or 0.0)


def too_much(configuration: Configuration, facts: Mapping[str, float]) -> str | None:
    """Say why a configuration does not fit into the machine; ``None`` where it does.

    Where neither the machine's memory nor a limit is known, nothing is known to fit, and nothing
    is refused for it; nor where executors run elsewhere. What changes no memory takes what the job
    takes, which runs.

    Examples
    --------
    >>> print(too_much({"jvm.heap": "6g"}, {"mem_total": 4.0 * (1 << 30)}))
    1 × (6.00 GiB heap + 614 MiB beside it) = 6.60 GiB, but JVMs may have 3.60 GiB of 4.00 GiB
    >>> too_much({"jvm.heap": "2g"}, {"mem_total": 4.0 * (1 << 30)}) is None
    True
    """
    if not TAKES & configuration.keys() or ELSEWHERE in facts:
        return None
    limits = [facts["mem_total"]] if "mem_total" in facts else []
    group = number_or_text(configuration.get("cgroup.memory", ""))
    limits += [group] if isinstance(group, float) else []
    if not limits:
        return None
    whole, found = min(limits), memory_of(configuration, facts)
    if found.total <= MOST * whole:
        return None
    off = f" + {binary(found.off_heap)} off-heap" if found.off_heap else ""
    driver = f" + {binary(found.driver)} of the driver" if found.driver else ""
    python = f" + {binary(found.python)} of Python" if found.python else ""
    parts = f"{binary(found.heap)} heap{off} + {binary(found.beside)} beside it{python}"
    allowed = f"{binary(MOST * whole)} of {binary(whole)}"
    total = binary(found.total)
    return f"{found.jvms} × ({parts}){driver} = {total}, but JVMs may have {allowed}"


def _known(*values: float | None) -> float | None:
    return next((one for one in values if one is not None), None)


def _first(*values: float | None) -> float:
    return next(one for one in values if one is not None)
