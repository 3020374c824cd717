"""What the machine grants to a job while one of its steps is at work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

PERIOD = 100_000
MOUNTS = ("/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup")


@contextmanager
def cpu_quota(spark: SparkSession, cpus: float | None) -> Iterator[None]:
    """Let the JVM have so many CPUs and no more, by a control group below its own.

    Parameters
    ----------
    cpus : float or None
        None leaves the JVM where it is.

    Raises
    ------
    OSError
        If this user may not make control groups.
    """
    if cpus is None:
        yield
        return
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    pid = jvm.java.lang.ProcessHandle.current().pid()
    above = _group(pid)
    within = above / f"port-{pid}"
    within.mkdir()
    try:
        _limit(within, int(cpus * PERIOD))
        (within / "cgroup.procs").write_text(str(pid))
        yield
    finally:
        for each in (within / "cgroup.procs").read_text().split():
            (above / "cgroup.procs").write_text(each)
        within.rmdir()


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


def _limit(group: Path, quota: int) -> None:
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text(str(PERIOD))
        (group / "cpu.cfs_quota_us").write_text(str(quota))
    else:
        (group / "cpu.max").write_text(f"{quota} {PERIOD}")
