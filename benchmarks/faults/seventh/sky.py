"""A survey of the sky: frames with light in twelve bands, stars, and things that move."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Work, columns, whole

FRAMES = 500_000 * SIZE
TRACKS = 60_000 * SIZE
BANDS = 12

TABLES = {
    "frames": columns(
        FRAMES, "id AS frame_id", "CAST(pmod(h, 1200) AS INT) AS field_id",
        "CAST(pmod(shiftright(h, 11), 120) AS INT) AS night",
        "CAST(pmod(shiftright(g, 3), 360000000) AS INT) AS ra",
        "CAST(pmod(shiftright(h, 7), 160000000) - 80000000 AS INT) AS dec",
        "CAST(8000 + pmod(g, 12000) AS INT) AS mag",
        f"transform(sequence(0, {BANDS - 1}), i -> pmod(xxhash64(id, i), 4096)) AS flux",
    ),
    "stars": columns(
        100_000 * SIZE, "id AS star_id", "CAST(pmod(h, 1200) AS INT) AS field_id",
        "CAST(pmod(shiftright(g, 3), 360000000) AS INT) AS ra",
        "CAST(pmod(shiftright(h, 7), 160000000) - 80000000 AS INT) AS dec",
        "concat('HD-', lpad(id, 7, '0')) AS name",
        "CAST(pmod(g, 1000) AS INT) AS weight",
    ),
    "fields": columns(
        1_200, "CAST(id AS INT) AS field_id", "concat('field ', hex(h)) AS name",
        "CAST(pmod(g, 14) AS INT) AS chart",
    ),
}  # fmt: skip


def band(number: int) -> Column:
    """Give the light in a band."""
    return F.col("flux")[number]


def corrected(rounds: int = 4) -> Column:
    """Give a magnitude outside the air, in thousandths, approached in rounds."""
    air = F.col("mag") / 20_000.0
    for _ in range(rounds):
        air = F.log1p(F.cbrt(F.exp(-air)))
    return whole((F.col("mag") - air * 300.0) * 1000.0)


def report(work: Work) -> DataFrame:
    """Count frames of each chart and night."""
    return (
        work.table("frames")
        .join(F.broadcast(work.table("fields")), "field_id")
        .groupBy("chart", "night")
        .agg(F.count("*").alias("n"), F.min("mag").alias("mag"), F.sum(band(0)).alias("light"))
    )
