"""Grain silos: loads that farms deliver at sites, weighed and tested, and their contracts."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Work, columns, whole

CROPS = ("wheat", "barley", "rye", "oats", "maize", "rape", "soy", "lupin")
DAYS = 180
LOADS = (
    "id AS load_id",
    "CAST(pmod(h, 20000) AS INT) AS farm_id",
    "CAST(20000 + pmod(g, 900) AS INT) AS haulier_id",
    "CAST(pmod(shiftright(h, 17), 48) AS INT) AS site_id",
    f"element_at(array{CROPS}, CAST(1 + pmod(shiftright(h, 9), 8) AS INT)) AS crop",
    f"date_add(DATE'2026-01-01', CAST(pmod(shiftright(g, 5), {DAYS}) AS INT)) AS day",
    "CAST(8000 + pmod(g, 32000) AS INT) AS gross_kg",
    "CAST(4000 + pmod(h, 4000) AS INT) AS tare_kg",
    "CAST(900 + pmod(shiftright(g, 13), 1500) AS INT) AS moisture",
    "CAST(800 + pmod(shiftright(h, 23), 800) AS INT) AS protein",
    "CASE WHEN pmod(shiftright(g, 7), 100) < 92 THEN 'pool'"
    " ELSE concat('term-', pmod(shiftright(h, 5), 30)) END AS terms",
    "concat('WS', lpad(id, 9, '0'), '/', hex(h)) AS slip",
)
"""Columns of the loads."""

TABLES = {
    "loads": columns(800_000 * SIZE, *LOADS),
    "farms": columns(
        20_000, "CAST(id AS INT) AS farm_id", "CAST(pmod(h, 30) AS INT) AS district",
        "concat('farm ', hex(g)) AS name", "CAST(pmod(g, 97) AS INT) AS agent_id",
    ),
    "sites": columns(
        48, "CAST(id AS INT) AS site_id", "concat('site ', id) AS site",
        "CAST(pmod(h, 6) AS INT) AS river",
    ),
    "contracts": columns(
        400_000 * SIZE, "id AS contract_id", "CAST(pmod(h, 20000) AS INT) AS farm_id",
        f"element_at(array{CROPS}, CAST(1 + pmod(shiftright(h, 9), 8) AS INT)) AS crop",
        "CAST(1000 + pmod(g, 90000) AS INT) AS kg",
        "CAST(pmod(shiftright(g, 9), 9000) + 12000 AS INT) AS cents",
        "concat('clause ', hex(g), ' of the year ', 2020 + pmod(h, 6), ' ', hex(h)) AS clause",
    ),
    "parties": columns(
        3_000, "CAST(id * 7 AS INT) AS party_id", "concat('office ', pmod(h, 40)) AS office"
    ),
}  # fmt: skip


def net() -> Column:
    """Give what grain came, in kilograms."""
    return F.col("gross_kg") - F.col("tare_kg")


def dried(rounds: int = 4) -> Column:
    """Give what is left of a load after drying, in grams: a curve that is followed in rounds."""
    water = F.col("moisture") / 10_000.0
    for _ in range(rounds):
        water = F.log1p(F.cbrt(F.exp(-water)))
    return whole(net() * (1.0 - water / 5.0) * 1000.0)


def report(work: Work) -> DataFrame:
    """Sum what came by river, crop and month."""
    return (
        work.table("loads")
        .join(F.broadcast(work.table("sites")), "site_id")
        .groupBy("river", "crop", F.month("day").alias("month"))
        .agg(F.sum(net()).alias("kg"), F.max("moisture").alias("wettest"), F.count("*").alias("n"))
    )
