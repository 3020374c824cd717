"""Steps of the job of one process, in two ways each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pyspark import InheritableThread
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import SIZE, Step, Work, Writer, columns
from benchmarks.faults.surroundings.disks import evict, mount
from benchmarks.faults.surroundings.store import served
from benchmarks.faults.surroundings.tasks import even, marked, uneven

ITEM = "ARRAY<STRUCT<article: INT, pieces: INT, price: LONG>>"
NUMBERS = ("h AS a", "g AS b", "xxhash64(h) AS c", "xxhash64(g) AS d")
"""Four columns that no codec makes smaller."""
VISIT = "id LONG, a LONG, b LONG, c LONG, d LONG"
LOAVES, SLOW_BAKES = 20_000, 5_000
"""Rows of each of eight files, and steps of a row that takes many."""


def bakery(work: Work) -> DataFrame:
    """Bake two batches, each of a large cake and many rolls, as many at once as there are ovens."""
    work.publish("first", uneven(work.spark, [5.0] + [0.4] * 12))
    return uneven(work.spark, [4.0] + [0.3] * 13)


def rolls(work: Work) -> DataFrame:
    """Bake rolls, as many at once as there are ovens."""
    return even(work.spark, 10.0, 16)


def cellar(work: Work) -> DataFrame:
    """Put bottles in order, shelf by shelf, as many shelves at once as there are slots."""
    bottles = work.spark.range(0, 4_000_000 * SIZE, 1, 8).select(
        "id", F.pmod(F.xxhash64("id"), F.lit(4_000)).alias("shelf"),
        F.repeat(F.hex(F.xxhash64("id", F.lit(7))), 5).alias("label"),
    )  # fmt: skip
    before = F.lag("label").over(Window.partitionBy("shelf").orderBy("label"))
    like = bottles.select("shelf", (F.substring(before, 1, 2) == F.substring("label", 1, 2)))
    return like.toDF("shelf", "like").groupBy(F.pmod("shelf", F.lit(50)).alias("row")).agg(
        F.count_if("like").alias("like")
    )  # fmt: skip


def archive(work: Work) -> DataFrame:
    """Sum up what nobody has read for a long time."""
    evict(work.path("archive"))
    return _sums(work.table("archive"))


def drawers(work: Work) -> DataFrame:
    """Sum up what was read a moment ago, or not for some time."""
    if work.on:
        evict(work.path("drawers"))
    return _sums(work.table("drawers"))


def _sums(table: DataFrame) -> DataFrame:
    return table.groupBy(F.pmod("id", F.lit(16)).alias("k")).agg(
        *(F.bit_xor(name).alias(name) for name in "abcd"), F.count("*").alias("n")
    )  # fmt: skip


def atlas(work: Work) -> DataFrame:
    """Draw four maps from one table."""
    evict(work.path("atlas"))
    table = work.table("atlas")
    for number in range(1, 4):
        turned = table.withColumn("id", F.col("id") * number)
        work.publish(f"map-{number}", _sums(turned))
    return _sums(table)


def minutes(work: Work) -> DataFrame:
    """Write down what was said, on the disk of the registry."""
    folder = Path(work.result("rows")).parent
    mount(folder, 16 << 20 if work.on else None, 8 << 20)
    said = work.spark.range(0, 3_500_000 * SIZE, 1, 8).select(
        "id", F.xxhash64("id").alias("h"), F.xxhash64("id", F.lit(7)).alias("g")
    )  # fmt: skip
    work.publish("rows", said.selectExpr("id", *NUMBERS))
    return said.groupBy(F.pmod("id", F.lit(16)).alias("k")).agg(F.bit_xor("h").alias("h"))


def post(work: Work) -> DataFrame:
    """Read letters from the office, which is far away or near."""
    office = served(str(work.folder), 0.06 if work.on else 0.0)
    return _sums(work.spark.read.schema(VISIT).parquet(f"{office}/post"))


def kiosk(work: Work) -> DataFrame:
    """Think long about each letter, from the office at the corner or from the desk."""
    office = served(str(work.folder), 0.0)
    root = office if work.on else str(work.folder)
    letters = work.spark.read.schema(VISIT).parquet(f"{root}/kiosk").where("a % 8 < 3")
    return letters.where(marked() < 8).select("id", "a", "b")


def ticker(work: Work) -> DataFrame:
    """Show how far a job is, all the time or each second."""
    return _shown(work, None if work.on else 1.0)


def clock(work: Work) -> DataFrame:
    """Show how far a job is, each moment or each second."""
    return _shown(work, 0.1 if work.on else 1.0)


def _shown(work: Work, pause: float | None) -> DataFrame:
    tracker = work.spark.sparkContext.statusTracker()
    task = InheritableThread(target=work.publish, args=("rows", even(work.spark, 12.0, 12)))
    task.start()
    done = 0
    while task.is_alive():
        for stage in tracker.getActiveStageIds():
            about = tracker.getStageInfo(stage)
            done = max(done, about.numCompletedTasks if about else 0)
        if pause is not None:
            task.join(pause)
    return work.spark.range(1)


def soil(work: Work) -> DataFrame:
    """Follow what becomes of samples, some of which take many steps."""
    return _followed(work.table("apart" if work.on else "mixed"))


def plots(work: Work) -> DataFrame:
    """Follow what becomes of samples, from many small files."""
    return _followed(work.table("apart-64" if work.on else "mixed-64"))


def _followed(samples: DataFrame) -> DataFrame:
    steps = "aggregate(sequence(1L, steps), v, (a, i) -> (a * 31 + i) % 1000003)"
    return samples.groupBy(F.pmod("id", F.lit(20)).alias("k")).agg(
        F.expr(f"sum({steps})").alias("state"), F.count("*").alias("n")
    )  # fmt: skip


def _samples(files: int, apart: bool) -> Writer:
    def write(work: Work, path: str) -> None:
        rows = 8 * LOAVES
        each = rows // files
        number = "id" if apart else f"(id % {each}) * {files} + id DIV {each}"
        numbered = work.spark.range(0, rows, 1, files).selectExpr(f"{number} AS id")
        numbered.selectExpr(
            "id", f"IF(id < {LOAVES}, {SLOW_BAKES}L, {SLOW_BAKES // 100}L) AS steps",
            "pmod(xxhash64(id), 1000003) AS v",
        ).write.mode("overwrite").parquet(path)  # fmt: skip

    return write


def orders(work: Work) -> DataFrame:
    """Give what each order comes to."""
    table = work.table("orders")
    if work.on:
        lines = table.select("order_id", F.explode("items").alias("item"))
        summed = lines.groupBy("order_id").agg(
            F.sum(F.col("item.price") * F.col("item.pieces")).alias("total")
        )  # fmt: skip
    else:
        total = "aggregate(items, 0L, (sum, item) -> sum + item.price * item.pieces) AS total"
        summed = table.selectExpr("order_id", total)
    return summed.groupBy(F.pmod("order_id", F.lit(100)).alias("k")).agg(
        F.sum("total").alias("total"), F.max("total").alias("most")
    )  # fmt: skip


def shelves(work: Work) -> DataFrame:
    """Give how often each article was ordered."""
    table = work.table("shelves")
    if work.on:
        lines = table.select(F.explode("items").alias("item")).select("item.*")
    else:
        lines = table.select(F.inline("items"))
    return lines.groupBy("article").agg(
        F.sum("pieces").alias("pieces"), F.sum(F.col("price") * F.col("pieces")).alias("total")
    )  # fmt: skip


def _orders(rows: int) -> Writer:
    item = (
        "named_struct('article', CAST(pmod(xxhash64(id, i), 5000) AS INT), 'pieces',"
        " CAST(1 + pmod(id + i, 5) AS INT), 'price', pmod(xxhash64(id, i, 3), 100000))"
    )
    items = f"CAST(transform(sequence(1, CAST(3 + pmod(h, 4) AS INT)), i -> {item}) AS {ITEM})"
    return columns(rows, "id AS order_id", f"{items} AS items")


STEPS: dict[str, Step] = {
    "bakery": bakery, "rolls": rolls, "cellar": cellar, "archive": archive, "drawers": drawers,
    "atlas": atlas, "minutes": minutes, "post": post, "kiosk": kiosk, "ticker": ticker,
    "clock": clock, "soil": soil, "plots": plots, "orders": orders, "shelves": shelves,
}  # fmt: skip


def _letters(work: Work, path: str) -> None:
    numbered = work.spark.range(0, 480_000 * SIZE, 1, 24).selectExpr(
        "id", "xxhash64(id) AS h", "xxhash64(id, 7) AS g"
    )
    numbered.selectExpr("id", *NUMBERS).write.mode("overwrite").parquet(path)


INPUTS: dict[str, dict[str, Writer]] = {
    "archive": {"archive": columns(3_000_000 * SIZE, "id", *NUMBERS)},
    "drawers": {"drawers": columns(3_000_000 * SIZE, "id", *NUMBERS)},
    "atlas": {"atlas": columns(18_000_000 * SIZE, "id", *NUMBERS)},
    "post": {"post": _letters},
    "kiosk": {"kiosk": columns(2_400_000 * SIZE, "id", *NUMBERS)},
    "soil": {"apart": _samples(8, True), "mixed": _samples(8, False)},
    "plots": {"apart-64": _samples(64, True), "mixed-64": _samples(64, False)},
    "orders": {"orders": _orders(1_500_000 * SIZE)},
    "shelves": {"shelves": _orders(1_000_000 * SIZE)},
}
"""What a step reads."""
BEFORE: dict[str, Callable[[Path], None]] = {}
"""What is started before Spark."""
