"""Tasks run code that the JVM has not compiled yet.

What it is
    A JVM begins every method in the interpreter, compiles it quickly once it has been called a few
    hundred times, and well after some ten thousand. Short applications do most of their work before
    that.

Mechanism
    Interpreted code needs many times the CPU of optimised code, quickly compiled code up to about
    three times. The simulator removes what the samples in such code would not have needed.

    Where the JVM is set to compile quickly only (`-XX:TieredStopAtLevel` below 4), the finding
    names the setting, with the same bounds: whether optimised code is faster than quickly compiled
    code, and by how much, is not known until it is tried.

Evidence
    Samples of task threads by how the innermost Java method was run; the JVM's arguments.

Remedy
    Run several jobs in one application (a long-lived session, a server) instead of one application
    per job. Where that is impossible, fewer and longer-lived executors: each JVM warms up by
    itself.

When it is wrong
    A method too large to compile stays interpreted however long the application lives: see
    `codegen.method-too-large`. An application that must be started for each job cannot save this,
    and every short one pays it: the low end of the saving is nothing, so that the finding is shown
    with `--all` only, or as a symptom of a cause that keeps code cold.

Source
    Lion et al., Don't Get Caught in the Cold, Warm-up Your JVM (OSDI 2016): about 21 s of each
    Spark query of theirs was warm-up.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.core.json_text import parse_json
from pyrometer.explain.evidence.places import of_application
from pyrometer.explain.evidence.saying import code, factor, page, place, shown_by
from pyrometer.explain.evidence.stack_shares import Shares, interpreted
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import SAMPLES, Rule, Suspect

STOPS = "-XX:TieredStopAtLevel="
INTERPRETED = (0.5, 0.95)
"""Share of interpreted CPU that optimised code saves: 2 to 20 times as fast, assumed."""
C1 = (0.0, 0.6)
"""The same of quickly compiled code: as fast to 2.5 times as fast, assumed."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    cold, quick = interpreted(facts, "interpreted"), interpreted(facts, "c1")
    if not cold.found:
        return
    # Both together, weighed by what optimised code would save of each, at most.
    most = (cold.found * INTERPRETED[1] + quick.found * C1[1]) / (cold.found + quick.found)
    both = Shares({n: cold.hits.get(n, 0) + quick.hits.get(n, 0) for n in cold.totals}, cold.totals)
    parts = both.by_stage
    cost = {number: share * facts.cpu_ns.get(number, 0.0) for number, share in parts.items()}
    told = quick_only(facts)
    where = place(facts, "jvm", cost, setting=told.split("=", 1)[0] if told else None)
    because = f"the JVM optimises nothing, with {told}" if told else "the JVM was still warming up"
    yield Suspect(
        place=where,
        mechanism=(
            f"{units.percent(cold.estimate.value)} of the CPU of tasks went to interpreted code"
            f" and {units.percent(quick.estimate.value)} to quickly compiled code: {because}."
        ),
        change=(facts.less_cpu("interpreted", parts),),
        extent=both.extent(0.0, most),
        evidence=[
            shown_by("task CPU interpreted", cold.estimate, "ratio", "samples",
                 "show --json: code.kinds", page(where)),
            shown_by("task CPU quickly compiled (C1)", quick.estimate, "ratio", "samples",
                 "show --json: code.kinds", "/jvm"),
        ],
        remedies=[
            *([factor("jvm.options", "-XX:TieredStopAtLevel=4", "let the JVM optimise hot code")]
              if told else []),
            code("run several jobs in one long-lived application, instead of one application for"
                 " each", "spark-submit job_a.py; spark-submit job_b.py",
                 "one session: job_a(spark); job_b(spark)"),
        ],
    )  # fmt: skip


def quick_only(facts: Facts) -> str | None:
    """Give the argument that keeps the JVM with tasks from optimising; None where none does."""
    if not facts.has("processes"):
        return None
    with_tasks = " AND pid IN (SELECT pid FROM spans)" if facts.has("spans") else ""
    for (text,) in facts.tables.query(
        f"SELECT facts FROM processes WHERE facts IS NOT NULL{with_tasks}"
        f" AND {of_application(facts, 'pid')}"
    ):
        given = parse_json(text).get("input_arguments") or []
        level = [one for one in given if isinstance(one, str) and one.startswith(STOPS)]
        if level and level[-1].removeprefix(STOPS) in ("0", "1", "2", "3"):
            return level[-1]
    return None


RULE = Rule(
    code="jit.interpreted",
    title="Tasks run code that is not compiled yet",
    cause="JVM warm-up",
    suspects=_suspects,
    needs=(SAMPLES,),
    refute="Run the job twice in one session: if the second run takes just as long, it was not"
    " warm-up.",
)
