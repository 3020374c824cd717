"""Levels of a curve over executors of a cluster: up to what it has room for just now."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from pyrometer.collect.launch.cluster_room import Room, free_rooms
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.scaling.plan import CORES_MAX, INSTANCES
from pyrometer.simulation.executor_memory import HEAP, overhead_bytes, size_in

REMEDY = "--levels 1,2,4,8,16"
DYNAMIC = "spark.dynamicAllocation.enabled"
NEAR = 1.2
_AM_OVERHEAD = 384 << 20


def check_factor(factor: str, settings: Mapping[str, str]) -> None:
    """Refuse a curve over a setting that does not say how many executors there are.

    Raises
    ------
    UsageError
        If the manager of the cluster does not read it, or dynamic allocation decides.
    """
    standalone = settings.get("spark.master", "").startswith("spark://")
    over = f"--over {CORES_MAX}" if factor == INSTANCES and standalone else None
    if settings.get(DYNAMIC, "false").strip().lower() == "true":
        raise UsageError(
            f"with {DYNAMIC}=true Spark itself decides how many executors there are, whatever"
            f" {factor} says",
            " ".join(filter(None, (over, f"--set {DYNAMIC}=false"))),
        )
    if over:
        raise UsageError(
            f"a standalone master does not read {INSTANCES}: every level would be the same", over
        )


def levels_of_cluster(
    factor: str,
    settings: Mapping[str, str],
    rooms: Callable[[str, Mapping[str, str]], Sequence[Room]] = free_rooms,
) -> list[str]:
    """Choose levels by what a cluster has free: powers of two, and its size.

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
    # A power next to the size would say what that says.
    powers = [1 << step for step in range(count.bit_length()) if NEAR * (1 << step) < count]
    return [str(each * level) for level in (*powers, count)]


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
        memory += overhead_bytes(settings, master)
    elif "spark.executor.cores" not in settings:
        # One executor takes all cores of a worker: memory for one of them is enough.
        return sum(one.cores for one in free if one.memory_bytes >= memory)

    def fits(one: Room) -> int:
        return max(0, min(one.cores // cores, one.memory_bytes // memory))

    count = sum(map(fits, free))
    if master != "yarn":
        return count
    # In client mode the application master is a container of its own, on whatever node.
    am_cores = _whole(settings.get("spark.yarn.am.cores")) or 1
    am_memory = size_in(settings, "spark.yarn.am.memory", "512m") + _AM_OVERHEAD
    taken = [
        fits(one) - fits(Room(one.cores - am_cores, one.memory_bytes - am_memory))
        for one in free
        if one.cores >= am_cores and one.memory_bytes >= am_memory
    ]
    return count - max(taken) if taken else 0


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.strip().isdecimal() and int(text) else None
