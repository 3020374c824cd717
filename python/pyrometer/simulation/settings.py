"""Spark settings of an application that matter to a scheduler.

An event log may hold anything: what cannot be parsed has Spark's default.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pyrometer.core.json_text import parse_json
from pyrometer.simulation.executor_memory import HEAP, overhead_bytes, size_in

_TIMES = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "min": 60e9, "h": 3600e9, "d": 86400e9}
# Spark's default: docs/configuration.md of Spark, "Scheduling".
_LOCALITY_WAIT = "3s"


@dataclass(frozen=True)
class Settings:
    """Settings of one application.

    Attributes
    ----------
    locality_wait_ns : float
        How long a task waits for a location that it prefers.
    dynamic : bool
        Whether dynamic allocation is on.
    launch_resets_wait : bool
        Whether each launch starts that wait again, as before Spark 3.1 (SPARK-18886).
    fair : bool
        Whether concurrent jobs share the slots (FAIR).
    memory_bytes : int
        Memory of an executor, including overhead and off-heap; of the driver in local mode.
    overhead_bytes : int
        Memory that an executor has beside its heap, as set or by Spark's default.
    """

    values: Mapping[str, str]
    locality_wait_ns: float
    launch_resets_wait: bool
    dynamic: bool
    fair: bool
    memory_bytes: int
    overhead_bytes: int

    def slots(self, cores: int) -> int:
        """Tasks that an executor with a number of cores runs at once."""
        limits = [cores // self.task_cpus]
        for key in self.values:
            if found := re.fullmatch(r"spark\.task\.resource\.(.+)\.amount", key):
                needed = self._number(key, 0)
                there = self._number(f"spark.executor.resource.{found[1]}.amount", 0)
                if needed > 0 and there > 0:
                    limits.append(int(min(there / needed, cores) + 1e-9))
        return max(1, min(limits))

    @property
    def task_cpus(self) -> int:
        """Cores that each task takes."""
        return max(1, int(self._number("spark.task.cpus", 1)))

    def _number(self, key: str, default: float) -> float:
        try:
            found = float(self.values.get(key, default))
        except ValueError:
            return default
        return found if math.isfinite(found) else default


def settings_of(spark_conf: str | None, master: str | None, spark_version: str | None) -> Settings:
    """Parse settings of table ``apps``; what cannot be parsed has Spark's default."""
    read = parse_json(spark_conf or "{}")
    # A log may hold anything; a setting is text.
    values: dict[str, str] = {key: text for key, text in read.items() if isinstance(text, str)}
    master = master or values.get("spark.master", "")
    overhead = overhead_bytes(values, master)
    # local-cluster[N,…] has separate executors.
    if re.match(r"local(\[|$)", master):
        memory = size_in(values, "spark.driver.memory", HEAP)
        memory += size_in(values, "spark.driver.memoryOverhead", "0")
    else:
        memory = size_in(values, "spark.executor.memory", HEAP) + overhead
    if _is_true(values.get("spark.memory.offHeap.enabled")):
        memory += size_in(values, "spark.memory.offHeap.size", "0")
    return Settings(
        values=values,
        locality_wait_ns=_time(values.get("spark.locality.wait"), _LOCALITY_WAIT),
        launch_resets_wait=_before_31(spark_version)
        or _is_true(values.get("spark.locality.wait.legacyResetOnTaskLaunch")),
        dynamic=_is_true(values.get("spark.dynamicAllocation.enabled")),
        fair=values.get("spark.scheduler.mode", "").strip().upper() == "FAIR",
        memory_bytes=memory,
        overhead_bytes=overhead,
    )


def _is_true(text: str | None) -> bool:
    return (text or "").strip().lower() == "true"


def _before_31(version: str | None) -> bool:
    found = re.match(r"(\d{1,9})\.(\d{1,9})", version or "")
    return found is not None and (int(found[1]), int(found[2])) < (3, 1)


def _time(text: str | None, default: str) -> float:
    found = re.fullmatch(r"(\d{1,19})\s*([a-z]*)", (text or default).strip().lower())
    if found is None or (found[2] or "ms") not in _TIMES:
        return _time(None, default)
    return int(found[1]) * _TIMES[found[2] or "ms"]
