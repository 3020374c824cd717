"""Causes planted in the job on genes: each part gives the same rows with and without."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pyarrow.compute as pc
from pyspark.ml import Pipeline
from pyspark.ml.feature import MinMaxScaler, QuantileDiscretizer, StandardScaler, VectorAssembler
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from benchmarks.faults.fifth.genes import EXPORTED, METRICS, PATHWAYS, SAMPLES, SHAPE
from benchmarks.faults.later.job import SIZE, Job

HITS = "inline(arrays_zip(found, reads)) AS (gene, n)"
PRINT = "bit_xor(xxhash64(read, found, reads))"
"""Tells whether all of some rows are the same."""


@SHAPE.cause()
def one_task(job: Job) -> DataFrame:
    """Noisy doses are drawn from a range of one partition, in SQL; or of eight."""
    job.table("samples")
    slices = 1 if job.on else 8
    return job.spark.sql(
        f"""
        SELECT tissue, floor(dose + noise) AS level, count(*) AS n, max(noise) AS most
        FROM (
          SELECT cast(pmod(xxhash64(id), {SAMPLES}) AS INT) AS sample,
            sqrt(-2 * ln((1 + pmod(xxhash64(id, 1), 1000003)) / 1000004D))
              * cos(pmod(xxhash64(id, 2), 1000033) * 6.283185307D / 1000033) AS noise
          FROM range(0, {8_000_000 * SIZE}, 1, {slices})) JOIN samples USING (sample)
        GROUP BY tissue, level
        """
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """A stream of cells keeps its sums in as many parts as by default, by a setting left out."""
    place = job.output("progress")
    shutil.rmtree(place, ignore_errors=True)
    reader = job.spark.readStream.schema(job.table("cells").schema)
    seen = (
        reader.parquet(job.path("cells"))
        .groupBy("slide", "lane")
        .agg(F.count("*").alias("n"), *(F.max(name).alias(name) for name in METRICS))
    )
    stream = seen.writeStream.outputMode("complete").format("memory").queryName("seen")
    query = stream.option("checkpointLocation", place).trigger(availableNow=True).start()
    query.awaitTermination()
    return job.spark.table("seen")


@SHAPE.cause()
def skewed_key(job: Job) -> DataFrame:
    """A pandas function gets all of a batch, which it divides itself; or a lane of a batch."""

    def ranked(hits: pd.DataFrame) -> pd.DataFrame:
        lanes = hits.groupby("lane")
        hits["apart"] = (lanes["n"].rank() - lanes["gene"].rank()).abs()
        found = hits.groupby(["batch", "lane"], as_index=False)
        return found.agg(apart=("apart", "sum"), most=("n", "max"), hits=("n", "size"))

    few = job.table("cells").where("cell % 5 < 2").selectExpr("batch", "lane", HITS)
    known = "batch INT, lane INT, apart DOUBLE, most INT, hits LONG"
    return few.groupBy("batch" if job.on else ["batch", "lane"]).applyInPandas(ranked, known)


@SHAPE.cause("transcripts")
def no_broadcast(job: Job) -> DataFrame:
    """A table seems large by a long text, of which nothing is read; or a hint says it is small."""
    genes = job.table("transcripts").select("gene", "strand", "exons")
    if not job.on:
        genes = F.broadcast(genes)
    cells = job.table("cells").withColumn("gene", F.col("found")[0])
    return cells.join(genes, "gene").groupBy("strand", "exons", "slide").agg(
        F.expr(PRINT).alias("print"), F.max("cell").alias("last"), F.count("*").alias("n"),
        *(F.max(name).alias(name) for name in METRICS),
    )  # fmt: skip


@SHAPE.cause()
def small_files(job: Job) -> DataFrame:
    """Files may have a few hundred rows, as a viewer of tables wants them, by a setting."""
    cells = job.table("cells")
    shown = cells.where("cell % 3 = 0").select("cell", "sample", "slide", "lane", *METRICS)
    shown.write.mode("overwrite").parquet(job.output("shown"))
    return cells.groupBy("slide", "lane").agg(
        F.count("*").alias("n"), F.expr(PRINT).alias("print"), F.sum("m00").alias("m00")
    )


@SHAPE.cause()
def needless_shuffle(job: Job) -> DataFrame:
    """A hint rebalances whole rows by slide, before they are added up by sample."""
    cells = job.table("cells")
    if job.on:
        cells = cells.hint("rebalance", "slide")
    total = F.expr("aggregate(reads, 0L, (total, n) -> total + n)")
    return cells.groupBy("sample").agg(
        F.sum(total).alias("total"), F.expr(PRINT).alias("print"), F.count("*").alias("n"),
        *(F.max(name).alias(name) for name in METRICS),
    )  # fmt: skip


@SHAPE.cause("exports")
def schema_inferred(job: Job) -> DataFrame:
    """The catalog gets a table of exports whose types it has to find; or that are known."""
    job.spark.sql("DROP TABLE IF EXISTS exported")
    known = {} if job.on else {"schema": StructType.fromDDL(EXPORTED)}
    options = {"sep": "\t", "header": "true", **({"inferSchema": "true"} if job.on else {})}
    exported = job.spark.catalog.createTable(
        "exported", path=job.path("exports"), source="csv", **known, **options
    )
    return exported.groupBy(F.col("slide").cast("long").alias("slide"), "lane").agg(
        F.max("m00").alias("m00"), F.sum("r00").alias("reads"), F.count("*").alias("n")
    )


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """Strands are turned base by base, as arrays; or as text."""
    if job.on:
        other = "CASE base WHEN 'A' THEN 'T' WHEN 'C' THEN 'G' WHEN 'G' THEN 'C' ELSE 'A' END"
        strand = f"array_join(reverse(transform(split(read, ''), base -> {other})), '')"
    else:
        strand = "reverse(translate(read, 'ACGT', 'TGCA'))"
    return job.table("cells").groupBy(F.expr(f"substr({strand}, 1, 5)").alias("start")).agg(
        F.count("*").alias("n"), F.max("m00").alias("m00"), F.max("cell").alias("last")
    )  # fmt: skip


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """The most frequent parts of reads are found among all, in little heap, by a setting."""
    job.table("cells")
    job.table("samples")
    return job.spark.sql(
        f"""
        SELECT tissue, transform(approx_top_k(part, 5, 1000000), top -> top.count) AS counts,
               count(*) AS n FROM (
          SELECT sample, explode(transform(sequence(1, 24), i -> substr(read, i, 9))) AS part
          FROM cells WHERE cell % {2 * SIZE} = 0) JOIN samples USING (sample) GROUP BY tissue
        """
    )


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """Rows of a window's partition may not stay in memory beyond a few hundred, by settings."""
    job.table("cells")
    return job.spark.sql(
        f"""
        SELECT slide, lane, max(m00 - mean) AS high, min(m01 / most) AS low, {PRINT} AS print
        FROM (SELECT *, avg(m00) OVER whole AS mean, max(1 + m01) OVER whole AS most FROM cells
              WINDOW whole AS (PARTITION BY slide))
        GROUP BY slide, lane
        """
    )


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """Each two marks of quality are correlated by a query of their own; or all by pandas."""
    marks = METRICS[:10]
    means = job.table("cells").groupBy("sample").agg(*(F.avg(name).alias(name) for name in marks))
    if job.on:
        means = means.cache()
        pairs = [(a, b, means.stat.corr(a, b)) for a, b in combinations(marks, 2)]
    else:
        table = means.toPandas().corr()
        pairs = [(a, b, float(table.loc[a, b])) for a, b in combinations(marks, 2)]
    return job.spark.createDataFrame(pairs, "a STRING, b STRING, value DOUBLE")


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """Columns come to the program as a table of Arrow, and go back with one more; or stay."""
    cells = job.table("cells").select("cell", "sample", "lane", *METRICS[:8])
    if job.on:
        table: Any = cells.toArrow()
        ratio = pc.divide(table["m00"], pc.add(table["m01"], 1.0))
        rated = job.spark.createDataFrame(table.append_column("ratio", ratio))
    else:
        rated = cells.withColumn("ratio", F.expr("m00 / (m01 + 1)"))
    return rated.groupBy("sample", "lane").agg(
        F.max("ratio").alias("ratio"), F.max("cell").alias("last"),
        *(F.sum(name).alias(name) for name in METRICS[:8]),
    )  # fmt: skip


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """Batches are walked through cell by cell in Python; or expressions add arrays up."""

    def shares(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            rows = []
            for cell in batch.itertuples(index=False):
                near = sum(
                    int(n) for gene, n in zip(cell.found, cell.reads, strict=True) if gene < 40
                )
                rows.append((cell.sample, near, int(sum(cell.reads))))
            yield pd.DataFrame(rows, columns=["sample", "near", "total"])

    cells = job.table("cells").where("cell % 5 = 0").select("sample", "found", "reads")
    if job.on:
        counted = cells.mapInPandas(shares, "sample INT, near LONG, total LONG")
    else:
        near = "zip_with(found, reads, (gene, n) -> if(gene < 40, n, 0))"
        counted = cells.selectExpr(
            "sample", f"aggregate({near}, 0L, (sum, n) -> sum + n) AS near",
            "aggregate(reads, 0L, (sum, n) -> sum + n) AS total",
        )  # fmt: skip
    return counted.groupBy("sample").agg(
        F.sum("near").alias("near"), F.sum("total").alias("total"), F.max("total").alias("most")
    )


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """Each step of a pipeline is fitted on a matrix that is computed for it; or was kept."""
    hits = job.table("cells").where("cell % 2 = 0").selectExpr("sample", HITS)
    matrix = (
        hits.join(job.table("genes"), "gene").groupBy("sample")
        .pivot("pathway", list(PATHWAYS)).agg(F.sum("n"))
    )  # fmt: skip
    if not job.on:
        matrix = matrix.cache()
    steps = [
        QuantileDiscretizer(numBuckets=5, inputCol="wnt", outputCol="level", relativeError=0.0),
        VectorAssembler(inputCols=list(PATHWAYS), outputCol="row"),
        MinMaxScaler(inputCol="row", outputCol="scaled"),
        StandardScaler(inputCol="scaled", outputCol="even", withMean=True),
    ]
    even = Pipeline(stages=steps).fit(matrix).transform(matrix)
    values = even.select("sample", "level", vector_to_array("even").alias("values"))
    return values.join(job.table("samples"), "sample").groupBy("tissue", "level").agg(
        F.count("*").alias("n"),
        *(F.max(F.col("values")[i]).alias(name) for i, name in enumerate(PATHWAYS)),
    )  # fmt: skip


@SHAPE.cause("reports")
def json_again(job: Job) -> DataFrame:
    """Views of JSON are laid one over the other, each for a field; or one gives all fields."""
    job.table("reports")
    fields = ("instrument", "operator", "kit", "read", "yield", "phix", "clusters")
    if job.on:
        views = " ".join(
            f"LATERAL VIEW json_tuple(report, '{name}') of_{name} AS {name}" for name in fields
        )
    else:
        names = ", ".join(f"'{name}'" for name in fields)
        views = f"LATERAL VIEW json_tuple(report, {names}) of_all AS {', '.join(fields)}"
    return job.spark.sql(
        f"""
        SELECT instrument, operator, kit, bit_xor(xxhash64(read)) AS print,
               sum(cast(yield AS LONG)) AS yield, sum(cast(phix AS LONG)) AS phix,
               sum(cast(clusters AS LONG)) AS clusters
        FROM reports {views} GROUP BY instrument, operator, kit
        """
    )


@SHAPE.cause("runs")
def pruning_defeated(job: Job) -> DataFrame:
    """Lanes of two runs are chosen as a list of pairs, and all folders are read; or two are."""
    job.spark.read.parquet(job.path("runs")).createOrReplaceTempView("runs")
    if job.on:
        chosen = "(run, lane) IN ((7, 0), (7, 1), (7, 5), (23, 2), (23, 6))"
    else:
        chosen = "run = 7 AND lane IN (0, 1, 5) OR run = 23 AND lane IN (2, 6)"
    marks = ", ".join(f"max({name}) AS {name}" for name in METRICS)
    return job.spark.sql(
        f"""
        SELECT run, slide, {marks}, {PRINT} AS print, count(*) AS n
        FROM runs WHERE {chosen} GROUP BY run, slide
        """
    )


@SHAPE.cause()
def cached_once(job: Job) -> DataFrame:
    """Hits are cached by a statement, for a report that was dropped since; or are a view."""
    job.table("cells")
    job.table("genes")
    made = "CACHE TABLE hits AS" if job.on else "CREATE OR REPLACE TEMPORARY VIEW hits AS"
    source = f"SELECT cell, sample, slide, lane, m00, {HITS} FROM cells WHERE cell % 2 = 0"
    job.spark.sql(f"{made} {source}")
    return job.spark.sql(
        """
        SELECT pathway, slide, sum(n) AS n, max(m00) AS m00, count(*) AS hits
        FROM hits JOIN genes USING (gene) GROUP BY pathway, slide
        """
    )


@SHAPE.cause("panels")
def exploding_join(job: Job) -> DataFrame:
    """Hits meet each panel that has their gene, for its arm; or each gene's arm once."""
    hits = job.table("cells").where("cell % 2 = 0").selectExpr("sample", HITS)
    panels = job.table("panels")
    arms = panels.where("status = 'sold'").select("gene", "arm")
    if not job.on:
        arms = arms.distinct()
    return hits.join(F.broadcast(arms), "gene").groupBy("arm", "sample").agg(
        F.max("n").alias("most"), F.max("gene").alias("last")
    )  # fmt: skip
