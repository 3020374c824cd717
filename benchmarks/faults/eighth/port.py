"""A container port: what its cranes move, the boxes, their bookings, vessels and lines."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Work, columns, curve

DAYS = 180
BOXES = 200_000 * SIZE
KINDS = ("load", "discharge", "shift", "gate-in", "gate-out")

TABLES = {
    "moves": columns(
        800_000 * SIZE, "id AS move_id", f"pmod(h, {BOXES}) AS box_id",
        "CAST(pmod(g, 600) AS INT) AS vessel_id",
        "CAST(pmod(shiftright(h, 19), 24) AS INT) AS crane",
        f"element_at(array{KINDS}, CAST(1 + pmod(shiftright(g, 9), 5) AS INT)) AS kind",
        f"date_add(DATE'2026-01-01', CAST(pmod(shiftright(g, 5), {DAYS}) AS INT)) AS day",
        "CAST(2000 + pmod(shiftright(h, 7), 28000) AS INT) AS kg",
        "CAST(pmod(shiftright(g, 17), 40) AS INT) AS waited",
        "concat('SL', hex(g)) AS seal",
    ),
    "boxes": columns(
        BOXES, "id AS box_id", "concat('MSKU', lpad(id, 7, '0')) AS number",
        "CAST(pmod(h, 60) AS INT) AS line_id", "CAST(1800 + pmod(g, 2400) AS INT) AS tare",
        "concat('last seen at ', hex(h), ', door ', pmod(g, 9), ', of ', hex(g)) AS remark",
    ),
    "bookings": columns(
        300_000 * SIZE, "id AS booking_id", f"pmod(h, {BOXES}) AS box_id",
        "CAST(pmod(g, 300) AS INT) AS port_id",
        "CAST(9000 + pmod(shiftright(g, 9), 90000) AS INT) AS cents",
        "concat('free on board ', hex(g), ', paid by ', hex(h)) AS terms",
    ),
    "vessels": columns(
        600, "CAST(id AS INT) AS vessel_id", "concat('MV ', hex(h)) AS vessel",
        "CAST(pmod(h, 60) AS INT) AS line_id", "concat('flag-', pmod(g, 40)) AS flag",
    ),
}  # fmt: skip

worked = curve(40_000.0)


def report(work: Work) -> DataFrame:
    """Sum what was moved by flag, kind and month."""
    return (
        work.table("moves")
        .join(F.broadcast(work.table("vessels")), "vessel_id")
        .groupBy("flag", "kind", F.month("day").alias("month"))
        .agg(F.sum("kg").alias("kg"), F.max("waited").alias("waited"), F.count("*").alias("n"))
    )
