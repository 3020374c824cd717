"""Cells measured in a laboratory: many numbers and arrays in a row, samples and genes beside."""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("genes")
TABLES = ("cells", "samples", "genes")
ROWS = 250_000 * SIZE
SAMPLES = 800
GENES = 5000
RUNS = 30
HITS = 16
"""Genes that are found in a cell."""
METRICS = tuple(f"m{i:02}" for i in range(12))
PATHWAYS = ("hippo", "jak", "mapk", "mtor", "nfkb", "notch", "tgfb", "wnt")
TISSUES = "array('blood', 'bone', 'brain', 'colon', 'heart', 'liver', 'lung', 'skin')"
BASES = "'0123456789ABCDEF', 'ACGTACGTACGTACGT'"
EXPORTED = "cell INT, sample INT, slide INT, lane INT, " + ", ".join(
    (*(f"{name} DOUBLE" for name in METRICS), *(f"r{i:02} INT" for i in range(HITS)))
)


@SHAPE.input("cells")
def write_cells(job: Job, path: str) -> None:
    """Write what was measured of each cell: marks of quality, and some genes with their reads."""
    ids = job.spark.range(0, ROWS, 1, 8)
    ids.selectExpr("id", "xxhash64(id) AS h", "xxhash64(id, 2) AS g").selectExpr(
        "id AS cell", f"cast(pmod(g, {SAMPLES}) AS INT) AS sample",
        "cast(pmod(xxhash64(h), 48) AS INT) AS slide", "cast(pmod(h, 8) AS INT) AS lane",
        "if(pmod(xxhash64(g), 10) > 0, 0, cast(1 + pmod(g, 3) AS INT)) AS batch",
        f"translate(concat(lpad(hex(h), 16, '0'), lpad(hex(g), 16, '0')), {BASES}) AS read",
        *(f"pmod(xxhash64(h, {i}), 997) / 8D AS {name}" for i, name in enumerate(METRICS)),
        f"transform(sequence(1, {HITS}), i -> cast({GENES} * pow("
        "pmod(xxhash64(h, 100 + i), 100003) / 100003D, 2) AS INT)) AS found",
        f"transform(sequence(1, {HITS}), i -> cast(pmod(xxhash64(g, i), 100) AS INT)) AS reads",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("samples")
def write_samples(job: Job, path: str) -> None:
    """Write where the samples come from: a small table."""
    job.spark.range(0, SAMPLES, 1, 1).selectExpr(
        "cast(id AS INT) AS sample", f"element_at({TISSUES}, cast(1 + id % 8 AS INT)) AS tissue",
        "concat('donor ', pmod(xxhash64(id), 90)) AS donor",
        "pmod(xxhash64(id, 1), 400) / 8D AS dose",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("genes")
def write_genes(job: Job, path: str) -> None:
    """Write where the genes lie and what they take part in: a small table."""
    names = ", ".join(f"'{name}'" for name in PATHWAYS)
    job.spark.range(0, GENES, 1, 1).selectExpr(
        "cast(id AS INT) AS gene", "concat('GENE', lpad(id, 5, '0')) AS symbol",
        "concat('chr', 1 + pmod(xxhash64(id), 22)) AS chromosome",
        f"element_at(array({names}), cast(1 + pmod(xxhash64(id, 1), 8) AS INT)) AS pathway",
        "cast(300 + pmod(xxhash64(id, 2), 90000) AS INT) AS bases",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("transcripts")
def write_transcripts(job: Job, path: str) -> None:
    """Write what is read off each gene, base by base: few rows, each with a long text."""
    words = f"translate(lpad(hex(xxhash64(id, i)), 16, '0'), {BASES})"
    job.spark.range(0, GENES, 1, 2).selectExpr(
        "cast(id AS INT) AS gene", "if(pmod(xxhash64(id), 2) = 0, '+', '-') AS strand",
        "cast(1 + pmod(xxhash64(id, 1), 12) AS INT) AS exons",
        f"array_join(transform(sequence(1, 1000), i -> {words}), '') AS bases",
    ).write.mode("overwrite").option("compression", "snappy").parquet(path)  # fmt: skip


@SHAPE.input("panels")
def write_panels(job: Job, path: str) -> None:
    """Write in which panels genes are ordered: nine for each gene."""
    job.spark.range(0, GENES * 9, 1, 1).selectExpr(
        f"cast(id % {GENES} AS INT) AS gene", f"concat('panel ', id DIV {GENES} * 40 + id % 40)"
        " AS panel", f"concat('arm ', pmod(xxhash64(id % {GENES}, 3), 44)) AS arm",
        f"if(id < {GENES}, 'retired', 'sold') AS status",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("runs")
def write_runs(job: Job, path: str) -> None:
    """Write cells with a folder for each run of the sequencer, of which each cell goes into two."""
    twice = job.table("cells").withColumn("again", F.explode(F.array(F.lit(0), F.lit(7))))
    cells = twice.withColumn("run", F.expr(f"cast((cell + again) % {RUNS} AS INT)"))
    cells.repartition(8, "run").write.mode("overwrite").partitionBy("run").parquet(path)


@SHAPE.input("exports")
def write_exports(job: Job, path: str) -> None:
    """Write what the instruments export: many columns of numbers as text, with their names."""
    reads = (F.col("reads")[i].alias(f"r{i:02}") for i in range(HITS))
    few = job.table("cells").where("cell % 3 = 0")
    few.select("cell", "sample", "slide", "lane", *METRICS, *reads).write.mode("overwrite").csv(
        path, sep="\t", header=True
    )


@SHAPE.input("reports")
def write_reports(job: Job, path: str) -> None:
    """Write reports on cells, as the instruments send them: JSON in a column."""
    report = """to_json(named_struct('instrument', concat('NX-', lane), 'operator',
      concat('operator ', slide % 12), 'kit', concat('kit ', sample % 25), 'read', read,
      'quality', named_struct('q20', m00, 'q30', m01, 'density', m02), 'yield', reads[0],
      'phix', reads[1], 'clusters', reads[2], 'cycles', reads))"""
    job.table("cells").where("cell % 3 = 1").select(
        "cell", F.expr(report).alias("report")
    ).write.mode("overwrite").parquet(path)


def usual(job: Job) -> None:
    """Report the quality of the last cells by tissue and slide, and reads by pathway."""
    cells, samples = job.table("cells"), job.table("samples")
    job.table("genes")
    last = cells.where(f"cell >= {ROWS * 3 // 4}")
    job.publish(
        "quality",
        last.join(samples, "sample")
        .groupBy("tissue", "slide")
        .agg(*(F.max(name).alias(name) for name in METRICS), F.count("*").alias("n")),
    )
    job.publish(
        "pathways",
        job.spark.sql(
            f"""
            SELECT tissue, pathway, sum(n) AS n, count(*) AS hits FROM (
              SELECT sample, inline(arrays_zip(found, reads)) AS (gene, n)
              FROM cells WHERE cell >= {ROWS * 3 // 4})
            JOIN samples USING (sample) JOIN genes USING (gene) GROUP BY tissue, pathway
            """
        ),
    )


SHAPE.usual = usual
