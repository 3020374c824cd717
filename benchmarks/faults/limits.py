"""What the machine grants to a job while one of its steps is at work."""

from __future__ import annotations

import atexit
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

PERIOD = 100_000
"""Microseconds in which a quota is spent, where nothing else is said."""
MOUNTS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup")


def jvm_pid(spark: SparkSession) -> int:
    """Give the process number of the driver's JVM."""
    jvm: Any = spark.sparkContext._jvm
    return int(jvm.java.lang.ProcessHandle.current().pid())


@contextmanager
def cpu_quota(
    processes: Sequence[int], cpus: float | None, *groups: str, period: int = PERIOD
) -> Iterator[None]:
    """Let processes have so many CPUs and no more, by control groups below that of the first.

    Parameters
    ----------
    processes : sequence of int
        Their numbers.
    cpus : float or None
        None leaves them where they are.
    *groups : str
        One in the other: the outermost has the quota, the innermost the processes.
    period : int
        Microseconds in which the quota is spent.

    Raises
    ------
    OSError
        If this user may not make control groups.
    """
    if cpus is None:
        yield
        return
    above = _group(processes[0])
    outermost = above / f"{groups[0]}-{processes[0]}"
    innermost = outermost.joinpath(*groups[1:])

    def leave() -> None:
        group = innermost
        while group != above:
            if group.exists():
                for each in (group / "cgroup.procs").read_text().split():
                    with suppress(ProcessLookupError):
                        (above / "cgroup.procs").write_text(each)
                group.rmdir()
            group = group.parent

    atexit.register(leave)
    try:
        innermost.mkdir(parents=True)
        _limit(outermost, int(cpus * period), period)
        for each in processes:
            (innermost / "cgroup.procs").write_text(str(each))
        yield
    finally:
        leave()
        atexit.unregister(leave)


def _group(pid: int) -> Path:
    """Find the control group of a process that rules its CPUs, of either version."""
    for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        for mount in MOUNTS:
            group = Path(mount + path)
            if "cpu" in controllers.split(",") and (group / "tasks").exists():
                return group
            if not controllers and (group / "cgroup.subtree_control").exists():
                return group
    raise OSError(f"no control group rules the CPUs of process {pid}: mount one at {MOUNTS[0]}")


def _limit(group: Path, quota: int, period: int) -> None:
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text(str(period))
        (group / "cpu.cfs_quota_us").write_text(str(quota))
    else:
        (group / "cpu.max").write_text(f"{quota} {period}")
