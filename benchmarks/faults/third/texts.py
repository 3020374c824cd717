"""Texts: short documents, long strings of many words, few columns. Inputs, and usual reports."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("texts")
TABLES = ("texts", "authors")
ROWS = 240_000 * SIZE
AUTHORS = 5000
COLUMNS = "doc_id LONG, author LONG, language STRING, title STRING, body STRING"
LANGUAGES = "array('de', 'en', 'fr', 'it', 'pl', 'sv')"
SYLLABLES = "array('ba', 'ke', 'lim', 'mo', 'nur', 'pra', 'sti', 'to')"


def words(n: str) -> str:
    """Give an expression of a text of so many words, out of twenty thousand."""
    word = (
        f"concat(element_at({SYLLABLES}, cast(1 + pmod(xxhash64(id, i), 8) AS INT)),"
        " lower(conv(cast(pmod(xxhash64(id, i), 20000) AS STRING), 10, 36)))"
    )
    return f"array_join(transform(sequence(1L, {n}), i -> {word}), ' ')"


@SHAPE.input("texts")
def write_texts(job: Job, path: str) -> None:
    """Write texts of forty to eighty words."""
    ids = job.spark.range(0, ROWS, 1, 8)
    ids.selectExpr("id", "xxhash64(id) AS h").selectExpr(
        "id AS doc_id", f"pmod(h, {AUTHORS}) AS author",
        f"element_at({LANGUAGES}, cast(1 + pmod(xxhash64(h), 6) AS INT)) AS language",
        "lower(hex(h)) AS title", f"{words('40L + pmod(h, 41)')} AS body",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("authors")
def write_authors(job: Job, path: str) -> None:
    """Write who the authors are."""
    job.spark.range(0, AUTHORS, 1, 1).selectExpr(
        "id AS author", "concat('country ', pmod(xxhash64(id), 30)) AS country",
        "concat('genre ', id % 7) AS genre",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def _lines(job: Job, path: str, files: int) -> None:
    verses = F.regexp_replace("body", " ba", "\nba").alias("body")
    texts = job.table("texts").select("doc_id", "language", verses)
    texts.coalesce(files).write.mode("overwrite").csv(path)


SHAPE.input("one-file")(lambda job, path: _lines(job, path, 1))
SHAPE.input("in-parts")(lambda job, path: _lines(job, path, 8))


@SHAPE.input("volumes")
def write_volumes(job: Job, path: str) -> None:
    """Write texts of which those of one language are forty times as long as others."""
    ids = job.spark.range(0, 120_000, 1, 8)
    ids.selectExpr(
        "id AS doc_id", f"element_at({LANGUAGES}, cast(1 + id % 6 AS INT)) AS language",
        f"{words('if(id % 6 = 1, 800L, 20L)')} AS body",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("prefixes")
def write_prefixes(job: Job, path: str) -> None:
    """Write which beginnings of titles are on which shelf: half of those of three letters."""
    job.spark.range(0, 4096, 2, 1).selectExpr(
        "lpad(lower(hex(id)), 3, '0') AS prefix", "concat('shelf ', id % 31) AS shelf"
    ).write.mode("overwrite").parquet(path)


@SHAPE.input("grades")
def write_grades(job: Job, path: str) -> None:
    """Write for each language how many vowels make which grade: fifteen ranges."""
    job.spark.range(0, 6 * 15, 1, 1).selectExpr(
        f"element_at({LANGUAGES}, cast(1 + id % 6 AS INT)) AS language",
        "cast(60 + (id DIV 6) * 10 AS INT) AS least", "cast(70 + (id DIV 6) * 10 AS INT) AS beyond",
        "concat('grade ', id DIV 6) AS grade",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("revisions")
def write_revisions(job: Job, path: str) -> None:
    """Write texts beside what became of them: one of three has another last word."""
    job.table("texts").where("doc_id % 10 = 0").selectExpr(
        "doc_id", "language", "body",
        "if(pmod(xxhash64(doc_id), 3) = 0, concat(body, ' end'), body) AS revised",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("xml")
def write_xml(job: Job, path: str) -> None:
    """Write texts as XML."""
    few = job.table("texts").where("doc_id % 2 = 0")
    few.write.mode("overwrite").options(rowTag="text", rootTag="texts").format("xml").save(path)


def _feed(job: Job) -> DataFrame:
    copies = job.spark.range(0, 2, 1, 1).withColumnRenamed("id", "copy")
    twice = job.table("texts").crossJoin(F.broadcast(copies))
    return twice.withColumn("doc_id", F.expr("doc_id * 2 + copy")).drop("copy")


@SHAPE.input("feed")
def write_feed(job: Job, path: str) -> None:
    """Write each text twice, as XML."""
    _feed(job).write.mode("overwrite").options(rowTag="text", rootTag="texts").format("xml").save(
        path
    )


SHAPE.input("feed-columns")(
    lambda job, path: _feed(job).write.mode("overwrite").parquet(path)
)  # fmt: skip


@SHAPE.input("one-file-each")
def write_one_file_each(job: Job, path: str) -> None:
    """Write six thousand texts, each into a file of its own."""
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    few = job.table("texts").where("doc_id % 40 = 0").select("doc_id", "body")
    for doc_id, body in few.collect():
        (folder / f"{doc_id:06}.txt").write_text(body)


SHAPE.input("few-files")(
    lambda job, path: job.table("texts").where("doc_id % 40 = 0")
    .select(F.col("body").alias("value")).coalesce(4).write.mode("overwrite").parquet(path)
)  # fmt: skip


@SHAPE.input("profiles")
def write_profiles(job: Job, path: str) -> None:
    """Write what members say of themselves; some of the authors are in the guild."""
    job.spark.range(0, 400_000, 1, 8).selectExpr(
        "id AS author", "concat('town ', pmod(xxhash64(id), 50)) AS town",
        "concat(hex(xxhash64(id)),"
        f" if(id < {AUTHORS} AND id % 10 = 0, ' of the guild ', ' reads a lot '),"
        " hex(xxhash64(id, 1)), hex(xxhash64(id, 2))) AS about",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def usual(job: Job) -> None:
    """Report the words of the newest texts by language, and texts by country and genre."""
    texts, authors = job.table("texts"), job.table("authors")
    newest = texts.where(f"doc_id >= {ROWS * 2 // 3}").select(
        "language", F.explode(F.split("body", " ")).alias("word")
    )
    job.publish("words", newest.groupBy("language", "word").agg(F.count("*").alias("n")))
    job.publish(
        "genres",
        texts.join(authors, "author").groupBy("country", "genre").agg(
            F.count("*").alias("n"), F.sum(F.length("body")).alias("letters"),
            F.max("doc_id").alias("last"),
        ),
    )  # fmt: skip


SHAPE.usual = usual
