"""Compression takes CPU of tasks.

What it is
    What a stage writes (files, shuffle blocks, spills) is compressed by its tasks.

Mechanism
    The share of CPU samples of each stage in frames of a codec, times its CPU, as for
    `codec.decompression`; compressing costs several times as much as decompressing.

Evidence
    CPU samples in compression, by codec as the frames name it.

Remedy
    A cheaper codec, or a lower level: `spark.sql.parquet.compression.codec` for files,
    `spark.io.compression.codec` for shuffle and spills.

When it is wrong
    Where bytes are dearer than CPU: less compression makes writes and fetches longer, and storage
    dearer.

Source
    Speed of codecs at one core: README of lz4/lz4, "Benchmarks".
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.explain.catalogue.data.codec_decompression import suspect
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = suspect(facts, "compression")
    if found is not None:
        yield found


RULE = Rule(
    code="codec.compression",
    title="Compression takes the tasks' CPU",
    cause="compression codec",
    suspects=_suspects,
    needs=(SAMPLES,),
    refute="Write with lz4 or without a codec: the difference is the codec, with its bytes.",
)
