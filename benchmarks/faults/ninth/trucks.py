"""A fleet of trucks: where they stopped, with which freight, the trucks and their depots."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Work, columns, curve

DAYS = 180
TRUCKS = 900
ADDRESSES = 13_000 * SIZE
KINDS = ("load", "unload", "rest", "fuel", "toll")

TABLES = {
    "stops": columns(
        800_000 * SIZE, "id AS stop_id", f"CAST(pmod(h, {TRUCKS}) AS INT) AS truck_id",
        "CAST(pmod(shiftright(g, 21), 3000) AS INT) AS driver_id",
        f"CAST(pmod(shiftright(h, 13), {ADDRESSES}) AS INT) AS address_id",
        "CAST(pmod(shiftright(h, 19), 60) AS INT) AS depot",
        f"element_at(array{KINDS}, CAST(1 + pmod(shiftright(g, 9), 5) AS INT)) AS kind",
        f"date_add(DATE'2026-01-01', CAST(pmod(shiftright(g, 5), {DAYS}) AS INT)) AS day",
        "CAST(pmod(shiftright(g, 17), 240) AS INT) AS dwell",
        "CAST(5 + pmod(shiftright(h, 29), 700) AS INT) AS km",
        "CAST(100 + pmod(shiftright(h, 7), 24000) AS INT) AS kg",
        "concat('WB', hex(g)) AS waybill",
    ),
    "trucks": columns(
        TRUCKS, "CAST(id AS INT) AS truck_id", "concat('T ', lpad(id, 5, '0')) AS plate",
        "element_at(array('rigid', 'artic', 'van', 'tank'), CAST(1 + pmod(h, 4) AS INT)) AS body",
        "CAST(2012 + pmod(g, 14) AS INT) AS built",
    ),
}  # fmt: skip

worked = curve(30_000.0)


def report(work: Work) -> DataFrame:
    """Sum freight and distance by body of truck, kind of stop and month."""
    return (
        work.table("stops")
        .join(F.broadcast(work.table("trucks")), "truck_id")
        .groupBy("body", "kind", F.month("day").alias("month"))
        .agg(F.sum("kg").alias("kg"), F.sum("km").alias("km"), F.max("dwell").alias("dwell"))
    )
