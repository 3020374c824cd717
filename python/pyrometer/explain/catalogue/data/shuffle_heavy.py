"""A stage writes far more into a shuffle than it read.

What it is
    Rows are multiplied (`explode`, a join, grouping sets) or widened, and only then exchanged; what
    follows filters, aggregates or drops most of it again.

Mechanism
    Input that has to be exchanged needs about its own bytes. The simulator removes what exceeds
    them: from the writing stage its shuffle write time and the CPU of the exchange, from the stages
    that read it their fetch wait and CPU, in proportion. How much the result needs is not known: at
    the high end it is taken to be the input once, at the low end three times, by bytes and by rows,
    as files are often packed more tightly than rows of a shuffle. Where rows were not multiplied,
    the low end is nothing.

Evidence
    Bytes and rows of the stage's input (with the sizes of files that its scans read, where they are
    more) and of its shuffle; `Shuffle Write Time` and `Fetch Wait Time`. CPU is estimated from
    bytes: in addition to the write time `WRITE_NS` for each, `READ_NS` to read it, and with it its
    part of the waits for a CPU (of an event log, at the high end, of all waits that no counter
    names).

Remedy
    Filter, project and aggregate before the rows are multiplied; explode after the exchange; a
    broadcast of the smaller side; buckets by the key for what is exchanged again and again; a
    denser codec (`spark.io.compression.codec=zstd`) where disks or the network are the limit.

When it is wrong
    The result needs all these rows. Input without bytes (generated, JDBC) is not looked at.

Source
    `Shuffle Write` and `Input` in Spark's documentation of monitoring, "Executor Task Metrics".
    CPU, measured for these bounds on 2026-11-25 with Spark 4 and lz4, as a stage with `repartition`
    less one without (two warm runs each of 3 million rows of two numbers, 32 MB, and 500 000 rows
    with two hashes, 58 MB): writing took 7.3 and 1.1 ns a byte beside the write time, reading 8.9
    to 12.7 and 1.6 ns. Two runs of two warm queries that exploded 200 000 rows by 40 before the
    exchange, 162 MB, used 1.9 s more CPU than with the exchange first.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.places import largest, link, where
from pyrometer.explain.evidence.saying import code, page, place, shown_by
from pyrometer.explain.evidence.shuffles import Shuffle, bytes_of_files, costs, shuffles
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.what_if import Extent

NEEDED = (1, 3)
"""Times its input that a shuffle needs: an honest range, not a measurement."""
_READ = (
    "SELECT sum(coalesce(input_bytes, 0) + coalesce(shuffle_read_local_bytes, 0)"
    " + coalesce(shuffle_read_remote_bytes, 0)) FROM tasks WHERE {}"
)


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    if facts.tasks.total("shuffle_written_bytes") <= 0:
        return
    written = shuffles(facts)
    files = bytes_of_files(facts)
    for stage in facts.stages:
        one = _suspect(facts, written[stage.number], files.get(stage.number, 0.0))
        if one is not None:
            yield one


def _suspect(facts: Facts, found: Shuffle, files: float) -> tuple[float, Suspect] | None:
    stage, tasks = facts.stages[found.number], facts.tasks_of(found.number)
    written, rows = (tasks.total(f"shuffle_written_{of}") for of in ("bytes", "records_count"))
    shuffled = sum(tasks.total(f"shuffle_read_{of}_bytes") for of in ("local", "remote"))
    came = max(tasks.total("input_bytes"), files) + shuffled
    came_rows = tasks.total("input_records_count") + tasks.total("shuffle_read_records_count")
    if came <= 0 or written <= came:
        return None
    high = 1 - NEEDED[0] * came / written
    least = 1 - NEEDED[1] * max(came / written, came_rows / rows if rows and came_rows else 1.0)
    costs(facts, found, written)
    waited, cpu = (sum(float(one.sum()) for one in of.values()) for of in (found.waits, found.cpu))
    low_ns, high_ns = waited + found.least_cpu_ns, waited + cpu
    if high_ns <= 0:
        return None
    low = max(0.0, least) * low_ns / high_ns
    spot = place(facts, "data", [found.number], sql_id=found.sql_id, source=stage.called,
                 node_id=found.node.node_id if found.node else None,
                 operator=found.node.name.strip() if found.node else None)  # fmt: skip
    multiplied = f", {rows / came_rows:.3g} rows for each" if rows and came_rows else ""
    return (high + low) / 2 * high_ns, Suspect(
        place=spot,
        mechanism=(
            f"The stage read {units.size(came)} and wrote {units.size(written)} of shuffle data,"
            f" {written / came:.3g} times as much{multiplied}; to write and to read them took its"
            f" tasks and the next ones' {units.duration(low_ns)} to {units.duration(high_ns)}."
        ),
        change=(
            Less("shuffle_write", found.writing), Less("fetch_wait", found.fetching),
            Less("exchange", found.cpu),
        ),
        extent=Extent((high + low) / 2, low, high, tasks.count),
        evidence=[
            shown_by("shuffle written", written, "bytes", "tasks",
                     f"SELECT sum(shuffle_written_bytes) FROM tasks WHERE {where(stage)}",
                     link(stage), tasks.count),
            shown_by("read before it", came, "bytes", "tasks",
                     _READ.format(where(stage)), page(spot), tasks.count)
            if files <= tasks.total("input_bytes")
            else shown_by("read before it", came, "bytes", "node_metrics",
                          "show --json: sql[].nodes[].metrics", page(spot), tasks.count),
        ],
        remedies=[
            code("filter, project and aggregate before rows are multiplied",
                 'df.select("k", explode("items")).groupBy("k").count()',
                 'df.select("k", size("items").alias("n")).groupBy("k").sum("n")'),
            code("send the smaller side of a join to all tasks", 'a.join(b, "k")',
                 'a.join(broadcast(b), "k")'),
            code("keep what is exchanged by the same key again and again in buckets",
                 'df.write.saveAsTable("t")',
                 'df.write.bucketBy(200, "k").sortBy("k").saveAsTable("t")'),
            code("where disks or the network are the limit, pack blocks more tightly:"
                 " spark.io.compression.codec=zstd"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="shuffle.heavy",
    title="A shuffle holds far more than its input",
    cause="shuffle volume",
    suspects=_suspects,
    explains=("shuffle.write-slow", "shuffle.fetch-wait", "network.saturated"),
    refute="Count the rows that the next stage keeps: if it needs all that were written, the"
    " shuffle is as large as it must be.",
)
