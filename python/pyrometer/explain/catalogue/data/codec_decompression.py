"""Decompression takes CPU of tasks.

What it is
    Files, shuffle blocks, spills and broadcasts are compressed; reading them costs CPU that a
    cheaper codec, or none, would not.

Mechanism
    The share of CPU samples of each stage in frames of a codec, times its CPU. Another codec
    still costs something: the cheapest, lz4 and snappy, about a fifth of gzip per byte; none
    costs nothing but more bytes.

Evidence
    CPU samples in decompression, by codec as the frames name it.

Remedy
    Data written with a cheaper codec: factor `data.codec` for workloads that offer it, else
    `spark.sql.parquet.compression.codec` where the data are written, and
    `spark.io.compression.codec` for shuffle and spills.

When it is wrong
    Where bytes are dearer than CPU (remote storage, a slow disk): less compression makes waits
    longer. Labs of the published scan study: snappy to none saves 19 % of the time, with 12 %
    more bytes.

Source
    Speed of codecs at one core: README of lz4/lz4, "Benchmarks"; measured effect of no codec:
    Canali, Performance Analysis of a CPU-Intensive Workload in Apache Spark (CERN, 2017), lab
    5.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent

ACHIEVED = {"lz4": (0.2, 1.0), "snappy": (0.2, 1.0)}
OTHERWISE = (0.5, 1.0)
"""Share of the CPU that goes: all without a codec (high). Low: of gzip and zstd half (lz4 and
snappy decompress at two to ten times their speed); of codecs that are the cheapest already a
fifth, as what is not decompressed is copied, and read in more bytes."""
_CODEC = """
SELECT codec, sum(hits)::BIGINT FROM (SELECT s.hits,
  CASE WHEN t ILIKE '%zstd%' THEN 'zstd' WHEN t ILIKE '%snappy%' THEN 'snappy'
    WHEN t ILIKE '%lz4%' OR t ILIKE '%jpountz%' THEN 'lz4'
    WHEN t ILIKE '%zip%' OR t ILIKE '%libz%' OR t ILIKE '%zlib%' OR t ILIKE '%flate%' THEN 'gzip'
    WHEN t ILIKE '%lzf%' THEN 'lzf' END AS codec
  FROM task_samples s JOIN (SELECT stack_id, string_agg(
      coalesce(f.class_name, '') || ' ' || coalesce(f.library, '') || ' ' || f.method, ' ') AS t
    FROM (SELECT stack_id, unnest(frame_ids) AS frame_id FROM stacks) JOIN frames f USING (frame_id)
    GROUP BY stack_id) k ON k.stack_id = s.java_stack
  WHERE s.event = 'cpu' AND s.category = $1)
WHERE codec IS NOT NULL GROUP BY 1 ORDER BY 2 DESC
"""


def codecs(facts: Facts, category: str) -> dict[str, int]:
    """Count samples by the codec that their frames name, the most used first."""
    if not (facts.has("stacks") and facts.has("frames")):
        return {}
    return dict(facts.tables.query(_CODEC, [category]))


def suspect(facts: Facts, category: str) -> Suspect | None:
    """Suspect a codec: of `compression` or `decompression`."""
    shares, share = facts.shares_of_cpu(category)
    if not shares or share.value is None:
        return None
    names = codecs(facts, category)
    codec = next(iter(names), None)
    first = max(shares, key=lambda number: shares[number] * facts.cpu_ns.get(number, 0.0))
    stage = facts.stages[first]
    cpu = sum(facts.cpu_ns.get(number, 0.0) * one for number, one in shares.items())
    low, high = (1.0 if bound is None else bound / share.value for bound in (share.low, share.high))
    # Files are decompressed by scans and compressed by writers; all else is shuffle and spills.
    part = "Scan " if category == "decompression" else "InsertInto"
    reads = any(part in node.name for sql in facts.summary.sql for node in sql.nodes)
    setting = "spark.sql.parquet.compression.codec" if reads else "spark.io.compression.codec"
    cheaper = "uncompressed" if reads and codec in ACHIEVED else "lz4"
    return Suspect(
        place=Place(layer="data", stage_id=stage.stage_id, stage_attempt=stage.attempt,
                    stages_count=len(shares), setting=setting),
        mechanism=(
            f"{category.capitalize()}{f' ({codec})' if codec else ''} takes"
            f" {units.percent(share.value)} of the tasks' CPU samples, {units.duration(cpu)}."
        ),
        change=(facts.less_cpu("codec", shares),),
        extent=Extent(1.0, low, high, share.n).times(*ACHIEVED.get(codec or "", OTHERWISE)),
        evidence=[
            Evidence(what=f"share of task CPU in {category}", estimate=share, unit="ratio",
                     table="samples", link="/flame",
                     query="SELECT sum((category = '" + category + "')::INT) / count(*)"
                     " FROM samples WHERE event = 'cpu' AND role = 'task'"),
        ],
        remedies=[
            Remedy(kind="factor", factor=setting, level=cheaper,
                   text=f"use {cheaper} where the data are written"),
            Remedy(kind="factor", factor="data.codec", level=cheaper,
                   text="for a workload that offers its data in several codecs"),
        ],
    )  # fmt: skip


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = suspect(facts, "decompression")
    if found is not None:
        yield found


RULE = Rule(
    code="codec.decompression",
    title="Decompression takes the tasks' CPU",
    cause="compression codec",
    suspects=_suspects,
    needs=(SAMPLES,),
    refute="Read the same data uncompressed: the difference is the codec, with its bytes.",
)
