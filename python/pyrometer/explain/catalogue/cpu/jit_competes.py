"""Threads of the JIT compiler hold the CPUs that tasks wait for.

What it is
    A fresh JVM compiles thousands of methods in its first minute, in threads of its own. On few
    CPUs, and in short applications, they take a large part of the CPU time from the tasks.

Mechanism
    While tasks stood in the run queue, compiler threads had their share of the busy CPU time. The
    simulator removes that share of the tasks' wait, as far as it was the optimising compiler's,
    less the extra cost of code without its optimisations.

Evidence
    CPU of compiler threads while stages ran and waits of task threads for a CPU, both by the
    kernel's counters.

Remedy
    For applications of seconds: quick compilation only (`-XX:TieredStopAtLevel=1`). For longer
    ones it costs more than it saves: keep the application running instead, or give it more CPUs.

When it is wrong
    Where CPUs are idle, nobody waits for the compiler; where the application lives for minutes, the
    optimised code pays for its compilation many times over.

Source
    Lion et al., Don't Get Caught in the Cold, Warm-up Your JVM (OSDI 2016). Tiers: OpenJDK's
    compilationPolicy.hpp. That code of tier 1 runs between as fast as and 2.5 times slower than
    code of tier 4 is not measured; it is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pyrometer.core import units
from pyrometer.explain.evidence.host_series import cpu_by_role
from pyrometer.explain.evidence.saying import factor, machine, page, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, Rule, Suspect, table
from pyrometer.explain.schema import Remedy
from pyrometer.explain.what_if import Extent

SLOWER = (0.0, 1.5)
"""What optimised code of tasks costs more in tier 1, over its CPU."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    roles = cpu_by_role(facts)
    jit, queue = roles.get("jit", {}), facts.ledger_ns("task/run_queue")
    behind, low, high = {}, 0.0, 0.0
    for number, waited in queue.items():
        mine = jit.get(number, 0.0)
        busy = sum(one.get(number, 0.0) for one in roles.values())
        if mine <= 0:
            continue
        behind[number] = waited * mine / busy
        low += max(0.0, waited - (busy - mine))
        high += min(waited, mine * facts.slots)
    total = sum(behind.values())
    if total <= 0:
        return
    extent = Extent(1.0, min(1.0, low / total), max(1.0, high / total), len(behind))
    optimising, achieved = _achieved(facts, total)
    where = place(facts, "jvm", behind)
    cpu = sum(jit.get(number, 0.0) for number in behind)
    yield Suspect(
        place=where,
        mechanism=(
            f"Compiler threads used {units.duration(cpu)} of CPU while stages ran, and tasks"
            f" waited {units.duration(total)} for a CPU that these held;"
            f" {units.percent(optimising)} of it was the optimising compiler's."
        ),
        change=(facts.share_of_tasks("cpu_wait", behind),),
        extent=extent.times(*achieved),
        evidence=[
            shown_by("CPU of compiler threads while stages ran", cpu, "ns", "thread_counters",
                 "show --json: jvm.jit.cpu", "/jvm", len(behind)),
            shown_by("waits of tasks for a CPU", sum(queue.values()), "ns", "thread_counters",
                 "show --json: ledger, task/run_queue", page(where), len(queue)),
        ],
        remedies=_remedies(),
    )  # fmt: skip


def _achieved(facts: Facts, behind: float) -> tuple[float, tuple[float, float]]:
    """Give the optimising compiler's part, and bounds of what leaving it out saves in the end."""
    cpu: Mapping[str, float] = {one.compiler: one.cpu_ns for one in facts.summary.jvm.jit.cpu}
    part = cpu.get("c2", 0.0) / sum(cpu.values()) if sum(cpu.values()) else 0.5
    known = sum(kind.on_cpu_ns or 0 for kind in facts.summary.code.kinds if kind.kind == "c2")
    optimised = float(known) or sum(facts.cpu_ns.values())
    ends = [max(0.0, part - more * optimised / behind) for more in SLOWER]
    return part, (min(ends), max(ends))


def _remedies() -> list[Remedy]:
    return [
        factor("jvm.options", "-XX:TieredStopAtLevel=1",
               "for applications of seconds: compile quickly, and optimise nothing"),
        machine("keep the application running for the next job, or give it more CPUs than tasks"),
    ]  # fmt: skip


RULE = Rule(
    code="jit.competes",
    title="The JIT compiler takes CPUs that tasks wait for",
    cause="JIT compilation in a short application",
    suspects=_suspects,
    needs=(table("thread_counters", PROFILE, "no CPU time of threads"),),
    refute="Run with -XX:TieredStopAtLevel=1: if tasks still wait as long for a CPU, it was not the"
    " compiler that held it.",
)
