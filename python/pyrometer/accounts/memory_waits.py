"""Time that tasks waited for memory, by the kernel's delay accounting.

The kernel adds up how long each thread was in direct reclaim, in swap-in, in reads of pages that
were evicted a moment ago (thrashing) and in compaction. The probe reads every thread of a process
whose sums grew, so that growth lies between two readings of a thread. What of it lies in a task is
taken by straight lines; bounds say what the readings leave open. Time on a CPU counts too: who
reclaims memory works for it. Kinds overlap, and are never added up.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import Field

from pyrometer.accounts.cpu import NO_CLOCK, NO_PROBE, OWN_PROCESS
from pyrometer.core.estimate import Estimate
from pyrometer.core.json_text import parse_json
from pyrometer.core.model import Model
from pyrometer.store.sql.text import literal
from pyrometer.window.scope import Scope

KINDS = {
    "freepages": "reclaim",
    "swapin": "swap_in",
    "thrashing": "thrashing",
    "compact": "compaction",
}
"""Kinds of table ``delays`` that are waits for memory, and what they are called here."""
LONGEST = 20
"""Tasks named with their waits."""
_METHOD = "straight lines between readings; bounds"


class KindTime(Model):
    """Time in one kind of wait."""

    kind: str
    time_ns: Estimate


class StageMemoryWaits(Model):
    """Waits for memory of the tasks of a stage attempt; kinds without any are left out."""

    app_index: int | None
    stage_id: int
    stage_attempt: int
    waits: list[KindTime] = Field(default_factory=list)


class TaskMemoryWaits(StageMemoryWaits):
    """Waits for memory of one task."""

    task_attempt_id: int


class MemoryWait(Model):
    """Waits for memory of one kind.

    Attributes
    ----------
    kind : str
        ``reclaim``, ``swap_in``, ``thrashing`` or ``compaction``.
    time_ns : Estimate or None
        Of all tasks, with bounds.
    share : float or None
        Of the time of tasks.
    processes_ns, processes_count : int or None
        Time and number of the waits of all threads of the application.
    reason : str or None
        Why a value is missing, or may be too small.
    """

    kind: str
    time_ns: Estimate | None = None
    share: float | None = None
    processes_ns: int | None = None
    processes_count: int | None = None
    reason: str | None = None


class MemoryWaits(Model):
    """Waits for memory of the tasks: by kind, by stage, and of the tasks that waited longest."""

    kinds: list[MemoryWait] = Field(default_factory=list)
    stages: list[StageMemoryWaits] = Field(default_factory=list)
    tasks: list[TaskMemoryWaits] = Field(default_factory=list)
    reason: str | None = None


_Part = TypeVar("_Part", bound=StageMemoryWaits)


def memory_waits(scope: Scope) -> MemoryWaits:
    """Account for the time that tasks waited for memory.

    Parameters
    ----------
    scope : Scope
        A run cut to a window.
    """
    refused = _refused(scope)
    if refused or not scope.has("delays"):
        return MemoryWaits(reason=refused or NO_PROBE)
    if not scope.has_mono:
        return MemoryWaits(reason=NO_CLOCK)
    processes = _of_processes(scope)
    unsplit = _unsplit(scope, any(ns for ns, _ in processes.values()))
    times: dict[str, Estimate] = {} if unsplit else {kind: one for (kind,), one in _of(scope, "")}
    partly = _partly(scope)
    whole = scope.tables.scalar("SELECT sum(end_ns - start_ns)::BIGINT FROM w_spans")
    found = []
    for recorded, kind in KINDS.items():
        if recorded not in processes:
            found.append(MemoryWait(kind=kind, reason="this kernel does not count it"))
            continue
        time = None if unsplit else times.get(recorded, _none(partly))
        grown_ns, count = processes[recorded]
        unknown = bool(partly) and not count
        found.append(
            MemoryWait(
                kind=kind,
                time_ns=time,
                share=time.value / whole if time and time.value is not None and whole else None,
                processes_ns=None if unknown else grown_ns,
                processes_count=None if unknown else count,
                reason=unsplit or partly,
            )
        )
    stage = "app_index, stage_id, stage_attempt"
    return MemoryWaits(
        kinds=found,
        stages=[] if unsplit else _parts(scope, StageMemoryWaits, stage),
        tasks=[]
        if unsplit
        else _parts(scope, TaskMemoryWaits, f"{stage}, task_attempt_id")[:LONGEST],
        reason=unsplit,
    )


def _none(partly: str | None) -> Estimate | None:
    """No growth is no wait, unless threads were not accounted."""
    if partly:
        return None
    return Estimate(value=0.0, low=0.0, high=0.0, level=1.0, n=0, method=_METHOD)


def _parts(scope: Scope, model: type[_Part], keys: str) -> list[_Part]:
    """Give the waits of each stage or task, those that waited longest in one kind first."""
    found: dict[tuple[Any, ...], list[KindTime]] = {}
    for (kind, *key), time in _of(scope, f", {keys}"):
        found.setdefault(tuple(key), []).append(KindTime(kind=KINDS[kind], time_ns=time))
    made = [
        model(**dict(zip(keys.split(", "), key, strict=True)), waits=waits)
        for key, waits in found.items()
    ]
    made.sort(key=lambda one: -max(wait.time_ns.value or 0.0 for wait in one.waits))
    return made


def _of(scope: Scope, keys: str) -> list[tuple[tuple[Any, ...], Estimate]]:
    """Sum the growth inside tasks by kind and ``keys``."""
    _define(scope)
    rows = scope.tables.query(
        f"""
        WITH steps AS (
          SELECT kind{keys}, grown, length, least(sum(covered), length) AS covered
          FROM w_memory_waits GROUP BY kind, pid, tid, t, grown, length{keys})
        SELECT kind{keys}, sum(grown * covered / length),
          sum(greatest(0, grown - (length - covered)))::DOUBLE,
          sum(least(grown, covered))::DOUBLE, count(*)
        FROM steps GROUP BY kind{keys} ORDER BY ALL
        """
    )
    return [
        (
            tuple(key),
            Estimate(value=value, low=low, high=high, level=1.0, n=n, method=_METHOD),
        )
        for *key, value, low, high, n in rows
    ]


def _define(scope: Scope) -> None:
    """Define ``w_memory_waits``: growth between two readings of a thread, and what a task covers.

    A wait counts as it ends, so one that is longer than the time since the reading before began
    ahead of it.
    """
    if "w_memory_waits" in scope.tables.defined:
        return
    scope.tables.define(
        "w_memory_waits",
        f"""
        WITH read AS (
          SELECT pid, tid, kind, t_mono_ns AS t, total_ns AS v,
            lag(t_mono_ns) OVER s AS t0, lag(total_ns) OVER s AS v0
          FROM delays WHERE tid IS NOT NULL AND kind IN ({_NAMES})
          WINDOW s AS (PARTITION BY pid, tid, kind ORDER BY t_mono_ns, total_ns)),
        steps AS (
          SELECT pid, tid, kind, t, v - v0 AS grown, least(t0, t - (v - v0)) AS t0
          FROM read WHERE v > v0)
        SELECT x.kind, x.pid, x.tid, x.t, x.grown, (x.t - x.t0)::DOUBLE AS length,
          s.app_index, s.stage_id, s.stage_attempt, s.task_attempt_id,
          least(s.end_ns, x.t) - greatest(s.start_ns, x.t0) AS covered
        FROM steps x JOIN w_spans s
          ON s.pid = x.pid AND s.tid = x.tid AND s.start_ns < x.t AND s.end_ns > x.t0
        """,
    )


_NAMES = ", ".join(map(literal, KINDS))


def _of_processes(scope: Scope) -> dict[str, tuple[int, int]]:
    """Give time and number of the waits of all threads, of the kinds that the kernel counts."""
    rows = scope.tables.query(
        f"""
        WITH read AS (
          SELECT kind, t_mono_ns AS t, total_ns AS v, count AS n, lag(t_mono_ns) OVER s AS t0,
            lag(total_ns) OVER s AS v0, lag(count) OVER s AS n0
          FROM delays WHERE tid IS NULL AND kind IN ({_NAMES}) AND pid NOT IN ({OWN_PROCESS})
          WINDOW s AS (PARTITION BY pid, kind ORDER BY t_mono_ns)),
        cut AS (
          SELECT r.kind, v - v0 AS grown, n - n0 AS more,
            (least(t, w.end_mono_ns) - greatest(t0, w.start_mono_ns))::DOUBLE
              / greatest(t - t0, 1) AS inside
          FROM read r JOIN w ON t > w.start_mono_ns AND t0 < w.end_mono_ns WHERE v >= v0)
        SELECT k.kind, coalesce(round(sum(grown * inside)), 0)::BIGINT,
          coalesce(round(sum(more * inside)), 0)::BIGINT
        FROM (SELECT DISTINCT kind FROM read) k LEFT JOIN cut USING (kind) GROUP BY k.kind
        """
    )
    return {kind: (int(ns), int(count)) for kind, ns, count in rows}


def _unsplit(scope: Scope, grown: bool) -> str | None:
    """Say why waits cannot be told by task."""
    if not scope.tables.scalar("SELECT count(*) FROM w_spans"):
        return scope.unrecorded or "no plugin: which thread ran which task is not known"
    read = scope.tables.scalar(
        "SELECT count(*) FROM (SELECT pid, tid FROM delays WHERE tid IS NOT NULL AND kind IN"
        f" ({_NAMES}) GROUP BY pid, tid, kind HAVING count(*) > 1)"
    )
    if grown and not read:
        return "the probe of this run read threads only at their end: record it again"
    return None


def _reports(scope: Scope) -> list[dict[str, Any]]:
    found = []
    for path in scope.run.paths.probe_reports():
        try:
            report = parse_json(path.read_bytes())
        except (OSError, ValueError):
            continue
        told = report.get("taskstats") if isinstance(report, dict) else None
        if isinstance(told, dict):
            found.append(told)
    return found


def _refused(scope: Scope) -> str | None:
    """Say why no probe of the run could have the kernel count delays."""
    reasons = [told.get("reason") for told in _reports(scope)]
    if not reasons or not all(reasons):
        return None
    return (
        f"no delay accounting ({reasons[0]}): run as root or with CAP_NET_ADMIN, and with"
        " kernel.task_delayacct=1"
    )


def _partly(scope: Scope) -> str | None:
    """Say that threads began before the kernel was told to count their delays."""
    if not any(told.get("switched_on") for told in _reports(scope)):
        return None
    early = scope.tables.scalar(
        "SELECT count(*) FROM (SELECT DISTINCT pid FROM w_spans) s"
        " JOIN (SELECT scope, host, min(value) AS began FROM os_series"
        "  WHERE name = 'start_time_mono_ns' GROUP BY ALL) p ON p.scope = 'process/' || s.pid"
        " JOIN (SELECT host, min(t_mono_ns) AS since FROM os_series WHERE name = 'passes_count'"
        "  GROUP BY host) r ON r.host = p.host WHERE p.began < r.since"
    )
    if not early:
        return None
    return (
        f"{early} JVM(s) began before the probe had the kernel count delays: what their older"
        " threads waited is not in it; set kernel.task_delayacct=1 before they start"
    )
