"""Recordings of JVMs that ended before the window did: what came later is unknown, and not zero.

The plugin ends all that grows in a JVM once what nothing ships has reached its bound. The JVM went
on, and so did its tasks, collections and compilations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyrometer.store import Tables

OF_RECORDINGS = frozenset(
    {
        *("spans", "jvm_series", "jit", "deoptimisations"),
        *("gc_pauses", "gc_ages", "gc_concurrent", "safepoints"),
    }
)
"""Tables of what each JVM wrote as it ran: sums over a window need all of it."""
MOST_UNSAMPLED = 0.1
"""Of the JVMs' time in the window: samples are shares, and err by no more than what has none."""

# Applications of a run number their executors alike: a JVM is a process.
_JVMS = """
SELECT p.role, p.executor_id, p.host,
  sum(greatest(w.start_mono_ns, p.born, least(w.end_mono_ns, p.gone, p.until))
    - greatest(w.start_mono_ns, p.born))::BIGINT AS recorded,
  sum(least(w.end_mono_ns, p.gone) - greatest(w.start_mono_ns, p.born))::BIGINT AS lived
FROM (SELECT role, executor_id, host, pid, start_mono_ns AS born, recorded_until_mono_ns AS until,
    coalesce(end_mono_ns, (SELECT max(end_mono_ns) FROM w)) AS gone
  FROM processes) p
JOIN w ON p.born < w.end_mono_ns AND p.gone > w.start_mono_ns
GROUP BY p.role, p.executor_id, p.host, p.pid
"""


@dataclass(frozen=True)
class Ended:
    """A JVM whose recording ended before the window did, and before the JVM.

    Attributes
    ----------
    whose : str
        The JVM, for people.
    recorded_ns, lived_ns : int
        For how long of the window it was recorded, and how long it was there.
    """

    whose: str
    recorded_ns: int
    lived_ns: int


def recordings_ended(tables: Tables) -> list[Ended]:
    """Give the JVMs whose recording ended before window ``w`` did, least recorded first.

    A window that has no times on the monotonic clock has none of what JVMs recorded.
    """
    rows = tables.query(
        f"SELECT * FROM ({_JVMS}) WHERE recorded < lived"
        " ORDER BY recorded / lived, executor_id, host, lived"
    )
    return [
        Ended(f"{role if role == 'driver' else f'executor {executor}'} on {host}", recorded, lived)
        for role, executor, host, recorded, lived in rows
    ]


def unrecorded_ratio(tables: Tables) -> float:
    """Give the part of the JVMs' time in window ``w`` that was not recorded."""
    found = tables.scalar(f"SELECT 1 - sum(recorded) / sum(lived) FROM ({_JVMS})")
    return float(found or 0.0)
