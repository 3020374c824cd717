"""Time for which pauses of one cause stopped tasks, and between jobs the driver."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.driver_time import nodes_of, stretches
from pyrometer.explain.evidence.memory.pauses import Which, met_by_tasks, total
from pyrometer.explain.evidence.saying import shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Evidence
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats

_OF_DRIVER = """
SELECT g.start_mono_ns, g.start_mono_ns + g.duration_ns FROM gc_pauses g
WHERE g.cause ILIKE $2 AND g.start_mono_ns IS NOT NULL AND g.duration_ns > 0
  AND g.pid IN (SELECT p.pid FROM processes p JOIN apps a USING (app_id)
    WHERE a.app_index = $1 AND p.role = 'driver')
ORDER BY 1
"""


@dataclass(frozen=True)
class Stopped:
    """What stood still in pauses of one cause.

    Attributes
    ----------
    cause : str
        Of the pauses, as a pattern of ILIKE.
    lost : dict of int to array
        Nanoseconds of each task by number of the stage.
    count : int
        Pauses that tasks met.
    spans : list of (float, float)
        Parts of the driver's pauses between jobs, in Unix time.
    """

    cause: str
    lost: dict[int, Floats]
    count: int
    spans: list[tuple[float, float]]

    @property
    def idle_ns(self) -> float:
        """Time of the driver's pauses between jobs."""
        return sum(last - first for first, last in self.spans)

    @property
    def cost(self) -> dict[int, float]:
        """Time of tasks by number of the stage."""
        return {number: float(one.sum()) for number, one in self.lost.items()}

    @property
    def words(self) -> str:
        """Who was stopped, and for how long."""
        tasks = f"tasks for {units.duration(total(self.lost))}" if self.lost else ""
        driver = f"the driver for {units.duration(self.idle_ns)} between jobs" if self.spans else ""
        return " and ".join(filter(None, (tasks, driver)))

    @property
    def extent(self) -> Extent:
        """All of it, over so many pauses."""
        return Extent(n=self.count + len(self.spans))

    @property
    def evidence(self) -> list[Evidence]:
        """The times of both, as far as there are any."""
        query = f"SELECT sum(duration_ns) FROM gc_pauses WHERE cause ILIKE '{self.cause}'"
        return [
            shown_by(what, ns, "ns", "gc_pauses", query, "/jvm", n)
            for what, ns, n in (
                ("pauses that tasks met", total(self.lost), self.count),
                ("pauses of the driver between jobs", self.idle_ns, len(self.spans)),
            ) if ns
        ]  # fmt: skip

    def change(self, facts: Facts) -> tuple[Less, LessGap]:
        """Take all of it away."""
        return Less("gc", self.lost), LessGap(nodes_of(facts, self.spans), what="gc")


def stopped(facts: Facts, which: Which, cause: str) -> Stopped | None:
    """Look for what pauses stopped; None where that is nothing.

    Parameters
    ----------
    which : callable
        Whether pauses of a kind and a cause are meant.
    cause : str
        The same cause as a pattern of ILIKE.
    """
    lost, count = met_by_tasks(facts, which)
    found = Stopped(cause, lost, count, _between_jobs(facts, cause))
    return found if lost or found.spans else None


def _between_jobs(facts: Facts, cause: str) -> list[tuple[float, float]]:
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
