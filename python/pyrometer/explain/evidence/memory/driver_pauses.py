"""Pauses of the driver's collector between jobs, when no task is there to be stopped."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from pyrometer.explain.evidence.driver_time import stretches
from pyrometer.explain.facts import Facts

_OF_DRIVER = """
SELECT g.start_mono_ns, g.start_mono_ns + g.duration_ns FROM gc_pauses g
WHERE g.cause ILIKE $2 AND g.start_mono_ns IS NOT NULL AND g.duration_ns > 0
  AND g.pid IN (SELECT p.pid FROM processes p JOIN apps a USING (app_id)
    WHERE a.app_index = $1 AND p.role = 'driver')
ORDER BY 1
"""


def between_jobs(facts: Facts, cause: str) -> list[tuple[float, float]]:
    """Give the parts of the driver's pauses that lie between jobs, in Unix time.

    Parameters
    ----------
    cause : str
        Of the pauses, as a pattern of ILIKE.
    """
    offset, idle = facts.scope.offset_ns, stretches(facts)
    if offset is None or facts.measured is None or not facts.has("processes"):
        return []
    found = []
    for begin, end in facts.tables.query(_OF_DRIVER, [facts.measured.app_index, cause]):
        first = bisect_right(idle, begin + offset, key=lambda one: one.end)
        last = bisect_left(idle, end + offset, key=lambda one: one.start)
        found += [
            (float(max(one.start, begin + offset)), float(min(one.end, end + offset)))
            for one in idle[first:last]
        ]
    return found
