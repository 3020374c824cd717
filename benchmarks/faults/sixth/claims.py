"""Claims of insured people: amounts as decimals, notes as text, with offices and tariffs."""

from __future__ import annotations

import lzma
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("claims")
TABLES = ("claims", "policies", "offices", "tariffs")
ROWS = 330_000 * SIZE
POLICIES = 100_000
FLEETS = 2000
"""Policies of fleets, which have two claims in five."""
OFFICES = 500
EXPERTS = 125
TARIFFS = 48
BUCKETS = 1000
"""Of a table as its large cousin has them."""
BOOKED = """policy_id LONG, claim_id LONG, paid DECIMAL(12,2), reserve DECIMAL(12,2),
happened DATE"""
DELIVERED = """claim_id LONG, office STRING, peril STRING, happened DATE, paid DECIMAL(12,2),
items ARRAY<STRUCT<part: STRING, price: DECIMAL(12,2)>>"""
WORDS = """
bumper door window roof ceiling cellar carpet boiler pipe burst hail storm tree fence garage lorry
van bicycle crossing brake light driver witness police report photo estimate repair paint glass
total loss stolen found lock broken water smoke fire kitchen tenant owner neighbour called again
sent letter waits for expert agreed declined
"""


def words(n: str, seed: int) -> str:
    """Give an expression of a text of so many words."""
    known = WORDS.split()
    word = (
        f"element_at(array({', '.join(map(repr, known))}),"
        f" cast(1 + pmod(xxhash64(id, i, {seed}), {len(known)}) AS INT))"
    )
    return f"array_join(transform(sequence(1L, {n}), i -> {word}), ' ')"


@SHAPE.input("claims")
def write_claims(job: Job, path: str) -> None:
    """Write claims of a year, most of which are of line 0, motor."""
    known = job.spark.range(0, ROWS, 1, 8).selectExpr(
        "id", "xxhash64(id) AS h", "xxhash64(id, 2) AS g", "xxhash64(id, 3) AS f"
    )
    day = "date_add(DATE'2025-01-01', cast(pmod(f, 365) AS INT))"
    known.selectExpr(
        "id AS claim_id",
        f"if(pmod(h, 5) < 2, pmod(g, {FLEETS}), {FLEETS} + pmod(g, {POLICIES - FLEETS}))"
        " AS policy_id",
        f"concat('O', lpad(pmod(f, {OFFICES}), 3, '0')) AS office",
        f"concat('T', lpad(pmod(g, {TARIFFS}), 2, '0')) AS tariff",
        "if(pmod(h, 100) < 86, 0, cast(1 + pmod(g, 7) AS INT)) AS line",
        "element_at(array('collision', 'hail', 'theft', 'fire', 'water', 'glass'),"
        " cast(1 + pmod(h, 6) AS INT)) AS peril",
        "element_at(array('open', 'paid', 'paid', 'declined'), cast(1 + pmod(f, 4) AS INT))"
        " AS status",
        f"{day} AS happened",
        f"cast({day} AS TIMESTAMP) + make_dt_interval(0, 0, 0, pmod(h, 2000000)) AS filed",
        "cast(cast(1 + pmod(xxhash64(h), 1999999) AS DECIMAL(12,2)) * 0.01 AS DECIMAL(12,2))"
        " AS reserve",
        "cast(cast(pmod(xxhash64(g), 999999) AS DECIMAL(12,2)) * 0.01 AS DECIMAL(12,2)) AS paid",
        "concat(4000000000000000 + pmod(xxhash64(f), 999999999999999)) AS card",
        f"{words('9L + pmod(h, 12)', 1)} AS note",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("policies")
def write_policies(job: Job, path: str) -> None:
    """Write policies: where they are, since when, and what is paid for them."""
    job.spark.range(0, POLICIES, 1, 2).selectExpr(
        "id AS policy_id", "concat('state ', pmod(xxhash64(id), 16)) AS state",
        f"concat('T', lpad(pmod(xxhash64(id, 1), {TARIFFS}), 2, '0')) AS tariff",
        "cast(200 + pmod(xxhash64(id, 2), 900) AS DECIMAL(10,2)) AS premium",
        "date_add(DATE'2015-01-01', cast(pmod(xxhash64(id, 3), 3600) AS INT)) AS since",
        "concat('BR', pmod(xxhash64(id, 4), 700000)) AS broker",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("offices")
def write_offices(job: Job, path: str) -> None:
    """Write offices and their regions."""
    job.spark.range(0, OFFICES, 1, 1).selectExpr(
        "concat('O', lpad(id, 3, '0')) AS office", "concat('region ', id % 12) AS region",
        "cast(3 + id % 20 AS INT) AS clerks",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("tariffs")
def write_tariffs(job: Job, path: str) -> None:
    """Write tariffs: what a claim costs the insured, and which share is paid."""
    job.spark.range(0, TARIFFS, 1, 1).selectExpr(
        "concat('T', lpad(id, 2, '0')) AS tariff", "concat('class ', id % 9) AS class",
        "cast(150 + id % 7 * 50 AS DECIMAL(10,2)) AS excess",
        "cast((80 + id % 21) / 100 AS DECIMAL(4,2)) AS share",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("experts")
def write_experts(job: Job, path: str) -> None:
    """Write experts, and which offices each of them goes to, as a list in a text."""
    job.spark.range(0, EXPERTS, 1, 1).selectExpr(
        "concat('expert ', id) AS expert", "concat('field ', id % 5) AS field",
        f"array_join(transform(sequence(0, {OFFICES // EXPERTS - 1}),"
        f" i -> concat('O', lpad(id + i * {EXPERTS}, 3, '0'))), ',') AS covers",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("seasons")
def write_seasons(job: Job, path: str) -> None:
    """Write what a tariff's claims weigh in each quarter of a month, from and to as text."""
    month = "lpad(1 + id % 48 DIV 4, 2, '0')"
    job.spark.range(0, TARIFFS * 48, 1, 1).selectExpr(
        "concat('T', lpad(id DIV 48, 2, '0')) AS tariff",
        f"concat({month}, element_at(array('01', '09', '17', '25'), cast(1 + id % 4 AS INT)))"
        " AS begins",
        f"concat({month}, element_at(array('08', '16', '24', '31'), cast(1 + id % 4 AS INT)))"
        " AS ends",
        "cast((80 + pmod(xxhash64(id), 40)) / 100 AS DECIMAL(4,2)) AS weight",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("forms")
def write_forms(job: Job, path: str) -> None:
    """Write forms in JSON as people filled them in, for three claims in five."""
    job.table("claims").where("claim_id % 5 < 3").selectExpr(
        "claim_id", "line", """to_json(named_struct(
          'plate', concat('B-', pmod(xxhash64(claim_id), 900000)), 'maker',
          element_at(array('opel', 'fiat', 'skoda', 'volvo'),
            cast(1 + pmod(xxhash64(claim_id, 1), 4) AS INT)),
          'age', 18 + pmod(xxhash64(claim_id, 2), 60), 'speed', pmod(xxhash64(claim_id, 3), 130),
          'witnesses', array(named_struct('name', card, 'seen', pmod(claim_id, 3) = 0)),
          'place', named_struct('lat', 48 + pmod(xxhash64(claim_id, 4), 6000) / 1000, 'lon', 9.5),
          'told', note, 'hurt', pmod(xxhash64(claim_id, 5), 9) = 0,
          'weather', element_at(array('dry', 'rain', 'snow'), cast(1 + claim_id % 3 AS INT)),
          'road', element_at(array('town', 'highway', 'yard'), cast(1 + claim_id % 3 AS INT)),
          'doubt', pmod(xxhash64(claim_id, 6), 100))) AS form""",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("delivered")
def write_delivered(job: Job, path: str) -> None:
    """Write claims as brokers deliver them: a file is one array of JSON over many lines."""
    job.table("claims").where("claim_id % 10 IN (2, 5, 8)").selectExpr(
        "claim_id % 16 AS broker",
        """to_json(named_struct('claim_id', claim_id, 'office', office, 'peril', peril,
          'happened', happened, 'filed', filed, 'paid', paid, 'reserve', reserve, 'status', status,
          'holder', named_struct('card', card, 'policy', policy_id),
          'items', transform(sequence(1, 4), i -> named_struct(
            'part', split(note, ' ')[i], 'price', cast(reserve / (i + 1) AS DECIMAL(12,2)),
            'tax', 0.19, 'new', i % 2 = 0)))) AS claim""",
    ).groupBy("broker").agg(
        F.concat(F.lit("[\n"), F.expr("listagg(claim, ',\n')"), F.lit("\n]")).alias("value")
    ).select("value").repartition(16).write.mode("overwrite").text(path)  # fmt: skip


@SHAPE.input("archive")
def write_archive(job: Job, path: str) -> None:
    """Write notes of old claims, packed by a program that Spark cannot read after."""
    Path(path).mkdir(parents=True)
    for place, file in enumerate(sorted(Path(job.path("claims")).glob("part-*"))):
        rows = pq.read_table(file, columns=["claim_id", "line", "note"])
        few = rows.slice(0, rows.num_rows * 2 // 5).to_pylist()
        with lzma.open(Path(path) / f"notes-{place}.xz", "wt", preset=0) as packed:
            packed.writelines(f"{row['claim_id']}|{row['line']}|{row['note']}\n" for row in few)


def _bucketed(job: Job, path: str, buckets: int) -> None:
    booked = job.table("claims").select("policy_id", "claim_id", "paid", "reserve", "happened")
    writer = booked.repartition(buckets, "policy_id").write.mode("overwrite").option("path", path)
    writer.bucketBy(buckets, "policy_id").saveAsTable(f"booked_{buckets}")


SHAPE.input("booked-finely")(lambda job, path: _bucketed(job, path, BUCKETS))
SHAPE.input("booked")(lambda job, path: _bucketed(job, path, 8))


def usual(job: Job) -> None:
    """Report the last weeks' claims by region and day, and what is open by class of tariff."""
    last = job.table("claims").where("happened >= DATE'2025-11-10'")
    job.publish(
        "regions",
        last.join(job.table("offices"), "office")
        .groupBy("region", "peril", "happened")
        .agg(F.sum("paid").alias("paid"), F.count("*").alias("n")),
    )
    job.publish(
        "classes",
        last.join(job.table("tariffs"), "tariff")
        .groupBy("class", "status")
        .agg(F.sum(F.expr("(reserve - excess) * share")).alias("open"), F.max("filed").alias("at")),
    )


SHAPE.usual = usual
