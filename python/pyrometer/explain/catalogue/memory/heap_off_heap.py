"""Off-heap memory that is given to Spark and hardly used.

What it is
    `spark.memory.offHeap.size` is reserved for each executor outside its heap, and less than half
    of it was ever used.

Mechanism
    Nothing is simulated, as memory is saved, not time: the peak of execution and storage in
    off-heap memory, over all executors, rounded up to 64 MiB.

Evidence
    `OffHeapUnifiedMemory` of Spark's executor metrics, the most of all executors.

Remedy
    A smaller `spark.memory.offHeap.size`; where none is used, `spark.memory.offHeap.enabled=false`.

When it is wrong
    Peaks are read at heartbeats, every ten seconds: a shorter one is not seen. Native engines
    (Gluten, Comet) may use it without Spark's knowing.

Source
    Spark's documentation of the configuration, "Memory Management", and of monitoring, "Executor
    Metrics".
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.core.errors import UsageError
from pyrometer.explain.evidence.memory.heap_use import PEAKS, peak_query, peaks
from pyrometer.explain.evidence.saying import factor, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Need, Remark, Rule
from pyrometer.explain.schema import Place
from pyrometer.trial.factors import size_of

SIZE, ENABLED = "spark.memory.offHeap.size", "spark.memory.offHeap.enabled"
ROUNDED = 64 << 20
SMALLER = 0.5


def _suspects(facts: Facts) -> Iterator[Remark]:
    given_text = facts.setting(SIZE)
    if not facts.is_on(ENABLED) or given_text is None:
        return
    try:
        given = size_of(SIZE, given_text)
    except UsageError:
        return
    known = [one["OffHeapUnifiedMemory"] for one in peaks(facts) if "OffHeapUnifiedMemory" in one]
    native = any(
        name in (facts.setting("spark.plugins") or "").lower() for name in ("gluten", "comet")
    )
    if not known or not given or native:
        return
    peak = int(max(known))
    least = -(-peak // ROUNDED) * ROUNDED
    if least > SMALLER * given:
        return
    level = f"{least >> 20}m"
    yield Remark(
        place=Place(layer="setting", setting=SIZE),
        mechanism=(
            f"At most {units.size(peak)} of {units.size(given)} of off-heap memory were used in any"
            f" of {len(known)} JVM{'s' * (len(known) != 1)}."
        ),
        settings={SIZE: given_text},
        evidence=[
            shown_by("most off-heap memory in use", peak, "bytes", "executors",
                     peak_query(facts, "OffHeapUnifiedMemory"), "/jvm", len(known)),
        ],
        remedies=[
            factor(SIZE, level, f"give Spark {level} of off-heap memory") if least
            else factor(ENABLED, "false", "do without off-heap memory"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="heap.off-heap",
    title="More off-heap memory than is used",
    cause="oversized off-heap memory",
    suspects=_suspects,
    needs=(
        Need(
            lambda facts: (
                None
                if not facts.is_on(ENABLED) or peaks(facts)
                else "no peaks of executors' memory"
            ),
            PEAKS,
        ),
    ),
    refute="Run with the smaller size: elapsed time and spills must stay as they are.",
)
