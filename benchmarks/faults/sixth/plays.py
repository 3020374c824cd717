"""Songs played by listeners: devices and durations, with tracks, artists, labels and playlists."""

from __future__ import annotations

from pyspark.sql import functions as F

from benchmarks.faults.later.job import SIZE, Job, Shape

SHAPE = Shape("plays")
TABLES = ("plays", "tracks", "artists", "labels")
ROWS = 500_000 * SIZE
LISTENERS = 60_000
TRACKS = 30_000
ARTISTS = 3_000
LABELS = 60
MARKETS = 150
SOUNDS = 40_000
DAYS = 60
START = 1767225600
"""First second of 2026, UTC."""
KINDS = ("master", "print", "stage", "clip", "radio", "cover")
"""Kinds of rights."""
DEVICES = ("phone", "tablet", "desktop", "speaker", "car", "tv")
ARRIVED = """play_id LONG, listener LONG, track STRUCT<id: LONG, label: LONG>, device STRING,
client STRING, source STRING, market STRING, started_at TIMESTAMP, ended_at TIMESTAMP, ms LONG,
session STRING"""
"""Of plays as players send them."""
HEARD = """os STRING, city STRING, network STRING, quality STRING, volume INT, stalls INT, \
shuffled BOOLEAN, gain DOUBLE, route STRING, \
filled INT, buffer INT, delay INT, drift INT"""
"""Of reports on what was heard."""


def market(number: str) -> str:
    """Give the expression of a market's name of two letters."""
    return f"concat(chr(65 + ({number}) DIV 26), chr(65 + ({number}) % 26))"


@SHAPE.input("plays")
def write_plays(job: Job, path: str) -> None:
    """Write plays of sixty days; nearly all clips of other people use one sound."""
    devices = ", ".join(f"'{device}'" for device in DEVICES)
    ids = job.spark.range(0, ROWS, 1, 8)
    known = ids.selectExpr(
        "id", "xxhash64(id) AS h", "xxhash64(id, 2) AS g", "xxhash64(id, 3) AS f"
    )
    known.selectExpr(
        "id AS play_id", f"pmod(h, {LISTENERS}) AS listener",
        f"cast(pmod(g, {TRACKS}) AS INT) AS track_id",
        f"cast(pmod(g, {TRACKS}) % {LABELS} AS INT) AS label_id",
        f"{market(f'cast(pmod(f, {MARKETS}) AS INT)')} AS market",
        f"element_at(array({devices}), cast(1 + pmod(xxhash64(f), 6) AS INT)) AS device",
        "concat(element_at(array('Tune', 'TuneLite', 'Castr', 'Web'),"
        " cast(1 + pmod(xxhash64(g), 4) AS INT)), '/', 6 + pmod(h, 4), '.', pmod(g, 20),"
        " ' (build ', pmod(xxhash64(h), 900), ')') AS client",
        "element_at(array('playlist', 'search', 'album', 'radio', 'autoplay'),"
        " cast(1 + pmod(xxhash64(h), 5) AS INT)) AS source",
        f"timestamp_seconds({START} + pmod(f, {DAYS * 86400})) AS started_at",
        "cast(15000 + pmod(xxhash64(id, 4), 285000) AS INT) AS ms",
        f"cast(if(pmod(h, 100) < 94, 7, pmod(g, {SOUNDS})) AS INT) AS sound_id",
        "lower(hex(xxhash64(id DIV 3))) AS session",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("tracks")
def write_tracks(job: Job, path: str) -> None:
    """Write tracks, by whom they are and how long they last."""
    job.spark.range(0, TRACKS, 1, 1).selectExpr(
        "cast(id AS INT) AS track_id", f"cast(id % {ARTISTS} AS INT) AS artist_id",
        f"cast(id % {LABELS} AS INT) AS label_id", "concat('Song no. ', id) AS title",
        "element_at(array('pop', 'rock', 'jazz', 'folk', 'rap'), cast(1 + id % 5 AS INT)) AS genre",
        "cast(120000 + pmod(xxhash64(id), 180000) AS INT) AS whole",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("artists")
def write_artists(job: Job, path: str) -> None:
    """Write artists, and where they come from."""
    job.spark.range(0, ARTISTS, 1, 1).selectExpr(
        "cast(id AS INT) AS artist_id", "concat('The ', upper(hex(xxhash64(id)))) AS name",
        f"{market(f'cast(id % {MARKETS} AS INT)')} AS home",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("labels")
def write_labels(job: Job, path: str) -> None:
    """Write labels and the groups that own them."""
    job.spark.range(0, LABELS, 1, 1).selectExpr(
        "cast(id AS INT) AS label_id", "concat('Label ', id) AS label",
        "concat('Group ', id % 4) AS owner",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("playlists")
def write_playlists(job: Job, path: str) -> None:
    """Write playlists with the numbers of their tracks, each of which is there once."""
    job.spark.range(0, 480, 1, 1).selectExpr(
        "cast(id AS INT) AS playlist_id", "concat('Editor ', id % 30) AS editor",
        f"transform(sequence(0, 39), i -> cast((id * 83 + i * 709) % {TRACKS} AS INT)) AS tracks",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("campaigns")
def write_campaigns(job: Job, path: str) -> None:
    """Write campaigns of labels, with the markets where they run as a text."""
    name = market(f"cast((id * 31 + i * 7) % {MARKETS} AS INT)")
    job.spark.range(0, LABELS * 12, 1, 1).selectExpr(
        "cast(id AS INT) AS campaign_id", f"cast(id % {LABELS} AS INT) AS label_id",
        "concat('Wave ', id % 24) AS wave",
        f"array_join(transform(sequence(0, 19), i -> {name}), ', ') AS markets",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


@SHAPE.input("sounds")
def write_sounds(job: Job, path: str) -> None:
    """Write sounds of clips with thirty lines of their texts."""
    job.spark.range(0, SOUNDS, 1, 4).selectExpr(
        "cast(id AS INT) AS sound_id",
        "transform(sequence(0, 29), i -> lower(hex(xxhash64(id, i)))) AS lines",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def contracts(path: str) -> dict[str, str]:
    """Give where contracts are, in a database that is a folder."""
    return {
        "url": f"jdbc:derby:{path};create=true", "dbtable": "contracts",
        "driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    }  # fmt: skip


@SHAPE.input("contracts")
def write_contracts(job: Job, path: str) -> None:
    """Write which share a label has of each right in each market, into a database."""
    kinds = ", ".join(f"'{kind}'" for kind in KINDS)
    share = job.spark.range(0, LABELS * MARKETS * len(KINDS), 1, 1).selectExpr(
        f"cast(id % {LABELS} AS INT) AS label_id",
        f"{market(f'cast(id DIV {LABELS} % {MARKETS} AS INT)')} AS market",
        f"element_at(array({kinds}), cast(1 + id DIV {LABELS * MARKETS} AS INT)) AS kind",
        "concat('Tariff ', id % 11) AS tariff",
        "cast(pmod(xxhash64(id), 1000) AS INT) AS share",
    )  # fmt: skip
    types = "market VARCHAR(2), kind VARCHAR(8), tariff VARCHAR(12)"
    writer = share.write.format("jdbc").mode("overwrite").options(**contracts(path))
    writer.option("createTableColumnTypes", types).save()


@SHAPE.input("arrived")
def write_arrived(job: Job, path: str) -> None:
    """Write half of the plays as compressed lines of JSON, as players send them."""
    job.table("plays").where("play_id % 2 = 0").selectExpr(
        "play_id", "listener", "named_struct('id', track_id, 'label', label_id) AS track",
        "device", "client", "source", "market", "started_at",
        "started_at + make_interval(0, 0, 0, 0, 0, 0, ms DIV 1000) AS ended_at", "ms", "session",
    ).write.mode("overwrite").option("compression", "gzip").json(path)  # fmt: skip


@SHAPE.input("reports")
def write_reports(job: Job, path: str) -> None:
    """Write what players report of two plays in five, as text in JSON."""
    job.table("plays").where("play_id % 5 < 2").selectExpr(
        "play_id",
        """to_json(named_struct('os', concat(device, '-', track_id % 9),
          'city', concat('city ', listener % 400), 'network', element_at(array('wifi', '4g', '5g'),
          cast(1 + listener % 3 AS INT)), 'quality', concat(64 * (1 + track_id % 5), 'k'),
          'volume', ms % 101, 'stalls', ms % 7, 'shuffled', track_id % 2 = 0,
          'gain', (ms % 4000) / 100D, 'seen', transform(sequence(1, 12), i -> ms DIV i),
          'filled', ms % 11, 'buffer', ms % 13, 'delay', ms % 17, 'drift', ms % 19,
          'route', concat_ws('/', source, session, market))) AS said""",
    ).write.mode("overwrite").parquet(path)  # fmt: skip


def usual(job: Job) -> None:
    """Report the last weeks' plays of labels by day, and of genres by device and hour."""
    plays, tracks = job.table("plays"), job.table("tracks")
    last = plays.where("started_at >= TIMESTAMP'2026-02-01 00:00:00'")
    job.publish(
        "labels",
        last.join(job.table("labels"), "label_id")
        .groupBy("owner", "label", F.to_date("started_at").alias("day"))
        .agg(F.count("*").alias("n"), F.sum("ms").alias("ms")),
    )
    job.publish(
        "genres",
        last.join(tracks.select("track_id", "genre", "whole"), "track_id")
        .groupBy("genre", "device", F.hour("started_at").alias("hour"))
        .agg(F.count_if(F.expr("ms > 0.9 * whole")).alias("ended"), F.max("ms").alias("longest")),
    )


SHAPE.usual = usual
