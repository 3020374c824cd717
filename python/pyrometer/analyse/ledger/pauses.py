"""Stop-the-world pauses during tasks, and what slept in them.

A pause stops threads that run Java; native code and blocked system calls run on through it, so
only the part of a pause is a task's in which its thread was seen asleep.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyrometer.analyse.scope import Scope


@dataclass(frozen=True)
class Paused:
    """Pauses ∩ spans of a group, in all and how often."""

    value_ns: int
    n: int


def define_pauses_of_tasks(scope: Scope) -> None:
    """Define ``l_pauses``: time of each task's spans that lies in pauses of its process."""
    scope.tables.define(
        "l_pauses",
        "SELECT s.task, sum(least(s.end_ns, p.end_ns) - greatest(s.start_ns, p.start_ns)) AS t,"
        " count(*) AS n FROM l_spans s JOIN w_pauses p ON (p.pid = s.pid OR p.pid IS NULL)"
        " AND s.start_ns < p.end_ns AND s.end_ns > p.start_ns GROUP BY s.task",
    )


def paused(scope: Scope) -> dict[int, Paused]:
    """Pauses in each group of ``l_groups``."""
    return {
        int(number): Paused(int(t), int(n))
        for number, t, n in scope.tables.query(
            "SELECT g.number, sum(p.t)::BIGINT, sum(p.n)::BIGINT FROM l_pauses p"
            " JOIN l_groups g USING (task) GROUP BY g.number"
        )
    }
