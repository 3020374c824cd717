"""Decompression takes CPU time from tasks.

What it is
    Files, shuffle blocks, spills and broadcasts are compressed; reading them costs CPU that a
    cheaper codec, or none, would not.

Mechanism
    The share of CPU samples of each stage in frames of a codec, times its CPU, separately for files
    and for Spark's own blocks. How much of it another codec, or none, saves is measured (below).

Evidence
    CPU samples in decompression, by codec as the frames name it. What goes through the same
    libraries but is not data is left out: classes unpacked from archives, native libraries copied
    out of them, filters that Parquet writes into its configuration with gzip.

Remedy
    For files: zstd instead of gzip, otherwise no codec, where the data are written: the option
    `compression` of the writer, or the setting of its format there
    (`spark.sql.parquet.compression.codec`, `spark.sql.orc.compression.codec`,
    `spark.sql.avro.compression.codec`; text has none); factor `data.codec` for workloads that offer
    it. Where the files are read, these settings do nothing. For shuffles and spills:
    `spark.io.compression.codec=lz4`; where it is lz4 already, `spark.shuffle.compress=false`.

When it is wrong
    Where bytes are costlier than CPU (remote storage, a slow disk): less compression makes waits
    longer. In the labs of the published scan study, going from snappy to none saves 19 % of the
    time, with 12 % more bytes.

Source
    Speed of codecs, measured for these bounds on one core (AMD EPYC) on 2026-11-25: CPU time of
    Arrow 26.0.1's codecs for 24 MB of TPC-H lineitem as Parquet stores it (pages of 64 KiB, median
    of 7), in MB/s decompressing and compressing: gzip (level 6) 406 and 26, zstd (level 3) 1351 and
    380, snappy 1186 and 875, lz4 3596 and 896, a copy 5676. The bounds are the least and the most
    of this and two more data sets (1.6 MB of pages, 5 MB of Arrow buffers). Measured effect of no
    codec on a job: Canali, Performance Analysis of a CPU-Intensive Workload in Apache Spark (CERN,
    2017), lab 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from pyrometer.core import units
from pyrometer.explain.evidence.codecs import Codec, codec_shares
from pyrometer.explain.evidence.saying import code, factor, flame
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy

PARQUET, BLOCKS = "spark.sql.parquet.compression.codec", "spark.io.compression.codec"
OFF = "spark.shuffle.compress"
_SETTINGS = {
    "parquet": PARQUET, "orc": "spark.sql.orc.compression.codec",
    "avro": "spark.sql.avro.compression.codec",
}  # fmt: skip
"""Settings of the writers of formats; those of text have none, only an option."""
_WRITES = {
    "parquet": "parquet(path)", "orc": "orc(path)", "avro": 'format("avro").save(path)',
    "text": "csv(path)",
}  # fmt: skip


@dataclass(frozen=True)
class _Cheaper:
    """What to use instead, and the share of a codec's CPU that goes: decompressing, compressing."""

    setting: str | None
    level: str
    decompression: tuple[float, float]
    compression: tuple[float, float]

    def achieved(self, category: str) -> tuple[float, float]:
        """Give the bounds of one of both."""
        return self.decompression if category == "decompression" else self.compression


_OF_FILES = {
    "gzip": _Cheaper(PARQUET, "zstd", (0.57, 0.73), (0.93, 0.99)),
    "lz4": _Cheaper(PARQUET, "uncompressed", (0.0, 1.0), (0.7, 1.0)),
}
_NO_CODEC = _Cheaper(PARQUET, "uncompressed", (0.58, 1.0), (0.7, 1.0))
"""Of zstd and snappy; low: what is not decompressed is copied still."""
_OF_BLOCKS = {
    "zstd": _Cheaper(BLOCKS, "lz4", (0.62, 0.67), (0.56, 0.62)),
    "snappy": _Cheaper(BLOCKS, "lz4", (0.65, 0.67), (0.0, 0.1)),
    "lz4": _Cheaper(OFF, "false", (0.0, 1.0), (0.7, 1.0)),
}
_UNKNOWN = _Cheaper(BLOCKS, "lz4", (0.5, 1.0), (0.5, 1.0))
"""Of lzf, and where no frame names the codec: not measured, assumed."""


def suspects(facts: Facts, category: str) -> Iterator[Suspect]:
    """Suspect codecs: of ``compression`` or ``decompression``, of files and of Spark's blocks."""
    for of_files in (True, False):
        codec = codec_shares(facts, category, of_files)
        found, named, shares = codec.shares, codec.name, codec.shares.by_stage
        if not shares:
            continue
        cheaper = _for_files(codec) if of_files else _OF_BLOCKS.get(named or "", _UNKNOWN)
        first = max(shares, key=lambda number: shares[number] * facts.cpu_ns.get(number, 0.0))
        stage = facts.stages[first]
        cpu = sum(facts.cpu_ns.get(number, 0.0) * one for number, one in shares.items())
        what = f"{category.capitalize()} of {'files' if of_files else 'shuffles and spills'}"
        remedy = _remedy(facts, cheaper, category, codec.format if of_files else None)
        yield Suspect(
            place=Place(layer="data", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                        stages_count=len(shares), setting=remedy.factor),
            mechanism=(
                f"{what}{f' ({named})' if named else ''} takes"
                f" {units.percent(found.estimate.value)} of these stages' CPU samples,"
                f" {units.duration(cpu)}."
            ),
            change=(facts.less_cpu(what, shares),),
            extent=found.extent(*cheaper.achieved(category)),
            evidence=[
                Evidence(what=f"share of task CPU in {category}", estimate=found.estimate,
                         unit="ratio", table="samples", link=flame(what=category),
                         query="SELECT sum((category = '" + category + "')::INT) / count(*)"
                         " FROM samples WHERE event = 'cpu' AND role = 'task'"),
            ],
            remedies=[remedy],
        )  # fmt: skip


def _for_files(codec: Codec) -> _Cheaper:
    """Give what to use instead in files of a format."""
    if codec.format == "text":
        return replace(_NO_CODEC, setting=None, level="none")
    found = _OF_FILES.get(codec.name or "", _NO_CODEC)
    if codec.format not in _SETTINGS:
        return found
    level = "zstandard" if (codec.format, found.level) == ("avro", "zstd") else found.level
    return replace(found, setting=_SETTINGS[codec.format], level=level)


def _remedy(facts: Facts, cheaper: _Cheaper, category: str, of: str | None) -> Remedy:
    """Give what changes the codec: where files are read, a setting of the reader does nothing."""
    if cheaper.setting in (BLOCKS, OFF):
        off = "do not compress shuffle blocks"
        text = off if cheaper.setting == OFF else f"use {cheaper.level} for shuffles and spills"
        return factor(cheaper.setting, cheaper.level, text)
    workload = facts.scope.run.manifest.workload if facts.scope.run.manifest else None
    if workload is not None and "data.codec" in workload.variant:
        level = cheaper.level.replace("uncompressed", "none")
        return factor("data.codec", level, f"read data that are written {_with(level)}")
    if category == "compression" and cheaper.setting is not None:
        return factor(cheaper.setting, cheaper.level, f"write {_with(cheaper.level)}")
    write = _WRITES.get(of or "", "parquet(path)")
    return code(
        f"write the data {_with(cheaper.level)}", f"df.write.{write}",
        f'df.write.option("compression", "{cheaper.level}").{write}',
    )  # fmt: skip


def _with(level: str) -> str:
    return "without compression" if level in ("none", "uncompressed") else f"with {level}"


def _suspects(facts: Facts) -> Iterator[Suspect]:
    yield from suspects(facts, "decompression")


RULE = Rule(
    code="codec.decompression",
    title="Decompression takes the tasks' CPU",
    cause="compression codec",
    suspects=_suspects,
    needs=(SAMPLES,),
    refute="Read the same data uncompressed: the difference is due to the codec and the bytes that"
    " it saves.",
)
