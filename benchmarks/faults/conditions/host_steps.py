"""Steps whose cost is a matter of the memory beside the heap."""

from __future__ import annotations

import atexit
import shutil
from functools import partial
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.conditions.containers import container, has_swap
from benchmarks.faults.conditions.functions import register
from benchmarks.faults.conditions.sales import sales, shelf
from benchmarks.faults.seventh.work import SIZE, Step, Work

TASKS = 6
WORKED = 16_000 * SIZE
"""Sales of each task."""


def beside(work: Work, mebibytes: int) -> DataFrame:
    """Price sales in containers, and hold memory beside the heap for a moment."""
    described = container(work.spark.sparkContext.getConf())
    of = register(work, "HeldBesideHeap")
    return _priced(work, f"{of}(id, {WORKED}L, {mebibytes}, '{described}')")


def inside(work: Work, mebibytes: int, can_do_without: bool) -> DataFrame:
    """Price sales, and hold a part of the heap for a moment."""
    of = register(work, "HeldInHeap")
    return _priced(work, f"{of}(id, {WORKED}L, {mebibytes}, {str(can_do_without).lower()})")


def _priced(work: Work, price: str) -> DataFrame:
    priced = work.spark.range(0, TASKS * WORKED, 1, TASKS).selectExpr(
        "id % 16 AS shop", f"{price} AS price"
    )
    return priced.groupBy("shop").agg(F.sum("price").alias("price"))


def written(work: Work, rows: int, codec: str) -> DataFrame:
    """Write an archive that nobody reads, and count what was sold."""
    path = work.result("archive")
    atexit.register(shutil.rmtree, path, ignore_errors=True)  # no page of it is written later
    rows_of = sales(work, rows * SIZE)
    archive = rows_of.select(F.repeat("code", 64).alias("value"))
    archive.write.mode("overwrite").option("compression", codec).text(path)
    return rows_of.groupBy("shop").agg(F.count("*").alias("n"), F.max("code").alias("last"))


def shelved(work: Work) -> DataFrame:
    """Keep 300 MB beside the heap, and read them some times.

    Raises
    ------
    OSError
        If the machine has no swap.
    """
    if not has_swap(Path("/proc/meminfo").read_text()):
        raise OSError("no swap: fallocate -l 4G F && chmod 600 F && mkswap F && swapon F")
    return shelf(work, StorageLevel.OFF_HEAP, reads=2)


STEPS: dict[str, Step] = {
    "killed": partial(beside, mebibytes=500),
    "just-fits": partial(beside, mebibytes=60),
    "heap-full": partial(inside, mebibytes=700, can_do_without=False),
    "does-without": partial(inside, mebibytes=700, can_do_without=True),
    "dirty-pages": partial(written, rows=2_000_000, codec="none"),
    "clean-pages": partial(written, rows=400_000, codec="gzip"),
    "swapped": shelved,
    "could-swap": shelved,
}
