"""Levels of a curve over executors of a cluster: up to what it has room for just now."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from pyrometer.collect.launch.cluster_room import Room, free_rooms
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.scaling.plan import CORES_MAX, INSTANCES
from pyrometer.simulation.executor_memory import HEAP, overhead_bytes, size_in

REMEDY = "--levels 1,2,4,8,16"
_AM_OVERHEAD = 384 << 20


def check_factor(factor: str, settings: Mapping[str, str]) -> None:
    """Refuse a curve over a setting that the manager of the cluster does not read.

    Raises
    ------
    UsageError
        If it is one: every level would run with as many executors.
    """
    standalone = settings.get("spark.master", "").startswith("spark://")
    fixed = settings.get("spark.dynamicAllocation.enabled", "false").lower() != "true"
    if factor == INSTANCES and standalone and fixed:
        raise UsageError(
            f"a standalone master does not read {INSTANCES}: every level would be the same",
            f"--over {CORES_MAX}",
        )


def levels_of_cluster(
    factor: str,
    settings: Mapping[str, str],
    rooms: Callable[[str, Mapping[str, str]], Sequence[Room]] = free_rooms,
) -> list[str]:
    """Choose levels by what a cluster has free: powers of two up to its size.

    Parameters
    ----------
    factor : str
        ``spark.executor.instances``, or of a standalone master ``spark.cores.max``.
    settings : mapping of str to str
        Of all trials: the master, and what an executor takes.
    rooms : callable
        Asks the manager.

    Raises
    ------
    UsageError
        If it does not say, or has no room for two executors.
    """
    master = settings.get("spark.master", "")
    try:
        free = rooms(master, os.environ)
    except CapabilityError as error:
        raise UsageError(f"{factor}: how many has the cluster? {error.message}", REMEDY) from error
    cores = _whole(settings.get("spark.executor.cores")) or 1
    count = executors_in(free, settings)
    if count < 2:
        raise UsageError(
            f"{factor}: the cluster has room for {count} of these executors just now",
            f"smaller ones, or later, or {REMEDY}",
        )
    each = cores if factor == CORES_MAX else 1
    return [str(each << step) for step in range(count.bit_length())]


def executors_in(free: Sequence[Room], settings: Mapping[str, str]) -> int:
    """Say how many executors there is room for.

    Examples
    --------
    >>> executors_in([Room(8, 4 << 30), Room(3, 64 << 30)], {"spark.executor.cores": "2"})
    5
    """
    master = settings.get("spark.master", "")
    cores = _whole(settings.get("spark.executor.cores")) or 1
    memory = size_in(settings, "spark.executor.memory", HEAP)
    if master == "yarn":
        # In client mode the application master is a container of its own.
        memory += overhead_bytes(settings, master)
        am_cores = _whole(settings.get("spark.yarn.am.cores")) or 1
        am_memory = size_in(settings, "spark.yarn.am.memory", "512m") + _AM_OVERHEAD
        free = [Room(one.cores - am_cores, one.memory_bytes - am_memory) for one in free]
    elif "spark.executor.cores" not in settings:
        # One executor takes all cores of a worker: memory for one of them is enough.
        return sum(one.cores for one in free if one.memory_bytes >= memory)
    return sum(max(0, min(one.cores // cores, one.memory_bytes // memory)) for one in free)


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdecimal() and int(text) else None
