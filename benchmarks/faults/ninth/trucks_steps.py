"""Steps of the truck fleet's job, in two ways each."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.limits import cpu_quota, jvm_pid
from benchmarks.faults.ninth.trucks import ADDRESSES, TRUCKS, worked
from benchmarks.faults.seventh.work import SIZE, Step, Work, Writer, columns

PAYMENTS = 80_000 * SIZE
DRAWS = 30
RECEIPTS = 65_000 * SIZE
PLANS = 225
WEEK = ("mon", "tue", "wed", "thu", "fri", "sat")
WEIGHED = "depot INT, kg INT, waybill STRING"
DERBY = "org.apache.derby.jdbc.EmbeddedDriver"
ARCHIVE = """
end=$(($(date +%s) + 120))
while kill -0 "$1" && [ "$(date +%s)" -lt "$end" ]; do head -c 8000000 "$2" | gzip -9; done
"""
"""Packs a table over and over: until a process is gone, and two minutes at most."""


def _jvm(work: Work) -> Any:
    jvm = work.spark.sparkContext._jvm
    assert jvm is not None
    return jvm


def card_payments(work: Work) -> DataFrame:
    """Spread what was paid by card over a year, as the card office has it in its database."""
    office = work.spark.read.format("jdbc").option("driver", DERBY).option("dbtable", "payments")
    if not work.on:
        office = office.option("partitionColumn", "payment_id").option("numPartitions", 8)
        office = office.option("lowerBound", 0).option("upperBound", PAYMENTS)
    paid = office.option("url", _office(work, work.path("office"))).load()
    weeks = paid.select(
        "station", "cents", F.explode(F.sequence(F.lit(1), F.lit(26))).alias("fortnight")
    )
    part = worked(F.col("cents") + F.col("fortnight") * 31, 16)
    return weeks.groupBy("station", "fortnight").agg(F.sum(part).alias("part"))


def _office(work: Work, path: str) -> str:
    """Give the address of the database, whose log goes beside it."""
    _jvm(work).java.lang.System.setProperty("derby.stream.error.file", f"{path}.log")
    return f"jdbc:derby:{path}"


def _payments(work: Work, path: str) -> None:
    url, manager = _office(work, path), _jvm(work).java.sql.DriverManager
    payments = work.spark.range(0, PAYMENTS, 1, 1).selectExpr(
        "id AS payment_id", "CAST(pmod(xxhash64(id), 400) AS INT) AS station",
        "CAST(900 + pmod(xxhash64(id, 7), 60000) AS INT) AS cents",
    )  # fmt: skip
    writer = payments.write.format("jdbc").mode("overwrite").option("driver", DERBY)
    writer.option("url", f"{url};create=true").option("dbtable", "payments").save()
    connection = manager.getConnection(url)
    index = 'CREATE UNIQUE INDEX by_payment ON payments ("payment_id")'
    connection.createStatement().execute(index)
    connection.close()
    with suppress(Py4JJavaError):  # Derby says by an error that it has closed the database
        manager.getConnection(f"{url};shutdown=true")


def driving_hours(work: Work) -> DataFrame:
    """Give how long drivers stood, and their longest way, with the depots' lists of stops."""
    stops = work.table("stops").where("kind = 'unload'").select("depot", "driver_id", "dwell", "km")
    if not work.on:
        return stops.groupBy("driver_id").agg(
            F.sum("dwell").alias("dwell"), F.max("km").alias("km")
        )
    lists = stops.groupBy("depot").agg(
        F.collect_list(F.struct("driver_id", "dwell", "km")).alias("stops")
    )
    hours: dict[int, tuple[int, int]] = {}
    for depot in lists.collect():
        for driver, dwell, km in depot["stops"]:
            stood, longest = hours.get(driver, (0, 0))
            hours[driver] = stood + dwell, max(longest, km)
    rows = [(driver, *known) for driver, known in sorted(hours.items())]
    return work.spark.createDataFrame(rows, "driver_id INT, dwell LONG, km INT")


def door_hours(work: Work) -> DataFrame:
    """Sum how much longer trucks stood than doors are open, by what the planners' tool exports."""
    work.table("stops").createOrReplaceTempView("stops")
    week = ", ".join(WEEK)
    if work.on:
        doors = f"(VALUES {', '.join(map(_door, range(ADDRESSES)))})"
    else:
        work.table("doors").createOrReplaceTempView("known")
        doors = f"(SELECT address_id, district, {week} FROM known)"
    return work.spark.sql(
        f"""
        SELECT /*+ BROADCAST(doors) */ district, depot, sum(dwell) AS dwell, count(*) AS n,
               sum(greatest(dwell - element_at(array({week}), 1 + weekday(day) % 6), 0)) AS over
        FROM stops JOIN {doors} AS doors(address_id, district, {week}) USING (address_id)
        WHERE kind = 'unload' GROUP BY district, depot
        """
    )


def _door(address: int) -> str:
    minutes = ", ".join(str(20 + (address * 7919 + place * 31) % 200) for place in range(6))
    return f"({address}, 'district {address % 90}', {minutes})"


def margins(work: Work) -> DataFrame:
    """Give how the freight of the fleet varies, over draws of a quarter of its trucks."""
    sums = [F.sum("kg").alias("kg"), F.sum("km").alias("km")]
    trucks = work.table("stops").groupBy("truck_id").agg(*sums)
    drawn = "pmod(xxhash64(truck_id, {}), 4) = 0"
    if not work.on:
        draws = trucks.withColumn("draw", F.explode(F.sequence(F.lit(0), F.lit(DRAWS - 1))))
        return draws.where(drawn.format("draw")).groupBy("draw").agg(*sums)
    trucks, rows = trucks.cache(), []
    for draw in range(DRAWS):
        rows += [(draw, *row) for row in trucks.where(drawn.format(draw)).agg(*sums).collect()]
    return work.spark.createDataFrame(rows, "draw INT, kg LONG, km LONG")


def weighbridge(work: Work) -> DataFrame:
    """Sum what the weighbridge of each depot sent, beside its receipts."""
    folder, reader = Path(work.path("weighbridge")), work.spark.read.schema(WEIGHED)
    if work.on:
        weighed = reader.option("pathGlobFilter", "*.parquet").parquet(str(folder))
    else:
        names = folder.with_suffix(".list").read_text().split()
        weighed = reader.parquet(*(str(folder / name) for name in names))
    return weighed.groupBy("depot").agg(
        F.sum("kg").alias("kg"), F.sum(F.crc32("waybill")).alias("check"), F.count("*").alias("n")
    )


def _weighbridge(work: Work, path: str) -> None:
    stops = work.table("stops").where("kind IN ('load', 'unload')")
    weighed = stops.select("depot", "kg", "waybill")
    weighed.repartition(8).write.mode("overwrite").parquet(path)
    folder = Path(path)
    names = sorted(one.name for one in folder.glob("part-*.parquet"))
    folder.with_suffix(".list").write_text("\n".join(names))
    for number in range(RECEIPTS):
        (folder / f"receipt-{number:07}.ack").touch()


def tablets(work: Work) -> DataFrame:
    """Keep the stops of each truck for the tablet of its driver, and count them."""
    stops = work.table("stops").where("stop_id % 3 = 0")
    kept = stops.select("truck_id", "stop_id", "kg", "waybill").repartition(8, "truck_id")
    writer = kept.write.mode("overwrite")
    if work.on:
        writer = writer.partitionBy("truck_id")
    writer.parquet(work.result("tablets"))
    return stops.groupBy("truck_id").agg(F.sum("kg").alias("kg"), F.count("*").alias("n"))


def tolls(work: Work) -> DataFrame:
    """Check the book of tolls that the road office sent, by gantry."""
    book = work.table("tolls" if work.on else "toll_books")
    due = worked(F.col("cents") + F.col("axles") * 7, 28)
    return book.groupBy("gantry").agg(
        F.sum(due).alias("due"), F.sum("toll_id").alias("ids"), F.count("*").alias("n")
    )


def _tolls(files: int) -> Writer:
    def write(work: Work, path: str) -> None:
        ways = work.table("stops").withColumn("way", F.explode(F.sequence(F.lit(0), F.lit(1))))
        book = ways.selectExpr(
            "pmod(address_id + way * 7, 300) AS gantry", "km * 19 + dwell + way AS cents",
            "2 + kg % 4 AS axles", "stop_id * 2 + way AS toll_id",
        )  # fmt: skip
        writer = book.repartition(files).write.mode("overwrite")
        writer.option("parquet.block.size", (1 << 30) // files).parquet(path)

    return write


def inspections(work: Work) -> DataFrame:
    """Sum what the trucks that each inspector has in his plan had on board."""
    stops, plans = work.table("stops"), work.table("plans")
    if work.on:
        planned = F.array_contains(plans["trucks"], stops["truck_id"])
        seen = stops.join(F.broadcast(plans), planned)
    else:
        trucks = plans.select("inspector", F.explode("trucks").alias("truck_id"))
        seen = stops.join(F.broadcast(trucks), "truck_id")
    return seen.groupBy("inspector", "kind").agg(F.sum("kg").alias("kg"), F.count("*").alias("n"))


def open_waybills(work: Work) -> DataFrame:
    """Sum by depot and day what a week brought that is not known as delivered."""
    for name in ("stops", "delivered"):
        work.table(name).createOrReplaceTempView(name)
    week = "day BETWEEN DATE'2026-03-02' AND DATE'2026-03-08'"
    known = "SELECT waybill FROM delivered" + ("" if work.on else f" WHERE {week}")
    return work.spark.sql(
        f"""
        SELECT depot, day, sum(kg) AS kg, count(*) AS n
        FROM stops WHERE {week} AND waybill NOT IN ({known}) GROUP BY depot, day
        """
    )


def _delivered(work: Work, path: str) -> None:
    last = work.table("stops").where("stop_id % 10 < 8").select("waybill", "day")
    before = last.select(F.concat(F.lit("A"), "waybill"), F.date_sub("day", 364))
    last.union(before).repartition(8).write.mode("overwrite").parquet(path)


def long_legs(work: Work) -> DataFrame:
    """Sum the three legs of tours that drivers are paid most for, by depot."""
    legs = F.col("legs")
    ranked = F.array_sort(legs, _dearer) if work.on else F.sort_array(legs, asc=False)
    tours = work.table("tours").select("depot", ranked.alias("ranked"))
    sums = [f"sum(ranked[{n}].{name}) AS {name}_{n}" for name in ("km", "turn") for n in range(3)]
    return tours.groupBy("depot").agg(*map(F.expr, sums))


def _dearer(one: Column, other: Column) -> Column:
    order = F.lit(0)
    for name in ("turn", "km", "grade"):
        before, after = one[name] > other[name], one[name] < other[name]
        order = F.when(before, -1).when(after, 1).otherwise(order)
    return order


def emissions(work: Work) -> DataFrame:
    """Give what trucks emitted, within what the machine has for the fleet's programs."""
    emitted = worked(F.col("kg") + F.col("km") * 3, 22)
    by_truck = work.table("stops").groupBy("truck_id").agg(
        F.sum(emitted).alias("emitted"), F.max("km").alias("km")
    )  # fmt: skip
    with cpu_quota([jvm_pid(work.spark)], 0.9 if work.on else None, "fleet", "job"):
        return _kept(work, by_truck)


def _kept(work: Work, frame: DataFrame) -> DataFrame:
    path = work.result("kept")
    frame.write.mode("overwrite").parquet(path)
    return work.spark.read.schema(frame.schema).parquet(path)


def axle_loads(work: Work) -> DataFrame:
    """Give the loads of axles by depot, in the hour when the machine keeps its archive."""
    load = worked(F.col("kg") * 2 + F.col("dwell"), 22)
    by_depot = work.table("stops").groupBy("depot", "kind").agg(
        F.sum(load).alias("load"), F.max("kg").alias("kg")
    )  # fmt: skip
    with _archive(work, 2 if work.on else 0):
        return _kept(work, by_depot)


@contextmanager
def _archive(work: Work, times: int) -> Iterator[None]:
    """Let others pack their files on this machine: they belong to no program of the fleet."""
    start = 'setsid sh -c "$0" archive "$1" "$2" > /dev/null 2>&1 & echo $!'
    file = str(next(Path(work.path("stops")).glob("part-*.parquet")))
    words = ["sh", "-c", start, ARCHIVE, str(jvm_pid(work.spark)), file]
    others: list[int] = []
    try:
        for _ in range(times):
            others.append(int(subprocess.run(words, capture_output=True, check=True).stdout))
        yield
    finally:
        for other in others:
            with suppress(ProcessLookupError):
                os.killpg(other, signal.SIGTERM)


def permits(work: Work) -> DataFrame:
    """Sum the freight of depots by the permits that the county sends."""
    if work.on:
        sent = work.spark.read.schema("depot INT, permit STRING, tonnes INT")
        county = sent.csv(work.path("county"))
    else:
        county = work.table("county_kept")
    stops = work.table("stops").join(F.broadcast(county), "depot")
    return stops.groupBy("permit").agg(
        F.sum(F.greatest(F.col("kg") - F.col("tonnes") * 1000, F.lit(0))).alias("over"),
        F.sum(worked(F.col("kg"), 6)).alias("worked"),
    )  # fmt: skip


def _county(form: str) -> Writer:
    def write(work: Work, path: str) -> None:
        county = work.spark.range(0, 60, 1, 1).selectExpr(
            "CAST(id AS INT) AS depot", "concat('permit ', pmod(id, 9)) AS permit",
            "CAST(4 + pmod(id, 14) AS INT) AS tonnes",
        )  # fmt: skip
        writer = county.write.format(form).mode("overwrite")
        writer.option("compression", "gzip").save(path)

    return write


def mileage(work: Work) -> DataFrame:
    """List how far each truck went, with how many stops."""
    stops = work.table("stops").groupBy("truck_id").agg(
        F.sum("km").alias("km"), F.sum(worked(F.col("km"), 6)).alias("worn"),
        F.count("*").alias("n"),
    )  # fmt: skip
    return stops.distinct() if work.on else stops


STEPS: dict[str, Step] = {
    "card-payments": card_payments, "driving-hours": driving_hours, "door-hours": door_hours,
    "margins": margins, "weighbridge": weighbridge, "tablets": tablets, "tolls": tolls,
    "inspections": inspections, "open-waybills": open_waybills, "long-legs": long_legs,
    "emissions": emissions, "axle-loads": axle_loads, "permits": permits, "mileage": mileage,
}  # fmt: skip
INPUTS: dict[str, dict[str, Writer]] = {
    "card-payments": {"office": _payments},
    "door-hours": {
        "doors": columns(
            ADDRESSES, "CAST(id AS INT) AS address_id",
            "concat('district ', pmod(id, 90)) AS district",
            *(f"CAST(20 + pmod(id * 7919 + {31 * n}, 200) AS INT) AS {WEEK[n]}" for n in range(6)),
        )
    },
    "weighbridge": {"weighbridge": _weighbridge},
    "tolls": {"tolls": _tolls(1), "toll_books": _tolls(8)},
    "inspections": {
        "plans": columns(
            PLANS, "concat('inspector ', pmod(id, 30)) AS inspector",
            f"transform(sequence(0, {TRUCKS // PLANS - 1}),"
            f" i -> CAST(pmod(id + i * {PLANS}, {TRUCKS}) AS INT)) AS trucks",
        )
    },
    "open-waybills": {"delivered": _delivered},
    "long-legs": {
        "tours": columns(
            230_000 * SIZE, "id AS tour_id", "CAST(pmod(h, 60) AS INT) AS depot",
            "transform(sequence(1, 40), i -> named_struct("
            "'grade', CAST(pmod(xxhash64(id, i), 3) AS INT),"
            " 'km', CAST(5 * pmod(xxhash64(id, i, 7), 12) AS INT), 'turn', i)) AS legs",
        )
    },
    "permits": {"county": _county("csv"), "county_kept": _county("parquet")},
}  # fmt: skip
"""What a step reads beside the tables."""
