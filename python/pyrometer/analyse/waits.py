"""What tasks waited for, by the states in which the OS probe saw their threads.

Each pass of the probe stands for the time around it. A sleep that many passes saw is one
observation, so intervals count sleeps, weighed: Kish's effective number (Σw)² / Σw² of them
(L. Kish, Survey Sampling, 1965, section 11.7), in a Wilson interval.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from pyrometer.analyse.scope import Scope
from pyrometer.analyse.shares import part_by_weight
from pyrometer.estimate import Estimate

UNCLASSIFIED = "unclassified"
SOURCE = "extended stacks: states of task threads, pass by pass"
_AWAKE = "('on_cpu', 'run_queue')"


@dataclass
class Weighed:
    """Time that passes stand for, the sum of its squares by sleep, and how many sleeps.

    ``told_ns`` is the part whose Java stack was joined.
    """

    ns: float = 0.0
    squares: float = 0.0
    n: int = 0
    told_ns: float = 0.0

    @property
    def effective(self) -> float:
        """Kish's number of equally long sleeps that would tell as much."""
        return self.ns * self.ns / self.squares if self.squares else 0.0

    def add(self, other: Weighed) -> None:
        """Take in more."""
        self.ns += other.ns
        self.squares += other.squares
        self.n += other.n
        self.told_ns += other.told_ns


@dataclass
class Waits:
    """Passes over the threads of a group of tasks.

    Attributes
    ----------
    asleep : dict
        By (wait class, operator), GC pauses left out; ``None`` where no stack names an operator.
    paused : Weighed
        Asleep in GC pauses.
    awake : Weighed
        On a CPU, or in the run queue.
    """

    asleep: dict[tuple[str, str | None], Weighed] = field(
        default_factory=lambda: defaultdict(Weighed)
    )
    paused: Weighed = field(default_factory=Weighed)
    awake: Weighed = field(default_factory=Weighed)

    def slept(self) -> Weighed:
        """Give all of ``asleep`` together."""
        whole = Weighed()
        for part in self.asleep.values():
            whole.add(part)
        return whole

    def seen(self) -> Weighed:
        """Give all passes together."""
        whole = self.slept()
        whole.add(self.paused)
        whole.add(self.awake)
        return whole


@dataclass(frozen=True)
class Wait:
    """A wait class of the window's tasks.

    Attributes
    ----------
    wait_class : str
        As in ``schema/wait_classes.toml``.
    share : Estimate
        Of the tasks' time asleep outside GC pauses.
    asleep_ns : int
        Time that the passes stand for.
    joined_ns : int
        The part of it whose Java stack is known.
    episodes_count : int
        Sleeps seen.
    source : str
        Where this is from.
    """

    wait_class: str
    share: Estimate
    asleep_ns: int
    joined_ns: int
    episodes_count: int
    source: str


def has_states(scope: Scope) -> bool:
    """Whether states of threads were joined in this run, on a clock that the window has."""
    return scope.has_mono and scope.has("thread_states")


def define_states(scope: Scope) -> None:
    """Define ``w_states``: states of threads in tasks, by sleep, in the window.

    Columns: app_index, task_attempt_id, kind (``asleep``, ``paused``, ``awake``), name (the wait
    class), operator, ns, squares, n, told_ns.
    """
    one_app = "CASE WHEN (SELECT count(*) FROM apps) = 1 THEN (SELECT min(app_index) FROM apps) END"
    scope.tables.define(
        "w_states",
        f"""
        WITH inside AS (
          SELECT coalesce(a.app_index, {one_app}) AS app_index, x.task_attempt_id,
            CASE WHEN x.state IN {_AWAKE} THEN 'awake'
              WHEN p.start_ns IS NOT NULL AND x.t_ns < p.end_ns THEN 'paused'
              ELSE 'asleep' END AS kind,
            coalesce(x.wait_class, '{UNCLASSIFIED}') AS name, x.operator, x.weight,
            CASE WHEN x.java_stack IS NULL THEN 0 ELSE x.weight END AS told,
            -- A pass over a thread that is awake is an observation by itself.
            coalesce(x.episode_id, -row_number() OVER ()) AS episode
          FROM samples x JOIN w ON x.t_ns >= w.start_mono_ns AND x.t_ns < w.end_mono_ns
          LEFT JOIN (SELECT pid, task_attempt_id, any_value(app_index) AS app_index
            FROM w_spans GROUP BY ALL) a USING (pid, task_attempt_id)
          ASOF LEFT JOIN w_pauses p ON p.pid = x.pid AND x.t_ns >= p.start_ns
          WHERE x.event = 'state' AND x.task_attempt_id IS NOT NULL)
        SELECT app_index, task_attempt_id, kind, name, operator, sum(w)::DOUBLE AS ns,
          sum(w::DOUBLE * w) AS squares, count(*) AS n, sum(told)::DOUBLE AS told_ns
        FROM (SELECT app_index, task_attempt_id, kind, name, operator, episode,
            sum(weight) AS w, sum(told) AS told FROM inside GROUP BY ALL)
        GROUP BY ALL
        """,
    )


def waits_of_groups(scope: Scope) -> dict[int, Waits]:
    """Add up ``w_states`` by the groups of ``l_groups`` (`pyrometer.analyse.ledger.groups`)."""
    return _summed(
        scope,
        "SELECT g.number, s.* EXCLUDE (app_index, task_attempt_id) FROM w_states s JOIN l_tasks t"
        " ON t.task_attempt_id = s.task_attempt_id"
        "  AND t.app_index IS NOT DISTINCT FROM s.app_index JOIN l_groups g USING (task)",
    )


def waits(scope: Scope) -> list[Wait]:
    """Tell what the window's tasks waited for, largest first; empty without states."""
    if not has_states(scope):
        return []
    define_states(scope)
    groups = _summed(
        scope, "SELECT 0 AS number, * EXCLUDE (app_index, task_attempt_id) FROM w_states"
    )
    found = groups.get(0, Waits())
    whole = found.slept()
    classes: dict[str, Weighed] = defaultdict(Weighed)
    for (name, _), part in found.asleep.items():
        classes[name].add(part)
    return [
        Wait(
            wait_class=name,
            share=part_by_weight(1.0, part.ns, whole.ns, whole.effective, part.n),
            asleep_ns=round(part.ns),
            joined_ns=round(part.told_ns),
            episodes_count=part.n,
            source=SOURCE,
        )
        for name, part in sorted(classes.items(), key=lambda item: (-item[1].ns, item[0]))
    ]


def _summed(scope: Scope, sql: str) -> dict[int, Waits]:
    found: dict[int, Waits] = defaultdict(Waits)
    for number, kind, name, operator, ns, squares, n, told in scope.tables.query(
        "SELECT number, kind, name, operator, sum(ns), sum(squares), sum(n)::BIGINT, sum(told_ns)"
        f" FROM ({sql}) GROUP BY ALL ORDER BY ALL"
    ):
        part, group = Weighed(ns, squares, n, told), found[int(number)]
        if kind == "asleep":
            group.asleep[name, operator].add(part)
        else:
            (group.paused if kind == "paused" else group.awake).add(part)
    return found
