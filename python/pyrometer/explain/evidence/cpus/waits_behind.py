"""What tasks waited for CPUs that some other threads of the run held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrometer.accounts.contention import define_pieces
from pyrometer.accounts.cpu import OWN_PROCESS
from pyrometer.explain.evidence.saying import shown_by
from pyrometer.explain.facts import Facts
from pyrometer.explain.schema import Evidence
from pyrometer.explain.what_if import Extent
from pyrometer.simulation.measured import Floats
from pyrometer.window.counters import define_steps

NEEDED = ("thread_counters", "os_series", "spans", "processes")
"""Tables without which nothing is known of threads beside tasks."""
_BY_PIECE = """
WITH cut AS (
  SELECT p.piece, s.pid, s.tid, sum(s.run * part.inside) AS run, sum(s.delay * part.inside) AS delay
  FROM thread_steps s JOIN c_pieces p ON s.t > p.since AND s.since < p.until
  CROSS JOIN LATERAL (SELECT (least(s.t, p.until) - greatest(s.since, p.since))::DOUBLE
    / (s.t - s.since) AS inside) part
  WHERE s.pid NOT IN ({own}) GROUP BY ALL),
marked AS (SELECT *, ({holders}) AS holds FROM cut)
SELECT p.since::DOUBLE AS since, p.until::DOUBLE AS until,
  coalesce(sum(run) FILTER (holds), 0)::DOUBLE AS held,
  coalesce(sum(delay) FILTER (NOT holds), 0)::DOUBLE AS waited,
  coalesce(sum(delay) FILTER ((pid, tid) IN (SELECT (pid, tid) FROM spans)), 0)::DOUBLE AS tasks
FROM c_pieces p LEFT JOIN marked USING (piece) GROUP BY ALL ORDER BY 1
"""


@dataclass(frozen=True)
class Behind:
    """What tasks waited behind some threads; nanoseconds.

    Attributes
    ----------
    held_ns : float
        CPU that these used in the window, beyond what was allowed.
    contended_ns : float
        The part of it that they used while tasks waited for a CPU.
    lost : dict of int to float
        Waits of tasks that would not be without it, by number of the stage: the middle of both
        ends.
    low_ns, high_ns : float
        Sum of these waits, at least and at most.
    pieces_count : int
        Pieces of the window in which they used more.
    """

    held_ns: float
    contended_ns: float
    lost: dict[int, float]
    low_ns: float
    high_ns: float
    pieces_count: int

    @property
    def extent(self) -> Extent:
        """How much of `lost` there is at least, and at most."""
        whole = sum(self.lost.values())
        return Extent(1.0, self.low_ns / whole, self.high_ns / whole, self.pieces_count)


def missing(facts: Facts) -> str | None:
    """Say why waits cannot be divided; None where they can."""
    if facts.tables.several_hosts:
        return "waits for CPUs are divided among threads on one host only, and there are several"
    lacks = [name for name in NEEDED if not facts.has(name)]
    return f"no {lacks[0].replace('_', ' ')}" if lacks else None


def waits_behind(facts: Facts, holders: str, allowed: float = 0.0) -> Behind:
    """Divide tasks' waits for a CPU by what other threads of the run held.

    The CPU that these leave goes to those who waited for one: of it, tasks have at least their part
    of all waits of the run's other threads, and at most as much as they waited.

    Parameters
    ----------
    holders : str
        Which threads, as a condition on the columns ``pid`` and ``tid``.
    allowed : float
        CPUs that they need in any case.
    """
    define_steps(facts.scope)
    define_pieces(facts.scope)
    pieces = facts.tables.columns(_BY_PIECE.format(own=OWN_PROCESS, holders=holders))
    since, until, held, waited, tasks = (
        np.asarray(pieces[name]) for name in ("since", "until", "held", "waited", "tasks")
    )
    held = np.maximum(0.0, held - allowed * (until - since))
    part = np.divide(tasks, waited, out=np.zeros_like(tasks), where=waited > 0)
    edges = np.append(since, until[-1:]) + (facts.scope.offset_ns or 0)
    begin = np.array([one.submit_ns for one in facts.stages], dtype=np.float64)
    end = np.array([one.complete_ns for one in facts.stages], dtype=np.float64)

    def within(values: Floats) -> Floats:
        upto = np.append(0.0, np.cumsum(values))
        found: Floats = np.interp(end, edges, upto) - np.interp(begin, edges, upto)
        return found

    whole = within(tasks)
    queue = facts.ledger_ns("task/run_queue")
    low, high = (
        {number: waited * share[number] for number, waited in queue.items()}
        for behind in (np.minimum(tasks, held * part), np.minimum(tasks, held))
        for share in [_shares(within(behind), whole)]
    )
    return Behind(
        held_ns=float(held.sum()),
        contended_ns=float(held[tasks > 0].sum()),
        lost={number: (low[number] + high[number]) / 2 for number in queue if high[number] > 0},
        low_ns=sum(low.values()),
        high_ns=sum(high.values()),
        pieces_count=int((held > 0).sum()),
    )


def _shares(part: Floats, whole: Floats) -> Floats:
    found: Floats = np.divide(part, whole, out=np.zeros_like(whole), where=whole > 0)
    return np.clip(found, 0.0, 1.0)


def queued(facts: Facts, link: str) -> Evidence:
    """Give the waits of all tasks for a CPU."""
    queue = facts.ledger_ns("task/run_queue")
    return shown_by("waits of tasks for a CPU", sum(queue.values()), "ns", "thread_counters",
                    "show --json: ledger, task/run_queue", link, len(queue))  # fmt: skip
