"""What tasks waited for CPUs that some other threads of the run held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyrometer.accounts.contention import define_pieces
from pyrometer.accounts.cpu import OWN_PROCESS
from pyrometer.explain.facts import Facts
from pyrometer.simulation.measured import Floats
from pyrometer.window.counters import define_steps

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
    """What tasks waited behind some threads.

    Attributes
    ----------
    held_ns : float
        CPU that these used in the window, beyond what was allowed.
    contended_ns : float
        The part of it that they used while tasks waited for a CPU.
    least, most : dict of int to float
        Share of tasks' waits for a CPU that would not be without it, by number of the stage.
    pieces_count : int
        Pieces of the window in which they used more.
    """

    held_ns: float
    contended_ns: float
    least: dict[int, float]
    most: dict[int, float]
    pieces_count: int


def can_tell(facts: Facts) -> bool:
    """Whether CPU and waits of threads are known beside tasks, on one host."""
    known = all(facts.has(name) for name in ("thread_counters", "spans", "processes"))
    return known and not facts.tables.several_hosts and bool(facts.tasks.count)


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
    least, most = (
        np.divide(within(behind), whole, out=np.zeros_like(whole), where=whole > 0)
        for behind in (np.minimum(tasks, held * part), np.minimum(tasks, held))
    )
    shares = [dict(enumerate(np.clip(one, 0.0, 1.0).tolist())) for one in (least, most)]
    return Behind(
        float(held.sum()), float(held[tasks > 0].sum()), shares[0], shares[1],
        int((held > 0).sum()),
    )  # fmt: skip
