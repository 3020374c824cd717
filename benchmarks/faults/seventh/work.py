"""What all steps of the seventh set's jobs need: tables, results and their checksum."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

SIZE = int(os.environ.get("PYROMETER_FAULTS_SIZE", "1"))
"""Times the rows of the largest tables."""

Writer = Callable[["Work", str], None]
"""Writes a table to a path."""
Step = Callable[["Work"], DataFrame]
"""Gives the rows of a step, in one of its two ways."""


@dataclass
class Work:
    """One run of a job.

    Attributes
    ----------
    folder : Path
        Of the tables of the shape.
    step : str
        What is done after the report.
    on : bool
        Which of the two ways the step goes.
    seen : dict of str to str
        Rows and checksum of each result.
    """

    spark: SparkSession
    folder: Path
    step: str
    on: bool
    seen: dict[str, str] = field(default_factory=dict)

    def path(self, name: str) -> str:
        """Give where a table is."""
        return str(self.folder / name)

    def table(self, name: str) -> DataFrame:
        """Read a table."""
        return self.spark.read.parquet(self.path(name))

    def result(self, name: str) -> str:
        """Give where a result of this run goes."""
        return str(self.folder / "results" / f"{self.step}-{self.on}" / name)

    def prepare(self, tables: Mapping[str, Writer]) -> None:
        """Write the tables that are missing."""
        for name, write in tables.items():
            done = self.folder / "results" / f"{name}.written"
            if not done.exists():
                write(self, self.path(name))
                done.parent.mkdir(parents=True, exist_ok=True)
                done.touch()

    def publish(self, name: str, frame: DataFrame) -> None:
        """Write a result, and count and sum its rows as they pass."""
        seen = Observation()
        hashed = F.pmod(F.xxhash64(*frame.columns), F.lit(1 << 31))
        frame.observe(seen, F.count(F.lit(1)).alias("rows"), F.sum(hashed).alias("sum")).write.mode(
            "overwrite"
        ).parquet(self.result(name))
        self.seen[name] = f"{seen.get['rows']} rows, {seen.get['sum']}"

    @property
    def checksum(self) -> str:
        """Of all results."""
        return "; ".join(self.seen.values())


def columns(rows: int, *expressions: str) -> Writer:
    """Make a writer of expressions of numbers, ``id``, and their two hashes, ``h`` and ``g``."""

    def write(work: Work, path: str) -> None:
        numbered = work.spark.range(0, rows, 1, 8).select(
            "id", F.xxhash64("id").alias("h"), F.xxhash64("id", F.lit(7)).alias("g")
        )
        numbered.selectExpr(*expressions).write.mode("overwrite").parquet(path)

    return write


def whole(value: Column) -> Column:
    """Round to a whole number, whose sum does not depend on the order of rows."""
    return F.round(value).cast("long")


def curve(scale: float) -> Callable[[Column, int], Column]:
    """Make a function that follows a curve of a value in rounds, to a whole number: work for a CPU.

    Parameters
    ----------
    scale : float
        The value is divided by it first.
    """

    def followed(value: Column, rounds: int) -> Column:
        at = value / scale
        for _ in range(rounds):
            at = F.log1p(F.cbrt(F.exp(-at)))
        return whole(at * 1e6)

    return followed
