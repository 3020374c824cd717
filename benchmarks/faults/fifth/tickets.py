"""Tickets of a help desk: free text and forms in JSON, with small tables of agents and products."""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("tickets")
TABLES = ("tickets", "agents", "products")
ROWS = 130_000 * SIZE
CUSTOMERS = 200_000
AGENTS = 300
PRODUCTS = 400
START = 1767225600
"""First second of 2026, UTC."""
DAYS = 182
EXPORTED = (
    "ticket_id INT, queue STRING, priority INT, channel STRING, minutes INT, weight DOUBLE,"
    " opened TIMESTAMP, subject STRING"
)
ARRIVED = "ticket_id LONG, queue STRING, product_id INT, minutes INT, subject STRING"
WORDS = """
printer screen login password update error invoice order refund parcel button window cable battery
network router signal account charge email folder driver paper toner noise freezes crashes blinks
stopped missing broken slow again since yesterday after before never always please help thanks
urgent team customer device number code message page field report list cannot could should restart
install remove replace return send
"""


def words(n: str, seed: int) -> str:
    """Give an expression of a text of so many words, where each ninth one ends a sentence."""
    known = WORDS.split()
    word = (
        f"element_at(array({', '.join(map(repr, known))}),"
        f" cast(1 + pmod(xxhash64(id, i, {seed}), {len(known)}) AS INT))"
    )
    ended = f"concat({word}, if(i % 9 = 0, '.', ''))"
    return f"array_join(transform(sequence(1L, {n}), i -> {ended}), ' ')"


@SHAPE.input("tickets")
def write_tickets(job: Job, path: str) -> None:
    """Write tickets in the order of time; most are in one queue, one in two follows another."""
    ids = job.spark.range(0, ROWS, 1, 8).selectExpr("id", "xxhash64(id) AS h", "xxhash64(id, 2) g")
    told = ids.selectExpr(
        "*", f"{words('20L + pmod(h, 30)', 1)} AS body", f"{words('4L + pmod(g, 5)', 2)} AS subject"
    )
    told.selectExpr(
        "id AS ticket_id",
        f"cast({CUSTOMERS}D * pow(pmod(h, 1000003) / 1000003D, 2) AS LONG) AS customer_id",
        f"cast({PRODUCTS}D * pow(pmod(g, 1000033) / 1000033D, 2) AS INT) AS product_id",
        f"cast(pmod(g, {AGENTS}) AS INT) AS agent_id",
        "if(pmod(h, 100) < 85, 'general', element_at(array('billing', 'returns', 'access',"
        " 'outages'), cast(1 + pmod(g, 4) AS INT))) AS queue",
        "cast(1 + pmod(h, 4) AS INT) AS priority",
        "element_at(array('mail', 'web', 'chat', 'phone'), cast(1 + pmod(h, 4) AS INT)) AS channel",
        f"timestamp_seconds({START} + id * {DAYS * 86400} DIV {ROWS}) AS opened_at",
        "cast(pmod(g, 20000) AS INT) AS minutes", "subject", "body",
        "concat_ws(';', concat('v', pmod(h, 9)), concat('area ', pmod(g, 23)),"
        " if(pmod(h, 3) = 0, 'known', NULL)) AS tags",
        "if(id % 2 = 1, pmod(h, greatest(id, 100)), NULL) AS parent_id",
        """to_json(named_struct(
          'model', concat('M-', pmod(g, 700)), 'version', concat(pmod(h, 12), '.', pmod(g, 7)),
          'os', element_at(array('linux', 'windows', 'macos'), cast(1 + pmod(h, 3) AS INT)),
          'browser', named_struct('name', element_at(array('firefox', 'chrome', 'safari'),
            cast(1 + pmod(g, 3) AS INT)), 'width', 800 + pmod(g, 1200)),
          'language', element_at(array('de', 'en', 'fr', 'it'), cast(1 + pmod(h, 4) AS INT)),
          'urgent', pmod(g, 8) = 0, 'contact', named_struct(
            'mail', concat(lower(hex(h)), '@a.example'), 'phone', pmod(g, 1000000)),
          'tried', substring(body, 1, 90),
          'attachments', array(pmod(h, 5000), pmod(g, 5000)))) AS form""",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("agents")
def write_agents(job: Job, path: str) -> None:
    """Write who the agents are."""
    job.spark.range(0, AGENTS, 1, 1).selectExpr(
        "cast(id AS INT) AS agent_id", "concat('team ', id % 12) AS team",
        "element_at(array('Berlin', 'Porto', 'Cork'), cast(1 + id % 3 AS INT)) AS site",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("products")
def write_products(job: Job, path: str) -> None:
    """Write what the products are."""
    job.spark.range(0, PRODUCTS, 1, 1).selectExpr(
        "cast(id AS INT) AS product_id", "concat('family ', id % 20) AS family",
        "concat('product ', id) AS product", "cast(24 + id % 5 * 24 AS INT) AS hours",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("customers")
def write_customers(job: Job, path: str) -> None:
    """Write who the customers are, of whom few have the best contract."""
    job.spark.range(0, CUSTOMERS, 1, 4).selectExpr(
        "id AS customer_id", "if(id % 80 = 3, 'platinum', concat('tier ', id % 4)) AS tier",
        "concat('company ', hex(xxhash64(id)), hex(xxhash64(id, 1))) AS company",
        "concat(lower(hex(xxhash64(id, 2))), lower(hex(xxhash64(id, 3))), '@b.example') AS mail",
        "concat(hex(xxhash64(id, 4)), ' street ', hex(xxhash64(id, 5))) AS street",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def _backup(job: Job, path: str, megabytes: int) -> None:
    few = job.table("tickets").where("ticket_id % 2 = 0")
    few.select("ticket_id", "product_id", "priority", "body").coalesce(1).write.mode(
        "overwrite"
    ).option("parquet.block.size", str(megabytes << 20)).parquet(path)


SHAPE.input("backup")(lambda job, path: _backup(job, path, 1024))
SHAPE.input("backup-in-groups")(lambda job, path: _backup(job, path, 2))


@SHAPE.input("exported")
def write_exported(job: Job, path: str) -> None:
    """Write tickets as CSV with names in the first line, as the desk's web page exports them."""
    job.table("tickets").selectExpr(
        "ticket_id", "queue", "priority", "channel", "minutes", "minutes / 64D AS weight",
        "opened_at AS opened", "subject",
    ).write.mode("overwrite").csv(path, header=True)  # fmt: skip


@SHAPE.input("arrived")
def write_arrived(job: Job, path: str) -> None:
    """Write tickets of the last days in 16 files, one for each delivery."""
    last = job.table("tickets").where(f"ticket_id >= {ROWS // 2}")
    last.select("ticket_id", "queue", "product_id", "minutes", "subject").repartition(
        16, "ticket_id"
    ).write.mode("overwrite").parquet(path)


@SHAPE.input("threads")
def write_threads(job: Job, path: str) -> None:
    """Write an archive in folders by week: whole threads, in which mails quote those before."""
    quoted = " || ".join(f"'\\n{'> ' * depth}' || body" for depth in range(1, 16))
    steps = (
        "transform(sequence(1, 12), i -> named_struct('agent', (agent_id + i) % 300,"
        " 'minute', minutes DIV 20 * i, 'action', concat('action ', (i + priority) % 7)))"
    )
    job.table("tickets").selectExpr(
        "ticket_id", "queue", "product_id", "minutes", f"body || {quoted} AS thread",
        f"{steps} AS steps", "date_format(opened_at, 'yyyy-') || lpad(weekofyear(opened_at), 2, 0)"
        " AS week",
    ).repartition(26, "week").write.mode("overwrite").partitionBy("week").option(
        "compression", "zstd"
    ).parquet(path)  # fmt: skip


@SHAPE.input("comments")
def write_comments(job: Job, path: str) -> None:
    """Write what was said on one ticket in two: six to fourteen comments each."""
    job.spark.range(0, ROWS // 2, 1, 8).selectExpr(
        "id * 2 AS ticket_id", "explode(sequence(1, cast(6 + pmod(xxhash64(id), 9) AS INT))) AS nth"
    ).selectExpr(
        "ticket_id", "cast(nth * 90 + pmod(xxhash64(ticket_id, nth), 80) AS INT) AS minute",
        f"cast(pmod(xxhash64(nth, ticket_id), {AGENTS}) AS INT) AS author",
        "concat('see ', hex(xxhash64(ticket_id, nth, 1))) AS remark",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("attachments")
def write_attachments(job: Job, path: str) -> None:
    """Write what was sent along with one ticket in two: five to thirteen files each."""
    job.spark.range(0, ROWS // 2, 1, 8).selectExpr(
        "id * 2 AS ticket_id",
        "explode(sequence(1, cast(5 + pmod(xxhash64(id, 7), 9) AS INT))) AS nth",
    ).selectExpr(
        "ticket_id", "cast(pmod(xxhash64(ticket_id, nth, 3), 4000000) AS INT) AS bytes",
        "concat(hex(xxhash64(nth, ticket_id)), '.', element_at(array('png', 'log'), 1 + nth % 2))"
        " AS name",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def usual(job: Job) -> None:
    """Report the last months' tickets by team and hour, and the words of subjects by family."""
    last = job.table("tickets").where(f"opened_at >= timestamp_seconds({START + 120 * 86400})")
    job.publish(
        "teams",
        last.join(job.table("agents"), "agent_id")
        .groupBy("team", "queue", F.hour("opened_at").alias("hour"))
        .agg(F.count("*").alias("n"), F.max("minutes").alias("longest")),
    )
    word = F.explode(F.split("subject", " ")).alias("word")
    job.publish(
        "subjects",
        last.select("product_id", word, "minutes").join(job.table("products"), "product_id")
        .groupBy("family", "word").agg(F.count("*").alias("n"), F.sum("minutes").alias("minutes")),
    )  # fmt: skip


SHAPE.usual = usual
