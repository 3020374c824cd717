"""Compression takes CPU time from tasks.

What it is
    What a stage writes (files, shuffle blocks, spills) is compressed by its tasks.

Mechanism
    The share of CPU samples of each stage in frames of a codec, times its CPU, as for
    `codec.decompression`; compressing costs 1.4 times (snappy) to 16 times (gzip) as much.

Evidence
    CPU samples in compression, by codec as the frames name it.

Remedy
    For files: zstd instead of gzip, otherwise no codec, by the setting of the format
    (`spark.sql.parquet.compression.codec`, `spark.sql.orc.compression.codec`,
    `spark.sql.avro.compression.codec`) or, for text, by the option `compression` of the writer. For
    shuffles and spills: `spark.io.compression.codec=lz4`; where it is lz4 already,
    `spark.shuffle.compress=false`.

When it is wrong
    Where bytes are costlier than CPU: less compression makes writes and fetches longer, and storage
    costlier.

Source
    Speed of codecs, measured: see `codec.decompression`.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.explain.catalogue.data.codec_decompression import suspects
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect


def _suspects(facts: Facts) -> Iterator[Suspect]:
    yield from suspects(facts, "compression")


RULE = Rule(
    code="codec.compression",
    title="Compression takes the tasks' CPU",
    cause="compression codec",
    suspects=_suspects,
    needs=(SAMPLES,),
    refute="Write with lz4 or without a codec: the difference is due to the codec and the bytes"
    " that it saves.",
)
