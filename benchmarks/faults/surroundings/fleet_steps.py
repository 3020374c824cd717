"""Steps of the job on several executors, in two ways each."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from pyspark import InheritableThread
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.seventh.work import Step, Work, Writer
from benchmarks.faults.surroundings.hosts import (
    end_one,
    folders,
    meanwhile,
    narrow,
    outputs,
    start,
    until,
)
from benchmarks.faults.surroundings.tasks import KEPT, PER_SECOND, even, marked, uneven


def stamps(work: Work) -> DataFrame:
    """Find the rare stamps among many, in many small boxes or in a few."""
    boxes = work.spark.range(0, 600_000, 1, 6_000 if work.on else 16)
    rare = boxes.where(F.pmod(F.xxhash64("id"), F.lit(KEPT)) == 7).collect()
    return work.spark.createDataFrame(rare, "id LONG")


def stubs(work: Work) -> DataFrame:
    """Find the rare stubs by looking long, in boxes that are worth opening."""
    return even(work.spark, 10.0, 240 if work.on else 48)


def shift(work: Work) -> DataFrame:
    """Do the work of a shift, with whoever has come."""
    return even(work.spark, 10.0, 16)


def granary(work: Work) -> DataFrame:
    """Weigh what comes from one gate, gate by gate."""
    return _weighed(work, gates=1)


def barns(work: Work) -> DataFrame:
    """Weigh what comes from all gates at once."""
    return _weighed(work, gates=4)


def _weighed(work: Work, gates: int) -> DataFrame:
    for number in range(5):
        came = work.spark.range(number, round(2.4 * PER_SECOND), 1, gates).repartition(4, "id")
        sums = came.groupBy(F.pmod("id", F.lit(50)).alias("k")).agg(F.sum(marked()).alias("weight"))
        work.publish(f"sacks-{number}", sums)
    return work.spark.range(1)


def tram(work: Work) -> DataFrame:
    """Drive four routes, while somebody may take a tram away."""

    def taken() -> None:
        tracker = work.spark.sparkContext.statusTracker()
        until(lambda: bool(tracker.getActiveStageIds()))
        time.sleep(3.5)
        end_one(work.spark)

    with meanwhile(taken if work.on else None):
        work.publish("routes", even(work.spark, 16.0, 4))
    return work.spark.range(1)


def depot(work: Work) -> DataFrame:
    """Drive eight routes; a tram may be taken away when all are back."""
    work.publish("routes", even(work.spark, 10.0, 8))
    if work.on:
        end_one(work.spark)
    time.sleep(1.0)
    return work.spark.range(0, 1, 1, 1)


def ferry(work: Work) -> DataFrame:
    """Carry goods over; what lies on one bank may be washed away before it is carried."""
    goods = work.spark.range(0, round(14 * PER_SECOND), 1, 8)
    carried = goods.select("id", marked().alias("mark")).repartition(8, "id")
    sums = carried.groupBy(F.pmod("id", F.lit(50)).alias("k")).agg(
        F.sum(F.col("mark") + marked(4)).alias("mark")
    )
    banks = folders(work.spark)
    known = outputs(banks)

    def washed() -> None:
        until(lambda: len(outputs(banks) - known) >= 8)
        for path in outputs(banks[:1]) - known:
            path.unlink()

    with meanwhile(washed if work.on else None):
        work.publish("goods", sums)
    return work.spark.range(1)


def relay(work: Work) -> DataFrame:
    """Run two races at a time, one of which has a long last leg."""
    for number in range(2):
        legs, laps = uneven(work.spark, [0.4] * 4 + [4.5]), even(work.spark, 4.5, 9)
        first = InheritableThread(target=work.publish, args=(f"{number}-legs", legs))
        second = InheritableThread(target=work.publish, args=(f"{number}-laps", laps))
        first.start()
        time.sleep(0.5)
        second.start()
        first.join()
        second.join()
    work.seen = dict(sorted(work.seen.items()))
    return work.spark.range(1)


def parcel(work: Work) -> DataFrame:
    """Sort parcels of many senders for eight towns, over a narrow road or a wide one."""
    if work.on:
        narrow("48mbit")
    parcels = work.spark.range(0, 6_000_000, 1, 8).select("id", F.xxhash64("id").alias("h"))
    return parcels.repartition(8, "id").agg(F.bit_xor("h").alias("h"), F.count("*").alias("n"))


STEPS: dict[str, Step] = {
    "stamps": stamps, "stubs": stubs, "shift": shift, "granary": granary, "barns": barns,
    "tram": tram, "depot": depot, "ferry": ferry, "relay": relay, "parcel": parcel,
}  # fmt: skip
INPUTS: dict[str, dict[str, Writer]] = {}
"""What a step reads: nothing."""
BEFORE: dict[str, Callable[[Path], None]] = dict.fromkeys(
    ("granary", "barns", "relay", "parcel"), start
)
"""What is started before Spark."""
