"""Steps of the silos' job, in two ways each."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window, WindowSpec
from pyspark.sql import functions as F

from benchmarks.faults.seventh.silos import CROPS, dried, net
from benchmarks.faults.seventh.work import Step, Work, Writer


def settlement(work: Work) -> DataFrame:
    """Settle loads into a folder for each of the terms."""
    share = F.when(F.col("terms") == "pool", F.pmod("load_id", F.lit(16))).otherwise(F.lit(0))
    by = ["terms"] if work.on else ["terms", share]
    path = work.result("settled")
    loads = work.table("loads").select("load_id", "terms", "gross_kg", "tare_kg", "moisture")
    paid = loads.repartition(8, *by).select("terms", "load_id", dried(20).alias("grams"))
    paid.write.mode("overwrite").partitionBy("terms").parquet(path)
    settled = work.spark.read.schema("load_id LONG, grams LONG, terms STRING").parquet(path)
    return settled.groupBy("terms").agg(F.sum("grams").alias("grams"), F.count("*").alias("n"))


def running_stock(work: Work) -> DataFrame:
    """Give the stock at the end of each day, and the extremes so far."""
    loads = work.table("loads").select("day", "load_id", net().alias("kg"), "moisture", "protein")
    if work.on:
        so_far = _so_far(Window.orderBy("day", "load_id"), "kg", "moisture", "protein")
        by_day = loads.select("day", *so_far).groupBy("day")
        return by_day.agg(
            F.max("stock").alias("stock"), F.max("wettest").alias("wettest"),
            F.min("leanest").alias("leanest"),
        )  # fmt: skip
    daily = loads.groupBy("day").agg(
        F.sum("kg").alias("kg"),
        F.max("moisture").alias("moisture"),
        F.min("protein").alias("protein"),
    )
    return daily.select("day", *_so_far(Window.orderBy("day"), "kg", "moisture", "protein"))


def _so_far(to_now: WindowSpec, kg: str, moisture: str, protein: str) -> list[Column]:
    return [
        F.sum(kg).over(to_now).alias("stock"), F.max(moisture).over(to_now).alias("wettest"),
        F.min(protein).over(to_now).alias("leanest"),
    ]  # fmt: skip


def disputes(work: Work) -> DataFrame:
    """Count loads that concern an office, as it is the farm's or the haulier's."""
    loads = work.table("loads").where("load_id % 12 = 0").select("load_id", "farm_id", "haulier_id")
    parties = F.broadcast(work.table("parties"))
    farm, haulier = (loads[name] == parties["party_id"] for name in ("farm_id", "haulier_id"))
    if work.on:
        found = loads.join(parties, farm | haulier)
    else:
        others = loads.join(parties, haulier).where("farm_id <> haulier_id")
        found = loads.join(parties, farm).unionByName(others)
    return found.groupBy("office").agg(F.count("*").alias("n"), F.sum("load_id").alias("ids"))


def letters(work: Work) -> DataFrame:
    """Prepare a letter for each district."""
    farms = work.table("farms")
    figures = "count(*) AS farms, min(name) AS first, count(DISTINCT agent_id) AS agents"
    farms.createOrReplaceTempView("farms")
    if not work.on:
        return work.spark.sql(f"SELECT district, {figures} FROM farms GROUP BY district")
    found = []
    for district in range(30):
        ask = f"SELECT {district} AS district, {figures} FROM farms WHERE district = {district}"
        found.append(work.spark.sql(ask).first())
    return work.spark.createDataFrame(found, "district INT, farms LONG, first STRING, agents LONG")


def statements(work: Work) -> DataFrame:
    """Sum a farm's loads by crop, and the farms by district."""
    loads = work.table("loads").groupBy("farm_id", "crop").agg(F.sum(net()).alias("kg"))
    best = loads.groupBy("farm_id").agg(
        F.max_by("crop", "kg").alias("crop"), F.sum("kg").alias("kg")
    )
    return best.groupBy("crop").agg(F.sum("kg").alias("kg"), F.count("*").alias("farms"))


def bindings(work: Work) -> DataFrame:
    """Find the contracts that wet loads of one week may be delivered for."""
    contracts = work.table("contracts")
    week = F.col("day").between(F.lit("2026-03-02"), F.lit("2026-03-08"))
    wet = work.table("loads").where(week & (F.col("moisture") > 2300))
    keys = wet.select("farm_id", "crop", net().alias("net_kg"))
    if work.on:
        found = keys.join(F.broadcast(contracts), ["farm_id", "crop"])
    else:
        found = contracts.join(F.broadcast(keys), ["farm_id", "crop"])
    return found.groupBy("crop").agg(
        F.sum(F.least("net_kg", "kg")).alias("kg"), F.max("clause").alias("clause"),
        F.sum("cents").alias("cents"),
    )  # fmt: skip


def diversity(work: Work) -> DataFrame:
    """Count what different values were seen at each site."""
    loads = work.table("loads").withColumn("month", F.month("day"))
    names = ("moisture", "protein", "haulier_id", "crop", "month", "terms")

    def seen(name: str) -> Column:
        return F.count_distinct(name) if work.on else F.size(F.collect_set(name)).cast("long")

    return loads.groupBy("site_id").agg(*(seen(name).alias(name) for name in names))


def season(work: Work) -> DataFrame:
    """Sum what was weighed at the sites in the week before Easter."""
    weighings = work.spark.read.schema(
        "weighing_id LONG, site_id INT, kg INT, mark STRING, weighed DATE, day DATE"
    ).parquet(work.path("weighings"))
    day = F.coalesce("day", "weighed") if work.on else F.col("day")
    week = weighings.where(day.between(F.lit("2026-03-30"), F.lit("2026-04-04")))
    return week.groupBy("site_id", "day").agg(
        F.sum("kg").alias("kg"), F.max("mark").alias("mark"), F.sum("weighing_id").alias("ids")
    )


def _weighings(work: Work, path: str) -> None:
    thrice = work.table("loads").withColumn("turn", F.explode(F.sequence(F.lit(0), F.lit(2))))
    weighings = thrice.selectExpr(
        "load_id * 3 + turn AS weighing_id", "site_id", "gross_kg - turn * 11 AS kg",
        "hex(pmod(xxhash64(load_id, turn), 65536)) AS mark", "day AS weighed", "day",
    )  # fmt: skip
    weighings.repartition(8, "day").write.mode("overwrite").partitionBy("day").parquet(path)


def handover(work: Work) -> DataFrame:
    """Hand loads over in a folder for each day."""
    loads = (
        work.table("loads").where("load_id % 4 = 0").select("load_id", "gross_kg", "slip", "day")
    )
    path = work.result("handed")
    spread = loads if work.on else loads.repartition(8, "day")
    spread.write.mode("overwrite").partitionBy("day").parquet(path)
    days = {
        row["day"]: row["n"] for row in loads.groupBy("day").agg(F.count("*").alias("n")).collect()
    }
    return work.spark.createDataFrame(sorted(days.items()), "day DATE, n LONG")


def carriers(work: Work) -> DataFrame:
    """Give each load the number that it has among those of its haulier and crop."""
    mine = Window.partitionBy("haulier_id", "crop").orderBy("load_id")
    numbered = work.table("loads").select(
        "haulier_id", "crop", "load_id", "slip", F.row_number().over(mine).alias("n")
    )
    return numbered.groupBy("crop", F.pmod("n", F.lit(10)).alias("digit")).agg(
        F.max("slip").alias("slip"), F.sum("load_id").alias("ids")
    )


def slips(work: Work) -> DataFrame:
    """Check the marks of weighing slips."""
    slip = F.col("slip")
    mark = F.conv(F.substring(F.sha2(slip, 256), 1, 8), 16, 10).cast("long")
    far = F.levenshtein(slip, F.reverse(slip)) + F.length(F.translate(slip, "0123", "abc"))
    return (
        work.table("loads").where("load_id % 2 = 0")
        .groupBy("site_id").agg(F.sum(mark).alias("mark"), F.sum(far).alias("far"))
    )  # fmt: skip


def surcharges(work: Work) -> DataFrame:
    """Price the storage of farms in each week."""
    farms = work.table("farms")
    prices = {f"week_{n}": (F.col("farm_id") * (n + 3)) % (n + 11) for n in range(260)}
    if work.on:
        for name, price in prices.items():
            farms = farms.withColumn(name, price)
    else:
        farms = farms.select("*", *(price.alias(name) for name, price in prices.items()))
    return farms.groupBy("district").agg(F.sum("week_7").alias("a"), F.sum("week_259").alias("b"))


def dry_weight(work: Work) -> DataFrame:
    """Give the weight at which a load is paid."""

    def paid(gross: int, tare: int, moisture: int) -> int:
        if moisture <= 1450:
            return (gross - tare) * 1000
        return (gross - tare) * (10_000 - (moisture - 1450)) // 10

    loads = work.table("loads").where("load_id % 2 = 0")
    if work.on:
        grams = F.udf(paid, "long")("gross_kg", "tare_kg", "moisture")
    else:
        kept = "10000 - greatest(moisture - 1450, 0)"
        grams = F.expr(f"CAST(gross_kg - tare_kg AS LONG) * ({kept}) div 10")
    return loads.groupBy("site_id").agg(F.sum(grams).alias("grams"))


def price_list(work: Work) -> DataFrame:
    """List a price for each crop at each site."""
    sites = work.table("sites")
    if work.on:
        crops = work.spark.createDataFrame([(crop,) for crop in CROPS], "crop STRING")
        listed = sites.crossJoin(F.broadcast(crops))
    else:
        listed = sites.withColumn("crop", F.explode(F.array(*map(F.lit, CROPS))))
    return listed.select("site", "crop", (F.col("river") * 10 + F.length("crop")).alias("price"))


def river_loads(work: Work) -> DataFrame:
    """Sum the loads at the sites of one river."""
    loads, here = work.table("loads"), work.table("sites").where("river = 2")
    if work.on:
        few = [row["site_id"] for row in here.select("site_id").collect()]
        loads = loads.where(F.col("site_id").isin(few))
    else:
        loads = loads.join(F.broadcast(here.select("site_id")), "site_id", "left_semi")
    return loads.groupBy("site_id").agg(F.sum(dried()).alias("grams"))


STEPS: dict[str, Step] = {
    "settlement": settlement, "running-stock": running_stock, "disputes": disputes,
    "letters": letters, "statements": statements, "bindings": bindings, "diversity": diversity,
    "season": season, "handover": handover, "carriers": carriers, "slips": slips,
    "surcharges": surcharges, "dry-weight": dry_weight, "price-list": price_list,
    "river-loads": river_loads,
}  # fmt: skip
INPUTS: dict[str, dict[str, Writer]] = {"season": {"weighings": _weighings}}
"""What a step reads beside the tables."""
