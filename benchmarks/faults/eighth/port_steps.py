"""Steps of the port's job, in two ways each."""

from __future__ import annotations

from collections import Counter

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.eighth.port import worked
from benchmarks.faults.limits import cpu_quota, jvm_pid
from benchmarks.faults.seventh.work import Step, Work, Writer

BY_DAY = "move_id LONG, kind STRING, kg INT, seal STRING, turn INT, day DATE"


def call_days(work: Work) -> DataFrame:
    """Sum what was moved on the days when the inspectors called."""
    moves = work.spark.read.schema(BY_DAY).parquet(work.path("by_day"))
    days = work.spark.sql(
        "SELECT explode(sequence(DATE'2026-02-03', DATE'2026-02-28', INTERVAL 5 DAYS)) AS day"
    ).collect()
    if work.on:
        called = work.spark.createDataFrame(days, "day DATE")
        seen = moves.join(F.broadcast(called), "day")
    else:
        seen = moves.where(F.col("day").isin([row["day"] for row in days]))
    return seen.groupBy("day", "kind").agg(
        F.sum("kg").alias("kg"), F.max("seal").alias("seal"), F.sum("move_id").alias("ids"),
        F.max("turn").alias("turn"),
    )  # fmt: skip


def _by_day(work: Work, path: str) -> None:
    turns = work.table("moves").withColumn("turn", F.explode(F.sequence(F.lit(0), F.lit(1))))
    moves = turns.selectExpr(
        "move_id", "kind", "kg + turn AS kg", "hex(pmod(xxhash64(move_id, turn), 1048576)) AS seal",
        "turn", "day",
    )  # fmt: skip
    moves.repartition(8, "day").write.mode("overwrite").partitionBy("day").parquet(path)


def manifest(work: Work) -> DataFrame:
    """List what the vessels of one flag brought, by line."""
    for name in ("moves", "boxes", "vessels"):
        work.table(name).createOrReplaceTempView(name)
    boxes = "JOIN boxes b ON b.box_id = m.box_id"
    vessels = "JOIN (SELECT * FROM vessels WHERE flag = 'flag-7') v ON v.vessel_id = m.vessel_id"
    joins = f"{boxes} {vessels}" if work.on else f"{vessels} {boxes}"
    return work.spark.sql(
        f"""
        SELECT b.line_id, m.kind, sum(m.kg + b.tare) AS kg, max(m.seal) AS seal,
               max(b.remark) AS remark, count(*) AS n
        FROM moves m {joins} GROUP BY b.line_id, m.kind
        """
    )


def gate_list(work: Work) -> DataFrame:
    """Count moves of the boxes that customs put on a list."""
    moves = work.table("moves")
    listed = work.table("boxes").where("box_id % 100 = 3")
    if work.on:
        numbers = [row["box_id"] for row in listed.select("box_id").collect()]
        found = moves.where(F.col("box_id").isin(numbers))
    else:
        found = moves.join(F.broadcast(listed.select("box_id")), "box_id", "left_semi")
    return found.groupBy("kind", "crane").agg(F.sum("kg").alias("kg"), F.count("*").alias("n"))


def demurrage(work: Work) -> DataFrame:
    """Price the days that boxes stayed, through the steps of the tariff."""
    moves = work.table("moves").select("kind", "crane", (F.col("waited") * 10).alias("price"))
    floors = (311, 223, 157, 101, 67, 41, 23)
    if work.on:
        price = F.col("price")
        for floor in floors:
            price = _stepped(price, floor)
        moves = moves.withColumn("price", price)
    else:
        for floor in floors:
            moves = moves.withColumn("price", _stepped(F.col("price"), floor))
    return moves.groupBy("kind", "crane").agg(F.sum("price").alias("price"))


def _stepped(price: Column, floor: int) -> Column:
    return F.when(price > floor, price - floor).otherwise(price + floor // 7)


def hinterland(work: Work) -> DataFrame:
    """Give what left by the gate with its bookings and boxes."""
    moves = work.table("moves").where("kind = 'gate-out' AND waited < 30")
    moves = moves.select("move_id", "box_id", "kg", "seal", "day", "crane", "kind", "vessel_id")
    booked = moves.join(work.table("bookings"), "box_id").join(work.table("boxes"), "box_id")
    return booked.groupBy("port_id", "crane").agg(
        F.sum(F.col("kg") + F.col("tare")).alias("kg"), F.sum("cents").alias("cents"),
        F.max("terms").alias("terms"), F.max("remark").alias("remark"), F.max("seal").alias("seal"),
        F.max("day").alias("day"), F.sum("move_id").alias("ids"), F.max("vessel_id").alias("v"),
    )  # fmt: skip


def lanes(work: Work) -> DataFrame:
    """Keep the moves of a quarter in a table whose buckets are the lanes of the yard."""
    moves = work.table("moves").where("move_id % 5 = 0").select("box_id", "move_id", "kg", "seal")
    kept = moves if work.on else moves.repartition(8, "box_id")
    writer = kept.write.mode("overwrite").bucketBy(96, "box_id").option("path", work.result("kept"))
    writer.saveAsTable("lanes")
    return moves.groupBy(F.pmod("box_id", F.lit(96)).alias("lane")).agg(F.sum("kg").alias("kg"))


def lashing(work: Work) -> DataFrame:
    """Give how firmly boxes had to be lashed, by crane."""
    firm = worked(F.col("kg") + F.col("waited"), 18)
    return work.table("moves").groupBy("crane", "kind").agg(
        F.sum(firm).alias("firm"), F.max("waited").alias("waited")
    )  # fmt: skip


def cranes(work: Work) -> DataFrame:
    """Simulate the work of the cranes at each berth."""
    moves = work.table("moves").select("crane", "kg", "waited")
    moves = moves.repartition(3 if work.on else 8)
    return moves.groupBy("crane").agg(
        F.sum(worked(F.col("kg") * 2 + F.col("waited"), 36)).alias("worked"),
        F.count("*").alias("n"),
    )


def tariffs(work: Work) -> DataFrame:
    """Check the seals of boxes against what the lines declare."""
    seal = F.col("seal")
    declared = F.conv(F.substring(F.md5(seal), 1, 8), 16, 10).cast("long")
    near = F.levenshtein(seal, F.reverse(seal)) + F.length(F.translate(seal, "0123", "abc"))
    return work.table("moves").where("move_id % 3 = 0").groupBy("crane", "kind").agg(
        F.sum(declared).alias("declared"), F.sum(near).alias("near")
    )  # fmt: skip


def draughts(work: Work) -> DataFrame:
    """Give the draughts of vessels, at a time when the machine has more to do."""
    deep = worked(F.col("kg") * 3, 26)
    by_vessel = work.table("moves").groupBy("vessel_id").agg(
        F.sum(deep).alias("deep"), F.max("kg").alias("kg")
    )  # fmt: skip
    path = work.result("deep")
    with cpu_quota([jvm_pid(work.spark)], 1.1 if work.on else None, "port"):
        by_vessel.write.mode("overwrite").parquet(path)
    return work.spark.read.schema(by_vessel.schema).parquet(path)


def customs(work: Work) -> DataFrame:
    """Count the boxes that each crane weighed too heavy, by kind of move."""
    heavy = work.table("moves").where("kg > 24000").select("crane", "kind", "kg")
    if not work.on:
        return heavy.groupBy("crane", "kind").agg(F.sum(F.col("kg") - 24_000).alias("over"))
    over: Counter[tuple[int, str]] = Counter()
    for crane, kind, kg in heavy.toLocalIterator():
        over[crane, kind] += kg - 24_000
    rows = [(crane, kind, kg) for (crane, kind), kg in sorted(over.items())]
    return work.spark.createDataFrame(rows, "crane INT, kind STRING, over LONG")


def seals(work: Work) -> DataFrame:
    """Give the twelve control numbers and the codes that are pressed into seals, by crane."""
    if work.on:
        code = "java_method('java.lang.Integer', 'toHexString', kg)"
        control = "CAST(java_method('java.lang.Math', 'floorMod', kg - 20000, {}) AS INT)"
    else:
        code, control = "lower(hex(kg))", "pmod(kg - 20000, {})"
    primes = (97, 89, 83, 79, 73, 71, 67, 61, 59, 53, 47, 43)
    controls = [f"{control.format(prime)} AS control_{prime}" for prime in primes]
    pressed = work.table("moves").selectExpr("crane", "kind", f"{code} AS code", *controls)
    return pressed.groupBy("crane", "kind").agg(
        F.max("code").alias("code"), *(F.sum(f"control_{prime}") for prime in primes)
    )  # fmt: skip


def quarter(work: Work) -> DataFrame:
    """Sum what was moved in March."""
    moves = work.spark.read.schema(BY_DAY).parquet(work.path("by_day"))
    if work.on:
        march = F.date_format("day", "yyyy-MM") == "2026-03"
    else:
        march = F.col("day").between(F.lit("2026-03-01"), F.lit("2026-03-31"))
    return moves.where(march).groupBy("day", "kind").agg(
        F.sum(worked(F.col("kg"), 12)).alias("worked"), F.max("seal").alias("seal")
    )  # fmt: skip


def berthing(work: Work) -> DataFrame:
    """Sum the hours that vessels waited, from a view that others made."""
    work.table("moves").createOrReplaceTempView("moves")
    order = "ORDER BY day, vessel_id, move_id" if work.on else ""
    work.spark.sql(
        f"""
        CREATE OR REPLACE TEMPORARY VIEW timeline AS
        SELECT move_id, vessel_id, day, waited, seal FROM moves {order}
        """
    )
    return work.spark.sql(
        """
        SELECT vessel_id, day, sum(waited) AS waited, max(seal) AS seal, count(*) AS n
        FROM timeline GROUP BY vessel_id, day
        """
    )


STEPS: dict[str, Step] = {
    "call-days": call_days, "manifest": manifest, "gate-list": gate_list, "demurrage": demurrage,
    "hinterland": hinterland, "lanes": lanes, "lashing": lashing, "cranes": cranes,
    "tariffs": tariffs, "draughts": draughts, "customs": customs, "seals": seals,
    "quarter": quarter, "berthing": berthing,
}  # fmt: skip
INPUTS: dict[str, dict[str, Writer]] = {
    "call-days": {"by_day": _by_day}, "quarter": {"by_day": _by_day},
}  # fmt: skip
"""What a step reads beside the tables."""
