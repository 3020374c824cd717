"""What an experiment keeps of one run: its time, its result, and the shape of its plans."""

from __future__ import annotations

import hashlib
import re
import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pyrometer.analyse.warmup import Shape, detect
from pyrometer.store import Run
from pyrometer.store.manifest import Result

_ITERATIONS = """
    SELECT iteration, warmup, (end_mono_ns - start_mono_ns) / 1e9,
           result_rows_count, result_checksum
    FROM iterations WHERE status = 'success' AND end_mono_ns IS NOT NULL ORDER BY iteration
"""
_NODES = """
    SELECT sql_id, depth, name FROM plan_nodes WHERE is_final
    ORDER BY app_index, sql_id, node_id
"""
# Event logs have whole milliseconds: a query may seem to start before its iteration.
_NODES_WITHIN = """
    SELECT sql_id, depth, name FROM plan_nodes JOIN sql_executions s USING (app_index, sql_id)
    WHERE is_final AND EXISTS (
        SELECT 1 FROM iterations i WHERE i.iteration IN ({})
        AND s.start_wall_ns BETWEEN i.start_wall_ns - 1000000 AND i.end_wall_ns)
    ORDER BY app_index, sql_id, node_id
"""


@dataclass(frozen=True)
class TrialFacts:
    """Facts of a run that finished.

    Attributes
    ----------
    iterations_s : tuple of float
        Of each iteration that counts; empty for a command.
    seconds : float or None
        Their mean; of a command the time from its launch to its end.
    rows, checksum
        Of the last iteration's result, where it is known.
    plan : str or None
        Digest of the operators of all plans that ran and how they are nested; numbers in their
        names are left out. ``None`` without SQL.
    series_s : tuple of float
        Of every iteration, those of the warm-up first.
    counted_from : int or None
        Position in the series from which iterations count.
    shape : str or None
        What the series looks like.
    canaries : mapping
        Geometric mean over the iterations that count, where they were measured before each.
    """

    iterations_s: tuple[float, ...]
    seconds: float | None
    rows: int | None
    checksum: str | None
    plan: str | None
    series_s: tuple[float, ...] = ()
    counted_from: int | None = None
    shape: Shape | None = None
    canaries: Mapping[str, float | str] = field(default_factory=dict)


def trial_facts(
    run: Run, *, detected: bool = True, only: Collection[int] = (), start: int = 0
) -> TrialFacts:
    """Read the facts of one run.

    Parameters
    ----------
    detected : bool
        Whether iterations count from where their times are steady; else all that were declared.
    only : collection of int
        Iterations that are looked at; empty: all.
    start : int
        Position in the series before which none counts.
    """
    found = run.tables.query(_ITERATIONS) if run.tables.has("iterations") else []
    found = [row for row in found if not only or row[0] in only]
    times = tuple(float(row[2]) for row in found)
    declared = max(start, sum(bool(row[1]) for row in found))
    shape, start = counting(times, declared, detected)
    counted = times[start:]
    rows, checksum = (found[-1][3], found[-1][4]) if found else (None, None)
    seconds = statistics.fmean(counted) if counted else None
    results: Sequence[Result] = run.manifest.results if run.manifest else ()
    if not times and run.manifest is not None:
        manifest = run.manifest
        if manifest.started_mono_ns is not None and manifest.ended_mono_ns is not None:
            seconds = (manifest.ended_mono_ns - manifest.started_mono_ns) / 1e9
        if results:
            rows, checksum = results[-1].rows, results[-1].checksum
    return TrialFacts(
        iterations_s=counted,
        seconds=seconds,
        rows=rows,
        checksum=checksum,
        plan=_plan(run, only),
        series_s=times,
        counted_from=start if times else None,
        shape=shape if times else None,
        canaries=_canaries(results, {row[0] for row in found[start:]}),
    )


def counting(times: Sequence[float], declared: int, detected: bool = True) -> tuple[Shape, int]:
    """Tell the shape of a series, and from where its iterations count.

    Parameters
    ----------
    declared : int
        Iterations at the beginning that are warm-up whatever their times.
    detected : bool
        Whether more are, up to where the times are steady.

    Examples
    --------
    >>> counting([6.3, 2.1, 1.02, 1.0, 0.99, 1.01, 1.0], declared=1)
    ('warm-up', 2)
    >>> counting([6.3, 2.1, 1.02, 1.0, 0.99, 1.01, 1.0], declared=1, detected=False)
    ('warm-up', 1)
    """
    found = detect(times)
    return found.shape, max(declared, (found.steady_from or 0) if detected else 0)


def _canaries(results: Sequence[Result], counted: Collection[int]) -> dict[str, float | str]:
    seen = [one.canary for one in results if one.iteration in counted and one.canary]
    reason = next((one["reason"] for one in seen if "reason" in one), None)
    if reason is not None or not seen:
        return {} if reason is None else {"reason": reason}
    return {name: statistics.geometric_mean(float(one[name]) for one in seen) for name in seen[0]}


def _plan(run: Run, only: Collection[int]) -> str | None:
    if not run.tables.has("plan_nodes"):
        return None
    query = _NODES_WITHIN.format(", ".join(map(str, sorted(only)))) if only else _NODES
    shapes: dict[int, list[str]] = {}
    for sql_id, depth, name in run.tables.query(query):
        shapes.setdefault(sql_id, []).append(f"{depth} {re.sub(r'[0-9]+', '', name)}")
    digest = hashlib.sha256()
    # Iterations repeat their queries, and how often they run is no change of plan.
    for shape in sorted({"\n".join(one) for one in shapes.values()}):
        digest.update(shape.encode() + b"\0")
    return digest.hexdigest()[:16] if shapes else None
