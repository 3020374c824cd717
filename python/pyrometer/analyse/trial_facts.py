"""What an experiment keeps of one run: its time, its result, and the shape of its plans."""

from __future__ import annotations

import hashlib
import re
import statistics
from dataclasses import dataclass

from pyrometer.store import Run

_ITERATIONS = """
    SELECT (end_mono_ns - start_mono_ns) / 1e9, result_rows_count, result_checksum FROM iterations
    WHERE NOT warmup AND status = 'success' AND end_mono_ns IS NOT NULL ORDER BY iteration
"""
_NODES = """
    SELECT sql_id, depth, name FROM plan_nodes WHERE is_final
    ORDER BY app_index, sql_id, node_id
"""


@dataclass(frozen=True)
class TrialFacts:
    """Facts of a run that finished.

    Attributes
    ----------
    iterations_s : tuple of float
        Of each measured iteration; empty for a command.
    seconds : float or None
        Their mean; of a command the time from its launch to its end.
    rows, checksum
        Of the last iteration's result, where it is known.
    plan : str or None
        Digest of the operators of all plans that ran and how they are nested; numbers in their
        names are left out. ``None`` without SQL.
    """

    iterations_s: tuple[float, ...]
    seconds: float | None
    rows: int | None
    checksum: str | None
    plan: str | None


def trial_facts(run: Run) -> TrialFacts:
    """Read the facts of one run."""
    found = run.tables.query(_ITERATIONS) if run.tables.has("iterations") else []
    times = tuple(float(row[0]) for row in found)
    rows, checksum = (found[-1][1], found[-1][2]) if found else (None, None)
    seconds = statistics.fmean(times) if times else None
    manifest = run.manifest
    if not times and manifest is not None:
        if manifest.started_mono_ns is not None and manifest.ended_mono_ns is not None:
            seconds = (manifest.ended_mono_ns - manifest.started_mono_ns) / 1e9
        if manifest.results:
            rows, checksum = manifest.results[-1].rows, manifest.results[-1].checksum
    return TrialFacts(times, seconds, rows, checksum, _plan(run))


def _plan(run: Run) -> str | None:
    if not run.tables.has("plan_nodes"):
        return None
    digest, seen = hashlib.sha256(), False
    shapes: dict[int, list[str]] = {}
    for sql_id, depth, name in run.tables.query(_NODES):
        shapes.setdefault(sql_id, []).append(f"{depth} {re.sub(r'[0-9]+', '', name)}")
    # Iterations repeat their queries, and how often they run is no change of plan.
    for shape in sorted({"\n".join(one) for one in shapes.values()}):
        digest.update(shape.encode() + b"\0")
        seen = True
    return digest.hexdigest()[:16] if seen else None
