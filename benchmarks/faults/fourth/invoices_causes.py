"""Causes planted in the job on invoices: each part gives the same rows with and without."""

from __future__ import annotations

from bisect import bisect_right
from datetime import date, timedelta
from decimal import ROUND_HALF_UP, Decimal
from itertools import product

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.fourth.invoices import (
    ARCHIVE,
    DAYS,
    FIRST,
    LAST,
    MEASURES,
    MESSAGE,
    SHAPE,
)
from benchmarks.faults.later.job import Job


@SHAPE.cause()
def one_task(job: Job) -> DataFrame:
    """Days are exploded out of one row, and all that is joined to them is too; or of a range."""
    if job.on:
        days = job.spark.sql(f"SELECT explode(sequence({FIRST}, {LAST})) AS day")
    else:
        days = job.spark.range(0, DAYS, 1, 8).selectExpr(
            f"date_add({FIRST}, cast(id AS INT)) AS day"
        )
    return (
        days.join(F.broadcast(job.table("rates")), "day")
        .join(F.broadcast(job.table("customers")), "currency")
        .groupBy("segment", "region", F.trunc("day", "month").alias("month"))
        .agg(F.sum(F.expr("credit * rate")).alias("credit"), F.count("*").alias("n"))
    )


@SHAPE.cause("packed-xml", "packed-xml-in-parts")
def gzip_input(job: Job) -> DataFrame:
    """A partner's XML is one packed file, to which our lines are added; or eight."""
    known = """line_id LONG, customer_id LONG, issued DATE, currency STRING, quantity INT,
               price DECIMAL(12,4), country STRING"""
    path = job.path("packed-xml" if job.on else "packed-xml-in-parts")
    theirs = job.spark.read.schema(known).xml(path, rowTag="line")
    ours = job.table("lines").where("line_id % 12 = 1").selectExpr(
        "line_id", "customer_id", "issued", "currency", "quantity", "price", "ship.country"
    )  # fmt: skip
    return (
        theirs.unionByName(ours)
        .groupBy("country", "currency", F.trunc("issued", "month").alias("month"))
        .agg(F.sum(F.expr("quantity * price")).alias("amount"), F.max("line_id").alias("last"))
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """Rates that the program turns are made parallel in a slice for two days; or in two."""
    rates = [(row.currency, row.day, 1 / row.rate) for row in job.table("rates").collect()]
    slices = DAYS // 2 if job.on else 2
    inverse = job.spark.createDataFrame(
        job.spark.sparkContext.parallelize(rates, slices),
        "currency STRING, day DATE, inverse DECIMAL(38,27)",
    )
    months = inverse.groupBy("currency", F.trunc("day", "month").alias("month")).agg(
        F.max(F.expr("cast(inverse AS DECIMAL(12,8))")).alias("inverse"), F.count("*").alias("days")
    )
    return (
        job.table("lines")
        .groupBy("currency", F.trunc("issued", "month").alias("month"))
        .agg(F.sum(F.expr("quantity * price")).alias("amount"))
        .join(months, ["currency", "month"])
    )


@SHAPE.cause("orders")
def skewed_key(job: Job) -> DataFrame:
    """Lines that name no order go through an outer join with one key; or past an inner one."""
    job.table("orders")
    lines = job.table("lines").selectExpr(
        "line_id", "coalesce(order_ref, -1) AS order_ref", "quantity", "price", "currency"
    )
    lines.createOrReplaceTempView("billed")
    joined = """SELECT line_id, buyer, length(signed) AS signed, quantity, price, currency
                FROM billed LEFT JOIN orders USING (order_ref)"""
    if not job.on:
        joined = f"""{joined.replace("LEFT JOIN", "JOIN")} WHERE order_ref >= 0 UNION ALL
                SELECT line_id, NULL, NULL, quantity, price, currency
                FROM billed WHERE order_ref < 0"""
    return job.spark.sql(
        f"""
        SELECT buyer, currency, part, sum(price) AS price, max(line_id) AS last, max(signed) AS l
        FROM ({joined}) LATERAL VIEW explode(sequence(1, quantity + 10)) AS part
        GROUP BY buyer, currency, part
        """
    )


@SHAPE.cause("offices")
def interval_join(job: Job) -> DataFrame:
    """An office is looked for by its range of numbers; or numbers are joined with their office."""
    lines, offices = job.table("lines"), job.table("offices")
    if job.on:
        placed = lines.join(
            offices, F.col("customer_id").between(offices.low, offices.high), "left"
        )
    else:
        numbers = offices.select("office", F.explode(F.sequence("low", "high")).alias("number"))
        placed = lines.join(numbers, lines.customer_id == numbers.number, "left")
    return placed.groupBy("office", "currency").agg(
        F.sum("price").alias("price"), F.sum("quantity").alias("n"), F.max("line_id").alias("last")
    )


@SHAPE.cause("tiers")
def pair_expression(job: Job) -> DataFrame:
    """What a line costs is computed for each tier of its currency; or once for each line."""
    lines, tiers = job.table("lines"), job.table("tiers")
    cost = "cast(quantity * price * (1 - discount) * (1 + tax.rate) AS DECIMAL(16,2))"
    if not job.on:
        lines = lines.selectExpr("currency", "line_id", f"{cost} AS cost")
        cost = "cost"
    met = lines.join(
        F.broadcast(tiers),
        [lines.currency == tiers.currency, F.expr(f"{cost} >= least"), F.expr(f"{cost} < beyond")],
    )
    return met.groupBy(tiers.currency, "tier").agg(
        F.count("*").alias("n"), F.max("line_id").alias("last")
    )


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """Blanks at the end are removed by a pattern that tries all others first; or by a function."""
    job.table("lines")
    tidy = r"regexp_replace(remarks, '\\s+$', '')" if job.on else "rtrim(remarks)"
    return job.spark.sql(
        f"""
        SELECT {tidy} AS remark, count(*) AS n, sum(price) AS price, max(line_id) AS last
        FROM lines WHERE line_id % 3 = 0 GROUP BY ALL
        """
    )


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """A function of decimals in Python is known to SQL by a name; or SQL computes it."""

    def gross(quantity: int, price: Decimal, rate: Decimal) -> Decimal:
        return (quantity * price * (1 + rate)).quantize(Decimal("0.01"), ROUND_HALF_UP)

    job.table("lines")
    amount = "cast(quantity * price * (1 + tax.rate) AS DECIMAL(16,2))"
    if job.on:
        job.spark.udf.register("gross", gross, "DECIMAL(16,2)")
        amount = "gross(quantity, price, tax.rate)"
    return job.spark.sql(
        f"""
        SELECT customer_id, invoice_id % 10 AS part, sum({amount}) AS amount, count(*) AS n
        FROM lines WHERE line_id % 2 = 0 GROUP BY customer_id, invoice_id % 10
        """
    )


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """Levels of the hierarchy are added up one from the other, each from the lines on."""
    lines, rates = job.table("lines"), job.table("rates").withColumnRenamed("day", "issued")
    level = (
        lines.join(rates, ["currency", "issued"]).join(job.table("products"), "product_id")
        .groupBy(F.col("group_id").alias("node"))
        .agg(F.sum(F.expr("quantity * price * rate")).cast("decimal(30,4)").alias("euros"),
             F.max("line_id").alias("last"))
    )  # fmt: skip
    if not job.on:
        level = level.persist()
    largest = []
    for _ in range(3):
        top = level.orderBy(F.desc("euros"), "node").select("node", "euros", "last").first()
        largest.append(top)
        level = level.join(job.table("groups"), "node").groupBy(F.col("parent").alias("node")).agg(
            F.sum("euros").cast("decimal(30,4)").alias("euros"), F.max("last").alias("last")
        )  # fmt: skip
    tops = job.spark.createDataFrame(largest, "node STRING, euros DECIMAL(30,4), last LONG")
    return level.unionByName(tops)


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """Each column of a table is looked at by queries of its own; or all by one."""
    lines = job.table("lines")
    table = lines.groupBy("customer_id").agg(
        F.count("*").alias("lines"), F.sum("price").alias("price"), F.max("issued").alias("last"),
        F.min("issued").alias("first"), F.sum("quantity").alias("items"),
        F.max("order_ref").alias("order"), F.max("discount").alias("discount"),
        F.min("ship.city").alias("city"), F.max("ship.street").alias("street"),
        F.max("tax.rate").alias("tax"), F.max("currency").alias("currency"),
    )  # fmt: skip
    looks = {
        name: (F.count_if(F.col(name).isNull()), F.min(name).cast("string"),
               F.max(name).cast("string"), F.max(F.length(F.col(name).cast("string"))))
        for name in table.columns
    }  # fmt: skip
    if job.on:
        table = table.cache()
        found = [
            (name, *(table.agg(look.alias("value")).first()["value"] for look in each))
            for name, each in looks.items()
        ]
    else:
        flat = [look.alias(f"{name}{i}") for name in looks for i, look in enumerate(looks[name])]
        row = table.agg(*flat).first()
        found = [(name, *(row[f"{name}{i}"] for i in range(4))) for name in looks]
    return job.spark.createDataFrame(
        found, "name STRING, missing LONG, least STRING, most STRING, longest INT"
    )


@SHAPE.cause()
def idle_driver(job: Job) -> DataFrame:
    """The last rate before a payment is looked for among all in the program; or by halving."""
    fixed = sorted(
        (row.currency, row.day, row.rate)
        for row in job.table("rates").collect() if row.day.weekday() < 5
    )  # fmt: skip
    days = [date(2024, 1, 1) + timedelta(days=i) for i in range(DAYS)]
    known = []
    for currency in sorted({each[0] for each in fixed}):
        for day, term in product(days, (0, 10, 14, 30, 60, 90)):
            due = day + timedelta(days=term)
            if job.on:
                rate = [rate for of, on, rate in fixed if of == currency and on <= due][-1]
            else:
                rate = fixed[bisect_right(fixed, (currency, due, Decimal(1000))) - 1][2]
            known.append((currency, day, term, rate))
    rates = job.spark.createDataFrame(
        known, "currency STRING, issued DATE, term INT, rate DECIMAL(12,6)"
    )
    terms = "array(0, 10, 14, 30, 60, 90)"
    term = F.expr(f"element_at({terms}, cast(1 + invoice_id % 6 AS INT))").alias("term")
    return (
        job.table("lines").select("*", term)
        .join(F.broadcast(rates), ["currency", "issued", "term"])
        .groupBy("currency", "term", "ship.country")
        .agg(F.sum(F.expr("price * rate")).alias("euros"))
    )  # fmt: skip


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """The dearest lines are found by sorting all of them in the program; or by Spark."""
    lines = job.table("lines").where("line_id % 6 = 0").select("line_id", "customer_id", "price")
    if job.on:
        ordered = sorted(lines.collect(), key=lambda row: (-row.price, row.line_id))
        dearest = job.spark.createDataFrame(ordered[:5000], lines.schema)
    else:
        dearest = lines.orderBy(F.desc("price"), "line_id").limit(5000)
    return (
        dearest.join(job.table("customers"), "customer_id")
        .groupBy("segment", "region")
        .agg(F.sum("price").alias("price"), F.max("line_id").alias("last"))
    )


@SHAPE.cause("messages")
def schema_inferred(job: Job) -> DataFrame:
    """What fields a column of messages has is found by reading them; or those used are known."""
    messages = job.table("messages").where("shard < 3").select("message")
    read = job.spark.read.json(messages, schema=None if job.on else MESSAGE)
    return read.groupBy("ship.country", "tax.code").agg(
        F.sum("quantity").cast("long").alias("items"), F.max("line_id").alias("last")
    )  # fmt: skip


@SHAPE.cause()
def small_files(job: Job) -> DataFrame:
    """Lines are kept in a folder for each day, though few come on one; or for each currency."""
    lines = job.table("lines").where("issued >= DATE'2025-01-01'").drop("remarks")
    by = "issued" if job.on else "currency"
    lines.write.mode("overwrite").partitionBy(by).parquet(job.output("kept"))
    return job.table("lines").groupBy("issued", "currency").agg(F.sum("price").alias("price"))


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """What each customer bought is added up in too little memory outside the heap, by a setting."""
    job.table("lines")
    return job.spark.sql(
        """
        SELECT customer_id % 50 AS book, product_id IS NULL AS whole, count(*) AS n,
               sum(price) AS price, sum(items) AS items, max(last) AS last, max(issued) AS issued
        FROM (
          SELECT customer_id, product_id, sum(price) AS price, sum(quantity) AS items,
                 max(line_id) AS last, max(issued) AS issued
          FROM lines GROUP BY ROLLUP (customer_id, product_id))
        GROUP BY customer_id % 50, product_id IS NULL
        """
    )


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Quantiles that are nearly exact keep nearly all amounts in little heap, by a setting."""
    parts = job.table("lines").select(
        "ship.country", "price", F.explode(F.sequence(F.lit(1), F.lit(3))).alias("part")
    )
    amount = F.expr("cast(price / (part + 1) AS DOUBLE)")
    return parts.groupBy("country").agg(
        F.percentile_approx(amount, [0.05, 0.5, 0.95], 5_000_000).cast("string").alias("amounts"),
        F.count("*").alias("n"),
    )


@SHAPE.cause()
def no_broadcast(job: Job) -> DataFrame:
    """How small products and their groups are is not known once they are joined; or a hint is."""
    products, groups = job.table("products"), job.table("groups")
    families = groups.select(F.col("node").alias("family"), F.col("parent").alias("division"))
    hierarchy = (
        products.join(groups, products.group_id == groups.node)
        .join(families, F.col("parent") == F.col("family"))
        .select("product_id", "sku", "family", "division")
    )
    if not job.on:
        hierarchy = F.broadcast(hierarchy)
    parts = job.table("lines").select("*", F.explode(F.sequence(F.lit(1), F.lit(2))).alias("part"))
    return (
        parts.join(hierarchy, "product_id")
        .groupBy("division", "family", "currency", "part")
        .agg(F.sum("price").alias("price"), F.max("issued").alias("last"),
             F.sum(F.expr("length(remarks) + length(ship.street) + length(sku)")).alias("letters"),
             F.max(F.length("ship.city")).alias("longest"), F.max("quantity").alias("most"))
    )  # fmt: skip


@SHAPE.cause("sheets")
def interpreted_plan(job: Job) -> DataFrame:
    """Rows have more fields in their structs than are compiled; or a setting allows for them."""
    months = [(month, name) for month in range(12) for name in MEASURES]
    sheets = job.table("sheets").join(F.broadcast(job.table("customers")), "customer_id")
    plans = sheets.where("m0.net + m1.net > 10 AND m2.lines < 995").select(
        "*", F.explode(F.sequence(F.lit(1), F.lit(3))).alias("plan")
    )
    return plans.groupBy("segment", "plan").agg(
        *(F.sum(F.expr(f"if(m{month}.open > 500, m{month}.{name} * plan - m{month}.paid, "
                       f"m{month}.{name} + m{month}.tax)")).alias(f"{name}{month}")
          for month, name in months)
    )  # fmt: skip


@SHAPE.cause("archive", "archive-text")
def text_format(job: Job) -> DataFrame:
    """The archive that lines are added to is text with dates of its own; or Parquet."""
    path, kind = (job.path("archive"), "parquet")
    options = ""
    if job.on:
        path, kind = job.path("archive-text"), "csv"
        options = ", sep ';', dateFormat 'dd.MM.yyyy'"
    job.table("lines")
    job.spark.sql(f"CREATE TABLE archive ({ARCHIVE}) USING {kind} OPTIONS (path '{path}'{options})")
    return job.spark.sql(
        """
        SELECT currency, trunc(issued, 'MM') AS month, sum(price) AS price, max(line_id) AS last,
               sum(length(remarks)) AS letters, max(sku) AS sku FROM (
          SELECT currency, issued, price, line_id, remarks, sku FROM archive UNION ALL
          SELECT currency, issued, price, line_id, remarks, NULL FROM lines WHERE line_id % 8 = 0)
        GROUP BY currency, trunc(issued, 'MM')
        """
    )


@SHAPE.cause()
def needless_shuffle(job: Job) -> DataFrame:
    """A view puts lines in order, which windows over it put into another; or it does not."""
    job.table("lines")
    ordered = "ORDER BY issued, line_id" if job.on else ""
    job.spark.sql(
        f"""
        CREATE OR REPLACE TEMPORARY VIEW sent AS
        SELECT line_id, customer_id, issued, currency, price, ship, remarks FROM lines {ordered}
        """
    )
    return job.spark.sql(
        """
        SELECT currency, ship.country, sum(since) AS since, max(total) AS total,
               sum(length(remarks) + length(ship.street) + length(ship.city)) AS letters FROM (
          SELECT currency, ship, remarks, datediff(issued, lag(issued) OVER w) AS since,
                 sum(price) OVER w AS total
          FROM sent WINDOW w AS (PARTITION BY customer_id ORDER BY issued, line_id))
        GROUP BY currency, ship.country
        """
    )
