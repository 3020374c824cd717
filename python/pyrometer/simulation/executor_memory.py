"""Memory of an executor, as Spark reckons it from settings."""

from __future__ import annotations

from collections.abc import Mapping

from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import size_of

# Spark's defaults: docs/configuration.md of Spark, "Application Properties".
HEAP = "1g"
_OVERHEAD_RATIO, _LEAST_OVERHEAD = 0.1, "384m"
BESIDE, LEAST_BESIDE = _OVERHEAD_RATIO, float(384 << 20)
"""What a JVM takes beside its heap unless set: a share of the heap, and at least so many bytes."""
MOST = 0.9
"""Share of a machine's memory that JVMs may be given: the system and the page cache need some."""
_MOST_RATIO = 1000.0
_RATIO = "spark.executor.memoryOverheadFactor"
_RATIO_OF_PODS = "spark.kubernetes.memoryOverheadFactor"


def size_in(values: Mapping[str, str], name: str, default: str) -> int:
    """Give a setting that is a size in bytes; what cannot be parsed has the default.

    Examples
    --------
    >>> size_in({"spark.executor.memory": "2048"}, "spark.executor.memory", "1g") >> 30
    2
    """
    try:
        return size_of(name, values.get(name, default).strip())
    except UsageError:
        return size_of(name, default)


def beside(heap: float) -> float:
    """Give what a JVM takes beside its heap, in bytes, as Spark reckons it.

    Examples
    --------
    >>> beside(1 << 30) / (1 << 20), round(beside(10 << 30) / (1 << 20))
    (384.0, 1024)
    """
    return max(BESIDE * heap, LEAST_BESIDE)


def overhead_bytes(values: Mapping[str, str], master: str) -> int:
    """Give what an executor has beside its heap: as set, else a share of the heap.

    Examples
    --------
    >>> overhead_bytes({"spark.executor.memory": "16g"}, "yarn") >> 20
    1638
    >>> overhead_bytes({}, "yarn") >> 20, overhead_bytes({_RATIO: "0.5"}, "yarn") >> 20
    (384, 512)
    """
    given = size_in(values, "spark.executor.memoryOverhead", "0")
    if given:
        return given
    # On Kubernetes Spark itself sets the older name: to 0.4 for programs in Python or R.
    names = [_RATIO, _RATIO_OF_PODS] if master.startswith("k8s") else [_RATIO]
    text = next((values[name] for name in names if name in values), "")
    least = size_in(values, "spark.executor.minMemoryOverhead", _LEAST_OVERHEAD)
    heap = size_in(values, "spark.executor.memory", HEAP)
    return max(least, int(heap * _ratio(text)))


def _ratio(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        return _OVERHEAD_RATIO
    return found if 0 < found < _MOST_RATIO else _OVERHEAD_RATIO
