"""What a run used on all of its hosts, or why that is not known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pyrometer.accounts.cpu import process_cpu_ns, unseen_executors
from pyrometer.accounts.memory import executor_peak, resident_peak
from pyrometer.accounts.window import open_scope
from pyrometer.core import units
from pyrometer.core.errors import PyrometerError
from pyrometer.store import Run
from pyrometer.store.lives import define_lives
from pyrometer.window.scope import Scope
from pyrometer.window.windows import APPLICATION

NS = 1e9
NO_CPU = "no probe read the CPU time of its processes (profile off)"


@dataclass(frozen=True)
class Used:
    """One number of a run; where it is not known, why.

    Attributes
    ----------
    value : float or None
        In s, or bytes.
    """

    value: float | None
    reason: str | None = None


def used(run_dir: Path) -> dict[str, Used]:
    """Give CPU time of an iteration, highest memory of all processes, and of one executor.

    Where a probe missed executors that ran tasks, nothing is known of their hosts, so not of the
    whole either.
    """
    try:
        with Run.open(run_dir) as run:
            whole, measuring = open_scope(run, APPLICATION), open_scope(run, None)
            return {
                "core_seconds": _of(measuring, NO_CPU, *_core_s(measuring)),
                "peak_memory": _of(whole, "not measured", *resident_peak(whole)),
                "executor_memory": _of(whole, "not measured", *executor_peak(whole)),
            }
    except PyrometerError as error:
        lacking = Used(None, error.message)
        return dict.fromkeys(("core_seconds", "peak_memory", "executor_memory"), lacking)


def reserved(run_dir: Path) -> tuple[Used, Used]:
    """Give core-seconds of the executors of an iteration, and their seconds, by the event log.

    An executor counts from when it registered until it was removed, else until its application
    ended, as far as that lies in the time that is measured.
    """
    try:
        with Run.open(run_dir) as run:
            scope = open_scope(run, None)
            iterations = max(1, len(scope.window.iterations))
            count, known, cores, seconds = _executors(scope)
    except PyrometerError as error:
        return Used(None, error.message), Used(None, error.message)
    if not count:
        none = Used(None, "the event log has no executor in the time that is measured")
        return none, none
    if known < count:
        of = f"{count - known} of {units.counted(count, 'executor')}"
        none = Used(None, f"the event log does not say the cores of {of}")
        return none, Used(seconds / iterations)
    return Used(cores / iterations), Used(seconds / iterations)


def _of(scope: Scope, otherwise: str, value: float | None, reason: str | None) -> Used:
    ran, missing = unseen_executors(scope)
    if missing:
        hosts = ", ".join(sorted(missing)[:3]) + (", …" if len(missing) > 3 else "")
        return Used(None, f"no probe saw {sum(missing.values())} of {ran} executors (on {hosts})")
    return Used(None, reason or otherwise) if value is None else Used(float(value))


def _core_s(scope: Scope) -> tuple[float | None, str | None]:
    cpu = process_cpu_ns(scope)
    iterations = max(1, len(scope.window.iterations))
    return None if cpu is None else cpu / NS / iterations, None


def _executors(scope: Scope) -> tuple[int, int, float, float]:
    """Count executors, those whose cores are known, and add up core-seconds and seconds."""
    if not scope.has("executors") or not scope.has("apps"):
        return 0, 0, 0.0, 0.0
    define_lives(scope.tables)
    rows: Iterator[tuple[int | None, float]] = iter(
        scope.tables.query(
            """
            SELECT e.cores_count, (least(coalesce(e.remove_wall_ns, l.gone_wall_ns, w.end_wall_ns),
              w.end_wall_ns) - greatest(coalesce(e.add_wall_ns, l.born_wall_ns, w.start_wall_ns),
              w.start_wall_ns)) / 1e9 AS s
            FROM executors e JOIN lives l USING (app_index), w
            WHERE e.executor_id <> 'driver' AND s > 0
            """
        )
    )
    found = [(cores, float(seconds)) for cores, seconds in rows]
    known = [(cores, seconds) for cores, seconds in found if cores]
    core_s = sum(cores * seconds for cores, seconds in known)
    return len(found), len(known), core_s, sum(seconds for _, seconds in found)
