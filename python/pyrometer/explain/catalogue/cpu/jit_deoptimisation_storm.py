"""Compiled code is thrown away again and again, and tasks pay for it.

What it is
    The optimising compiler bets on what it saw (one class at a call, a branch never taken). Where a
    bet is lost, the code traps, is discarded and is compiled again; data or code that alternates
    keeps that going.

Mechanism
    A task that runs into a trap has its frames rebuilt for the interpreter, goes on interpreted,
    and helps to compile the method again. The simulator removes samples of tasks inside the JVM's
    deoptimisation, with what their methods cost nowhere else.

Evidence
    Samples of task threads with `Deoptimization` in the stack; code of the last tier discarded, and
    the methods that this happened to more than once (log of the compiler).

Remedy
    Tell the compiler not to bet (`PerBytecodeTrapLimit`, `PerMethodTrapLimit`), or a newer Java; in
    code, one class per hot call, and no exceptions for control flow.

When it is wrong
    Every JVM deoptimises some code while it warms up: then the samples are few, and the saving is
    small.

Source
    apache/spark#48202 (48 % of CPU in deoptimisation); OpenJDK deoptimization.cpp and globals.hpp.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.evidence.saying import code, factor, page, place, shown_by
from pyrometer.explain.evidence.stack_shares import through
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect

FRAMES = "^(Deoptimization|DeoptimizationScope|OptoRuntime::deoptimize)"
ACHIEVED = (0.5, 1.0)
"""Without bets compiled code is a little slower: some of the time saved is paid back. Not
measured; assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    found = through(facts, FRAMES)
    if not found.found:
        return
    parts = found.by_stage
    cost = {number: share * facts.cpu_ns.get(number, 0.0) for number, share in parts.items()}
    known = facts.summary.jvm.jit.deoptimisations
    again = [one for one in known.methods if one.count > 1]
    named = f", most often of {again[0].reason} ({again[0].count} times)" if again else ""
    discarded = (
        f" Code of the last tier was discarded {units.count(known.invalidated_count)} times{named}."
        if known.invalidated_count
        else ""
    )
    where = place(facts, "jvm", cost, expression=again[0].reason if again else None)
    evidence = [
        shown_by("task CPU in deoptimisation", found.estimate, "ratio", "samples",
             "show --json: jvm.jit.deoptimisations", page(where)),
    ]  # fmt: skip
    if known.invalidated_count:
        evidence.append(
            shown_by("code of the last tier discarded", known.invalidated_count, "count",
                 "deoptimisations", "SELECT method, count(*) FROM deoptimisations"
                 " WHERE kind = 'invalidated' AND level = 4 GROUP BY 1 ORDER BY 2 DESC", "/jvm")
        )  # fmt: skip
    yield Suspect(
        place=where,
        mechanism=(
            f"Tasks spent {units.percent(found.estimate.value)} of their CPU on giving up compiled"
            f" code.{discarded}"
        ),
        change=(facts.less_cpu("deoptimisation", parts),),
        extent=found.extent(*ACHIEVED),
        evidence=evidence,
        remedies=[
            factor("jvm.options", "-XX:PerBytecodeTrapLimit=0 -XX:PerMethodTrapLimit=0",
                   "compile without bets on what was never seen"),
            code("give the hot call one class only, and throw no exceptions for control flow"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="jit.deoptimisation-storm",
    title="Compiled code is discarded again and again",
    cause="deoptimisation storm",
    suspects=_suspects,
    needs=(SAMPLES,),
    explains=("jit.interpreted", "jit.competes"),
    refute="Run with PerBytecodeTrapLimit=0 and PerMethodTrapLimit=0: if tasks still need as much"
    " CPU, the compiler's bets are not why.",
)
