"""The same data is read and computed again for each query or job that needs it.

What it is
    Several queries of an application, or several branches of one, begin with the same scan, filters
    and expressions, and nothing is kept between them.

Mechanism
    Each of them computes it again. Kept once (cache, or a table), the others read the result. Taken
    away are the stages that repeat, from the second on, but for reading what was kept.

Evidence
    Stages with the same operators over the same input: as many rows read and written, and the same
    text of the plan; behind a shuffle, where the same queries repeat what comes before it.

Remedy
    `cache()` (or `persist`, or a checkpoint) after the last step that they share, and an action
    that fills it; or one pass that computes all.

When it is wrong
    Where the shared part is cheap next to keeping it, or larger than memory. Iterations of a
    benchmark repeat on purpose: a window of several iterations is not judged across them.

Source
    Spark's RDD programming guide, "RDD Persistence".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from pyrometer.core import units
from pyrometer.explain.change import Less
from pyrometer.explain.evidence.plan_nodes import plans, unnumbered
from pyrometer.explain.evidence.saying import code, place, shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.rule import Rule, Suspect
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Stage

ACHIEVED = (0.5, 0.95)
"""Of the repeated stages' time: reading rows kept in memory costs the rest."""
MOST = 5
_KEPT = ("InMemoryTableScan", "InMemoryRelation")


def _suspects(facts: Facts) -> Iterator[Suspect]:
    texts, queries = _texts(facts)
    groups = _groups(facts, texts)
    # What a query reads again it computes on from there: by the queries that share it.
    shared: dict[frozenset[int], list[list[Stage]]] = defaultdict(list)
    for group in groups:
        shared[frozenset().union(*(queries[one.stage_id] for one in group))].append(group)
    begun = [
        mine for mine, found in shared.items()
        if any(_read_rows(facts, group[0]) > 0 for group in found)
    ]  # fmt: skip
    repeated = [
        found for mine, found in shared.items() if any(mine <= other for other in begun)
    ]  # fmt: skip
    repeated.sort(key=lambda found: -_time(facts, _again(found)))
    for found in repeated[:MOST]:
        yield _suspect(facts, found)


def _groups(facts: Facts, texts: Mapping[int, str]) -> list[list[Stage]]:
    """Give the stages of each kind that ran more than once."""
    groups: dict[tuple[object, ...], list[Stage]] = defaultdict(list)
    iterations = _iterations(facts)
    for stage in facts.stages:
        text = texts.get(stage.stage_id)
        if stage.attempt or not stage.tasks_count or text is None:
            continue
        if any(name in text for name in _KEPT):
            continue
        tasks = facts.tasks_of(stage.number)
        read = _read_rows(facts, stage), tasks.total("shuffle_read_records_count")
        written = tasks.total("shuffle_written_records_count")
        groups[(text, *read, written, iterations.get(stage.stage_id))].append(stage)
    return [group for group in groups.values() if len(group) > 1]


def _read_rows(facts: Facts, stage: Stage) -> float:
    return facts.tasks_of(stage.number).total("input_records_count")


def _again(groups: Sequence[Sequence[Stage]]) -> list[Stage]:
    return [stage for group in groups for stage in group[1:]]


def _texts(facts: Facts) -> tuple[dict[int, str], dict[int, set[int]]]:
    """Say what each stage computes, and for which queries.

    That is the texts of the plan's nodes in it, without numbers.
    """
    found: dict[int, list[str]] = defaultdict(list)
    queries: dict[int, set[int]] = defaultdict(set)
    for plan in plans(facts):
        for node in plan.sql.nodes:
            if node.name.startswith("WholeStageCodegen"):
                continue
            for stage_id in node.stage_ids:
                found[stage_id].append(unnumbered(node.simple_string or node.name))
                queries[stage_id].add(plan.sql.sql_id)
    return {stage: "\n".join(sorted(lines)) for stage, lines in found.items()}, queries


def _iterations(facts: Facts) -> dict[int, int | None]:
    rows = facts.tables.query("SELECT stage_id, iteration FROM w_stages")
    return {int(stage): iteration for stage, iteration in rows}


def _time(facts: Facts, stages: Sequence[Stage]) -> float:
    return sum(float(facts.tasks_of(stage.number).duration_ns.sum()) for stage in stages)


def _suspect(facts: Facts, groups: Sequence[Sequence[Stage]]) -> Suspect:
    again = _again(groups)
    spent = _time(facts, again)
    read = sum(facts.tasks_of(group[0].number).total("input_bytes") for group in groups)
    costs = {stage.number: _time(facts, [stage]) for stage in again}
    every = sorted(stage.stage_id for group in groups for stage in group)
    names = ", ".join(map(str, every[:6]))
    return Suspect(
        place=place(facts, "sql", costs, source=groups[0][0].name),
        mechanism=(
            f"Stages {names}{' and more' if len(every) > 6 else ''} compute the same from the same"
            f" {units.size(round(read))} of input: the {len(again)} repetitions took"
            f" {units.duration(spent)} of tasks."
        ),
        change=(Less("recomputed", dict.fromkeys((stage.number for stage in again), 1.0)),),
        extent=Extent(n=len(again)).times(*ACHIEVED),
        evidence=[
            shown_by("time of tasks that repeat", spent, "ns", "tasks",
                 "SELECT stage_id, sum(finish_wall_ns - launch_wall_ns) FROM tasks WHERE stage_id"
                 f" IN ({', '.join(map(str, every))}) GROUP BY stage_id",
                 f"/stage/{again[0].stage_id}/{again[0].attempt}", len(again)),
        ],
        remedies=[
            code("keep what they share after its last common step", "shared = spark.read…",
                 "shared = spark.read… .cache()"),
        ],
    )  # fmt: skip


RULE = Rule(
    code="recompute.subtree",
    title="The same is computed again and again",
    cause="recomputation",
    suspects=_suspects,
    explains=(
        "scan.",
        "codec.",
        "expression.per-row",
        "skew.",
        "partitioning.",
        "shuffle.",
        "driver.many-small-jobs",
    ),
    refute="Cache what the stages share: if the application takes as long, reading the cache costs"
    " as much.",
)
