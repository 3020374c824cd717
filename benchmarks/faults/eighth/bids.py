"""Auctions of ads: requests of devices with the bids for them, what was won, sites and users."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Work, columns

REQUESTS = 250_000 * SIZE
USERS = 90_000 * SIZE
SITES = 4_000

TABLES = {
    "requests": columns(
        REQUESTS, "id AS request_id", f"pmod(g, {USERS}) AS user_id",
        f"CAST(pmod(h, {SITES}) AS INT) AS site_id",
        "CAST(pmod(shiftright(g, 11), 1440) AS INT) AS minute",
        "named_struct('os', element_at(array('ios', 'droid', 'web', 'tv'),"
        " CAST(1 + pmod(h, 4) AS INT)), 'agent', concat('Mozilla/5.0 (', hex(h), ') like ',"
        " hex(g)), 'model', concat('model ', pmod(shiftright(h, 9), 4000)), 'address',"
        " concat_ws('.', pmod(g, 223), pmod(h, 251), pmod(shiftright(g, 8), 255), 1),"
        " 'width', CAST(320 + pmod(shiftright(h, 5), 40) * 40 AS INT)) AS device",
        "transform(sequence(1, 6), i -> named_struct('bidder',"
        " CAST(pmod(xxhash64(id, i), 40) AS INT), 'micros',"
        " 1000 + pmod(xxhash64(id, i, 3), 4000000))) AS bids",
        "concat('https://site-', pmod(h, 4000), '.example/a/', hex(g), '?r=', id) AS url",
    ),
    "wins": columns(
        60_000 * SIZE, "id * 4 + 1 AS request_id", "CAST(pmod(h, 4000000) AS LONG) AS paid",
        "CAST(pmod(g, 3) AS INT) AS outcome",
    ),
    "sites": columns(
        SITES, "CAST(id AS INT) AS site_id", "concat('publisher ', pmod(h, 300)) AS publisher",
        "CAST(pmod(g, 12) AS INT) AS vertical", "CAST(20000 + pmod(h, 180000) AS LONG) AS fee_ppm",
    ),
}  # fmt: skip


def report(work: Work) -> DataFrame:
    """Count requests by vertical and hour, with the best bid."""
    best = F.array_max("bids.micros")
    return (
        work.table("requests")
        .join(F.broadcast(work.table("sites")), "site_id")
        .groupBy("vertical", F.expr("minute DIV 60").alias("hour"))
        .agg(F.sum(best).alias("best"), F.count("*").alias("n"))
    )
