"""Parcels of a carrier: where each was scanned, with depots, customers and devices beside them."""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("parcels")
TABLES = ("parcels", "scans", "depots", "customers", "devices")
ROWS = 200_000 * SIZE
STOPS = 5
"""Scans of each parcel."""
DEPOTS = 240
POSTCODES = 40
"""Postcodes that a depot serves."""
CUSTOMERS = 40_000
DEVICES = 500
SHIPPERS = 300_000
DAYS = 60
START = 1772323200
"""First second of March 2026, UTC."""
SERVICES = "array('parcel', 'express', 'letter', 'bulky', 'return', 'cool')"
EVENTS = "array('accepted', 'sorted', 'loaded', 'unloaded', 'delivered')"
TRAIL = """scans ARRAY<STRUCT<
depot: INT, event: STRING, minute: LONG, device: STRUCT<id: INT, battery: INT>>>"""
FEED = """parcel STRING, depot INT, event STRING, scanned_at TIMESTAMP,
place STRUCT<belt: STRING, chute: STRING>, weight DOUBLE"""


@SHAPE.input("parcels")
def write_parcels(job: Job, path: str) -> None:
    """Write parcels of sixty days: between which depots, for whom, how heavy, promised when."""
    known = job.spark.range(0, ROWS, 1, 8).selectExpr(
        "id", "xxhash64(id) AS h", "xxhash64(id, 2) AS g", "xxhash64(id, 3) AS f"
    )
    known.selectExpr(
        "id AS parcel_id", f"pmod(h, {CUSTOMERS}) AS customer_id",
        f"cast(pmod(g, {DEPOTS}) AS INT) AS from_depot",
        f"cast(pmod(f, {DEPOTS * POSTCODES}) DIV {POSTCODES} AS INT) AS to_depot",
        f"cast(10000 + pmod(f, {DEPOTS * POSTCODES}) AS INT) AS postcode",
        f"element_at({SERVICES}, cast(1 + pmod(xxhash64(h), 6) AS INT)) AS service",
        "cast(50 + pmod(xxhash64(f), 29950) AS INT) AS weight",
        f"timestamp_seconds({START} + pmod(h, {DAYS * 86400})) AS sent_at",
        f"date_add(to_date(timestamp_seconds({START} + pmod(h, {DAYS * 86400}))),"
        " cast(1 + pmod(g, 5) AS INT)) AS promised",
        "concat('JJD', lpad(pmod(g, 1000000007), 10, '0'), '-', id % 97) AS label",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("scans")
def write_scans(job: Job, path: str) -> None:
    """Write where each parcel was scanned on its way, by which device."""
    known = job.spark.range(0, ROWS * STOPS, 1, 8).selectExpr(
        f"id DIV {STOPS} AS parcel_id", f"cast(id % {STOPS} AS INT) AS stop", "xxhash64(id) AS h",
        f"xxhash64(id DIV {STOPS}) AS p",
    )  # fmt: skip
    known.selectExpr(
        "parcel_id", f"cast(pmod(h, {DEPOTS}) AS INT) AS depot_id",
        f"timestamp_seconds({START} + pmod(p, {DAYS * 86400}) + stop * 18000"
        " + pmod(xxhash64(h), 17000)) AS scanned_at",
        f"element_at({EVENTS}, stop + 1) AS event",
        f"cast(pmod(xxhash64(h, 2), {DEVICES}) AS INT) AS device_id",
        "concat('belt ', pmod(h, 40), ', chute ', pmod(p, 90)) AS note",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("depots")
def write_depots(job: Job, path: str) -> None:
    """Write depots, where they are, and which postcodes they serve."""
    job.spark.range(0, DEPOTS, 1, 1).selectExpr(
        "cast(id AS INT) AS depot_id", "concat('depot ', upper(hex(4096 + id))) AS name",
        "concat('region ', id % 12) AS region",
        "element_at(array('DE', 'NL', 'BE', 'AT', 'PL'), cast(1 + id % 5 AS INT)) AS country",
        "47 + pmod(xxhash64(id), 700) / 100 AS lat", "4 + pmod(xxhash64(id, 1), 1500) / 100 AS lon",
        f"transform(sequence(0, {POSTCODES - 1}),"
        f" place -> cast(10000 + id * {POSTCODES} + place AS INT)) AS postcodes",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("customers")
def write_customers(job: Job, path: str) -> None:
    """Write customers with their tiers and segments."""
    job.spark.range(0, CUSTOMERS, 1, 1).selectExpr(
        "id AS customer_id", "concat('customer ', hex(xxhash64(id))) AS name",
        "concat('segment ', id % 8) AS segment", "concat('tier ', id % 3) AS tier",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("devices")
def write_devices(job: Job, path: str) -> None:
    """Write hand scanners with their models and vendors."""
    job.spark.range(0, DEVICES, 1, 1).selectExpr(
        "cast(id AS INT) AS device_id", "concat('model ', id % 25) AS model",
        "concat('vendor ', id % 6) AS vendor",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("trials")
def write_trials(job: Job, path: str) -> None:
    """Write trials of each service: which lots of 65536 take part."""
    job.spark.range(0, 240, 1, 1).selectExpr(
        "concat('trial ', id) AS trial", f"element_at({SERVICES}, cast(1 + id % 6 AS INT)) AS of",
        "cast(pmod(xxhash64(id), 60000) AS INT) AS first",
        "cast(pmod(xxhash64(id), 60000) + 900 AS INT) AS beyond",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("trails")
def write_trails(job: Job, path: str) -> None:
    """Write the trails of one parcel in eight, as documents in JSON."""
    scan = """struct(depot_id AS depot, event, unix_seconds(scanned_at) DIV 60 AS minute, note,
      struct(device_id AS id, device_id % 100 AS battery) AS device)"""
    job.table("scans").where("parcel_id % 8 = 0").groupBy("parcel_id").agg(
        F.expr(f"to_json(struct(parcel_id AS parcel, collect_list({scan}) AS scans))")
        .alias("trail")
    ).select("trail").write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("feed")
def write_feed(job: Job, path: str) -> None:
    """Write the scans of one parcel in three as lines of JSON, packed as the depots send them."""
    job.table("scans").where("parcel_id % 3 = 0").selectExpr(
        """to_json(struct(concat('JJD', parcel_id) AS parcel, depot_id AS depot, event,
          date_format(scanned_at, "dd.MM.yyyy HH:mm:ss") AS scanned_at,
          concat('device ', device_id) AS device, concat('1.', device_id % 9) AS firmware,
          struct(substring_index(note, ',', 1) AS belt, substring_index(note, ' ', -1) AS chute)
            AS place,
          concat('shift ', hour(scanned_at) DIV 8) AS shift,
          date_format(scanned_at + INTERVAL 3 MINUTES, "dd.MM.yyyy HH:mm:ss") AS received_at,
          concat('crew ', depot_id % 31) AS crew, concat('lane ', device_id % 17) AS lane,
          if(depot_id % 2 = 0, 'open', 'closed') AS gate,
          pmod(xxhash64(parcel_id), 30000) / 1000 AS weight)) AS value"""
    ).write.mode("overwrite").option("compression", "gzip").text(path)


@SHAPE.input("manifests")
def write_manifests(job: Job, path: str) -> None:
    """Write parcels as lines of text with fields between bars, as drivers' devices do."""
    job.table("parcels").selectExpr(
        "concat_ws('|', label, service, to_depot, weight, postcode) AS value"
    ).write.mode("overwrite").text(path)


@SHAPE.input("consignments")
def write_consignments(job: Job, path: str) -> None:
    """Write who consigned each parcel: for most of them it is the one large market place."""
    job.table("parcels").selectExpr(
        "parcel_id", "service", "weight", "sent_at", "label",
        f"if(pmod(xxhash64(parcel_id, 9), 100) < 92, 7, pmod(xxhash64(label), {SHIPPERS}))"
        " AS shipper",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("shippers")
def write_shippers(job: Job, path: str) -> None:
    """Write shippers with what was agreed with them."""
    job.spark.range(0, SHIPPERS, 1, 4).selectExpr(
        "id AS shipper", "cast(pmod(xxhash64(id), 30) AS INT) AS discount",
        "concat_ws('-', hex(xxhash64(id, 1)), hex(xxhash64(id, 2)), hex(xxhash64(id, 3)),"
        " hex(xxhash64(id, 4))) AS terms",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def usual(job: Job) -> None:
    """Report scans by region and day, and what each segment of customers sent."""
    job.publish(
        "regions",
        job.table("scans").where("event != 'sorted'")
        .join(job.table("depots").select("depot_id", "region"), "depot_id")
        .groupBy("region", "event", F.to_date("scanned_at").alias("day"))
        .agg(F.count("*").alias("n"), F.max("device_id").alias("device")),
    )  # fmt: skip
    job.publish(
        "segments",
        job.table("parcels")
        .join(job.table("customers").select("customer_id", "segment"), "customer_id")
        .groupBy("segment", "service")
        .agg(F.sum("weight").alias("weight"), F.max("promised").alias("promised")),
    )  # fmt: skip


SHAPE.usual = usual
