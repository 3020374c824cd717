"""Everything about one window of a run, as one value.

The ledger as rows of tables ``ledger_slot`` and ``ledger_core``, for reading by SQL.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from pyrometer.accounts.applications import apps
from pyrometer.accounts.contention import contention
from pyrometer.accounts.cpu import cpu, instruments
from pyrometer.accounts.hardware.hardware import hardware
from pyrometer.accounts.hosts.work import hosts
from pyrometer.accounts.io import io, io_latency
from pyrometer.accounts.jvm.jvm import gc, jvm
from pyrometer.accounts.ledger.by_host import clock_doubts
from pyrometer.accounts.ledger.elapsed.elapsed_view import elapsed
from pyrometer.accounts.ledger.report import ledger
from pyrometer.accounts.ledger.schema import View
from pyrometer.accounts.memory import code, memory
from pyrometer.accounts.processes import account
from pyrometer.accounts.schema import Failed
from pyrometer.accounts.spark import iterations, sql, stages, window_totals
from pyrometer.accounts.waits.extended_stacks import doubts as extended_stack_doubts
from pyrometer.accounts.waits.extended_stacks import extended_stacks
from pyrometer.accounts.waits.off_cpu import waits
from pyrometer.accounts.window import cut_again, facts, open_scope
from pyrometer.attribution.operators import (
    attribution_shares,
    categories,
    helpers,
    operators,
    too_large_to_compile,
)
from pyrometer.attribution.python_workers import (
    cpu_base,
    on_base,
    python,
    with_python,
    with_workers,
)
from pyrometer.attribution.samples import attribution
from pyrometer.core import schema
from pyrometer.core.beside import Beside
from pyrometer.core.doubt import Doubt
from pyrometer.store import Run
from pyrometer.summary import rules
from pyrometer.summary.disputed import disputed
from pyrometer.summary.failure import failure
from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.summary.verdict import verdict
from pyrometer.window.scope import Scope
from pyrometer.window.windows import windows

_KEPT = {"path", "parent", "value_ns", "low_ns", "high_ns", "n", "method", "source"}


def ledger_tables(summary: Summary) -> dict[str, list[dict[str, Any]]]:
    """Give both views of a summary's window as rows.

    The slot view is per application: where a run has several, it is of all together and has no row.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    if len(summary.apps) == 1:
        found["ledger_slot"] = _rows(summary.ledger.slot_view, app_index=summary.apps[0].app_index)
    host = summary.run.host.get("hostname")
    if summary.ledger.hosts:
        found["ledger_core"] = [
            row for one in summary.ledger.hosts for row in _rows(one.core_view, host=one.host)
        ]
    elif host is not None:
        found["ledger_core"] = _rows(summary.ledger.core_view, host=host)
    return {table: rows for table, rows in found.items() if rows}


def _rows(view: View, **place: Any) -> list[dict[str, Any]]:
    return [{**place, "window": view.window, **row.model_dump(include=_KEPT)} for row in view.rows]


def summary(run: Run, window: str | None = None) -> Summary:
    """Account for one window of a run.

    Parameters
    ----------
    run : Run
        An open run.
    window : str, optional
        ``measured``, ``application``, ``iteration/<n>``, ``sql/<id>`` or
        ``query/<description>``; by default, all measured iterations together, or the application
        where there are none.

    Raises
    ------
    UsageError
        If the run has no such window.
    """
    return summarise(open_scope(run, window))


def summarise(scope: Scope) -> Summary:
    """Account for the window of an open scope."""
    with _others_beside(scope) as others:
        return _summarised(scope, others)


def _summarised(scope: Scope, others: Callable[[], dict[str, Any]]) -> Summary:
    run = scope.run
    succeeded, failed = window_totals(scope)
    used, unmapped = operators(scope)
    workers = python(scope)
    base = cpu_base(scope.task_cpu_ns, workers.in_tasks_ns)
    used, unmapped = on_base(with_python(scope, used), unmapped, base)
    bytes_read, io_doubts = io(scope, succeeded, failed)
    process = cpu(scope, succeeded, failed)
    views = ledger(scope)
    result = Summary(
        run=facts(run),
        window=scope.window.facts(),
        windows=[w.name for w in windows(run)],
        totals=succeeded,
        failed=Failed(totals=failed),
        apps=apps(scope),
        iterations=iterations(scope),
        hosts=hosts(scope),
        sql=sql(scope, used),
        cpu_base=base,
        operators=used,
        unmapped=unmapped,
        helpers=helpers(scope),
        told=attribution_shares(attribution(scope)),
        too_large_to_compile=too_large_to_compile(scope),
        categories=with_workers(categories(scope), base),
        cpu=process,
        contention=contention(scope, views),
        io=bytes_read,
        python=workers,
        elapsed=elapsed(scope)[0],
        ledger=views,
        account=account(scope),
        instruments=instruments(scope, process.process_cpu_ns),
        doubts=[*run.doubts, *clock_doubts(scope, views.hosts), *io_doubts],
        **others(),
    )
    result.doubts += analysis_doubts(scope, result)
    result.disputed = disputed(result)
    result.failure = failure(scope)
    result.verdict, result.next_step = verdict(result)
    return result


@contextmanager
def _others_beside(scope: Scope) -> Iterator[Callable[[], dict[str, Any]]]:
    """Make the accounts that no other reads on a thread of their own, if the run is small.

    What a large run's queries hold in memory is as large as the run, and is not held twice; they
    take several threads anyway.
    """
    if not scope.tables.is_small or scope.machines:
        yield lambda: _others(scope)
        return
    with (
        scope.run.on_host() as own,
        Beside(lambda: _others(cut_again(own, scope))) as found,
    ):
        yield found.outcome


def _others(scope: Scope) -> dict[str, Any]:
    return {
        "stages": stages(scope),
        "io_latency": io_latency(scope),
        "waits": waits(scope),
        "gc": gc(scope),
        "memory": memory(scope),
        "code": code(scope),
        "jvm": jvm(scope),
        "hardware": hardware(scope),
        "extended_stacks": extended_stacks(scope),
    }


@cache
def every_rule() -> tuple[Rule, ...]:
    """Find the rules: ``RULE`` of each module of the folder, in the order of their names.

    Examples
    --------
    >>> [rule.code for rule in every_rule()][:2]
    ['drivers_apart', 'executors_unseen']
    """
    names = sorted(module.name for module in pkgutil.iter_modules(rules.__path__))
    return tuple(importlib.import_module(f"{rules.__name__}.{name}").RULE for name in names)


def analysis_doubts(scope: Scope, summary: Summary) -> list[Doubt]:
    """Doubts that only the analysis can raise."""
    found = [doubt for rule in every_rule() for doubt in rule.doubts(scope, summary)]
    found += extended_stack_doubts(summary.extended_stacks)
    if not scope.tables.has("spans") and not scope.has("os_series"):
        found.append(schema.doubt("event_log_only", "no plugin and no probe ran"))
    elif not scope.has_mono:
        found.append(schema.doubt("clocks_unjoined", f"window {scope.window.name}"))
    return found
