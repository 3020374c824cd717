"""Causes planted in the job on texts: each part gives the same rows with and without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.later.job import Job
from benchmarks.faults.third.texts import COLUMNS, SHAPE

LANGUAGES = ("de", "en", "fr", "it", "pl", "sv")


@SHAPE.cause()
def one_task(job: Job) -> DataFrame:
    """All files are read by one task, by settings."""
    placed = job.table("texts").select(
        "language", "doc_id", F.posexplode(F.split("body", " ")).alias("place", "word")
    )
    return placed.groupBy("language", "word").agg(
        F.count("*").alias("n"), F.max("doc_id").alias("last"), F.sum("place").alias("places")
    )


@SHAPE.cause("one-file", "in-parts")
def gzip_input(job: Job) -> DataFrame:
    """One file of CSV has fields that go over lines, so that it cannot be split; or eight have."""
    path = job.path("one-file" if job.on else "in-parts")
    known = "doc_id LONG, language STRING, body STRING"
    texts = job.spark.read.csv(path, schema=known, multiLine=True)
    lines = texts.select("doc_id", "language", F.explode(F.split("body", "\n")).alias("line"))
    words = lines.select("doc_id", "language", F.explode(F.split("line", " ")).alias("word"))
    return words.groupBy("language", "word").agg(
        F.count("*").alias("n"), F.max("doc_id").alias("last")
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """A hint in a query asks for thousands of partitions."""
    job.table("texts")
    hint = "/*+ REPARTITION(3000, author) */" if job.on else ""
    return job.spark.sql(
        f"""
        SELECT language, author % 50 AS circle, count(*) AS n, sum(longer) AS longer FROM (
          SELECT language, author, length(body) - length(lag(body) OVER (
            PARTITION BY author ORDER BY doc_id)) AS longer
          FROM (SELECT {hint} language, author, doc_id, body FROM texts))
        GROUP BY language, author % 50
        """
    )


@SHAPE.cause("volumes")
def skewed_key(job: Job) -> DataFrame:
    """Texts are brought together by language, of which one has the long ones; or left in place."""
    volumes = job.table("volumes")
    if job.on:
        volumes = volumes.repartition(8, "language")
    words = volumes.select(
        "language", "doc_id", F.posexplode(F.split("body", " ")).alias("place", "word")
    )
    return words.groupBy("language", "word").agg(
        F.count("*").alias("n"), F.max("place").alias("latest"), F.max("doc_id").alias("last")
    )


@SHAPE.cause("prefixes")
def interval_join(job: Job) -> DataFrame:
    """Titles are joined with what they start with; or by their first three letters."""
    texts, prefixes = (
        job.table("texts").select("title", "language", "doc_id"),
        job.table("prefixes"),
    )
    if job.on:
        shelved = texts.join(prefixes, texts.title.startswith(prefixes.prefix))
    else:
        shelved = texts.join(prefixes, F.substring("title", 1, 3) == prefixes.prefix)
    return shelved.groupBy("shelf", "language").agg(
        F.count("*").alias("n"), F.max("doc_id").alias("last")
    )


@SHAPE.cause("grades")
def pair_expression(job: Job) -> DataFrame:
    """Vowels are counted for each text and grade of its language; or once for each text."""
    job.table("texts")
    job.table("grades")
    vowels = "length(regexp_replace(lower(body), '[^aeiou]', ''))"
    source = "SELECT language, doc_id, body FROM texts WHERE doc_id % 10 = 0"
    if not job.on:
        source = f"SELECT language, doc_id, {vowels} AS vowels FROM texts WHERE doc_id % 10 = 0"
        vowels = "vowels"
    return job.spark.sql(
        f"""
        SELECT t.language, grade, count(*) AS n, max(doc_id) AS last FROM ({source}) t
        LEFT JOIN grades g ON t.language = g.language AND {vowels} >= least AND {vowels} < beyond
        GROUP BY t.language, grade
        """
    )


@SHAPE.cause("revisions")
def costly_pattern(job: Job) -> DataFrame:
    """Whether a text was changed is found by its distance from before; or by comparing."""
    same = "levenshtein(body, revised) = 0" if job.on else "body = revised"
    return job.table("revisions").groupBy("language", F.expr(same).alias("same")).agg(
        F.count("*").alias("n"), F.max("doc_id").alias("last")
    )  # fmt: skip


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """Words are cut by a table function in Python; or by a generator of Spark."""

    class Words:
        def eval(self, body: str) -> Iterator[tuple[str]]:
            for word in body.split(" "):
                yield (word,)

    job.table("texts")
    if job.on:
        job.spark.udtf.register("words_of", F.udtf(Words, returnType="word STRING"))
        source = "few, LATERAL words_of(body)"
    else:
        source = "few LATERAL VIEW explode(split(body, ' ')) AS word"
    return job.spark.sql(
        f"""
        WITH few AS (SELECT language, body FROM texts WHERE doc_id % 4 = 0)
        SELECT language, word, count(*) AS n FROM {source} GROUP BY language, word
        """
    )


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """Weights of words take several passes over what was counted, which count it each."""
    few = job.table("texts").where("doc_id % 3 > 0")
    words = few.select("language", "doc_id", F.explode(F.split(F.lower("body"), " ")).alias("word"))
    counted = words.groupBy("language", "word").agg(
        F.count("*").alias("n"), F.max("doc_id").alias("last")
    )
    if not job.on:
        counted = counted.persist()
    totals = {
        row["language"]: row["n"]
        for row in counted.groupBy("language").agg(F.sum("n").alias("n")).collect()
    }
    common = counted.groupBy("word").agg(F.sum("n").alias("n")).where("n > 100").count()
    newest = counted.agg(F.max("last")).collect()[0][0]
    known = job.spark.createDataFrame(sorted(totals.items()), "language STRING, total LONG")
    return (
        counted.join(F.broadcast(known), "language")
        .where(f"last < {newest}")
        .groupBy("language", F.expr("n * 1000000 DIV total").alias("weight"))
        .agg(F.count("*").alias("words"), F.max("last").alias("last"))
        .withColumn("common", F.lit(common))
    )


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """Middle lengths are searched by halving, a query each step; or asked for at once."""
    sizes = job.table("texts").select("language", F.length("body").alias("size"))
    if not job.on:
        middle = F.expr("percentile_disc(0.5) WITHIN GROUP (ORDER BY size)")
        return sizes.groupBy("language").agg(middle.cast("int").alias("size"))
    sizes = sizes.cache()
    found = []
    for language in LANGUAGES:
        mine = sizes.where(F.col("language") == language)
        half, low, high = mine.count() / 2, 0, 1023
        while low < high:
            middle = (low + high) // 2
            if mine.where(F.col("size") <= middle).count() >= half:
                high = middle
            else:
                low = middle + 1
        found.append((language, low))
    return job.spark.createDataFrame(found, "language STRING, size INT")


@SHAPE.cause()
def idle_driver(job: Job) -> DataFrame:
    """The program computes checks of texts bit by bit; or a function of Spark does."""

    def check(text: str) -> int:
        value = 0xFFFFFFFF
        for each in text.encode():
            value ^= each
            for _ in range(8):
                value = (value >> 1) ^ (0xEDB88320 if value & 1 else 0)
        return value ^ 0xFFFFFFFF

    few = job.table("texts").where("doc_id % 12 = 0").select("doc_id", "language", "body")
    if job.on:
        rows = [(row[0], row[1], check(row[2])) for row in few.collect()]
        checks = job.spark.createDataFrame(rows, "doc_id LONG, language STRING, value LONG")
    else:
        checks = few.selectExpr("doc_id", "language", "crc32(cast(body AS BINARY)) AS value")
    return checks.groupBy("language").agg(
        F.bit_xor("value").alias("value"), F.max("value").alias("most"), F.count("*").alias("n")
    )


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """The program writes lines of JSON out of rows that it fetched; or Spark writes them."""
    texts = job.table("texts").select("doc_id", "author", "language", "title", "body")
    path = job.output("lines")
    if job.on:
        Path(path).mkdir(parents=True, exist_ok=True)
        with open(f"{path}/all.json", "w") as lines:
            for row in texts.collect():
                lines.write(json.dumps(row.asDict()) + "\n")
    else:
        texts.write.mode("overwrite").json(path)
    return (
        job.table("texts")
        .groupBy("language")
        .agg(F.count("*").alias("n"), F.max("title").alias("title"))
    )


@SHAPE.cause("xml")
def schema_inferred(job: Job) -> DataFrame:
    """Elements of XML are looked for before it is read; or they are known."""
    reader = job.spark.read.format("xml").option("rowTag", "text")
    if not job.on:
        reader = reader.schema(COLUMNS)
    return reader.load(job.path("xml")).groupBy("language").agg(
        F.count("*").alias("n"), F.max("doc_id").alias("last")
    )  # fmt: skip


@SHAPE.cause("one-file-each", "few-files")
def small_files(job: Job) -> DataFrame:
    """Each text is a file, read as a whole; or a row."""
    if job.on:
        texts = job.spark.read.text(job.path("one-file-each"), wholetext=True)
    else:
        texts = job.spark.read.parquet(job.path("few-files"))
    return texts.select(F.explode(F.split("value", " ")).alias("word")).groupBy("word").count()


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """First and last texts are found by sorting whole texts in little memory, by a setting."""
    ends = job.table("texts").groupBy("author", "language").agg(
        F.max("body").alias("last"), F.min("body").alias("first"), F.count("*").alias("n")
    )  # fmt: skip
    return ends.groupBy("language").agg(
        F.max("last").alias("last"), F.min("first").alias("first"), F.max("n").alias("n")
    )


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Pairs of words are kept as sets of objects in little heap, by a setting."""
    job.table("texts")
    return job.spark.sql(
        """
        SELECT language, size(collect_set(pair)) AS pairs, count(*) AS n FROM (
          SELECT language, explode(transform(sequence(0, size(words) - 2),
                   i -> concat(words[i], ' ', words[i + 1]))) AS pair
          FROM (SELECT language, split(body, ' ') AS words FROM texts WHERE doc_id % 5 = 0))
        GROUP BY language
        """
    )


@SHAPE.cause()
def interpreted_plan(job: Job) -> DataFrame:
    """Rows of more than one column are not compiled into stages, by a setting."""
    texts = job.table("texts").select(
        "language", "doc_id", F.explode(F.split("body", " ")).alias("word")
    )
    long = texts.where("length(word) > 3 AND word > 'c'")
    rated = long.select("*", F.explode(F.expr("sequence(0, 2)")).alias("cut")).selectExpr(
        "language", "doc_id % 1000 AS part", "length(word) - cut AS size",
        "doc_id * 7 + length(word) * cut AS mark", "substr(word, cut, 2) AS start",
    )  # fmt: skip
    return rated.where("mark % 5 != 2").groupBy("language", "start").agg(
        F.sum("size").alias("size"), F.max("mark").alias("mark"), F.sum("part").alias("part"),
        F.count("*").alias("n"),
    )  # fmt: skip


@SHAPE.cause("profiles")
def no_broadcast(job: Job) -> DataFrame:
    """That few members are of the guild is not known to Spark; or a hint says so."""
    guild = job.table("profiles").where("about LIKE '%of the guild%'").select("author", "town")
    if not job.on:
        guild = F.broadcast(guild)
    texts = job.table("texts").select("author", "doc_id", "language", "title", "body")
    words = texts.join(guild, "author").select(
        "town", "language", "doc_id", F.length("title").alias("title"),
        F.explode(F.split("body", " ")).alias("word"),
    )  # fmt: skip
    return words.groupBy("town", "language").agg(
        F.count("*").alias("n"), F.sum(F.length("word")).alias("letters"),
        F.max("title").alias("title"), F.max("doc_id").alias("last"),
    )  # fmt: skip


@SHAPE.cause()
def failing_tasks(job: Job) -> DataFrame:
    """A pandas function of groups fails once at the last of each task."""
    on = job.on

    def count(rows: pd.DataFrame) -> pd.DataFrame:
        from pyspark import TaskContext

        task, circle = TaskContext.get(), int(rows["circle"].iloc[0])
        if on and circle >= 380 and task is not None and task.attemptNumber() == 0:
            raise RuntimeError(f"the model of circle {circle} is not there")
        split = [body.split(" ") for body in rows["body"]]
        pairs = sum(len(set(pairwise(words))) for words in split)
        return pd.DataFrame({"circle": [circle], "n": [len(split)], "pairs": [pairs]})

    few = job.table("texts").select((F.col("author") % 400).alias("circle"), "body")
    return few.groupBy("circle").applyInPandas(count, "circle LONG, n LONG, pairs LONG")


@SHAPE.cause("feed", "feed-columns")
def text_format(job: Job) -> DataFrame:
    """Texts are read from XML; or from Parquet."""
    if job.on:
        texts = job.spark.read.schema(COLUMNS).xml(job.path("feed"), rowTag="text")
    else:
        texts = job.spark.read.parquet(job.path("feed-columns"))
    return texts.groupBy("language", (F.col("author") % 100).alias("circle")).agg(
        F.count("*").alias("n"), F.sum(F.length("body")).alias("letters"),
        F.max("doc_id").alias("last"), F.max(F.length("title")).alias("title"),
    )  # fmt: skip
