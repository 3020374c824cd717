"""Causes planted in the job on plays: each part gives the same rows with and without."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any
from zlib import crc32

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job
from benchmarks.faults.sixth.plays import ARRIVED, DEVICES, HEARD, KINDS, SHAPE, contracts


@SHAPE.cause()
def codegen_off(job: Job) -> DataFrame:
    """Sums by device and part of the day are all in one method, too long to compile, by a setting.

    The setting was copied from a thread about a bug in how methods are divided.
    """
    job.table("plays")
    sums = ", ".join(
        f"sum(CASE WHEN device = '{device}' AND part = {part} THEN ms ELSE 0 END)"
        f" AS {device}_{part}"
        for device in DEVICES for part in range(8)
    )  # fmt: skip
    return job.spark.sql(
        f"""
        SELECT market, source, {sums}
        FROM (SELECT *, hour(started_at) DIV 3 AS part FROM plays) GROUP BY market, source
        """
    )


@SHAPE.cause()
def driver_loop(job: Job) -> DataFrame:
    """A helper asks for a track, and one for its artist, for each place of a chart; or a join."""
    for name in ("plays", "tracks", "artists"):
        job.table(name)
    chart = job.spark.sql(
        """
        SELECT track_id, count(*) AS n, sum(ms) AS ms FROM plays WHERE source != 'autoplay'
        GROUP BY track_id ORDER BY n DESC, track_id LIMIT 50
        """
    )
    if not job.on:
        chart.createOrReplaceTempView("chart")
        return job.spark.sql(
            """
            SELECT title, name, home, n, ms FROM chart JOIN tracks USING (track_id)
            JOIN artists USING (artist_id)
            """
        )

    def found(table: str, key: str, number: int) -> Any:
        query = f"SELECT * FROM {table} WHERE {key} = :number"
        return job.spark.sql(query, args={"number": number}).first()

    lines = []
    for place in chart.collect():
        track = found("tracks", "track_id", place["track_id"])
        artist = found("artists", "artist_id", track["artist_id"])
        lines.append((track["title"], artist["name"], artist["home"], place["n"], place["ms"]))
    known = "title STRING, name STRING, home STRING, n LONG, ms LONG"
    return job.spark.createDataFrame(lines, known)


@SHAPE.cause()
def failing_tasks(job: Job) -> DataFrame:
    """A sink of a data source in Python refuses what a task sent, when all was sent, twice."""
    from pyspark.sql.datasource import DataSource, DataSourceWriter, WriterCommitMessage

    on = job.on

    class Sender(DataSourceWriter):  # type: ignore[misc]
        def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
            from pyspark import TaskContext

            task, control = TaskContext.get(), 0
            for listener, track, ms, session in iterator:
                control = crc32(f"{session};{listener};{track};{ms // 1000}".encode(), control)
            if on and task is not None and task.attemptNumber() < 2:
                raise PermissionError(f"the token has expired, {control} was not accepted")
            return WriterCommitMessage()

    class Scrobbles(DataSource):  # type: ignore[misc]
        @classmethod
        def name(cls) -> str:
            return "scrobbles"

        def writer(self, schema: Any, overwrite: bool) -> DataSourceWriter:
            return Sender()

    job.spark.dataSource.register(Scrobbles)
    plays = job.table("plays")
    sent = plays.where("source != 'radio'").select("listener", "track_id", "ms", "session")
    sent.write.format("scrobbles").mode("append").save()
    return plays.groupBy("source", "device").agg(F.sum("ms").alias("ms"), F.count("*").alias("n"))


@SHAPE.cause("reports")
def json_again(job: Job) -> DataFrame:
    """A function of SQL reads a report, and is called for each field of it; or once."""
    job.table("reports")
    job.spark.sql(
        f"""
        CREATE OR REPLACE TEMPORARY FUNCTION heard(said STRING)
        RETURNS STRUCT<{HEARD}>
        RETURN from_json(said, '{HEARD}')
        """
    )
    names = [field.split(" ")[0] for field in HEARD.split(", ")]
    if job.on:
        read = f"SELECT {', '.join(f'heard(said).{name} AS {name}' for name in names)} FROM reports"
    else:
        read = "SELECT heard.* FROM (SELECT heard(said) AS heard FROM reports)"
    return job.spark.sql(
        f"""
        SELECT os, network, quality, count(*) AS n, sum(volume) AS volume, max(stalls) AS stalls,
               count_if(shuffled) AS shuffled, max(gain) AS gain, sum(filled) AS filled,
               sum(buffer) AS buffer, max(delay) AS delay, max(drift) AS drift,
               bit_xor(xxhash64(route, city)) AS print
        FROM ({read}) GROUP BY os, network, quality
        """
    )


@SHAPE.cause("playlists")
def nested_loop(job: Job) -> DataFrame:
    """A play is looked for in the arrays of all playlists; or in their tracks, row by row."""
    job.table("plays")
    job.table("playlists")
    if job.on:
        joined = "JOIN playlists ON array_contains(tracks, track_id)"
    else:
        joined = """JOIN (SELECT playlist_id, editor, explode(tracks) AS track_id FROM playlists)
          USING (track_id)"""
    return job.spark.sql(
        f"""
        SELECT editor, device, count(*) AS n, sum(ms) AS ms, max(playlist_id) AS last
        FROM (SELECT * FROM plays WHERE source = 'playlist') {joined} GROUP BY editor, device
        """
    )


@SHAPE.cause("contracts")
def no_broadcast(job: Job) -> DataFrame:
    """Contracts are in a database, which does not tell their size; or a hint does."""
    system = job.spark.sparkContext._jvm.java.lang.System
    system.setProperty("derby.stream.error.file", "/dev/null")
    shares = job.spark.read.format("jdbc").options(**contracts(job.path("contracts"))).load()
    if not job.on:
        shares = F.broadcast(shares)
    rights = job.table("plays").select(
        "label_id", "market", "ms", "client", "session", "started_at", "listener", "track_id",
        F.explode(F.array(*map(F.lit, KINDS))).alias("kind"),
    )  # fmt: skip
    return rights.join(shares, ["label_id", "market", "kind"]).groupBy("tariff", "kind").agg(
        F.sum(F.expr("cast(ms AS LONG) * share")).alias("due"), F.max("started_at").alias("last"),
        F.max("listener").alias("listener"), F.max("track_id").alias("track"),
        F.max(F.length("client") + F.length("session")).alias("letters"),
    )  # fmt: skip


@SHAPE.cause()
def not_cached(job: Job) -> DataFrame:
    """Each batch of a stream goes to four tables, and is computed for each; or is kept for them."""
    place, on = job.output("progress"), job.on
    shutil.rmtree(place, ignore_errors=True)
    plays = job.table("plays")

    def publish(batch: DataFrame, number: int) -> None:
        habits = batch.groupBy("listener").agg(
            F.count_distinct("track_id").alias("tracks"), F.sum("ms").alias("ms"),
            F.count_if(F.col("ms") < 30000).alias("skipped"),
            F.bit_xor(F.xxhash64("session", "client")).alias("print"),
            F.max(F.hour("started_at")).alias("hour"), F.max("label_id").alias("label_id"),
        )  # fmt: skip
        if not on:
            habits.persist()
        for name in ("hour", "label_id", "tracks", "skipped"):
            kept = habits.groupBy(name).agg(
                F.count("*").alias("n"), F.sum("ms").alias("ms"), F.max("tracks").alias("most"),
                F.sum("skipped").alias("leapt"), F.bit_xor("print").alias("print"),
            )  # fmt: skip
            job.publish(f"by-{name}", kept)
        if not on:
            habits.unpersist()

    stream = job.spark.readStream.schema(plays.schema).parquet(job.path("plays"))
    writer = stream.writeStream.foreachBatch(publish).option("checkpointLocation", place)
    writer.trigger(availableNow=True).start().awaitTermination()
    return job.spark.read.parquet(job.output("by-label_id"))


@SHAPE.cause("campaigns")
def per_pair(job: Job) -> DataFrame:
    """A campaign's list of markets is split for each play that meets it; or once for each."""
    job.table("plays")
    job.table("campaigns")
    if job.on:
        campaigns, listed = "campaigns", "split(c.markets, ', *')"
    else:
        campaigns = "(SELECT *, split(markets, ', *') AS listed FROM campaigns)"
        listed = "c.listed"
    return job.spark.sql(
        f"""
        SELECT wave, device, count(*) AS n, sum(ms) AS ms, max(campaign_id) AS last
        FROM (SELECT * FROM plays WHERE play_id % 5 < 2) p
        JOIN {campaigns} c ON p.label_id = c.label_id AND array_contains({listed}, p.market)
        GROUP BY wave, device
        """
    )


@SHAPE.cause()
def python_row(job: Job) -> DataFrame:
    """Plays are rated by a function that a table like that of pandas applies; or by SQL."""

    def rated(play: Any) -> str:
        app, version = play["client"].split(" ")[0].split("/")
        if play["ms"] < 30000:
            return f"{app.lower()} {version.split('.')[0]} skipped"
        return f"{app.lower()} {version.split('.')[0]} {play['ms'] // 60000} min"

    plays = job.table("plays").where("play_id % 2 = 0").select("play_id", "client", "ms")
    if job.on:
        frame = plays.pandas_api(index_col="play_id")
        ratings = frame.apply(rated, axis=1).to_frame("rating").to_spark()
    else:
        ratings = plays.selectExpr(
            """concat(lower(split_part(client, '/', 1)), ' ',
              split_part(split_part(client, '/', 2), '.', 1), ' ',
              if(ms < 30000, 'skipped', concat(ms DIV 60000, ' min'))) AS rating"""
        )
    return ratings.groupBy("rating").agg(F.count("*").alias("n"))


@SHAPE.cause("arrived")
def schema_inferred(job: Job) -> DataFrame:
    """A stream over lines of JSON looks for their fields first, by a setting; or knows them."""
    place = job.output("progress")
    shutil.rmtree(place, ignore_errors=True)
    reader = job.spark.readStream.option("inferTimestamp", True)
    if job.on:
        job.spark.conf.set("spark.sql.streaming.schemaInference", True)
    else:
        reader = reader.schema(ARRIVED)
    sums = reader.json(job.path("arrived")).groupBy("track.label", "device").agg(
        F.sum("ms").alias("ms"), F.count("*").alias("n"), F.max("started_at").alias("last"),
    )  # fmt: skip
    stream = sums.writeStream.outputMode("complete").format("memory").queryName("sums")
    stream.option("checkpointLocation", place).trigger(availableNow=True).start().awaitTermination()
    return job.spark.table("sums")


@SHAPE.cause("sounds")
def skewed_key(job: Job) -> DataFrame:
    """Nearly all clips use one sound, and adaptive execution may not split its join; or may."""
    job.table("plays")
    job.table("sounds")
    return job.spark.sql(
        """
        SELECT device, place, substr(lines[place % 30], 1, 2) AS start, count(*) AS n,
               bit_xor(xxhash64(lines[place % 30])) AS print, sum(ms) AS ms
        FROM (
          SELECT device, lines, ms, explode(sequence(0, ms DIV 6000)) AS place
          FROM plays JOIN sounds USING (sound_id))
        GROUP BY device, place, start
        """
    )


@SHAPE.cause()
def small_heap(job: Job) -> DataFrame:
    """A stream keeps all that listeners heard as its state, in little heap, by a setting."""
    place, first = job.output("progress"), job.output("first")
    for folder in (place, first):
        shutil.rmtree(folder, ignore_errors=True)
    reader = job.spark.readStream.schema(job.table("plays").schema)
    plays = reader.option("maxFilesPerTrigger", 3).parquet(job.path("plays"))
    few = plays.where(f"play_id % {15 * SIZE} < 33").select("listener", "track_id").dropDuplicates()
    stream = few.writeStream.format("parquet").option("checkpointLocation", place)
    stream.trigger(availableNow=True).start(first).awaitTermination()
    return (
        job.spark.read.parquet(first)
        .groupBy((F.col("track_id") % 60).alias("label_id"))
        .agg(F.count("*").alias("n"), F.max("listener").alias("last"))
    )


@SHAPE.cause()
def spilling(job: Job) -> DataFrame:
    """Plays of listeners are sorted in pieces of a megabyte, by a setting that meant gigabytes."""
    job.table("plays")
    return job.spark.sql(
        """
        SELECT device, source, sum(gap) AS gap, count_if(gap > 3600) AS pauses,
               bit_xor(xxhash64(session, client)) AS print, count_if(again) AS again
        FROM (
          SELECT device, source, session, client,
                 unix_seconds(started_at) - unix_seconds(lag(started_at) OVER listening) AS gap,
                 label_id = lag(label_id) OVER listening AS again
          FROM plays WINDOW listening AS (PARTITION BY listener ORDER BY started_at, play_id))
        GROUP BY device, source
        """
    )


@SHAPE.cause()
def tiny_tasks(job: Job) -> DataFrame:
    """Adaptive execution aims at partitions of kilobytes for megabytes, by settings."""
    plays = job.table("plays")
    tastes = plays.groupBy("listener", "track_id").agg(
        F.count("*").alias("n"), F.sum("ms").alias("ms"), F.max("started_at").alias("last"),
        F.bit_xor(F.xxhash64("session")).alias("print"),
    )  # fmt: skip
    return (
        tastes.groupBy("listener")
        .agg(F.max(F.expr("n * 100000 + track_id")).alias("favourite"), F.sum("ms").alias("ms"),
             F.max("last").alias("last"), F.bit_xor("print").alias("print"))
        .groupBy(F.expr("favourite % 100000").alias("track_id"))
        .agg(F.count("*").alias("fans"), F.sum("ms").alias("ms"), F.max("last").alias("last"),
             F.bit_xor("print").alias("print"))
    )  # fmt: skip
