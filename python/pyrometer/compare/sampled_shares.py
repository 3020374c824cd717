"""What samples and spans say about stages: shares of CPU by operator and expression, of waits."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext

from pyrometer.accounts.ledger.parts import parts
from pyrometer.accounts.ledger.schema import View
from pyrometer.accounts.ledger.sums import Only
from pyrometer.accounts.window import on_host
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


def behind_others(summary: Summary | None) -> dict[str | None, float]:
    """Give the share of the time in run queues that others' threads had the CPU, by host.

    Returns
    -------
    dict of str or None to float
        Of each host where it is known; under None of a run on one.
    """
    if summary is None:
        return {}
    known = summary.contention.hosts or [summary.contention]
    return {
        one.host: min(1.0, max(0.0, one.behind_others_ns.value / one.run_queue_ns))
        for one in known
        if one.behind_others_ns and one.behind_others_ns.value is not None and one.run_queue_ns
    }


def unknown_holders(summary: Summary) -> list[str]:
    """Name the hosts where tasks waited for a CPU, and nothing says who had it; of several."""
    known, contention = behind_others(summary), summary.contention
    return [
        name
        for one in (summary.ledger.hosts if contention.hosts else [])
        if one.host not in known and _waited(one.slot_view)
        for name in one.together or [one.host]
    ]


def _waited(view: View) -> bool:
    return any(row.path == "task/run_queue" and (row.value_ns or 0) > 0 for row in view.rows)


def waits_by_class(scope: Scope, behind: Mapping[str | None, float]) -> Shares:
    """Give shares of the time off CPU by what tasks waited for, where that was observed.

    Parameters
    ----------
    behind : mapping
        As of `behind_others`. Waits on other hosts stay one class, whoever had the CPU.
    """
    if scope.tables.scalar("SELECT count(*) FROM w_spans") == 0:
        return {}
    sums: dict[tuple[int, int], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for key, path, ns in _rows(scope):
        if path == "run_queue" or (path.startswith("waiting/") and path.count("/") == 1):
            sums[key][path.removeprefix("waiting/")] += ns
    for host, share in behind.items():
        if not share:
            continue  # nobody else had a CPU there
        with nullcontext(scope) if host is None else on_host(scope, host) as own:
            for key, path, ns in _rows(own):
                if path == "run_queue":
                    taken = min(ns * share, sums[key][path])
                    sums[key]["behind_others"] += taken
                    sums[key][path] -= taken
    return {
        key: {name: ns / total for name, ns in names.items() if ns > 0}
        for key, names in sums.items()
        if (total := sum(names.values())) > 0
    }


def _rows(scope: Scope) -> Iterator[tuple[tuple[int, int], str, float]]:
    """Give the rows of stages' ledgers: application and stage, the path within tasks, and ns."""
    for group in parts(scope, "stage", Only(), _MOST_STAGES)[0]:
        if group.stage_id is not None:
            for row in group.view.rows:
                path = row.path.removeprefix("task/")
                yield (group.app_index or 0, group.stage_id), path, max(0.0, row.value_ns or 0.0)
