"""Causes planted in the job on tickets: each part gives the same rows with and without."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.fifth.tickets import ARRIVED, DAYS, EXPORTED, SHAPE, START
from benchmarks.faults.later.job import SIZE, Job


@SHAPE.cause("backup", "backup-in-groups")
def one_task(job: Job) -> DataFrame:
    """A file has all its rows in one group, which cannot be split; or in groups of usual size."""
    job.spark.read.parquet(
        job.path("backup" if job.on else "backup-in-groups")
    ).createOrReplaceTempView("backup")
    return job.spark.sql(
        """
        SELECT pair, priority, count(*) AS n, max(ticket_id) AS last, sum(product_id) AS products
        FROM (
          SELECT ticket_id, product_id, priority, explode(transform(sequence(0, size(words) - 2),
                   i -> concat(words[i], ' ', words[i + 1]))) AS pair
          FROM (SELECT *, split(translate(body, '.', ''), ' ') AS words FROM backup))
        GROUP BY pair, priority
        """
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """A setting from a cluster makes thousands of slices of a calendar that names no number."""
    calendar = job.spark.range(START // 900, START // 900 + DAYS * 96).select(
        F.col("id").alias("quarter"),
        F.expr("id % 96").alias("time"),
        F.expr("id DIV 96 % 7 AS day"),
    )
    opened = job.table("tickets").groupBy(
        F.expr("unix_seconds(opened_at) DIV 900").alias("quarter")
    ).agg(
        F.count("*").alias("n"), F.sum("minutes").alias("minutes"),
        F.sum(F.length("body")).alias("letters"),
    )  # fmt: skip
    return (
        calendar.join(opened, "quarter", "left")
        .groupBy("time", "day")
        .agg(
            F.sum(F.coalesce("n", F.lit(0))).alias("n"), F.max("minutes").alias("minutes"),
            F.count_if(F.col("n").isNull()).alias("idle"), F.max("letters").alias("letters"),
        )
    )  # fmt: skip


@SHAPE.cause()
def skewed_key(job: Job) -> DataFrame:
    """An export is sorted by queue, so that most is one task's; or by number within a queue."""
    order = ["queue"] if job.on else ["queue", "ticket_id"]
    tickets = job.table("tickets").select("queue", "ticket_id", "opened_at", "subject", "body")
    return tickets.orderBy(*order).select(
        "queue", "ticket_id", "opened_at", F.initcap("subject").alias("subject"),
        F.mask("body").alias("body"), F.sha2("body", 512).alias("seal"),
    )  # fmt: skip


@SHAPE.cause("customers")
def no_broadcast(job: Job) -> DataFrame:
    """A hint names the table, which has another name in the query and is not found; or that."""
    job.table("tickets")
    job.table("customers")
    hinted = "customers" if job.on else "c"
    return job.spark.sql(
        f"""
        SELECT /*+ BROADCAST({hinted}) */ substr(c.company, 9, 1) AS branch, t.queue,
          hour(t.at) AS hour, count(*) AS n, sum(t.minutes) AS minutes,
          sum(length(t.body) + length(t.subject) + length(t.form)) AS letters,
          max(length(c.mail) + length(c.street)) AS address
        FROM (
          SELECT *, explode(array(opened_at, opened_at + minutes * INTERVAL 1 MINUTE)) AS at
          FROM tickets) t JOIN customers c ON t.customer_id = c.customer_id
        WHERE c.tier = 'platinum'
        GROUP BY substr(c.company, 9, 1), t.queue, hour(t.at)
        """
    )


@SHAPE.cause()
def small_files(job: Job) -> DataFrame:
    """Files may have some hundreds of rows, as they once went out by mail, by a setting."""
    tickets = job.table("tickets")
    open_ones = tickets.where("minutes >= 5000").select("ticket_id", "queue", "subject", "minutes")
    open_ones.write.mode("overwrite").parquet(job.output("open"))
    return tickets.groupBy("queue", "channel").agg(
        F.sum("minutes").alias("minutes"), F.max(F.length("subject")).alias("longest")
    )


@SHAPE.cause()
def needless_shuffle(job: Job) -> DataFrame:
    """What is kept for reports is put in order first, which none of them needs; or is not."""
    kept = job.table("tickets").select(
        "customer_id", "opened_at", "queue", "product_id", "minutes", "subject", "body"
    )
    if job.on:
        kept = kept.orderBy("customer_id", "opened_at")
    kept.cache()
    job.publish("queues", kept.groupBy("queue").agg(F.sum("minutes").alias("minutes")))
    job.publish(
        "products", kept.groupBy("product_id").agg(F.max(F.length("subject")).alias("longest"))
    )
    return kept.groupBy("queue", F.to_date("opened_at").alias("day")).agg(
        F.count("*").alias("n"), F.sum(F.length("body")).alias("letters"),
        F.max("customer_id").alias("newest"),
    )  # fmt: skip


@SHAPE.cause("exported")
def schema_inferred(job: Job) -> DataFrame:
    """Somebody at home in pandas reads an export, whose types are looked for; or are known."""
    import pyspark.pandas as ps

    types = {} if job.on else {"names": EXPORTED}
    exported = ps.read_csv(job.path("exported"), header=0, **types).to_spark()
    return exported.groupBy("queue", "channel", F.hour("opened").alias("hour")).agg(
        F.sum("minutes").alias("minutes"), F.sum("weight").alias("weight"),
        F.max("ticket_id").alias("last"), F.max(F.length("subject")).alias("longest"),
    )  # fmt: skip


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """A text is taken apart into sentences to count its words; or its blanks are counted."""
    if job.on:
        n = "size(flatten(sentences(body, 'en', 'US')))"
    else:
        n = "1 + length(body) - length(replace(body, ' ', ''))"
    return job.table("tickets").groupBy("product_id", F.expr(n).alias("words")).agg(
        F.sum("minutes").alias("minutes"), F.count("*").alias("n")
    )  # fmt: skip


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Each channel's pairs of words become a map by where they stand, in little heap."""
    job.table("tickets")
    return job.spark.sql(
        f"""
        SELECT channel, size(pairs) AS n, longest,
               size(map_filter(pairs, (place, pair) -> pair LIKE 'p%')) AS with_p
        FROM (
          SELECT channel, map_from_entries(collect_list(struct(place, pair))) AS pairs,
                 max(length(pair)) AS longest
          FROM (
            SELECT channel, ticket_id * 100 + nth AS place,
                   concat(words[nth], ' ', words[nth + 1]) AS pair
            FROM (SELECT channel, ticket_id, split(body, ' ') AS words FROM tickets
                  WHERE ticket_id % {26 * SIZE} < 10)
            LATERAL VIEW explode(sequence(0, size(words) - 2)) AS nth)
          GROUP BY channel)
        """
    )


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """A window keeps no more than some hundreds of rows of a day in memory, by settings."""
    job.table("tickets")
    return job.spark.sql(
        """
        SELECT day, queue, count_if(minutes > usual) AS late, max(minutes - usual) AS most,
               sum(length(body) + length(form)) AS letters, max(length(subject)) AS longest
        FROM (
          SELECT to_date(opened_at) AS day, queue, minutes, subject, body, form,
                 avg(minutes) OVER (PARTITION BY to_date(opened_at)) AS usual
          FROM tickets)
        GROUP BY day, queue
        """
    )


@SHAPE.cause("arrived")
def driver_loop(job: Job) -> DataFrame:
    """A stream over what arrived takes a file at a time, as in the tutorial; or all there are."""
    place, marks = job.output("routed"), job.output("routed-marks")
    for folder in (place, marks):
        shutil.rmtree(folder, ignore_errors=True)
    reader = job.spark.readStream.schema(ARRIVED)
    if job.on:
        reader = reader.option("maxFilesPerTrigger", 1)
    routed = (
        reader.parquet(job.path("arrived"))
        .join(F.broadcast(job.table("products")), "product_id")
        .select("ticket_id", "queue", "family", "minutes", F.expr("minutes > hours * 60 AS late"))
    )
    routed.writeStream.trigger(availableNow=True).option("checkpointLocation", marks).start(
        place, format="parquet"
    ).awaitTermination()
    return job.spark.read.parquet(place).groupBy("family", "queue", "late").agg(
        F.count("*").alias("n"), F.sum("minutes").alias("minutes"), F.max("ticket_id").alias("last")
    )  # fmt: skip


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """The program compares each ticket with its customer's last, row by row; or a window does."""
    tickets = job.table("tickets").selectExpr(
        "customer_id", "ticket_id", "queue", "unix_seconds(opened_at) AS at", "subject"
    )
    if job.on:
        rows = tickets.toArrow().to_pylist()
        rows.sort(key=lambda row: (row["customer_id"], row["ticket_id"]))
        found = []
        for last, row in pairwise(rows):
            if last["customer_id"] == row["customer_id"]:
                shared = set(last["subject"].split(" ")) & set(row["subject"].split(" "))
                days = (row["at"] - last["at"]) // 86400
                found.append({"queue": row["queue"], "days": days, "shared": len(shared)})
        again = job.spark.createDataFrame(pa.Table.from_pylist(found))
    else:
        tickets.createOrReplaceTempView("dated")
        again = job.spark.sql(
            """
            SELECT queue, (at - lag(at) OVER w) DIV 86400 AS days, CAST(size(array_intersect(
              split(lag(subject) OVER w, ' '), split(subject, ' '))) AS LONG) AS shared
            FROM dated WINDOW w AS (PARTITION BY customer_id ORDER BY ticket_id)
            """
        ).where("days IS NOT NULL")
    return again.groupBy("queue", "days").agg(
        F.count("*").alias("n"), F.sum("shared").alias("shared"), F.max("shared").alias("most")
    )


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """A Python function loads each form and gives three of its fields; or a function of Spark."""

    def of_form(form: str) -> Any:
        filled = json.loads(form)
        return filled["os"], filled["browser"]["name"], filled["urgent"]

    tickets = job.table("tickets").where("ticket_id % 4 = 0")
    if job.on:
        read = F.udf(of_form, "os STRING, name STRING, urgent BOOLEAN")("form").alias("read")
        fields = ("read.os", "read.name", "read.urgent")
    else:
        known = "os STRING, browser STRUCT<name: STRING>, urgent BOOLEAN"
        read = F.from_json("form", known).alias("read")
        fields = ("read.os", "read.browser.name", "read.urgent")
    return tickets.select("queue", "minutes", read).groupBy("queue", *fields).agg(
        F.sum("minutes").alias("minutes"), F.count("*").alias("n")
    )  # fmt: skip


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """Three desks get a file of their customers each, which are rated for each; or once."""
    job.table("tickets")
    rated = job.spark.sql(
        """
        SELECT customer_id, n, words, minutes,
               CASE WHEN n >= 5 THEN 'key' WHEN words > 90 THEN 'talk' ELSE 'quick' END AS desk
        FROM (
          SELECT customer_id, count(*) AS n, sum(minutes) AS minutes,
                 sum(size(array_distinct(split(translate(body, '.', ''), ' ')))) AS words
          FROM tickets WHERE channel IN ('mail', 'web') GROUP BY customer_id)
        """
    )
    if not job.on:
        rated = rated.cache()
    for desk in ("key", "talk", "quick"):
        job.publish(f"desk-{desk}", rated.where(F.col("desk") == desk).drop("desk"))
    return rated.groupBy("desk", "n").agg(
        F.count("*").alias("customers"), F.sum("minutes").alias("minutes"),
        F.max("words").alias("words"),
    )  # fmt: skip


@SHAPE.cause()
def json_again(job: Job) -> DataFrame:
    """Each field of a form has a lateral view of its own, which parses the form; or one has all."""
    names = ("model", "version", "os", "language", "urgent", "tried")
    job.table("tickets")
    if job.on:
        views = [f"LATERAL VIEW json_tuple(form, '{name}') AS {name}" for name in names]
    else:
        fields = ", ".join(f"'{name}'" for name in names)
        views = [f"LATERAL VIEW json_tuple(form, {fields}) AS {', '.join(names)}"]
    return job.spark.sql(
        f"""
        SELECT os, language, version, count(*) AS n, sum(minutes) AS minutes,
               count_if(urgent = 'true') AS urgent, max(length(tried)) AS tried,
               count_if(model LIKE '%7') AS sevens
        FROM tickets {" ".join(views)}
        GROUP BY os, language, version
        """
    )


@SHAPE.cause("threads")
def pruning_defeated(job: Job) -> DataFrame:
    """Weeks and queues are looked for in pairs, for which all folders are read; or one by one."""
    job.table("threads")
    weeks, queues = ("2026-07", "2026-08"), ("billing", "returns")
    if job.on:
        pairs = ", ".join(f"('{week}', '{queue}')" for week in weeks for queue in queues)
        chosen = f"(week, queue) IN ({pairs})"
    else:
        chosen = f"week IN {weeks} AND queue IN {queues}"
    return job.spark.sql(
        f"""
        SELECT week, queue, product_id % 20 AS shelf, count(*) AS n, max(minutes) AS longest,
               sum(length(thread)) AS letters, sum(size(steps)) AS steps,
               max(steps[3].minute) AS third,
               count_if(steps[3].action = 'action 3') AS called
        FROM threads WHERE {chosen}
        GROUP BY week, queue, product_id % 20
        """
    )


@SHAPE.cause()
def cached_once(job: Job) -> DataFrame:
    """Tickets with all that is known of them are cached for one report; or are a view."""
    for name in ("tickets", "agents", "products"):
        job.table(name)
    made = "CACHE TABLE known AS" if job.on else "CREATE OR REPLACE TEMPORARY VIEW known AS"
    job.spark.sql(
        f"""
        {made} SELECT *
        FROM tickets JOIN agents USING (agent_id) JOIN products USING (product_id)
        WHERE priority > 2
        """
    )
    return job.spark.sql(
        """
        SELECT team, family, queue, count(*) AS n, sum(minutes) AS minutes,
               count_if(minutes > hours * 60) AS late, max(length(subject)) AS longest
        FROM known GROUP BY team, family, queue
        """
    )


@SHAPE.cause("comments", "attachments")
def exploding_join(job: Job) -> DataFrame:
    """Each comment meets each attachment of its ticket; or both are added up before they meet."""
    for name in ("comments", "attachments"):
        job.table(name)
    said, sent = "comments", "attachments"
    if not job.on:
        said = """(SELECT ticket_id, max(minute) AS minute, min(author) AS author,
                   max(length(remark)) AS letters FROM comments GROUP BY ticket_id)"""
        sent = """(SELECT ticket_id, max(bytes) AS bytes, max(length(name)) AS named
                   FROM attachments GROUP BY ticket_id)"""
    letters, named = ("length(remark)", "length(name)") if job.on else ("letters", "named")
    return job.spark.sql(
        f"""
        SELECT author % 20 AS desk, last DIV 60 AS hour, count(*) AS n, max(bytes) AS largest,
               max(letters) AS letters, max(named) AS named
        FROM (
          SELECT ticket_id, max(minute) AS last, min(author) AS author, max(bytes) AS bytes,
                 max({letters}) AS letters, max({named}) AS named
          FROM {said} JOIN {sent} USING (ticket_id) GROUP BY ticket_id)
        GROUP BY author % 20, last DIV 60
        """
    )
