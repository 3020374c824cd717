"""What an application's Spark settings say to a scheduler."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

_TIMES = {"us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9, "min": 60e9, "h": 3600e9, "d": 86400e9}
_SIZES = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}
# Spark's defaults: docs/configuration.md of Spark, "Memory Management" and "Scheduling".
_LOCALITY_WAIT = "3s"
_MEMORY = "1g"
_OVERHEAD_RATIO, _LEAST_OVERHEAD_BYTES = 0.1, 384 << 20


@dataclass(frozen=True)
class Settings:
    """Settings of one application.

    Attributes
    ----------
    locality_wait_ns : float
        How long a task waits for a place that it prefers.
    dynamic : bool
        Whether executors come and go with the work.
    launch_resets_wait : bool
        Whether each launch starts that wait anew, as before Spark 3.1 (SPARK-18886).
    fair : bool
        Whether pools share the slots, where jobs run at once.
    memory_bytes : int
        Of an executor, with what lies beside its heap; of the driver in local mode.
    """

    values: Mapping[str, str]
    locality_wait_ns: float
    launch_resets_wait: bool
    dynamic: bool
    fair: bool
    memory_bytes: int

    def slots(self, cores: int) -> int:
        """Tasks that an executor of so many cores runs at once."""
        limits = [cores // max(1, int(self._number("spark.task.cpus", 1)))]
        for key in self.values:
            if found := re.fullmatch(r"spark\.task\.resource\.(.+)\.amount", key):
                needed = self._number(key, 0)
                there = self._number(f"spark.executor.resource.{found[1]}.amount", 0)
                if needed > 0 and there > 0:
                    limits.append(int(there / needed + 1e-9))
        return max(1, min(limits))

    def _number(self, key: str, default: float) -> float:
        try:
            return float(self.values.get(key, default))
        except ValueError:
            return default


def settings_of(spark_conf: str | None, master: str | None, spark_version: str | None) -> Settings:
    """Read settings as table ``apps`` has them; what cannot be read has Spark's default."""
    values: dict[str, str] = json.loads(spark_conf or "{}")
    # local-cluster[N,…] has executors of their own.
    alone = re.match(r"local(\[|$)", master or values.get("spark.master", ""))
    side = "driver" if alone else "executor"
    heap = _size(values.get(f"spark.{side}.memory"), _MEMORY)
    overhead = values.get(f"spark.{side}.memoryOverhead")
    # A size without a unit is in MiB there.
    beside = _size(f"{overhead}m" if overhead and overhead.isdigit() else overhead, "0")
    if side == "executor" and not beside:
        beside = max(_LEAST_OVERHEAD_BYTES, int(heap * _OVERHEAD_RATIO))
    if _is_true(values.get("spark.memory.offHeap.enabled")):
        beside += _size(values.get("spark.memory.offHeap.size"), "0")
    return Settings(
        values=values,
        locality_wait_ns=_time(values.get("spark.locality.wait"), _LOCALITY_WAIT),
        launch_resets_wait=_before_31(spark_version)
        or _is_true(values.get("spark.locality.wait.legacyResetOnTaskLaunch")),
        dynamic=_is_true(values.get("spark.dynamicAllocation.enabled")),
        fair=values.get("spark.scheduler.mode", "").strip().upper() == "FAIR",
        memory_bytes=heap + beside,
    )


def _is_true(text: str | None) -> bool:
    return (text or "").strip().lower() == "true"


def _before_31(version: str | None) -> bool:
    found = re.match(r"(\d+)\.(\d+)", version or "")
    return found is not None and (int(found[1]), int(found[2])) < (3, 1)


def _time(text: str | None, default: str) -> float:
    found = re.fullmatch(r"(\d+)\s*([a-z]*)", (text or default).strip().lower())
    if found is None or (found[2] or "ms") not in _TIMES:
        return _time(None, default)
    return int(found[1]) * _TIMES[found[2] or "ms"]


def _size(text: str | None, default: str) -> int:
    found = re.fullmatch(r"(\d+)\s*([bkmgtp]?)b?", (text or default).strip().lower())
    return int(found[1]) << _SIZES[found[2]] if found else _size(None, default)
