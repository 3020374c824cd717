"""Task attempts die for want of memory, and are run again.

What it is
    An attempt ends with an OutOfMemoryError, or its executor is killed for its memory: its work
    is lost and done again. Left to `retries.failed-tasks` are arrays that no JVM can hold
    ("Requested array size exceeds VM limit") and errors that do not name what was full.

Mechanism
    The simulator removes all the time of these attempts: with enough memory they would not have
    been made.

Evidence
    Attempts that failed, and the error or reason that the event log records.

Remedy
    By the error. "Java heap space" and "GC overhead limit": more memory for each task by
    `spark.executor.memory`, or fewer cores in each executor. "Metaspace": a larger
    `-XX:MaxMetaspaceSize`, where it is set. "Compressed class space": a larger
    `-XX:CompressedClassSpaceSize`.
    "Direct buffer memory": a larger `-XX:MaxDirectMemorySize`, and room for it in the container.
    "unable to create native thread": a higher limit of processes. Where the container was killed,
    see `heap.container-limit`.

When it is wrong
    The attempts that succeeded may have been lucky: there must be enough memory for the largest
    task.

Source
    Spark's documentation of the configuration, `spark.executor.memoryOverhead` and
    `spark.task.maxFailures`; "Understand the OutOfMemoryError Exception" in Oracle's
    troubleshooting guide of Java SE 8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.memory.heap_use import larger, more_heap
from pyrometer.explain.evidence.places import where
from pyrometer.explain.evidence.saying import factor, machine
from pyrometer.explain.facts import Facts, exactly
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Evidence, Place, Remedy
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats

ACHIEVED = (0.8, 1.0)
"""Share of the lost attempts that more memory avoids; what a larger heap does not hold dies
again. Not measured; assumed."""
KILLED = r"(code|status)\D{0,12}\b137\b"
"""A process that SIGKILL ended, in the words of any cluster manager: mostly by the kernel, or its
container, for want of memory."""
CONTAINER = f"(?i)memory limits|OOMKilled|{KILLED}"
HEAP = "Java heap space|GC overhead limit exceeded|SparkOutOfMemoryError"
CLASSES = "OutOfMemoryError: Metaspace"
CLASS_SPACE = "OutOfMemoryError: Compressed class space"
DIRECT = "[Dd]irect buffer memory|OutOfDirectMemoryError"
"""Of the JVM, in words that differ between its versions, and of Netty."""
THREADS = "unable to create (new )?native thread"
_MOST_CLASSES, _MOST_DIRECT = "-XX:MaxMetaspaceSize", "-XX:MaxDirectMemorySize"
_LARGEST_CLASS_SPACE = "-XX:CompressedClassSpaceSize=3g"
"""The most that every version of the JVM takes. It is reserved, and costs no memory until used."""
_NO_LIMIT = machine(
    f"find what limits classes: {_MOST_CLASSES} is in none of Spark's options, so it was set"
    " elsewhere (JAVA_TOOL_OPTIONS, spark-env.sh), or the machine had no memory left; classes that"
    " are loaded again and again fill any limit"
)
_OPTIONS = ("defaultJavaOptions", "extraJavaOptions")
"""Spark puts the former before the latter, and of an option that is repeated the last counts."""


def matching(pattern: str) -> str:
    """Give the condition that attempts failed with an error like this."""
    text = "concat_ws(' ', error, reason)"
    return f"status <> 'success' AND regexp_matches({text}, '{pattern}')"


def suspected(facts: Facts, which: str, what: str, now: str, remedy: Remedy) -> Suspect | None:
    """Suspect a limit that attempts ran into, by what their errors say.

    Parameters
    ----------
    which : str
        The attempts, as a condition on columns of ``tasks``.
    what, now : str
        What they were lost to, and the setting that was in effect, if any.
    """
    lost_there = f"FROM tasks WHERE {where(facts)} AND {which}"
    lost, count = _lost(facts, lost_there)
    if not lost:
        return None
    stage = facts.stages[max(lost, key=lambda number: float(np.sum(lost[number])))]
    sum_ns = float(sum(np.sum(one) for one in lost.values()))
    return Suspect(
        place=Place(layer="setting" if remedy.factor else "host", setting=remedy.factor,
                    stage_id=stage.stage_id, stage_attempt=stage.attempt, stages_count=len(lost)),
        mechanism=(
            f"{count} task attempts were lost to {what} after {units.duration(sum_ns)}, and run"
            f" again{f', with {now}' if now else ''}."
        ),
        change=(Less("retry", lost),),
        extent=Extent(n=count).times(*ACHIEVED),
        evidence=[
            Evidence(what="time of the lost attempts", estimate=exactly(sum_ns, count), unit="ns",
                     table="tasks", link=f"/stage/{stage.stage_id}/{stage.attempt}",
                     query=f"SELECT sum(finish_wall_ns - launch_wall_ns) {lost_there}"),
        ],
        remedies=[remedy],
    )  # fmt: skip


def _lost(facts: Facts, lost_there: str) -> tuple[dict[int, Floats | float], int]:
    """Give the time of lost attempts by number of the stage, and how many there are."""
    if not bool(np.any(facts.tasks["wasted"].astype(bool))):
        return {}, 0
    known = {row[0] for row in facts.tables.query(f"SELECT task_attempt_id {lost_there}")}
    if not known:
        return {}, 0
    mine = np.isin(facts.tasks["task_attempt_id"].astype(np.int64), np.array(sorted(known)))
    lost: dict[int, Floats | float] = {}
    first = 0
    for stage in facts.stages:
        own = mine[first : first + stage.tasks_count]
        first += stage.tasks_count
        if own.any():
            lost[stage.number] = np.where(own, facts.tasks_of(stage.number).duration_ns, 0.0)
    return lost, int(mine.sum())


def _given(facts: Facts, option: str) -> str | None:
    """Give the size that an option gave the JVM in which tasks ran, if any did."""
    jvm = facts.heap_setting.removesuffix(".memory")
    given = " ".join(facts.setting(f"{jvm}.{name}") or "" for name in _OPTIONS)
    found = re.findall(rf"{option}=(\d+[kKmMgGtT]?)", given)
    return found[-1] if found else None


def _of_options(facts: Facts) -> Iterator[Suspect | None]:
    """Suspect limits that options of the JVM set, and not the size of its heap."""
    most, direct = _given(facts, _MOST_CLASSES), _given(facts, _MOST_DIRECT)
    classes = f"{_MOST_CLASSES}={larger(most)}" if most else ""
    # The class space is a part of the metaspace, whose limit holds for it, too.
    space = f"{_LARGEST_CLASS_SPACE} {classes}" if most else _LARGEST_CLASS_SPACE
    # Unless set, direct buffers may take as much as the heap.
    heap = facts.size(facts.heap_setting, "1g").lower().removesuffix("b")
    for pattern, what, level, text, now in (
        (CLASSES, "a full metaspace", classes, "leave more room for classes",
         f"{_MOST_CLASSES}={most}" if most else ""),
        (CLASS_SPACE, "a full class space", space, "leave more room for classes", ""),
        (DIRECT, "a limit of direct buffers", f"{_MOST_DIRECT}={larger(direct or heap)}",
         "leave more room for buffers outside the heap, and in the container for them"
         " (spark.executor.memoryOverhead)", f"{_MOST_DIRECT}={direct}" if direct else ""),
    ):  # fmt: skip
        remedy = factor("jvm.options", level, f"{text}: {level}") if level else _NO_LIMIT
        yield suspected(facts, matching(pattern), what, now, remedy)


def _suspects(facts: Facts) -> Iterator[Suspect]:
    name = facts.heap_setting
    now = facts.size(name, "1g")
    threads = machine(
        "raise the limit of processes and threads (ulimit -u, pids.max of the container), or run"
        " fewer tasks at once: a larger heap leaves less room for stacks of threads"
    )
    found = (
        suspected(facts, matching(HEAP), "OutOfMemoryError", f"{name}={now}", more_heap(facts)),
        *_of_options(facts),
        suspected(facts, matching(THREADS), "a limit of threads", "", threads),
    )
    yield from (one for one in found if one is not None)


RULE = Rule(
    code="retries.out-of-memory",
    title="Task attempts run out of memory",
    cause="out of memory",
    suspects=_suspects,
    explains=("retries.", "gc."),
    refute="Run with the limit raised: attempts must not fail with the same error.",
)
