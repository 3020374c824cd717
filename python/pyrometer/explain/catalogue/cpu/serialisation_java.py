"""Rows of RDDs are serialised with Java's own serialisation.

What it is
    RDDs and typed Datasets of objects pass through a shuffle, a cache or the network as serialised
    objects. By default that is `java.io.ObjectOutputStream`: slow, and several times as large as
    needed.

Mechanism
    The simulator removes the CPU of tasks in Java's object streams, less what Kryo needs for the
    same work.

Evidence
    CPU samples of tasks with the streams of Spark's Java serialiser in the stack. Deserialising
    tasks and closures is not counted: Spark always uses Java's serialisation there.

Remedy
    `spark.serializer=org.apache.spark.serializer.KryoSerializer`, with the classes registered.
    Better: DataFrames, which serialise rows without objects.

When it is wrong
    Classes with their own `writeObject` may take just as long in Kryo.

Source
    Spark's tuning guide, "Data Serialization": Kryo is "often as much as 10x" faster; that at
    least half is saved is not measured; it is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.saying import code, factor, page, place, shown_by
from pyrometer.explain.evidence.stack_shares import through
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect

FRAMES = r"^org\.apache\.spark\.serializer\.Java(S|Des)erializationStream\."
TASKS = r"^org\.apache\.spark\.serializer\.JavaSerializerInstance\.(de)?serialize$"
KRYO = "org.apache.spark.serializer.KryoSerializer"
ACHIEVED = (0.5, 0.9)
"""Share that Kryo saves: ten times as fast at most; twice at least is assumed, not measured."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = through(facts, FRAMES, without=TASKS)
    if not found.found:
        return
    parts = found.by_stage
    cost = {number: share * facts.cpu_ns.get(number, 0.0) for number, share in parts.items()}
    worst = max(cost, key=lambda number: cost[number])
    where = place(
        facts, "setting", cost, setting="spark.serializer", operator=found.operators.get(worst),
        source=facts.stages[worst].called,
    )  # fmt: skip
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.percent(found.estimate.value)} of the CPU of tasks"
            f" ({units.duration(sum(cost.values()))}) serialises objects with Java's"
            f" serialisation, in {units.counted(len(cost), 'stage')}."
        ),
        change=(facts.less_cpu("serialisation", parts),),
        extent=found.extent(*ACHIEVED),
        evidence=[
            shown_by("task CPU in Java's object streams", found.estimate, "ratio", "samples",
                 "show --json: categories", page(where)),
        ],
        remedies=[
            factor("spark.serializer", KRYO, "serialise objects with Kryo"),
            code("use DataFrames: their rows need no objects", "rdd.map(…).reduceByKey(…)",
                 "df.groupBy(…).agg(…)"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="serialisation.java",
    title="Objects pass through Java's serialisation",
    cause="Java serialisation",
    suspects=_suspects,
    needs=(SAMPLES,),
    refute="Run with the Kryo serialiser: if these stages still need as much CPU, the serialiser is"
    " not why.",
)
