"""Planning a query takes longer than it does where nothing is wrong.

What it is
    The driver analyses, optimises and plans the query and compiles its code before the first job:
    plans that grow in a loop, thousands of columns or partitions, huge expressions.

Mechanism
    No task runs meanwhile. The cost grows faster than the plan does: each rule walks all of it,
    again and again. What an ordinary query takes at most stays (`ORDINARY_FIRST_NS` for the first
    one of a JVM, which loads classes, `ORDINARY_NS` for others), and so does the time that the
    driver's busiest thread waited for a CPU, and that in which files were listed.

    Each transformation analyses its plan at once, before any query begins, and the text of SQL is
    parsed before that: of the time between queries, the simulator removes what samples show in
    Spark's analyser and parser, with the waits of as much of the stretch, less
    `ORDINARY_BETWEEN_NS`.

Evidence
    Time from the start of an SQL execution to its first job, and the operators of its first plan;
    CPU samples of the driver in Spark's analyser and parser between queries.

Remedy
    Cut the plan where it grows (`checkpoint`, `localCheckpoint`, a table); one `select` instead of
    many `withColumn`; a table instead of rows typed into the text of a query.

When it is wrong
    Files are listed, or a catalog answers slowly: `driver.listing`. The driver had no CPU, and its
    waits were not recorded.

Source
    Scaladoc of `Dataset.withColumn`: calling it many times "can generate big plans which can cause
    performance issues". What is ordinary was measured on 22 TPC-H queries
    (one run on 2026-11-25: the first 1.64 s, the longest of the others 0.74 s).
"""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core import units
from pyrometer.explain.change import LessGap
from pyrometer.explain.evidence.driver_time import (
    ORDINARY_BETWEEN_NS,
    ORDINARY_FIRST_NS,
    ORDINARY_NS,
    Stretch,
    nodes_of,
    of_jobs,
    stretches,
    words_of,
)
from pyrometer.explain.evidence.driver_work import Work, works
from pyrometer.explain.evidence.places import largest
from pyrometer.explain.evidence.saying import code, shown_by, timeline
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.schema import Place
from pyrometer.explain.what_if import Extent

_ANALYSED = (
    "SELECT sum(weight) FROM samples WHERE role = 'driver' AND event = 'cpu' AND t_ns >= {} AND"
    " t_ns < {} AND java_stack IN (SELECT stack_id FROM (SELECT stack_id, unnest(frame_ids) AS"
    " frame_id FROM stacks) JOIN frames USING (frame_id) WHERE regexp_matches(class_name,"
    " '^org[.](antlr|apache[.]spark[.]sql[.]catalyst[.](analysis|parser))[.]'))"
)


@largest
def _suspects(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    kept = [one for one in stretches(facts) if one.kind == "planning"]
    known = works(facts, kept)
    waits = [0.0] * len(kept) if known is None else [one.waited_ns + one.listed_ns for one in known]
    found = []
    for number, (one, waited) in enumerate(zip(kept, waits, strict=True)):
        ordinary = ORDINARY_NS if number else ORDINARY_FIRST_NS
        if one.length - waited > ordinary:
            found.append((one.length - waited - ordinary, one))
    for over, one in found:
        less = nodes_of(facts, [(one.end - over, one.end)])
        job = one.after
        if not less or job is None:
            continue
        nodes = _nodes(facts, job.sql_id)
        size = f" of {units.count(nodes)} operators" if nodes else ""
        yield over, Suspect(
            place=Place(layer="driver", sql_id=job.sql_id, source=job.sql_description),
            mechanism=(
                f"SQL execution {job.sql_id}{size} was planned for {units.duration(one.length)}"
                f" before its first job; {units.duration(over)} of it is more than an ordinary"
                " query takes, and neither a wait for a CPU nor a listing of files."
            ),
            change=(LessGap(less, what="planning"),),
            # Half: the plan is cut once in the middle, and each half is planned.
            extent=Extent().times(0.5, 1.0),
            evidence=[
                of_jobs("from the start of the query to its first job", float(one.length), 1,
                        "SELECT min(j.submit_wall_ns) - s.start_wall_ns FROM jobs j JOIN"
                        f" sql_executions s USING (sql_id) WHERE sql_id = {job.sql_id} GROUP BY"
                        " s.start_wall_ns", (one.start, one.end)),
            ],
            remedies=[
                code("plan less at once: where a loop builds the plan, cut it in each round"
                     " (localCheckpoint)"),
            ],
        )  # fmt: skip
    yield from _analysed(facts)


def _analysed(facts: Facts) -> Iterator[tuple[float, Suspect]]:
    """Find the time between queries in which SQL was parsed, and plans analysed again and again."""
    between = [one for one in stretches(facts) if one.kind == "between"]
    for one, did in zip(between, works(facts, between) or [], strict=False):
        ours = did.analysed_ns + did.parsed_ns
        over = ours - ORDINARY_BETWEEN_NS
        if over <= 0:
            continue
        most = did.at_most(ours) - ORDINARY_BETWEEN_NS
        less = nodes_of(facts, [(one.end - most, one.end)])
        if less:
            # Half of analysis: the plan is cut once in the middle, and each half is analysed.
            least = (0.5 + 0.5 * did.parsed_ns / ours) * max(0.0, over - did.error_ns)
            extent = Extent((over + least) / 2 / most, least / most, 1.0)
            yield over, _of_analysis(facts.scope.offset_ns or 0, one, did, less, extent)


def _of_analysis(
    offset: int, one: Stretch, did: Work, less: dict[int, float], extent: Extent
) -> Suspect:
    next_ = "" if one.after is None else f" before {words_of(one.after)}"
    ours = did.analysed_ns + did.parsed_ns
    over = f"{units.duration(ours - ORDINARY_BETWEEN_NS)} more than an ordinary query takes"
    if did.parsed_ns > did.analysed_ns:
        said = (
            f"parsed SQL for {units.duration(did.parsed_ns)} of CPU and analysed plans for"
            f" {units.duration(did.analysed_ns)}, {over}: the text of a query is long."
        )
        remedy = code("read rows from a table or a file instead of typing them into a query",
                      'spark.sql(f"SELECT … FROM (VALUES {rows}) …")',
                      'spark.read.parquet(path).createOrReplaceTempView("rows")')  # fmt: skip
    else:
        said = (
            f"analysed plans for {units.duration(ours)} of CPU, {over}: each transformation"
            " analyses its whole plan again."
        )
        remedy = code("one select instead of many withColumn",
                      "for name, value in values.items():\n    df = df.withColumn(name, value)",
                      "df = df.withColumns(values)")  # fmt: skip
    return Suspect(
        place=Place(layer="driver", source=one.after.source if one.after else None),
        mechanism=f"Between two queries{next_} the driver {said}",
        change=(LessGap(less, what="planning"),),
        extent=extent,
        evidence=[
            shown_by("CPU of the driver in Spark's analyser and parser", ours, "ns", "samples",
                     _ANALYSED.format(one.start - offset, one.end - offset),
                     timeline(one.start, one.end)),
        ],
        remedies=[remedy],
    )  # fmt: skip


def _nodes(facts: Facts, sql_id: int | None) -> int:
    if sql_id is None or facts.measured is None or not facts.has("plan_nodes"):
        return 0
    sql = (
        "SELECT count(*) FROM plan_nodes WHERE app_index = $1 AND sql_id = $2 AND plan_version = 0"
    )
    return int(facts.tables.scalar(sql, [facts.measured.app_index, sql_id]) or 0)


RULE = Rule(
    code="driver.planning",
    title="Planning a query takes long",
    cause="query planning",
    suspects=_suspects,
    explains=("driver.gap",),
    refute="Write the intermediate result and read it again: if planning still takes as long, it is"
    " not the size of the plan.",
)
