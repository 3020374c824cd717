"""Tasks of one executor wait for each other at a lock.

What it is
    Code that tasks share is guarded by one monitor: a static cache, a connection pool, a date
    format, a logger, a shared parser. With several tasks in a JVM, they pass through it one by one.

Mechanism
    A task that finds the monitor taken waits. The simulator removes these waits, by the class whose
    monitor it is.

Evidence
    Lock samples of task threads: time of each wait, class of the monitor, and the stack.

Remedy
    One object per task or thread instead of a shared one, a concurrent data structure, a smaller
    guarded part; or executors with fewer cores.

When it is wrong
    Waits at locks that guard one-time work (loading a class, starting a Python worker, compiling a
    stage) are waits for that work: without the lock each task would do it itself. They are paid
    once.

Source
    Lock profiling of async-profiler (contended monitors and ReentrantLock).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.places import largest, of_application
from pyrometer.explain.evidence.saying import code, factor, java_name, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Need, Rule, Suspect
from pyrometer.explain.what_if import Extent
from pyrometer.statistics.shares import Z

ACHIEVED = (0.5, 1.0)
"""What was guarded still has to be done: where tasks met there, part of the wait may move.
Not measured; assumed."""
_WAITS = """
SELECT x.top_class, x.stage_id, coalesce(a.stage_attempt, 0),
  sum(x.weight)::DOUBLE, count(*), arg_max(x.java_stack, x.weight), mode(x.operator)
FROM samples x JOIN w ON x.t_ns >= w.start_mono_ns AND x.t_ns < w.end_mono_ns
LEFT JOIN ({attempts}) a USING (task_attempt_id)
WHERE x.event = 'lock' AND x.role = 'task' AND x.task_attempt_id IS NOT NULL AND {own}
GROUP BY ALL
"""
_ONCE = (
    r"\.(ClassLoader|BuiltinClassLoader|URLClassLoader)\.|\.CodeGenerator\.|JarFile"
    r"|PythonWorkerFactory\.|createPythonWorker|codehaus\.janino"
)


def _missing(facts: Facts) -> str | None:
    found = facts.has("samples") and facts.tables.scalar(
        "SELECT count(*) FROM samples WHERE event IN ('lock', 'wall')"
    )
    return None if found else "no samples of locks"


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    waits: dict[str, dict[int, float]] = defaultdict(dict)
    counts: dict[str, int] = defaultdict(int)
    stacks: dict[str, tuple[float, int | None, str | None]] = {}
    for top, stage_id, attempt, ns, n, stack, operator in facts.tables.query(
        _WAITS.format(attempts=facts.attempts, own=of_application(facts, "x.pid"))
    ):
        number = facts.number(stage_id, attempt)
        if number is None:
            continue
        name = java_name(top or "object")
        waits[name][number] = waits[name].get(number, 0.0) + ns
        counts[name] += n
        if ns > stacks.get(name, (0.0, None, None))[0]:
            stacks[name] = ns, stack, operator
    for name, (_, stack, operator) in stacks.items():
        at, once = _where(facts, stack)
        if not once:
            yield (
                sum(waits[name].values()),
                _suspect(facts, name, waits[name], counts[name], at, operator),
            )


def _where(facts: Facts, stack: int | None) -> tuple[str | None, bool]:
    """Give the innermost Java method of a stack outside the library, and if it is one-time work."""
    rows = facts.tables.query(
        "SELECT class_name || '.' || method FROM frames f JOIN (SELECT unnest(frame_ids) AS"
        " frame_id, generate_subscripts(frame_ids, 1) AS i FROM stacks"
        f" WHERE stack_id = {-1 if stack is None else stack}) s USING (frame_id)"
        " WHERE class_name IS NOT NULL ORDER BY i DESC"
    )
    names = [name for (name,) in rows]
    own = (name for name in names if not name.startswith(("java.", "jdk.", "sun.", "scala.")))
    known = facts.tables.scalar(
        "SELECT bool_or(regexp_matches(n, ?)) FROM (SELECT unnest(?::VARCHAR[]) AS n)",
        [_ONCE, names],
    )
    return next(own, names[0] if names else None), bool(known)


def _suspect(
    facts: Facts, name: str, waits: dict[int, float], n: int, at: str | None, operator: str | None
) -> Suspect:
    total, off = sum(waits.values()), Z / math.sqrt(n)
    where = place(facts, "jvm", waits, expression=f"monitor of {name}", source=at,
                  operator=operator)  # fmt: skip
    return Suspect(
        place=where,
        mechanism=(
            f"Tasks waited {units.duration(total)} for the monitor of {name}"
            f"{f' in {at}' if at else ''}, in {units.counted(n, 'sampled wait')} of"
            f" {units.counted(len(waits), 'stage')}."
        ),
        change=(facts.share_of_tasks(f"lock {name}", waits),),
        extent=Extent(1.0, max(0.0, 1 - off), 1 + off, n).times(*ACHIEVED),
        evidence=[
            shown_by("waits of tasks at this lock", total, "ns", "samples",
                 "SELECT top_class, sum(weight) FROM samples WHERE event = 'lock'"
                 " AND role = 'task' GROUP BY 1 ORDER BY 2 DESC", page(where), n),
        ],
        remedies=[
            code(f"give each task its own {name}, or lock less of the work",
                 "val shared = new MyClass()  // guarded by synchronized",
                 "val own = ThreadLocal.withInitial(() => new MyClass())"),
            factor("layout.cores_per_executor", "1",
                   "run one task in each executor, with more executors"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="lock.contended",
    title="Tasks wait for each other at a lock",
    cause="lock contention",
    suspects=_suspects,
    needs=(Need(_missing, PROFILE),),
    refute="Run one task per executor: if the stage's tasks still last as long, they did not hinder"
    " each other at a lock.",
)
