"""Causes planted in the job on claims: each part gives the same rows with and without."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from benchmarks.faults.later.job import Job
from benchmarks.faults.sixth.claims import BOOKED, BUCKETS, DELIVERED, SHAPE

ARCHIVED = "claim_id LONG, line INT, words INT, control LONG"


class ArchiveReader(DataSourceReader):  # type: ignore[misc]
    """Reads notes of old claims, a file in each task.

    Parameters
    ----------
    folder : str
        Where the files lie.
    resets : bool
        Whether the archive resets the connection at the end of a first attempt.
    """

    def __init__(self, folder: str, resets: bool) -> None:
        self.folder, self.resets = folder, resets

    def partitions(self) -> list[InputPartition]:
        """Give a partition for each file."""
        return [InputPartition(str(file)) for file in sorted(Path(self.folder).glob("*.xz"))]

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        """Unpack a file, count the words of its notes, and compute their controls."""
        from pyspark import TaskContext

        with lzma.open(partition.value, "rt") as packed:
            for row in packed:
                claim, line, note = row.rstrip("\n").split("|")
                control = 0
                for word in note.split(" "):
                    control = (control * 31 + len(word)) % 999_983
                yield int(claim), int(line), note.count(" ") + 1, control
        task = TaskContext.get()
        if self.resets and task is not None and task.attemptNumber() == 0:
            raise ConnectionResetError(f"the archive reset the connection after {partition.value}")


class Archive(DataSource):  # type: ignore[misc]
    """Notes of old claims as a source of data."""

    @classmethod
    def name(cls) -> str:
        """Give what the source is called."""
        return "archive"

    def schema(self) -> str:
        """Give the columns."""
        return ARCHIVED

    def reader(self, schema: Any) -> DataSourceReader:
        """Give what reads the archive."""
        return ArchiveReader(self.options["path"], self.options["resets"] == "true")


@SHAPE.cause()
def codegen_off(job: Job) -> DataFrame:
    """A helper for sessions sets what was set once to look into generated code; or does not."""
    if job.on:
        helper: Any = SparkSession.builder
        helper.config("spark.sql.codegen.wholeStage", "false").config(
            "spark.sql.codegen.factoryMode", "NO_CODEGEN"
        ).getOrCreate()
    claims = job.table("claims").where("paid > 5 AND status != 'declined'").select(
        "line", "peril", "paid", "reserve", "happened",
        F.explode(F.sequence(F.lit(0), F.lit(8))).alias("month"),
    )  # fmt: skip
    parts = claims.selectExpr(
        "line", "peril", "(month(happened) + month) % 12 AS due", "paid * month AS part",
        "if(month % 2 = 0, reserve - paid, paid) AS rest", "day(happened) + month AS day",
    )  # fmt: skip
    return parts.where("rest > -9000 AND day != 31").groupBy("line", "peril", "due").agg(
        F.sum("part").alias("part"), F.sum("rest").alias("rest"), F.max("day").alias("day"),
        F.count("*").alias("n"),
    )  # fmt: skip


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """Policies of the dearest claims and their tariffs are fetched one by one; or joined."""
    for name in ("claims", "policies", "tariffs"):
        job.table(name)
    dearest = job.spark.sql(
        "SELECT claim_id, policy_id, reserve FROM claims ORDER BY reserve DESC, claim_id LIMIT 80"
    )

    def find(table: str, key: str, value: Any) -> Any:
        return job.spark.sql(f"SELECT * FROM {table} WHERE {key} = :value", {"value": value}).head()

    if job.on:
        found = []
        for claim in dearest.collect():
            policy = find("policies", "policy_id", claim.policy_id)
            tariff = find("tariffs", "tariff", policy.tariff)
            found.append((claim.claim_id, claim.reserve, policy.state, policy.since, tariff.share))
        return job.spark.createDataFrame(
            found,
            "claim_id LONG, reserve DECIMAL(12,2), state STRING, since DATE, share DECIMAL(4,2)",
        )
    return (
        dearest.join(job.table("policies"), "policy_id")
        .join(job.table("tariffs"), "tariff")
        .select("claim_id", "reserve", "state", "since", "share")
    )


@SHAPE.cause("archive")
def failing_tasks(job: Job) -> DataFrame:
    """A source of data in Python loses its connection once for each file; or keeps it."""
    job.spark.dataSource.register(Archive)
    reader = job.spark.read.format("archive").option("resets", str(job.on).lower())
    return (
        reader.load(job.path("archive"))
        .groupBy("line", "words")
        .agg(F.count("*").alias("n"), F.sum("control").alias("control"), F.max("claim_id"))
        .withColumnRenamed("max(claim_id)", "last")
    )


@SHAPE.cause("forms")
def json_again(job: Job) -> DataFrame:
    """A function of SQL takes a field out of a form, and is called for each; or all are taken."""
    names = ("plate", "maker", "age", "speed", "told", "hurt", "weather", "road", "doubt",
             "witnesses")  # fmt: skip
    job.table("forms")
    if job.on:
        job.spark.sql(
            """
            CREATE OR REPLACE TEMPORARY FUNCTION answer(form STRING, name STRING) RETURNS STRING
            RETURN get_json_object(form, concat('$.', name))
            """
        )
        answers = ", ".join(f"answer(form, '{name}') AS {name}" for name in names)
        taken = f"SELECT claim_id, line, {answers} FROM forms"
    else:
        asked = ", ".join(f"'{name}'" for name in names)
        view = f"LATERAL VIEW json_tuple(form, {asked}) taken AS {', '.join(names)}"
        taken = f"SELECT claim_id, line, {', '.join(names)} FROM forms {view}"
    return job.spark.sql(
        f"""
        SELECT line, maker, weather, road, count(*) AS n, count_if(hurt = 'true') AS hurt,
               max(cast(speed AS INT)) AS speed, sum(cast(age AS INT)) AS age,
               sum(cast(doubt AS INT)) AS doubt, sum(length(told)) AS told,
               bit_xor(xxhash64(plate)) AS plates,
               max(length(witnesses)) AS witnesses
        FROM ({taken}) GROUP BY line, maker, weather, road
        """
    )


@SHAPE.cause("experts")
def nested_loop(job: Job) -> DataFrame:
    """An expert's offices are a list in a text that is searched; or one row for each office."""
    job.table("claims")
    job.table("experts")
    if job.on:
        experts, meets = "experts", "find_in_set(office, covers) > 0"
    else:
        experts = "(SELECT expert, field, explode(split(covers, ',')) AS covered FROM experts)"
        meets = "office = covered"
    return job.spark.sql(
        f"""
        SELECT expert, field, peril, count(*) AS n, sum(reserve) AS reserve, max(filed) AS filed
        FROM claims JOIN {experts} ON {meets}
        GROUP BY expert, field, peril
        """
    )


@SHAPE.cause()
def no_broadcast(job: Job) -> DataFrame:
    """Files are said to grow fortyfold when they are read, so policies seem large, by a setting."""
    claims = job.table("claims").select(
        "policy_id", "peril", "reserve", "note", "card", "filed",
        F.explode(F.sequence(F.lit(1), F.lit(5))).alias("part"),
    )  # fmt: skip
    policies = job.table("policies").select("policy_id", "state", "premium", "since")
    return claims.join(policies, "policy_id").groupBy("state", "part", "peril").agg(
        F.sum(F.expr("reserve * part / 15")).alias("reserve"), F.max("premium").alias("premium"),
        F.sum(F.length("note") + F.length("card")).alias("letters"), F.max("filed").alias("filed"),
        F.count_if(F.col("filed") < F.col("since")).alias("before"),
    )  # fmt: skip


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """A query names losses once in WITH and reads them four times; or they are cached before."""
    job.table("claims")
    job.table("policies")
    losses = """
        SELECT c.tariff, line, peril, state, sum(paid) AS paid, max(reserve) AS reserve,
               count(*) AS n, sum(datediff(filed, happened)) AS late, max(happened) AS last,
               sum(size(split(note, ' '))) AS words
        FROM claims c JOIN policies p USING (policy_id)
        WHERE status != 'declined' GROUP BY c.tariff, line, peril, state"""
    if job.on:
        known = f"WITH losses AS ({losses})"
    else:
        job.spark.sql(f"CACHE TABLE losses AS {losses}")
        known = ""
    return job.spark.sql(
        f"""
        {known}
        SELECT l.state, l.line, count(*) AS n, sum(l.paid) AS paid, max(l.paid - t.mean) AS above,
               max(most) AS most, sum(s.late) AS late, max(l.last) AS last, max(s.words) AS words,
               sum(l.words * 100 DIV m.words) AS share, max(t.words) AS told
        FROM losses l
        JOIN (SELECT tariff, avg(paid) AS mean, max(words) AS words FROM losses GROUP BY tariff) t
          USING (tariff)
        JOIN (SELECT line, max(reserve) AS most, sum(words) AS words FROM losses WHERE n > 1
              GROUP BY line) m USING (line)
        JOIN (SELECT state, max(late) AS late, min(words) AS words FROM losses GROUP BY state) s
          USING (state)
        WHERE l.paid > t.mean
        GROUP BY l.state, l.line
        """
    )


@SHAPE.cause("seasons")
def per_pair(job: Job) -> DataFrame:
    """The day of a claim is written as text beside each season of its tariff; or once before."""
    job.table("claims")
    job.table("seasons")
    claims, day = "claims", "date_format(happened, 'MMdd')"
    if not job.on:
        claims, day = f"(SELECT tariff, peril, paid, {day} AS day FROM claims)", "day"
    return job.spark.sql(
        f"""
        SELECT tariff, begins, peril, count(*) AS n, sum(paid * weight) AS paid
        FROM {claims} c, LATERAL (
          SELECT begins, weight FROM seasons s
          WHERE s.tariff = c.tariff AND {day} >= begins AND {day} <= ends)
        GROUP BY tariff, begins, peril
        """
    )


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """A Python function checks the last digit of numbers of cards; or the function of Spark."""

    def is_valid(card: str) -> bool:
        total = 0
        for place, digit in enumerate(reversed(card)):
            value = int(digit) * (1 + place % 2)
            total += value - 9 if value > 9 else value
        return total % 10 == 0

    valid = F.udf(is_valid, "boolean")("card") if job.on else F.expr("luhn_check(card)")
    return job.table("claims").where(valid).groupBy("office", "peril").agg(
        F.sum("paid").alias("paid"), F.count("*").alias("n"), F.max("filed").alias("filed")
    )  # fmt: skip


@SHAPE.cause("delivered")
def schema_inferred(job: Job) -> DataFrame:
    """Arrays of JSON over many lines are read for their types, decimals first; or known ones."""
    reader = job.spark.read.option("multiLine", True)
    reader = reader.option("prefersDecimal", True) if job.on else reader.schema(DELIVERED)
    items = reader.json(job.path("delivered")).select(
        "office", "peril", F.to_date("happened").alias("happened"), "claim_id", "paid",
        F.explode("items").alias("item"),
    )  # fmt: skip
    return items.groupBy("peril", "item.part", F.month("happened").alias("month")).agg(
        F.sum("item.price").cast("decimal(24,2)").alias("price"), F.count("*").alias("n"),
        F.max("claim_id").alias("last"), F.sum("paid").cast("decimal(24,2)").alias("paid"),
        F.bit_xor(F.xxhash64("office")).alias("offices"),
    )  # fmt: skip


@SHAPE.cause()
def skewed_key(job: Job) -> DataFrame:
    """The line of business is the number of the partition, and most is motor; or claims' last."""
    claims = job.table("claims").where("claim_id % 3 > 0")
    claims = claims.select("claim_id", "line", "peril", "note", "card", "paid")
    dealt = claims.repartitionById(8, "line" if job.on else F.expr("cast(claim_id % 8 AS INT)"))
    masked = dealt.select(
        "claim_id", "line", "peril", "paid", F.sha2("card", 512).alias("card"),
        F.posexplode(F.split(F.mask("note"), " "))
        .alias("place", "word"),
    )  # fmt: skip
    return masked.groupBy("line", "peril", "word").agg(
        F.count("*").alias("n"), F.sum("place").alias("place"), F.max("claim_id").alias("last"),
        F.sum("paid").alias("paid"), F.bit_xor(F.xxhash64("card")).alias("cards"),
    )  # fmt: skip


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Histories of all policies are built at once as objects, in little heap, by a setting."""
    job.table("claims")
    return job.spark.sql(
        """
        SELECT size(offices) AS offices, size(tariffs) AS tariffs, count(*) AS policies,
               sum(size(amounts)) AS n, max(array_max(amounts)) AS most,
               max(array_max(days)) AS last
        FROM (
          SELECT policy_id, collect_set(office) AS offices, collect_set(tariff) AS tariffs,
                 collect_list(paid) AS amounts, collect_list(happened) AS days
          FROM claims GROUP BY policy_id)
        GROUP BY size(offices), size(tariffs)
        """
    )


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """Instalments are put in order for a window, and spill after some thousands, by a setting."""
    job.table("claims")
    return job.spark.sql(
        """
        SELECT peril, part, count(*) AS n, sum(gap) AS gap, max(paid) AS paid, max(filed) AS filed,
               sum(length(note) + length(card) + length(office)) AS letters
        FROM (
          SELECT peril, part, paid, filed, note, card, office,
                 unix_seconds(filed) - unix_seconds(lag(filed) OVER of_policy) AS gap
          FROM claims LATERAL VIEW explode(sequence(1, 4)) AS part
          WINDOW of_policy AS (PARTITION BY policy_id, part ORDER BY filed, claim_id))
        GROUP BY peril, part
        """
    )


@SHAPE.cause("booked-finely", "booked")
def tiny_tasks(job: Job) -> DataFrame:
    """A table has as many buckets as its large cousin elsewhere, a task for each; or eight."""
    buckets, name = (BUCKETS, "booked-finely") if job.on else (8, "booked")
    table = f"booked_{buckets}"
    job.spark.sql(
        f"""
        CREATE TABLE IF NOT EXISTS {table} ({BOOKED}) USING parquet
        CLUSTERED BY (policy_id) INTO {buckets} BUCKETS LOCATION '{job.path(name)}'
        """
    )
    return job.spark.sql(
        f"""
        SELECT n, month(last) AS month, count(*) AS policies, sum(paid) AS paid,
               max(reserve) AS reserve
        FROM (
          SELECT policy_id, count(*) AS n, sum(paid) AS paid, max(reserve) AS reserve,
                 max(happened) AS last
          FROM {table} GROUP BY policy_id)
        GROUP BY n, month(last)
        """
    )
