"""Causes planted in the job on readings: each part gives the same rows with and without."""

from __future__ import annotations

import csv
import glob
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.later.job import Job
from benchmarks.faults.later.readings import SHAPE

SUM = "aggregate(samples, 0.0D, (total, x) -> total + x)"


@SHAPE.cause()
def one_task(job: Job) -> DataFrame:
    """One file is asked for by one partition, in which rows are worked on and sorted too."""
    readings = job.table("readings").where("quality < 3").select("sensor", "at", "samples")
    if job.on:
        readings = readings.repartition(1)
    smooth = readings.select(
        "sensor", F.hour("at").alias("hour"), F.posexplode("samples").alias("place", "sample")
    ).withColumn("ranked", F.expr("row_number() OVER (PARTITION BY sensor ORDER BY sample, place)"))
    if not job.on:
        smooth = smooth.where("ranked > 0")
    return (
        smooth.where("ranked % 97 = 0")
        .groupBy("sensor")
        .agg(F.max("sample").alias("high"), F.sum("place").alias("places"))
    )


@SHAPE.cause("gzipped", "gzipped-in-parts")
def gzip_input(job: Job) -> DataFrame:
    """Lines of a gateway come in one gzip file; or in eight."""
    lines = job.spark.read.text(job.path("gzipped" if job.on else "gzipped-in-parts"))
    fields = F.split("value", "\\|")
    samples = F.split(fields[2], ";")
    readings = lines.select(
        fields[0].cast("int").alias("sensor"), F.posexplode(samples).alias("place", "sample")
    )
    return readings.groupBy("sensor", "place").agg(
        F.max(F.col("sample").cast("double")).alias("high"), F.count("*").alias("n")
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """Files are split into pieces of a few kilobytes, by a setting."""
    return (
        job.table("readings")
        .groupBy("sensor", "quality")
        .agg(F.max("temperature").alias("high"), F.sum(F.element_at("samples", 1)).alias("first"))
    )


@SHAPE.cause()
def skewed_key(job: Job) -> DataFrame:
    """Readings are brought together by site, of which one has most; or by sensor."""
    sensors = job.table("sensors").select("sensor", "site", "gain")
    readings = job.table("readings").where("quality > 0").join(F.broadcast(sensors), "sensor")
    readings = readings.repartition(*(["site"] if job.on else ["site", "sensor"]))
    return (
        readings.select("site", "sensor", F.posexplode("samples").alias("place", "sample"), "gain")
        .groupBy("site", "sensor", "place")
        .agg(F.sum(F.expr("sample * gain")).alias("sum"), F.max("sample").alias("high"))
        .groupBy("site", "place").agg(F.max("sum").alias("sum"), F.max("high").alias("high"))
    )  # fmt: skip


@SHAPE.cause("limits")
def interval_join(job: Job) -> DataFrame:
    """A limit is of the sensor OR of the pressure, in one condition; or in two joins."""
    readings = job.table("readings").select("reading", "sensor", "pressure", "quality")
    limits = job.table("limits").select("grade", F.col("sensor").alias("of_sensor"),
                                        F.col("pressure").alias("of_pressure"))  # fmt: skip
    by_sensor = readings.sensor == limits.of_sensor
    by_pressure = readings.pressure == limits.of_pressure
    if job.on:
        met = readings.join(limits, by_sensor | by_pressure)
    else:
        met = readings.join(limits, by_sensor).union(readings.join(limits, by_pressure))
    return met.groupBy("grade", "quality").agg(
        F.count("*").alias("n"), F.max("pressure").alias("p")
    )


@SHAPE.cause("alarms")
def pair_expression(job: Job) -> DataFrame:
    """The middle of the samples is looked for with each level of alarm; or once a reading."""
    middle = F.array_sort("samples")[9]
    readings = job.table("readings").selectExpr("sensor % 50 AS line", "samples", "quality")
    if not job.on:
        readings = readings.select("line", "quality", middle.alias("middle"))
        middle = F.col("middle")
    alarms = job.table("alarms")
    raised = readings.join(
        F.broadcast(alarms), (readings.line == alarms.line) & (middle > alarms.level)
    )
    return raised.groupBy("alarm", "quality").agg(F.count("*").alias("n"))


@SHAPE.cause()
def costly_pattern(job: Job) -> DataFrame:
    """Samples are sorted by a function of pairs to find the largest; or it is looked for."""
    if job.on:
        order = "CASE WHEN a < b THEN 1 WHEN a > b THEN -1 ELSE 0 END"
        largest = f"array_sort(samples, (a, b) -> {order})[0]"
    else:
        largest = "array_max(samples)"
    return job.table("readings").groupBy("sensor").agg(F.sum(F.expr(largest)).alias("peaks"))


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """A Python function adds samples up, over pickled rows; or an expression does."""

    def energy(samples: list[float], pressure: float) -> float:
        return sum(sample * sample for sample in samples) + pressure

    if job.on:
        used = F.udf(energy, "double", useArrow=False)("samples", "pressure")
    else:
        used = F.expr("aggregate(samples, 0.0D, (total, x) -> total + x * x) + pressure")
    few = job.table("readings").where("quality < 2")
    return few.select("sensor", used.alias("used")).groupBy("sensor").agg(
        F.sum("used").alias("used"), F.max("used").alias("most")
    )  # fmt: skip


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """Four parts of one report read the same summary, each computing it."""
    readings = job.table("readings").select(
        "sensor", F.to_date("at").alias("day"), F.posexplode("samples").alias("place", "sample")
    )
    summary = readings.groupBy("sensor", "day", "place").agg(
        F.max("sample").alias("high"), F.min("sample").alias("low"), F.sum("sample").alias("sum")
    )
    if not job.on:
        summary = summary.persist()
    high = summary.where("high > 99").select("sensor", "day", F.lit("high").alias("what"))
    low = summary.where("low < 1").select("sensor", "day", F.lit("low").alias("what"))
    wide = summary.where("high - low > 95").select("sensor", "day", F.lit("wide").alias("what"))
    flat = summary.where("sum < 700").select("sensor", "day", F.lit("flat").alias("what"))
    return high.union(low).union(wide).union(flat).groupBy("sensor", "what").count()


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """An RDD is looked up sensor by sensor; or added up by key."""
    few = job.table("readings").where("sensor < 600 AND reading % 3 = 0")
    pairs = few.select("sensor", "temperature").rdd.map(lambda row: (row[0] % 60, row[1])).cache()
    if job.on:
        sums = [
            (line, pairs.filter(lambda pair, line=line: pair[0] == line).values().sum())
            for line in range(60)
        ]
    else:
        sums = pairs.reduceByKey(lambda a, b: a + b, 8).collect()
    return job.spark.createDataFrame(sums, "line INT, temperature DOUBLE")


@SHAPE.cause("wide-csv")
def idle_driver(job: Job) -> DataFrame:
    """The driver reads a file of text by itself before Spark starts to; or Spark reads all."""
    path = job.path("wide-csv")
    if job.on:
        found: dict[int, float] = {}
        for name in sorted(glob.glob(f"{path}/*.csv"))[:4]:
            with open(name) as lines:
                for row in csv.DictReader(lines):
                    sensor, sample = int(row["sensor"]), float(row["s3"])
                    found[sensor] = max(found.get(sensor, sample), sample)
        highs = job.spark.createDataFrame(sorted(found.items()), "sensor INT, high DOUBLE")
    else:
        few = job.table("readings").where("reading < 300000")
        highs = few.groupBy("sensor").agg(F.max(F.element_at("samples", 4)).alias("high"))
    return highs.join(job.table("sensors"), "sensor").groupBy("site").agg(F.sum("high").alias("h"))


@SHAPE.cause()
def collected(job: Job) -> DataFrame:
    """An RDD comes to the driver and is made parallel there; or stays where it is."""
    few = job.table("readings").where("quality = 1").select("sensor", "samples", "temperature")
    if job.on:
        context = job.spark.sparkContext
        rows: Any = [(row[0], row[1], row[2]) for row in few.rdd.collect()]
        kept = job.spark.createDataFrame(
            context.parallelize(rows, 8), "sensor INT, samples ARRAY<DOUBLE>, temperature DOUBLE"
        )
    else:
        kept = few
    return kept.groupBy("sensor").agg(
        F.sum("temperature").alias("t"), F.sum(F.expr(SUM)).alias("sum")
    )


@SHAPE.cause("wide-csv")
def schema_inferred(job: Job) -> DataFrame:
    """Two exports are read with types to be found, each; or with types that are known."""
    path = job.path("wide-csv")
    known = "sensor INT, at TIMESTAMP, " + ", ".join(f"s{i} DOUBLE" for i in range(12))
    known += ", temperature DOUBLE, pressure DOUBLE, quality INT"
    if job.on:
        table = job.spark.read.csv(path, header=True, inferSchema=True)
    else:
        table = job.spark.read.csv(path, header=True, schema=known)
    return table.groupBy("sensor").agg(F.max("quality").alias("quality"))


@SHAPE.cause("many-files", "few-files")
def small_files(job: Job) -> DataFrame:
    """Each sensor has a folder; or all readings are in eight files."""
    readings = job.spark.read.parquet(job.path("many-files" if job.on else "few-files"))
    return readings.groupBy("sensor").agg(
        F.max("temperature").alias("high"), F.sum(F.expr(SUM)).alias("sum")
    )


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """All samples are put in order in little memory, by a setting."""
    samples = job.table("readings").where("quality < 2").select(
        "reading", "sensor", F.posexplode("samples").alias("place", "sample")
    )  # fmt: skip
    ordered = samples.orderBy("sample", "reading", "place")
    job.publish("ordered", ordered)
    return samples.groupBy("sensor").agg(F.max("sample").alias("high"))


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """Series of whole lines of sensors are built in little heap, by a setting."""
    series = job.table("readings").groupBy(F.expr("sensor % 40").alias("line")).agg(
        F.collect_list("samples").alias("series"), F.collect_list("temperature").alias("t")
    )  # fmt: skip
    return series.select(
        "line", F.size("series").alias("n"),
        F.expr("aggregate(series, 0.0D, (total, one) -> total + one[3])").alias("sum"),
        F.array_max("t").alias("high"),
    )  # fmt: skip


@SHAPE.cause()
def interpreted_plan(job: Job) -> DataFrame:
    """Rows have more columns than may be compiled together, by a setting."""
    columns = [F.col("samples")[i].alias(f"s{i}") for i in range(12)]
    wide = job.table("readings").select("sensor", "temperature", "pressure", "quality", *columns)
    again = wide.select("*", F.explode(F.sequence(F.lit(1), F.lit(8))).alias("copy"))
    scaled = again.where("temperature > 0.5").select(
        "sensor", "copy", *(F.expr(f"s{i} * copy + pressure").alias(f"s{i}") for i in range(12))
    )
    return (
        scaled.where("s0 + s1 > s2 - 50")
        .groupBy("sensor", "copy")
        .agg(*(F.max(f"s{i}").alias(f"s{i}") for i in range(12)))
    )


@SHAPE.cause()
def no_broadcast(job: Job) -> DataFrame:
    """Spark does not know how small a table from the program is; or it is said to be small."""
    sensors = [(row[0], row[1], row[2]) for row in job.table("sensors").select(
        "sensor", "site", "gain").collect()]  # fmt: skip
    context = job.spark.sparkContext
    known = job.spark.createDataFrame(
        context.parallelize(sensors, 2), "sensor INT, site INT, gain DOUBLE"
    )
    if not job.on:
        known = F.broadcast(known)
    return (
        job.table("readings")
        .join(known, "sensor")
        .groupBy("site", "quality")
        .agg(F.sum(F.expr(f"{SUM} * gain")).alias("sum"), F.max("at").alias("last"))
    )


@SHAPE.cause()
def failing_tasks(job: Job) -> DataFrame:
    """A pandas function fails once at its last batches."""
    on = job.on

    def means(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        task, seen = TaskContext.get(), 0
        for batch in batches:
            seen += len(batch)
            means = batch["samples"].map(lambda samples: float(sum(samples)))
            if on and task is not None and task.attemptNumber() == 0 and seen > 16_000:
                raise ConnectionError("the store of models did not answer")
            yield batch[["sensor"]].assign(sum=means)

    few = job.table("readings").where("quality = 2").select("sensor", "samples")
    return (
        few.mapInPandas(means, "sensor INT, sum DOUBLE")
        .groupBy("sensor")
        .agg(F.max("sum").alias("high"))
    )


@SHAPE.cause()
def costly_codec(job: Job) -> DataFrame:
    """Text for another program is written with bzip2; or with lz4."""
    lines = job.table("readings").where("quality < 2").select(
        F.concat_ws(",", "sensor", "temperature", F.concat_ws(";", F.expr(
            "transform(samples, x -> cast(x AS STRING))"))).alias("value")
    )  # fmt: skip
    codec = "bzip2" if job.on else "lz4"
    lines.write.mode("overwrite").option("compression", codec).text(job.output("lines"))
    return job.table("readings").groupBy("quality").count()


@SHAPE.cause("text")
def text_format(job: Job) -> DataFrame:
    """Samples are lists in lines of text; or arrays in Parquet."""
    if job.on:
        fields = F.split("value", "\\|")
        readings = job.spark.read.text(job.path("text")).select(
            fields[0].cast("int").alias("sensor"),
            F.split(fields[2], ";").cast("array<double>").alias("samples"),
        )
    else:
        readings = job.table("readings")
    return readings.groupBy("sensor").agg(
        F.sum(F.expr(SUM)).alias("sum"), F.max(F.array_max("samples")).alias("high")
    )


@SHAPE.cause("by-week", "shifts")
def pruning_defeated(job: Job) -> DataFrame:
    """Half days of one crew are joined without pruning, by a setting."""
    readings = job.spark.read.parquet(job.path("by-week"))
    crews = job.table("shifts").where("crew = 'crew 4'")
    return (
        readings.join(crews, "half_day")
        .groupBy("sensor")
        .agg(F.sum(F.expr(SUM)).alias("sum"), F.max("temperature").alias("high"))
    )


@SHAPE.cause()
def needless_shuffle(job: Job) -> DataFrame:
    """Samples are spread by the hour, and then shuffled by sensor and place all the same."""
    readings = job.table("readings").select(
        "sensor", F.hour("at").alias("hour"), "samples", "temperature"
    )
    if job.on:
        readings = readings.repartition(8, "hour")
    return readings.groupBy("sensor").agg(
        F.max("samples").alias("samples"), F.sum("temperature").alias("t")
    ).select("sensor", F.expr("samples[0]").alias("first"), "t")  # fmt: skip


@SHAPE.cause()
def several_distinct(job: Job) -> DataFrame:
    """A cube counts distinct values of four columns exactly; or takes sizes of sets."""
    readings = job.table("readings").selectExpr(
        "sensor % 40 AS line", "quality", "hour(at) AS hour", "cast(temperature AS INT) AS degrees",
        "cast(pressure AS INT) AS hpa", "dayofmonth(at) AS day",
    )  # fmt: skip
    names = ["hour", "degrees", "hpa", "day"]
    rolled = readings.rollup("line", "quality")
    if job.on:
        return rolled.agg(*(F.countDistinct(name).alias(name) for name in names))
    return rolled.agg(*(F.size(F.collect_set(name)).cast("long").alias(name) for name in names))


@SHAPE.cause("calibrations")
def join_explodes(job: Job) -> DataFrame:
    """Readings meet all calibrations of a sensor, of which those of the day are kept."""
    readings = job.table("readings").selectExpr(
        "sensor", "cast(day(at) - 1 AS INT) AS on_day", "quality", "temperature"
    )
    calibrations = job.table("calibrations").withColumnRenamed("sensor", "of")
    same = readings.sensor == calibrations.of
    if job.on:
        corrected = readings.join(calibrations, same).withColumn(
            "value", F.when(F.col("day") == F.col("on_day"), F.expr("temperature * factor"))
        )
    else:
        today = same & (readings.on_day == calibrations.day)
        corrected = readings.join(calibrations, today).withColumn(
            "value", F.expr("temperature * factor")
        )
    return corrected.groupBy("quality", "sensor").agg(F.sum("value").alias("value"))


@SHAPE.cause("messages")
def parsed_again(job: Job) -> DataFrame:
    """Each sample is read from the message by a path of its own; or all at once."""
    messages = job.table("messages")
    if job.on:
        sensor = F.get_json_object("message", "$.sensor").cast("int")
        samples = [F.get_json_object("message", f"$.v[{i}]").cast("double") for i in range(9)]
        read = messages.select(
            sensor.alias("sensor"), *(s.alias(f"s{i}") for i, s in enumerate(samples))
        )
    else:
        one = messages.select(F.from_json("message", "sensor INT, v ARRAY<DOUBLE>").alias("one"))
        read = one.select("one.sensor", *(F.expr(f"one.v[{i}]").alias(f"s{i}") for i in range(9)))
    return read.groupBy("sensor").agg(*(F.max(f"s{i}").alias(f"s{i}") for i in range(9)))
