"""Causes planted in the job on orders: each part gives the same rows with and without."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.later.job import Job
from benchmarks.faults.later.orders import COLUMNS, SHAPE
from benchmarks.faults.later.service import Rates


@SHAPE.cause()
def one_task(job: Job) -> DataFrame:
    """Orders are put into one partition, for one file, before they are worked on."""
    first = F.to_date("ordered_at")
    open_days = job.table("orders").select(
        "order_id", "store_id", "channel", "price",
        F.explode(F.sequence(first, F.date_add(first, F.col("quantity") * 12))).alias("day"),
    )  # fmt: skip
    if job.on:
        open_days = open_days.coalesce(1)
    return open_days.groupBy("store_id", "channel", "day").agg(
        F.sum("price").alias("open"), F.max("order_id").alias("last"), F.count("*").alias("n")
    )


@SHAPE.cause("gzipped", "gzipped-in-parts")
def gzip_input(job: Job) -> DataFrame:
    """The export is one gzip file; or eight."""
    columns = "order_id LONG, store_id INT, channel STRING, quantity INT, price DOUBLE"
    path = job.path("gzipped" if job.on else "gzipped-in-parts")
    return (
        job.spark.read.schema(columns).csv(path)
        .cube("store_id", "channel", "quantity", F.expr("order_id % 7").alias("weekday"),
              F.expr("order_id % 5").alias("clerk"))
        .agg(F.sum("price").alias("revenue"), F.count("*").alias("n"))
    )  # fmt: skip


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """A number of partitions that was made for a cluster."""
    keyed = job.table("orders").select("order_id", "city", "product_id", "price")
    keyed = keyed.repartition(4500 if job.on else 8, "city")
    return (
        keyed.groupBy("city", "product_id")
        .agg(F.max_by("price", "order_id").alias("price"), F.count("*").alias("n"))
        .coalesce(8)
    )


@SHAPE.cause("history")
def skewed_key(job: Job) -> DataFrame:
    """Guests all have the customer number 0."""
    history = job.table("history")
    orders = job.table("orders").select("order_id", "customer_id", "city", "price", "quantity")
    if job.on:
        joined = orders.join(history, "customer_id")
    else:
        guest = F.col("customer_id") == 0
        salt = F.when(guest, F.col("order_id") % 16).otherwise(0)
        salts = F.when(guest, F.sequence(F.lit(0), F.lit(15))).otherwise(F.array(F.lit(0)))
        spread = history.withColumn("salt", F.explode(salts))
        joined = orders.withColumn("salt", salt).join(spread, ["customer_id", "salt"])
    parts = joined.withColumn("part", F.explode(F.sequence(F.lit(1), F.col("quantity"))))
    return parts.groupBy("grade", "city", "part").agg(
        F.sum(F.col("price") * F.col("rate")).alias("points"),
        F.max("company").alias("company"),
    )


@SHAPE.cause("bands")
def interval_join(job: Job) -> DataFrame:
    """Bands of prices are joined by comparing; or by the number of the band."""
    orders, bands = job.table("orders").select("store_id", "price"), job.table("bands")
    if job.on:
        joined = orders.join(bands, (orders.price >= bands.low) & (orders.price < bands.high))
    else:
        joined = orders.join(bands, F.floor(orders.price / 0.5).cast("int") == bands.band)
    return joined.groupBy("store_id", "band").agg(F.sum("fee").alias("fee"))


@SHAPE.cause("routes")
def pair_expression(job: Job) -> DataFrame:
    """The number in a note is read for each route of the store; or once for each order."""
    routes = job.table("routes")
    number = F.conv(F.regexp_extract("note", "ref ([0-9A-F]{2})", 1), 16, 10).cast("int")
    orders = job.table("orders").select("store_id", "note", "price")
    if not job.on:
        orders = orders.select("store_id", "price", number.alias("number"))
        number = F.col("number")
    inside = (number >= routes.start) & (number < routes.beyond)
    joined = orders.join(routes, (orders.store_id == routes.store_id) & inside)
    return joined.groupBy("route").agg(F.sum("price").alias("revenue"), F.count("*").alias("n"))


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """A pattern goes back and forth in each note, where its end would do."""
    orders = job.table("orders")
    if job.on:
        found = orders.where(F.col("note").rlike(".*box.*[0-9]+.*door.*3$"))
    else:
        found = orders.where(F.col("note").endswith("door 3"))
    return found.groupBy("store_id", "city").agg(F.sum("quantity").alias("n"))


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """A Python function tidies numbers of telephones row by row."""

    def tidy(phone: str) -> str:
        return phone.replace("+49", "0").replace(" ", "").replace("-", "/")

    if job.on:
        tidied = F.udf(tidy)("phone")
    else:
        tidied = F.expr("replace(replace(replace(phone, '+49', '0'), ' ', ''), '-', '/')")
    return (
        job.table("orders").select("store_id", tidied.alias("phone"))
        .groupBy("store_id").agg(F.max("phone").alias("last"), F.min("phone").alias("first"))
    )  # fmt: skip


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """What all reports are made of is computed for each."""
    orders = job.table("orders").join(job.table("products"), "product_id")
    months = orders.groupBy(
        "category", "channel", "city", F.date_trunc("week", "ordered_at").alias("week")
    ).agg(F.sum(F.expr("quantity * price")).alias("revenue"), F.max("note").alias("note"))
    if not job.on:
        months = months.cache()
    for key in ("category", "channel", "city"):
        job.publish(f"by-{key}", months.groupBy(key).agg(F.sum("revenue").alias("revenue")))
    return months.groupBy("week").agg(F.sum("revenue").alias("revenue"), F.max("note").alias("n"))


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """A query for each store, where one gives all."""
    few = job.table("orders").select("store_id", "status", "quantity")
    few = few.groupBy("store_id", "status").agg(F.sum("quantity").alias("n")).cache()
    if not job.on:
        return few.groupBy("store_id").agg(F.sum("n").alias("n"))
    rows = []
    for store in range(40):
        row = few.where(F.col("store_id") == store).agg(F.sum("n")).first()
        rows.append((store, row[0] if row else None))
    return job.spark.createDataFrame(rows, "store_id INT, n LONG")


@SHAPE.cause()
def idle_driver(job: Job) -> DataFrame:
    """Rates of exchange are asked of a slow service one by one; or all at once."""
    names = ["EUR", "USD", "GBP", "CHF", "SEK", "PLN"]
    with Rates(delay_s=0.9) as service:
        rates = [each for name in names for each in service.ask([name])] if job.on else (
            service.ask(names)
        )  # fmt: skip
    known = job.spark.createDataFrame(rates, "currency STRING, rate DOUBLE")
    return (
        job.table("orders").join(F.broadcast(known), "currency").groupBy("store_id", "currency")
        .agg(F.sum(F.expr("price * rate")).alias("revenue"))
    )  # fmt: skip


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """Rows come to the driver and go back, to be numbered there."""
    orders = job.table("orders").where("order_id % 4 = 0")
    orders = orders.select("order_id", "store_id", "status", "price")
    if job.on:
        rows: Any = [(r[0], r[1], r[2], r[3] * 1.19) for r in orders.collect()]
        taxed = job.spark.createDataFrame(
            rows, "order_id LONG, store_id INT, status STRING, p DOUBLE"
        )
    else:
        taxed = orders.select("order_id", "store_id", "status", (F.col("price") * 1.19).alias("p"))
    return taxed.groupBy("store_id", "status").agg(F.sum("p").alias("p"), F.max("order_id"))


@SHAPE.cause("csv")
def schema_inferred(job: Job) -> DataFrame:
    """Types of all columns are looked for; or known."""
    reader = job.spark.read.option("header", True)
    reader = reader.option("inferSchema", True) if job.on else reader.schema(COLUMNS)
    return reader.csv(job.path("csv")).groupBy("store_id").agg(F.sum("quantity").alias("n"))


@SHAPE.cause("many-files", "few-files")
def small_files(job: Job) -> DataFrame:
    """Files as a stream leaves them; or put together."""
    orders = job.spark.read.parquet(job.path("many-files" if job.on else "few-files"))
    return orders.groupBy("city", "status").agg(
        F.sum("price").alias("revenue"), F.max("note").alias("note")
    )


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """Wide rows are sorted in little memory, by a setting."""
    return job.spark.sql(
        """
        SELECT store_id, count(DISTINCT note) AS notes, sum(gap) AS gap, max(mail) AS mail,
               max(street) AS street FROM (
          SELECT *, unix_seconds(ordered_at)
            - unix_seconds(lag(ordered_at) OVER (PARTITION BY city ORDER BY ordered_at, order_id))
            AS gap FROM orders) GROUP BY store_id
        """
    )


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Notes of a city are kept together in little heap, by a setting."""
    noted = job.table("orders").groupBy("city").agg(
        F.collect_list("note").alias("notes"), F.collect_list("mail").alias("mails")
    )  # fmt: skip
    return noted.select("city", F.size("notes").alias("n"), F.array_max("mails").alias("mail"))


@SHAPE.cause()
def interpreted_plan(job: Job) -> DataFrame:
    """Code is not generated for whole stages, by a setting."""
    return job.spark.sql(
        """
        SELECT store_id, status, channel, product_id % 50 AS shelf,
          sum(quantity * price) AS revenue, sum(quantity * price * discount) AS given,
          max(price * (1 - discount)) AS most,
          sum(if(currency = 'EUR', quantity, 0)) AS euro, count(*) AS n
        FROM orders LATERAL VIEW explode(sequence(1, quantity)) AS part
        WHERE price > 1 GROUP BY store_id, status, channel, product_id % 50
        """
    )


@SHAPE.cause()
def no_broadcast(job: Job) -> DataFrame:
    """Products are not broadcast, by a setting."""
    priced = job.table("orders").join(job.table("products"), "product_id")
    return priced.groupBy("category", "city").agg(
        F.sum(F.expr("quantity * weight")).alias("weight"), F.max("note").alias("note"),
        F.max("mail").alias("mail"), F.max("street").alias("street"), F.max("phone").alias("phone"),
    )  # fmt: skip


@SHAPE.cause()
def failing_tasks(job: Job) -> DataFrame:
    """A check of rows fails near the end of first attempts."""
    on = job.on

    def check(note: str, order_id: int) -> str:
        from pyspark import TaskContext

        task = TaskContext.get()
        if on and order_id % 125_000 > 124_000 and task is not None and task.attemptNumber() == 0:
            raise ValueError(f"order {order_id} is checked twice")
        return note[-1:]

    checked = F.udf(check)("note", "order_id").alias("door")
    few = job.table("orders").where("order_id % 4 = 0").select("store_id", checked)
    return few.groupBy("store_id", "door").count()


@SHAPE.cause()
def costly_codec(job: Job) -> DataFrame:
    """The result is written with gzip; or with the usual codec."""
    if job.on:
        job.options["compression"] = "gzip"
    return job.table("orders").where("status != 'back'").drop("discount", "price")


@SHAPE.cause("csv")
def text_format(job: Job) -> DataFrame:
    """Orders are read as text; or as Parquet."""
    if job.on:
        orders = job.spark.read.option("header", True).schema(COLUMNS).csv(job.path("csv"))
    else:
        orders = job.table("orders")
    return orders.groupBy("store_id", F.to_date("ordered_at").alias("day")).agg(
        F.sum("price").alias("revenue"), F.max("note").alias("note"), F.max("mail").alias("mail")
    )


@SHAPE.cause("by-store", "chosen")
def pruning_defeated(job: Job) -> DataFrame:
    """Stores are chosen by a table that is joined, so that all folders are read; or by numbers."""
    orders, stores = job.spark.read.parquet(job.path("by-store")), job.table("chosen")
    if job.on:
        chosen = orders.join(stores, "store_id", "left_semi")
    else:
        numbers = [row[0] for row in stores.collect()]
        chosen = orders.where(F.col("store_id").isin(numbers))
    return chosen.groupBy("store_id", "city", "status").agg(
        F.sum("price").alias("revenue"), F.max("note").alias("note"), F.max("mail").alias("mail")
    )


@SHAPE.cause()
def needless_shuffle(job: Job) -> DataFrame:
    """Wide rows are spread, and then shuffled by their key all the same."""
    orders = job.table("orders")
    if job.on:
        orders = orders.repartition(8)
    return orders.groupBy("city", "product_id").agg(
        *(F.max(name).alias(name) for name in ("note", "mail", "street", "phone", "ordered_at")),
        F.sum("price").alias("revenue"),
    )


@SHAPE.cause()
def several_distinct(job: Job) -> DataFrame:
    """Distinct values of few are counted exactly, six at a time; or as sizes of sets."""
    names = ["product_id", "status", "channel", "currency", "quantity", "discount"]
    orders = job.table("orders").groupBy("city")
    if job.on:
        return orders.agg(*(F.countDistinct(name).alias(name) for name in names))
    return orders.agg(*(F.size(F.collect_set(name)).cast("long").alias(name) for name in names))


@SHAPE.cause("tariffs")
def join_explodes(job: Job) -> DataFrame:
    """Orders meet all versions of a tariff, and the newest is kept; or the newest is joined."""
    orders, tariffs = (
        job.table("orders").select("store_id", "product_id", "price"),
        job.table("tariffs"),
    )
    if job.on:
        joined = orders.join(tariffs, "product_id")
    else:
        newest = tariffs.groupBy("product_id").agg(F.max_by("tariff", "version").alias("tariff"))
        joined = orders.join(newest, "product_id").withColumn("version", F.lit(29))
    return joined.groupBy("store_id").agg(
        F.sum(F.when(F.col("version") == 29, F.col("tariff") + F.col("price"))).alias("revenue")
    )


@SHAPE.cause("documents")
def parsed_again(job: Job) -> DataFrame:
    """A document is parsed for each of its fields; or once."""
    names = ["customer_id", "product_id", "status", "channel", "quantity", "city", "phone", "note"]
    documents = job.table("documents")
    if job.on:
        fields = documents.select(
            *(F.get_json_object("document", f"$.{name}").alias(name) for name in names)
        )
    else:
        columns = ", ".join(f"{name} STRING" for name in names)
        parsed = documents.select(F.from_json("document", columns).alias("read"))
        fields = parsed.select("read.*")
    return fields.groupBy("city", "status").agg(
        *(F.max(name).alias(f"last_{name}") for name in names if name not in ("city", "status"))
    )
