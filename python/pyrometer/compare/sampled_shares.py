"""What samples and spans say about stages: shares of CPU by operator and expression, of waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from pyrometer.accounts.ledger.parts import parts
from pyrometer.accounts.ledger.sums import Only
from pyrometer.attribution.plan_match import unnumbered
from pyrometer.attribution.samples import attribution
from pyrometer.attribution.schema import Operator
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope

EXPRESSION = "\n"
"""Between the name of an operator and an expression of it."""
_MOST_STAGES = 10_000

Shares = dict[tuple[int, int], dict[str, float]]
Hits = dict[tuple[int, int], dict[str, tuple[float, float]]]


def cpu_by_operator(scope: Scope, operators: Sequence[Operator]) -> tuple[Shares, Hits]:
    """Give shares of CPU by operator and expression, of stages that have samples."""
    if not scope.has("samples"):
        return {}, {}
    attribution(scope)
    within = _expressions(operators)
    found: dict[tuple[int, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for app, stage, sql, operator, n in scope.tables.query(
        "SELECT coalesce(app_index, 0), stage_id, sql_id, operator, sum(hits)::BIGINT"
        " FROM task_samples WHERE event = 'cpu' AND stage_id IS NOT NULL AND hits > 0 GROUP BY ALL"
    ):
        name, rest = operator or "no operator", float(n)
        for text, share in within.get((sql, name), {}).items():
            found[app, stage][f"{name}{EXPRESSION}{text}"] += n * share
            rest -= n * share
        found[app, stage][name] += max(0.0, rest)
    hits: Hits = {}
    for key, names in found.items():
        total = sum(names.values())
        hits[key] = {name: (n, total) for name, n in names.items() if n > 0}
    shares = {
        key: {name: n / total for name, (n, total) in names.items()} for key, names in hits.items()
    }
    return shares, hits


def _expressions(operators: Sequence[Operator]) -> dict[tuple[int | None, str], dict[str, float]]:
    """Give the shares of expressions in the samples of an operator of an SQL execution."""
    whole: dict[tuple[int | None, str], float] = defaultdict(float)
    found: dict[tuple[int | None, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for one in operators:
        key = (one.sql_id, one.operator)
        whole[key] += one.samples_count
        for inside in one.expressions:
            found[key][unnumbered(inside.expression)] += inside.samples_count
    return {
        key: {text: min(1.0, n / whole[key]) for text, n in texts.items()}
        for key, texts in found.items()
        if whole[key] > 0
    }


def behind_others(summary: Summary | None) -> float:
    """Give the share of the time in run queues that others' threads had the CPU."""
    queue = summary.contention.run_queue_ns if summary else None
    behind = summary.contention.behind_others_ns if summary else None
    if not queue or behind is None or behind.value is None:
        return 0.0
    return min(1.0, max(0.0, behind.value / queue))


def waits_by_class(scope: Scope, behind_others: float) -> Shares:
    """Give shares of the time off CPU by what tasks waited for, where that was observed."""
    if scope.tables.scalar("SELECT count(*) FROM w_spans") == 0:
        return {}
    groups, _ = parts(scope, "stage", Only(), _MOST_STAGES)
    sums: dict[tuple[int, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for group in groups:
        if group.stage_id is None:
            continue
        key = (group.app_index or 0, group.stage_id)
        for row in group.view.rows:
            name, ns = row.path.removeprefix("task/"), max(0.0, float(row.value_ns or 0))
            if name == "run_queue":
                sums[key]["behind_others"] += ns * behind_others
                sums[key][name] += ns * (1 - behind_others)
            elif name.startswith("waiting/") and name.count("/") == 1:
                sums[key][name.removeprefix("waiting/")] += ns
    return {
        key: {name: ns / total for name, ns in names.items() if ns > 0}
        for key, names in sums.items()
        if (total := sum(names.values())) > 0
    }
