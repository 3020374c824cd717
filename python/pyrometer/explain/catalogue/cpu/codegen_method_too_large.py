"""A generated method is too large for the JVM to compile: every row goes through the interpreter.

What it is
    Spark fuses the operators of a stage into one generated method. Many columns, wide CASE
    expressions or long IN lists make it longer than 8000 bytes of bytecode, and HotSpot compiles no
    method of that size: it is interpreted to the end, however hot it is.

Mechanism
    Interpreted code needs many times the CPU of compiled code. The simulator removes the CPU of
    samples in these operators whose innermost Java method was interpreted, less what the same work
    needs when compiled.

Evidence
    Bytecode of the cluster's largest method (the generated source), and samples of its operators by
    how their code was run. Methods that it calls are compiled as usual, and are not counted.

Remedy
    Let the JVM compile it anyway (`-XX:-DontCompileHugeMethods`), or have Spark give up the fusion
    there (`spark.sql.codegen.hugeMethodLimit=8000`). Better: compute fewer columns at once, or look
    long lists up in a joined table.

When it is wrong
    Where most of the operators' time is in methods that the large one calls (hash maps, decoders),
    compiling it gains little: the interpreted share shows this.

Source
    `HugeMethodLimit` and `DontCompileHugeMethods` in OpenJDK's globals.hpp; SPARK-21603,
    SPARK-23267. That interpreted code is 2 (where runtime calls dominate) to 50 times slower (loops
    of arithmetic) is not measured; it is assumed.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.attribution.schema import HugeMethod
from pyrometer.core import units
from pyrometer.explain.evidence.saying import code, factor, page, place, shown_by
from pyrometer.explain.evidence.stack_shares import Shares, interpreted
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import PROFILE, SAMPLES, Rule, Suspect, table

ACHIEVED = (0.5, 0.98)
"""Share of interpreted CPU that compiling saves: code 2 to 50 times as fast."""


def _suspects(facts: Facts) -> Iterator[Suspect]:
    for method in facts.summary.too_large_to_compile:
        if facts.measured is None or method.app_index not in (None, facts.measured.app_index):
            continue
        cluster = f"sql_id = {method.sql_id} AND codegen_stage_id = {method.codegen_stage_id}"
        found = interpreted(facts, "interpreted", where=cluster)
        if found.found:
            yield _suspect(facts, method, found)


def _suspect(facts: Facts, method: HugeMethod, found: Shares) -> Suspect:
    cost = {number: float(hits) for number, hits in found.hits.items() if hits}
    where = place(
        facts, "sql", cost, sql_id=method.sql_id, node_id=method.node_id,
        operator=f"WholeStageCodegen ({method.codegen_stage_id})",
    )  # fmt: skip
    mine = Shares({n: found.hits[n] for n in cost}, {n: found.totals[n] for n in cost})
    return Suspect(
        place=where,
        mechanism=(
            f"The method of {', '.join(dict.fromkeys(method.operators))} has"
            f" {units.count(method.max_method_bytes)} bytes of bytecode, over the limit of"
            f" {units.count(method.limit_bytes)}: {units.percent(mine.estimate.value)} of the CPU"
            f" of its {units.counted(len(cost), 'stage')} is interpreted there."
        ),
        change=(facts.less_cpu("interpreted", mine.by_stage),),
        extent=mine.extent(*ACHIEVED),
        evidence=[
            shown_by("bytecode of the largest method", method.max_method_bytes, "bytes",
                 "codegen_sources", "SELECT class_name, max_method_bytes FROM codegen_sources WHERE"
                 f" codegen_stage_id = {method.codegen_stage_id} ORDER BY max_method_bytes DESC",
                 f"/sql/{method.sql_id}/{method.node_id}"),
            shown_by("task CPU interpreted in its operators", mine.estimate, "ratio", "samples",
                 "show --json: code.kinds", page(where)),
        ],
        remedies=[
            factor("jvm.options", "-XX:-DontCompileHugeMethods",
                   "let the JVM compile methods of any size"),
            factor("spark.sql.codegen.hugeMethodLimit", "8000",
                   "have Spark run these operators unfused where their method is too large"),
            code("compute fewer columns in one step; look long lists of constants up in a"
                 " joined table", "CASE WHEN code = 'A' THEN 1 … WHEN code = 'ZZ' THEN 700 END",
                 "broadcast(codes).join on code"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="codegen.method-too-large",
    title="A generated method is too large to compile",
    cause="huge generated method, interpreted",
    suspects=_suspects,
    needs=(SAMPLES, table("codegen_sources", PROFILE, "no generated source was kept")),
    explains=("jit.interpreted", "expression."),
    refute="Run with -XX:-DontCompileHugeMethods: if the stage still needs as much CPU, the"
    " method's size is not why.",
)
