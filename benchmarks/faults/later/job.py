"""What all applications share: tables, inputs, outputs, and the register of causes."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SIZE = int(os.environ.get("PYROMETER_FAULTS_SIZE", "1"))
"""Times the rows of the largest tables."""
Planted = Callable[["Job"], DataFrame]
Write = Callable[["Job", str], None]


class Job:
    """One application on one shape of data: with its cause, or without it.

    Attributes
    ----------
    on : bool
        Whether the cause is there.
    name : str
        Of the cause.
    options : dict of str to str
        Of writing the result; a cause may set them.
    """

    def __init__(self, spark: SparkSession, shape: str, name: str, on: bool, folder: Path) -> None:
        self.spark, self.shape, self.name, self.on, self.folder = spark, shape, name, on, folder
        self.options: dict[str, str] = {}

    def path(self, name: str) -> str:
        """Give where an input lies."""
        return str(self.folder / self.shape / name)

    def table(self, name: str) -> DataFrame:
        """Read a table, which queries in SQL know by its name too."""
        frame = self.spark.read.parquet(self.path(name))
        frame.createOrReplaceTempView(name)
        return frame

    def output(self, name: str) -> str:
        """Give where a result goes."""
        return str(self.folder / "out" / f"{self.name}-{self.shape}-{self.on}" / name)

    def publish(self, name: str, frame: DataFrame) -> None:
        """Write a result."""
        frame.write.mode("overwrite").parquet(self.output(name))

    def checksum(self) -> str:
        """Give the number of rows of the result as written, and the sum of their hashes.

        Of numbers of floating point a few places count, as the order of a sum is open; a factor
        keeps sums of round numbers off the halves where rounding could go either way.
        """
        written = self.spark.read.parquet(self.output("result"))
        columns = [
            F.round(F.col(name) * 61.8033988, 0) if kind == "double" else F.col(name)
            for name, kind in written.dtypes
        ]
        row = written.agg(
            F.count("*"), F.sum(F.pmod(F.xxhash64(*columns), F.lit(1_000_000_007)))
        ).first()
        return f"{row[0]} rows, {row[1]}" if row else ""


class Shape:
    """A shape of data: its inputs, what its job does besides, and the causes planted in it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: dict[str, Write] = {}
        self.needs: dict[str, tuple[str, ...]] = {}
        self.planted: dict[str, Planted] = {}
        self.usual: Callable[[Job], None] = lambda job: None

    def input(self, name: str) -> Callable[[Write], Write]:
        """Enter what writes an input."""

        def enter(write: Write) -> Write:
            self.inputs[name] = write
            return write

        return enter

    def cause(self, *needs: str) -> Callable[[Planted], Planted]:
        """Enter a cause under the name of its function, and the inputs that it needs."""

        def enter(function: Planted) -> Planted:
            name = function.__name__.replace("_", "-")
            self.planted[name], self.needs[name] = function, needs
            return function

        return enter

    def prepare(self, job: Job, tables: tuple[str, ...]) -> None:
        """Write the inputs of a cause that are missing."""
        for name in (*tables, *self.needs[job.name]):
            done = Path(job.path(name) + ".done")
            if not done.exists():
                shutil.rmtree(job.path(name), ignore_errors=True)
                self.inputs[name](job, job.path(name))
                done.touch()

    def run(self, job: Job) -> str:
        """Do the job, with the planted part last, and give the checksum of its result."""
        began = time.monotonic()
        self.usual(job)
        usual = time.monotonic()
        result: Any = self.planted[job.name](job)
        result.write.mode("overwrite").options(**job.options).parquet(job.output("result"))
        planted = time.monotonic()
        print(f"usual {usual - began:.1f} s, planted {planted - usual:.1f} s", file=sys.stderr)
        return job.checksum()
