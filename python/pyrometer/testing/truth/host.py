"""Programs in which the host is the cause: a disk that is held back, memory that is too small."""

from __future__ import annotations

import hashlib
import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pyrometer.core.errors import CapabilityError
from pyrometer.testing.truth.rows import (
    CAUSE,
    NumberedRows,
    cause,
    collected,
    differs,
    is_on,
    slots,
)
from pyrometer.workloads.results import checksum
from pyrometer.workloads.spark import java_class
from pyrometer.workloads.values import (
    IterationResult,
    Mismatch,
    Prepared,
    Progress,
    Truth,
    Variant,
    WorkloadSpec,
    no_progress,
)

if TYPE_CHECKING:
    from pyrometer.workloads.data_cache import DataCache


SPEED = "workload.speed"
_BLOCK = 64 << 10
_MEMINFO = Path("/proc/meminfo")


class SlowDisk(NumberedRows):
    """A task that reads from a disk that is held back."""

    name = "truth-slow-disk"
    summary = "A task reads from a disk that a control group holds to a declared speed"
    description = (
        "One task reads a file block by block, none of which is in the page cache: it is evicted "
        "before each iteration. A limit of the control group of the run (blkio or io) holds "
        "reading to the declared speed; the twin reads the same file at the disk's own."
    )
    expectation = "The declared bytes a second of task time, in which the CPU is hardly used."
    variants: ClassVar = {
        CAUSE: cause("reading is held back", "the disk's own speed"),
        SPEED: Variant(
            levels={"20": "a slow disk"},
            default="20",
            doc="Speed of reading, in MiB per second.",
            integer=True,
        ),
    }
    scales: ClassVar = {"test": 160, "default": 1_600, "seed": 16_000}
    scale_unit = "blocks of 64 KiB"
    tasks = 1

    def bytes_needed(self, spec: WorkloadSpec) -> int:
        """Estimate: all blocks."""
        return spec.size * _BLOCK

    def prepare(
        self, spec: WorkloadSpec, cache: DataCache, progress: Progress = no_progress
    ) -> Prepared:
        """Write the file."""
        prepared = cache.ensure(
            f"blocks-{spec.size}",
            {"blocks": spec.size, "bytes": _BLOCK, "version": 1},
            lambda folder, report: _write_blocks(folder, report, spec.size),
            bytes_needed=self.bytes_needed(spec),
            progress=progress,
        )
        return prepared.with_paths(blocks="blocks")

    def limits(self, spec: WorkloadSpec) -> dict[str, str | int | float]:
        """Hold reading back."""
        return {"cgroup.read_bps": int(spec.levels[SPEED]) << 20} if is_on(spec) else {}

    def truth(self, spec: WorkloadSpec) -> Truth | None:
        """Declare the speed; that of the twin's disk is unknown."""
        if not is_on(spec):
            return None
        speed = (int(spec.levels[SPEED]) << 20) / 1e9
        return Truth(
            quantity="bytes read from the disk",
            where="the only task, per nanosecond of its time",
            value=speed,
            unit="bytes per ns",
            tolerance=0.15 * speed,
            measured_by="io.process_read_bytes",
            of=slots("task"),
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Evict the file, then read it."""
        path = prepared.paths["blocks"]
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        quoted = path.replace("\\", "\\\\").replace("'", "\\'")
        query = self.query("Blocks", f"'{quoted}', {_BLOCK}", spec, method="read")
        return collected(spark.sql(query).collect())

    def verify(
        self, result: IterationResult, prepared: Prepared, spec: WorkloadSpec
    ) -> Mismatch | None:
        """Compare the check sums of all blocks."""
        known = prepared.facts["checksum"]
        return differs(result, spec.size, known, "checksum of the blocks' CRC-32")


def _write_blocks(folder: Path, report: Progress, count: int) -> dict[str, Any]:
    sums = []
    with (folder / "blocks").open("wb") as out:
        for number in range(count):
            block = hashlib.shake_128(str(number).encode("ascii")).digest(_BLOCK)
            out.write(block)
            sums.append((number, zlib.crc32(block)))
            report("blocks", number + 1, count)
    return {"checksum": checksum(sums)}


class Swap(NumberedRows):
    """An application whose memory does not fit."""

    name = "truth-swap"
    summary = "An application has less memory than its heap and swaps"
    description = (
        "A heap of 1 GiB, touched when the JVM starts, in a control group with 640 MiB of memory "
        "and swap beyond. Each row visits 100 pages of 256 MiB of live objects at random, many of "
        "which are in swap. The twin has no limit."
    )
    expectation = "Tasks wait for the disk; major page faults, and swap in use by the JVM."
    variants: ClassVar = {CAUSE: cause("memory is limited to 640 MiB", "it is not")}
    live_mib, pages, memory, swap = 256, 100, 640 << 20, 2 << 30
    heap, other = 1 << 30, 360 << 20
    """The heap, and other memory of the twin's JVM and runner (``rss_anon_bytes``)."""

    def spark_conf(self, spec: WorkloadSpec) -> dict[str, str]:
        """Set a heap that is fully allocated."""
        return {
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": "-Xms1g -XX:+AlwaysPreTouch",
        }

    def limits(self, spec: WorkloadSpec) -> dict[str, str | int | float]:
        """Allow less memory than the heap, and swap."""
        if not is_on(spec):
            return {}
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        found = {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}
        free = found.get("SwapFree", 0)
        if free < 1 << 30:
            raise CapabilityError(
                f"{self.name} swaps about 1 GiB, and this host has {free >> 20} MiB of free swap",
                "fallocate -l 2G FILE && chmod 600 FILE && mkswap FILE && swapon FILE",
            )
        return {"cgroup.memory": self.memory, "cgroup.swap": self.swap}

    def truth(self, spec: WorkloadSpec) -> Truth:
        """Declare what cannot fit: of the heap, and of other memory of the processes."""
        return Truth(
            quantity="most memory in swap at once",
            where="all processes of the application, nearly all of it the JVM's",
            value=float(self.heap + self.other - self.memory) if is_on(spec) else 0.0,
            unit="bytes",
            # The page cache of its files takes memory of the group, too.
            tolerance=float(150 << 20),
            measured_by="memory.swap.peak_bytes",
        )

    def run(self, spark: Any, prepared: Prepared, spec: WorkloadSpec) -> IterationResult:
        """Visit the pages."""
        query = self.query("Blocks", f"{self.live_mib}, {self.pages}", spec, method="visit")
        try:
            return collected(spark.sql(query).collect())
        finally:
            java_class(spark, "org.pyrometer.workloads.truth.Blocks").release()
