"""Steps of the sky survey's job, in two ways each."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import reduce
from operator import add
from pathlib import Path

import pandas as pd
from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from benchmarks.faults.seventh.sky import BANDS, TRACKS, band, corrected
from benchmarks.faults.seventh.work import Step, Work, Writer, columns, whole


def power(work: Work) -> DataFrame:
    """Give the power of a frame, its centre, and in how many bands it is bright."""
    flux, zero = F.col("flux"), F.lit(0).cast("long")
    if work.on:
        square = F.aggregate(flux, zero, lambda total, one: total + one * one)
        numbers = F.sequence(F.lit(0).cast("long"), F.lit(BANDS - 1).cast("long"))
        moment = F.aggregate(
            F.zip_with(flux, numbers, lambda one, n: one * n), zero, lambda total, one: total + one
        )
        bright = F.size(F.filter(flux, lambda one: one > 2000)).cast("long")
    else:
        bands = [band(n) for n in range(BANDS)]
        square = reduce(add, [one * one for one in bands])
        moment = reduce(add, [one * n for n, one in enumerate(bands)])
        bright = reduce(add, [(one > 2000).cast("long") for one in bands])
    return work.table("frames").groupBy("night").agg(
        F.sum(square).alias("square"), F.sum(moment).alias("moment"), F.sum(bright).alias("bright")
    )  # fmt: skip


def paths(work: Work) -> DataFrame:
    """Follow what moves through each second that it was seen."""
    tracks = work.table("tracks")
    if not work.on:
        tracks = tracks.repartition(16, "track_id")
    seconds = tracks.withColumn("second", F.explode(F.sequence(F.lit(1), F.col("seconds"))))
    angle = F.log1p(F.cbrt(F.exp(-F.col("speed") * F.col("second") / 90_000.0)))
    for _ in range(9):
        angle = F.log1p(F.cbrt(F.exp(-angle)))
    return seconds.groupBy("kind").agg(
        F.sum(whole(angle * 1e9)).alias("angle"), F.count("*").alias("seconds")
    )


def intervals(work: Work) -> DataFrame:
    """Give how the light of a field changed from one frame to the next."""
    before = Window.partitionBy("field_id").orderBy("frame_id")
    frames = work.table("frames").select(
        "night", (F.col("mag") - F.lag("mag").over(before)).alias("change"),
        F.lag("flux").over(before)[3].alias("light"),
    )  # fmt: skip
    return frames.groupBy("night").agg(
        F.sum(F.abs("change")).alias("change"), F.sum("light").alias("light")
    )


def names(work: Work) -> DataFrame:
    """Count the words in what frames are called."""
    text = F.format_string("%d/%d/%d %s", "field_id", "night", "mag", F.hex("frame_id"))
    for letter in "0123456789":
        text = F.concat_ws("-", F.reverse(text), F.lit(letter))
    parts = F.split(F.concat_ws("-", text, F.upper(text)), "-")
    return work.table("frames").where("frame_id % 2 = 0").groupBy("night").agg(
        F.sum(F.size(parts)).alias("parts"), F.max(parts[3]).alias("last")
    )  # fmt: skip


def mosaics(work: Work) -> DataFrame:
    """Lay corrected frames over each other in four ways."""
    magnitude = corrected(24)
    light = F.array(*((band(n % BANDS) * 17 + n) * F.col("night") for n in range(36)))
    frames = work.table("frames").select(
        "field_id", "night", magnitude.alias("mag"), light.alias("l")
    )
    frames = frames.persist(StorageLevel.MEMORY_ONLY)
    ways = [
        frames.groupBy("night").agg(
            F.count("*").alias("n"), F.max("mag").alias("mag"),
            F.sum(reduce(add, [F.col("l")[9 * way + n] for n in range(9)])).alias("light"),
        )
        for way in range(4)
    ]  # fmt: skip
    for number, way in enumerate(ways[:-1]):
        work.publish(f"mosaic-{number}", way)
    return ways[-1]


def nights(work: Work) -> DataFrame:
    """Sign what is kept of the frames, for three readers."""
    text = F.concat_ws("/", F.hex("frame_id"), "field_id", "night", F.col("flux").cast("string"))
    frames = work.table("frames").select("field_id", "night", "mag", text.alias("text"))
    frames = frames.persist(StorageLevel.MEMORY_ONLY)
    signed = [
        frames.groupBy(by).agg(
            F.max(F.sha2(F.concat_ws(by, "text", "mag"), 512)).alias("signed"),
            F.sum("mag").alias("mag"),
        )
        for by in ("night", "field_id")
    ]
    for number, each in enumerate(signed):
        work.publish(f"reader-{number}", each)
    light = F.regexp_count("text", F.lit("[1-9]0"))
    return frames.groupBy("night").agg(F.count("*").alias("n"), F.sum(light).alias("light"))


def colours(work: Work) -> DataFrame:
    """Give the colours of frames, while the observatory's archive is packed."""
    packer = "import lzma, os\nwhile os.getppid() != 1: lzma.compress(os.urandom(1 << 20))"
    packers: list[subprocess.Popen[bytes]] = []
    if work.on:
        packers = [subprocess.Popen([sys.executable, "-c", packer]) for _ in range(2)]
    try:
        return _evaluated(work, _colours(work))
    finally:
        for one in packers:
            one.send_signal(signal.SIGTERM)
            one.wait()


def _colours(work: Work) -> DataFrame:
    colour = F.log1p(F.cbrt((band(1) + 1) / (band(4) + 1)))
    for _ in range(18):
        colour = F.log1p(F.cbrt(F.exp(-colour)))
    frames = work.table("frames").groupBy("field_id")
    return frames.agg(F.sum(whole(colour * 1e9)).alias("colour"))


def _evaluated(work: Work, frame: DataFrame) -> DataFrame:
    path = work.result("kept")
    frame.write.mode("overwrite").parquet(path)
    return work.spark.read.schema(frame.schema).parquet(path)


def brightness(work: Work) -> DataFrame:
    """Give the brightness of fields, polite to who else is on the machine."""
    if work.on:
        _keep_to_one_cpu(work)
    brightest, dimmest = (of(corrected(20)) for of in (F.max, F.min))
    return work.table("frames").groupBy("field_id").agg(
        brightest.alias("brightest"), dimmest.alias("dimmest"), F.sum(band(2)).alias("light")
    )  # fmt: skip


def _keep_to_one_cpu(work: Work) -> None:
    jvm = work.spark.sparkContext._jvm
    assert jvm is not None
    pid = jvm.java.lang.ProcessHandle.current().pid()
    cpu = {min(os.sched_getaffinity(0))}
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), cpu)


def photometry(work: Work) -> DataFrame:
    """Fit the light of frames, chart by chart."""

    @F.pandas_udf("long")
    def fitted(flux: pd.Series) -> pd.Series:
        import numpy as np

        light = np.stack(flux.to_numpy()).astype(float)
        slopes = np.linalg.lstsq(np.vander(np.arange(BANDS), 3), light.T, rcond=None)[0]
        return pd.Series(np.rint(slopes[2] * 1000).astype("int64"))

    frames = work.table("frames").where("frame_id % 8 = 0")
    for chart in range(3):
        mine = frames.where(F.pmod("field_id", F.lit(4)) == chart)
        work.publish(
            f"chart-{chart}", mine.groupBy("night").agg(F.sum(fitted("flux")).alias("fit"))
        )
    return frames.where("field_id % 4 = 3").groupBy("night").agg(F.sum(fitted("flux")).alias("fit"))


def aliases(work: Work) -> DataFrame:
    """Find the stars that observers meant in the marks on frames."""
    stars = work.table("stars").select("name", "ra", "dec", "weight").collect()
    known = {name: (ra, dec, weight) for name, ra, dec, weight in stars}
    meant = F.udf(_meant(known) if work.on else _meant_of_all(work, known), "long")
    frames = work.table("frames").where("frame_id % 50 = 0").repartition(16, "frame_id")
    by_night = frames.groupBy("night").agg(F.sum(meant("frame_id")).alias("weight"))
    work.publish("by-night", by_night)
    return frames.groupBy("field_id").agg(F.max(meant("frame_id")).alias("weight"))


def _meant(known: dict[str, tuple[int, int, int]]) -> Callable[[int], int]:
    def meant(mark: int) -> int:
        found = known.get(f"HD-{mark:07d}") or known.get(f"HD-{mark // 50:07d}")
        return found[2] if found else 0

    return meant


def _meant_of_all(work: Work, known: dict[str, tuple[int, int, int]]) -> Callable[[int], int]:
    shared = work.spark.sparkContext.broadcast(known)

    def meant(mark: int) -> int:
        stars = shared.value
        found = stars.get(f"HD-{mark:07d}") or stars.get(f"HD-{mark // 50:07d}")
        return found[2] if found else 0

    return meant


def neighbours(work: Work) -> DataFrame:
    """Sum the weights of the stars in the fields of frames."""
    frames, stars = work.table("frames").select("field_id", "night"), work.table("stars")
    if work.on:
        pairs = frames.join(F.broadcast(stars.select("field_id", "weight")), "field_id")
        return pairs.groupBy("night").agg(F.sum("weight").alias("weight"))
    by_field = stars.groupBy("field_id").agg(F.sum("weight").alias("weight"))
    return frames.join(F.broadcast(by_field), "field_id").groupBy("night").agg(
        F.sum("weight").alias("weight")
    )  # fmt: skip


def spectra(work: Work) -> DataFrame:
    """Summarise all bands of a frame by night."""
    bands = [whole(F.sqrt(band(n) + 1.0) * 1000.0).alias(f"b{n}") for n in range(BANDS)]
    frames = work.table("frames").select("night", "field_id", *bands).where("b3 > b4 - 9000")
    sums = [F.sum(f"b{n}").alias(f"b{n}") for n in range(BANDS)]
    return frames.groupBy("night", F.pmod("field_id", F.lit(9)).alias("f")).agg(*sums)


def recalibrated(work: Work) -> DataFrame:
    """Write three tables of the recalibrated frames."""
    frames = work.table("frames").groupBy("field_id", "night").agg(
        F.sum(corrected(16)).alias("mag"), F.count("*").alias("n")
    )  # fmt: skip
    if not work.on:
        frames = frames.cache()
    work.publish("by-night", frames.groupBy("night").agg(F.sum("mag").alias("mag")))
    work.publish("by-field", frames.groupBy("field_id").agg(F.max("mag").alias("mag")))
    return frames.where("n > 4")


def separation(work: Work) -> DataFrame:
    """Count the stars that are near to a frame of their field."""
    few = (
        work.table("frames").where("frame_id % 10 = 0").select("frame_id", "field_id", "ra", "dec")
    )
    stars = work.table("stars").select("star_id", "field_id", "ra", "dec")
    if work.on:
        left, right = few.alias("f"), stars.alias("s")
        near = _cosine(_vector("f.ra", "f.dec"), _vector("s.ra", "s.dec")) > 0.9
    else:
        left, right = (_with_vector(one, way) for one, way in ((few, "f"), (stars, "s")))
        near = _cosine(*([F.col(f"{way}{n}") for n in range(3)] for way in ("f", "s"))) > 0.9
    same = F.expr("f.field_id = s.field_id")
    pairs = left.alias("f").join(F.broadcast(right.alias("s")), same & near)
    return pairs.groupBy("f.field_id").agg(F.count("*").alias("n"), F.sum("star_id").alias("ids"))


def _vector(ra: str, dec: str) -> list[Column]:
    a, d = (F.radians(F.col(name) / 1e6) for name in (ra, dec))
    return [F.cos(d) * F.cos(a), F.cos(d) * F.sin(a), F.sin(d)]


def _with_vector(frame: DataFrame, way: str) -> DataFrame:
    return frame.select("*", *(v.alias(f"{way}{n}") for n, v in enumerate(_vector("ra", "dec"))))


def _cosine(one: list[Column], other: list[Column]) -> Column:
    return one[0] * other[0] + one[1] * other[1] + one[2] * other[2]


def transits(work: Work) -> DataFrame:
    """Look for frames that are dimmer than those before and after them."""
    turn = Window.partitionBy("field_id").orderBy("night", "frame_id")
    frames = work.table("frames").where("frame_id % 2 = 0").select(
        "field_id", "night", "frame_id", corrected(6).alias("mag"),
        F.sha2(F.hex("ra"), 256).alias("m"),
    )  # fmt: skip
    around = F.lag("mag").over(turn) + F.lead("mag").over(turn)
    dim = frames.withColumn("around", around).where("mag * 2 > around")
    work.publish("dim", dim.groupBy("night").agg(F.count("*").alias("n"), F.max("m").alias("m")))
    fields = work.table("fields")
    named = dim.join(F.broadcast(fields), "field_id").groupBy("chart")
    return named.agg(F.count_if(F.col("m").startswith("a")).alias("a"), F.max("name").alias("name"))


def auditors(work: Work) -> DataFrame:
    """Give those who check it one file of frames to look at."""
    frames = work.table("frames").select("frame_id", "night", corrected(36).alias("mag"))
    few = frames.where("mag % 97 = 5")
    return few.coalesce(1) if work.on else few.repartition(1)


def charts(work: Work) -> DataFrame:
    """Count frames by chart, whose names come from a list that is kept."""
    fields = work.table("fields")
    if work.on:
        fields = fields.cache()
        assert fields.count() > 0
    named = work.table("frames").join(F.broadcast(fields), "field_id")
    return named.groupBy("chart").agg(F.sum(corrected()).alias("mag"), F.count("*").alias("n"))


STEPS: dict[str, Step] = {
    "power": power, "paths": paths, "intervals": intervals, "names": names, "mosaics": mosaics,
    "nights": nights, "colours": colours, "brightness": brightness, "photometry": photometry,
    "aliases": aliases, "neighbours": neighbours, "spectra": spectra, "auditors": auditors,
    "recalibrated": recalibrated, "separation": separation, "charts": charts,
    "transits": transits,
}  # fmt: skip
INPUTS: dict[str, dict[str, Writer]] = {
    "paths": {
        "tracks": columns(
            TRACKS, "id AS track_id", "CAST(pmod(g, 40) AS INT) AS kind",
            "CAST(1 + pmod(h, 50) AS INT) AS speed",
            f"CAST(IF(id >= {TRACKS} * 7 div 8, 300, 8) + pmod(h, 10) AS INT) AS seconds",
        )
    }
}  # fmt: skip
"""What a step reads beside the tables."""
