"""Knobs that divide one heap: what the tasks of a JVM take of it together.

Spark's own limit is its least heap (``UnifiedMemoryManager``: one and a half times the 300 MiB
that it keeps for itself). The others are ours, for what its documentation says each task holds:
buffers of what is fetched (``spark.reducer.maxSizeInFlight``), a buffer for each file of a shuffle
that does not sort (``spark.shuffle.file.buffer``, up to
``spark.shuffle.sort.bypassMergeThreshold`` partitions), a row group for each file that is written.

Nothing is refused for a share that the job as it is exceeds already, unless it grows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyrometer.core.units import size as binary
from pyrometer.experiments.plan.constraints import number_or_text
from pyrometer.tune.space.levels import with_unit
from pyrometer.tune.space.memory import memory_of
from pyrometer.tune.space.space import Configuration

RESERVED = float(300 << 20)
"""What Spark keeps of a heap for itself."""
LEAST_HEAP = 1.5 * RESERVED
"""With less Spark does not start."""
BYPASS = 200.0
"""Up to so many partitions a shuffle writes a file each before it joins them."""

_PARTITIONS = "spark.sql.shuffle.partitions"


@dataclass(frozen=True)
class _Tried:
    """A configuration with what holds beside it."""

    levels: Mapping[str, str]
    facts: Mapping[str, float]
    heap: float

    def number(self, factor: str) -> float | None:
        found = number_or_text(with_unit(factor, self.levels.get(factor, "")))
        return found if isinstance(found, float) else None

    @property
    def slots(self) -> float | None:
        """Task slots of one JVM."""
        cores, executors, tasks = map(
            self.number, ("layout.cores_per_executor", "layout.executors", "layout.tasks")
        )
        if executors is not None:
            return tasks / executors if cores is None and tasks is not None else cores
        known = self.facts.get("slots") if tasks is None else tasks
        return None if known is None else max(1.0, known / self.facts.get("jvms", 1.0))


@dataclass(frozen=True)
class _Share:
    """A part of a heap that is divided.

    Attributes
    ----------
    factors : tuple of str
        What it follows from, beside heap and slots.
    taken : callable
        What a configuration takes, in bytes; ``None`` where that is not known.
    most : float
        Share of the heap that this may be.
    """

    factors: tuple[str, ...]
    taken: Callable[[_Tried], float | None]
    most: float
    words: str

    def ratio(self, tried: _Tried) -> float | None:
        taken = self.taken(tried)
        return None if taken is None else taken / (self.most * tried.heap)


def _each(factor: str) -> Callable[[_Tried], float | None]:
    def taken(tried: _Tried) -> float | None:
        slots, value = tried.slots, tried.number(factor)
        return None if slots is None or value is None else slots * value

    return taken


def _buffers(tried: _Tried) -> float | None:
    slots, one = tried.slots, tried.number("spark.shuffle.file.buffer")
    partitions = tried.number(_PARTITIONS)
    if slots is None or one is None or partitions is None:
        return None
    return slots * one * (partitions if partitions <= BYPASS else 1.0)


_SHARES = (
    _Share(
        ("spark.reducer.maxSizeInFlight",), _each("spark.reducer.maxSizeInFlight"),
        0.5, "what tasks fetch at a time",
    ),
    _Share(
        ("spark.shuffle.file.buffer", _PARTITIONS), _buffers, 0.25,
        "the buffers of a shuffle's files",
    ),
    _Share(
        ("spark.hadoop.parquet.block.size",), _each("spark.hadoop.parquet.block.size"),
        0.5, "the row groups that tasks write",
    ),
)  # fmt: skip
_OF_HEAP = ("jvm.heap", "layout.cores_per_executor", "layout.executors", "layout.tasks",
            "spark.driver.memory", "spark.executor.memory")  # fmt: skip


def crowded(
    configuration: Configuration, defaults: Mapping[str, str], facts: Mapping[str, float]
) -> str | None:
    """Say why a heap does not hold what a configuration divides it into; ``None`` where it does.

    Parameters
    ----------
    defaults : mapping of str to str
        What holds where a configuration says nothing, as far as it is known.
    facts : mapping of str to float
        Of machine and job.

    Examples
    --------
    >>> of_job = {"heap": float(1 << 30), "slots": 8.0}
    >>> crowded({"spark.reducer.maxSizeInFlight": "48m"}, {}, of_job) is None
    True
    >>> crowded({"spark.reducer.maxSizeInFlight": "96m"}, {}, of_job)
    'what tasks fetch at a time may take 768 MiB of a heap of 1.00 GiB, and 512 MiB are safe'
    """
    heap = memory_of(configuration, facts).heap
    before = _Tried(defaults, facts, memory_of({}, facts).heap)
    if heap < LEAST_HEAP and heap < before.heap:
        return f"a heap of {binary(heap)}: Spark does not start with less than {binary(LEAST_HEAP)}"
    tried = _Tried({**defaults, **configuration}, facts, heap)
    for one in _SHARES:
        if not configuration.keys() & {*one.factors, *_OF_HEAP}:
            continue
        now, then = one.ratio(tried), one.ratio(before)
        if now is not None and now > max(1.0, then or 0.0):
            taken = binary(now * one.most * heap)
            return (
                f"{one.words} may take {taken} of a heap of {binary(heap)}, and"
                f" {binary(one.most * heap)} are safe"
            )
    return None
