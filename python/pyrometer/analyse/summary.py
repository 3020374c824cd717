"""Everything about one window of a run, as one value."""

from __future__ import annotations

from typing import Any

from pyrometer import schema, units
from pyrometer.analyse.account import account
from pyrometer.analyse.attribution import attribution
from pyrometer.analyse.counters import define_series, define_threads
from pyrometer.analyse.cpu import cpu, instruments
from pyrometer.analyse.extended_stacks import doubts as extended_stack_doubts
from pyrometer.analyse.extended_stacks import extended_stacks
from pyrometer.analyse.gc import define_pauses, gc
from pyrometer.analyse.hardware import hardware
from pyrometer.analyse.helpers import helpers
from pyrometer.analyse.huge_methods import too_large_to_compile
from pyrometer.analyse.io import io
from pyrometer.analyse.io_latency import io_latency
from pyrometer.analyse.jvm import jvm
from pyrometer.analyse.ledger.checks import checks
from pyrometer.analyse.ledger.core import core_view
from pyrometer.analyse.ledger.slot import slot_view
from pyrometer.analyse.model import Failed, Ledger, RunFacts, Summary
from pyrometer.analyse.off_cpu import waits
from pyrometer.analyse.operators import categories, operators, told
from pyrometer.analyse.python_workers import (
    asked,
    define_python,
    python,
    with_python,
    with_workers,
)
from pyrometer.analyse.resources import code, memory
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.spark import apps, iterations, sql, stages
from pyrometer.analyse.totals import window_totals
from pyrometer.analyse.verdict import verdict
from pyrometer.analyse.windows import choose, windows
from pyrometer.doubt import Doubt
from pyrometer.store import Run

_FEW_SAMPLES = 100
_OPEN_LEDGER = 0.05
_PYTHON_SEEN = 0.8
_PYTHON_WORTH_NS = 500_000_000


def summary(run: Run, window: str | None = None) -> Summary:
    """Account for one window of a run.

    Parameters
    ----------
    run : Run
        An open run.
    window : str, optional
        ``measured``, ``application`` or ``iteration/<n>``; unasked, all measured iterations
        together, or the application where there are none.

    Raises
    ------
    UsageError
        If the run has no such window.
    """
    return summarise(open_scope(run, window))


def summarise(scope: Scope) -> Summary:
    """Account for the window of an open scope."""
    run = scope.run
    succeeded, failed = window_totals(scope)
    used, unmapped = operators(scope)
    used = with_python(scope, used)
    workers = python(scope)
    bytes_read, io_doubts = io(scope, succeeded, failed)
    process = cpu(scope, succeeded, failed)
    made = Summary(
        run=facts(run),
        window=scope.window.facts(),
        windows=[w.name for w in windows(run)],
        totals=succeeded,
        failed=Failed(totals=failed),
        apps=apps(scope),
        iterations=iterations(scope),
        stages=stages(scope),
        sql=sql(scope, used),
        operators=used,
        unmapped=unmapped,
        helpers=helpers(scope),
        told=told(attribution(scope)),
        too_large_to_compile=too_large_to_compile(scope),
        categories=with_workers(categories(scope), workers.in_tasks_ns),
        cpu=process,
        io=bytes_read,
        io_latency=io_latency(scope),
        waits=waits(scope),
        gc=gc(scope),
        memory=memory(scope),
        code=code(scope),
        jvm=jvm(scope),
        hardware=hardware(scope),
        python=workers,
        extended_stacks=extended_stacks(scope),
        ledger=ledger(scope),
        account=account(scope),
        instruments=instruments(scope, process.process_cpu_ns),
        doubts=[*run.doubts, *io_doubts],
    )
    made.doubts += own_doubts(scope, made)
    made.verdict = verdict(made)
    return made


def open_scope(run: Run, window: str | None) -> Scope:
    """Cut a run to a window, with the views that more than one account reads."""
    scope = Scope(run, choose(run, window))
    define_threads(scope)
    define_series(scope)
    define_pauses(scope)
    define_python(scope)
    return scope


def ledger(scope: Scope) -> Ledger:
    """Both views of the window, and the checks between their sources."""
    return Ledger(slot_view=slot_view(scope), core_view=core_view(scope), checks=checks(scope))


def facts(run: Run) -> RunFacts:
    """Tell what ran, where and how it ended."""
    version = run.tables.scalar("SELECT min(spark_version) FROM apps")
    started = run.tables.scalar("SELECT min(start_wall_ns) FROM apps")
    manifest = run.manifest
    if manifest is None:
        return RunFacts(run_dir=str(run.paths.root), spark_version=version, started_wall_ns=started)
    plain: dict[str, Any] = manifest.model_dump(mode="json")
    return RunFacts(
        run_dir=str(run.paths.root),
        workload=manifest.workload.name,
        command=manifest.workload.command,
        variant=manifest.workload.variant,
        treatment=manifest.treatment,
        treatment_origin=dict(manifest.treatment_origin),
        scale=manifest.workload.scale,
        profile=manifest.profile,
        state=manifest.state,
        exit_code=manifest.exit.code,
        spark_version=version or manifest.versions.get("spark"),
        started_wall_ns=manifest.started_wall_ns or started,
        host=plain["host"],
        conf_overlay=plain["conf_overlay"],
    )


def own_doubts(scope: Scope, made: Summary) -> list[Doubt]:
    """Doubts that only the analysis can raise."""
    found = []
    view = made.ledger.slot_view
    if view.total_ns is None and scope.has("tasks"):
        found.append(schema.doubt("slots_unknown", view.reason or ""))
    if view.closure_ratio is not None and abs(view.closure_ratio) > _OPEN_LEDGER:
        share = units.percent(view.closure_ratio, signed=True)
        found.append(schema.doubt("ledger_open", f"slot view, {view.window}: closure {share}"))
    core = made.ledger.core_view
    if core.closure_ratio is not None and abs(core.closure_ratio) > _OPEN_LEDGER:
        share = units.percent(core.closure_ratio, signed=True)
        found.append(schema.doubt("ledger_open", f"core view, {core.window}: closure {share}"))
    samples = sum(o.samples_count for o in made.operators)
    if scope.has("samples") and made.account is None and samples < _FEW_SAMPLES:
        message = f"{samples} CPU samples of operators in window {scope.window.name}"
        found.append(schema.doubt("samples_few", message))
    workers = made.python
    if (
        asked(scope)
        and (workers.counted_ns or 0) > _PYTHON_WORTH_NS
        and (workers.seen_ratio or 0) < _PYTHON_SEEN
    ):
        share = units.percent(workers.seen_ratio or 0)
        counted = units.duration(workers.counted_ns)
        message = f"stacks tell {share} of the {counted} of CPU that Python processes used"
        found.append(schema.doubt("python_unseen", message))
    found += extended_stack_doubts(made.extended_stacks)
    if not scope.has("spans") and not scope.has("os_series"):
        found.append(schema.doubt("event_log_only", "no plugin and no probe ran"))
    elif not scope.has_mono:
        found.append(schema.doubt("clocks_unjoined", f"window {scope.window.name}"))
    return found
