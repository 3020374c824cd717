"""Time for which pauses of one cause stopped tasks, and between jobs the driver."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from pyrometer.core import units
from pyrometer.explain.change import Less, LessGap
from pyrometer.explain.evidence.driver_time import nodes_of, stretches
from pyrometer.explain.evidence.memory.pauses import (
    began_in_window,
    met_by_tasks,
    met_query,
    total,
)
from pyrometer.explain.evidence.saying import shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Evidence
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats

_OF_DRIVER = """
SELECT g.start_mono_ns, g.start_mono_ns + g.duration_ns FROM gc_pauses g
WHERE {which} AND g.start_mono_ns IS NOT NULL AND g.duration_ns > 0
  AND g.pid IN (SELECT p.pid FROM processes p JOIN apps a USING (app_id)
    WHERE a.app_index = $1 AND p.role = 'driver')
ORDER BY 1
"""
_DRIVERS = """
SELECT sum(duration_ns) FROM gc_pauses WHERE {which} AND {when}
  AND pid IN (SELECT p.pid FROM processes p JOIN apps a USING (app_id)
    WHERE a.app_index = {app} AND p.role = 'driver')
"""


@dataclass(frozen=True)
class Stopped:
    """What stood still in pauses of one cause.

    Attributes
    ----------
    lost : dict of int to array
        Nanoseconds of each task by number of the stage.
    count : int
        Pauses that tasks met.
    spans : list of (float, float)
        Parts of the driver's pauses between jobs, in Unix time.
    evidence : list of Evidence
        The times of tasks and of the driver, as far as there are any.
    """

    lost: dict[int, Floats]
    count: int
    spans: list[tuple[float, float]]
    evidence: list[Evidence]

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

    def change(self, facts: Facts) -> tuple[Less, LessGap]:
        """Take all of it away."""
        return Less("gc", self.lost), LessGap(nodes_of(facts, self.spans), what="gc")


def stopped(facts: Facts, which: str) -> Stopped | None:
    """Look for what pauses stopped; None where that is nothing.

    Parameters
    ----------
    which : str
        Pauses that are meant, as a condition on columns of ``gc_pauses``.
    """
    lost, count = met_by_tasks(facts, which)
    spans = _between_jobs(facts, which)
    evidence = []
    if lost:
        evidence.append(
            shown_by("pauses that tasks met", total(lost), "ns", "gc_pauses",
                     met_query(facts, which), "/jvm", count)
        )  # fmt: skip
    if spans:
        evidence.append(_of_driver(facts, which, spans))
    return Stopped(lost, count, spans, evidence) if evidence else None


def _of_driver(facts: Facts, which: str, spans: Sequence[tuple[float, float]]) -> Evidence:
    """Give all pauses of the driver: what of them lay between jobs no table says."""
    app = 0 if facts.measured is None else facts.measured.app_index
    query = " ".join(_DRIVERS.format(which=which, when=began_in_window(facts), app=app).split())
    idle = units.duration(sum(last - first for first, last in spans))
    return shown_by(f"pauses of the driver, of which {idle} between jobs",
                    float(facts.tables.scalar(query) or 0), "ns", "gc_pauses", query, "/jvm",
                    len(spans))  # fmt: skip


def _between_jobs(facts: Facts, which: str) -> list[tuple[float, float]]:
    offset, idle = facts.scope.offset_ns, stretches(facts)
    if offset is None or facts.measured is None or not facts.has("processes"):
        return []
    found = []
    query = _OF_DRIVER.format(which=which)
    for begin, end in facts.tables.query(query, [facts.measured.app_index]):
        first = bisect_right(idle, begin + offset, key=lambda one: one.end)
        last = bisect_left(idle, end + offset, key=lambda one: one.start)
        found += [
            (float(max(one.start, begin + offset)), float(min(one.end, end + offset)))
            for one in idle[first:last]
        ]
    return found
