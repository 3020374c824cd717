"""What tasks waited for, by the states in which the OS probe saw their threads.

Each pass of the probe stands for the time around it. A sleep that many passes saw is one
observation, so intervals count sleeps, weighed: Kish's effective number (Σw)² / Σw² of them
(L. Kish, Survey Sampling, 1965, section 11.7), in a Wilson interval.

A futex alone says nothing of the cause, and short sleeps seldom have a Java stack. Their time
is known, and the profiler's wall samples that lie in no joined sleep are a sample of just these
sleeps: the time of a stage is split as they are (double sampling; W. Cochran, Sampling Techniques,
1977, chapter 12).
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from pyrometer.accounts.waits.python_waits import (
    UNCLASSIFIED,
    define_python_waits,
    wait_class,
)
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.shares import part_by_weight
from pyrometer.window.scope import Scope

SOURCE = "extended stacks: states of task threads, pass by pass"
_AWAKE = "('on_cpu', 'run_queue')"
ON_FUTEX = ("lock", "timed_sleep", "helper", "shuffle_fetch", "memory_pool", "idle", UNCLASSIFIED)
"""Wait classes that a kernel stack does not distinguish."""
# A wall sample that joined a sleep lies at most about a pass from its rows.
_NEAR_NS = 100_000_000


@dataclass
class Weighed:
    """Time that passes stand for, the sum of its squares by sleep, and how many sleeps.

    ``joined_ns`` is the part whose Java stack was joined, ``split_ns`` the part whose class is that
    of wall samples of other sleeps.
    """

    ns: float = 0.0
    squares: float = 0.0
    n: int = 0
    joined_ns: float = 0.0
    split_ns: float = 0.0

    @property
    def effective(self) -> float:
        """Kish's number of equally long sleeps that would carry as much information."""
        return self.ns * self.ns / self.squares if self.squares else 0.0

    def add(self, other: Weighed) -> None:
        """Add the sums of another."""
        self.ns += other.ns
        self.squares += other.squares
        self.n += other.n
        self.joined_ns += other.joined_ns
        self.split_ns += other.split_ns


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
    split_ns : int
        The part of it that wall samples assign, of sleeps that have no stack.
    episodes_count : int
        Sleeps seen.
    source : str
        Where the numbers are from.
    """

    wait_class: str
    share: Estimate
    asleep_ns: int
    joined_ns: int
    split_ns: int
    episodes_count: int
    source: str


def has_states(scope: Scope) -> bool:
    """Whether all states of threads in tasks were joined, on a clock that the window has."""
    return scope.has_mono and scope.has("thread_states") and scope.unrecorded is None


def define_states(scope: Scope) -> None:
    """Define ``w_states``: states of threads in tasks, by sleep, in the window.

    Columns: app_index, task_attempt_id, kind (``asleep``, ``paused``, ``awake``), name (the wait
    class), operator, ns, squares, n, told_ns (joined with a Java stack), split_ns.
    """
    if "w_states" in scope.tables.of_window:
        return
    define_python_waits(scope)
    scope.tables.define("w_states_seen", _SEEN)
    scope.tables.define("w_walls_apart", _WALLS_APART)
    scope.tables.define("w_states", _SPLIT)
    scope.tables.of_window.add("w_states")


_ONE_APP = "CASE WHEN (SELECT count(*) FROM apps) = 1 THEN (SELECT min(app_index) FROM apps) END"
_APP_OF_SAMPLE = (
    "LEFT JOIN process_apps a ON a.pid = x.pid AND x.t_ns >= a.since AND x.t_ns < a.until"
)
_SEEN = f"""
    WITH inside AS (
      SELECT coalesce(a.app_index, {_ONE_APP}) AS app_index, x.task_attempt_id, x.stage_id,
        CASE WHEN x.state IN {_AWAKE} THEN 'awake'
          WHEN p.start_ns IS NOT NULL AND x.t_ns < p.end_ns THEN 'paused'
          ELSE 'asleep' END AS kind,
        {wait_class("x")} AS name, x.operator, x.weight,
        CASE WHEN x.java_stack IS NULL THEN 0 ELSE x.weight END AS joined,
        -- Wall samples do not know places: a class found by place is split with the rest.
        x.java_stack IS NULL AND x.episode_id IS NOT NULL AND (x.join_status = 'same_place'
          OR coalesce(x.wait_class, '{UNCLASSIFIED}') = '{UNCLASSIFIED}') AS without,
        -- A pass over a thread that is awake is an observation by itself.
        coalesce(x.episode_id, -row_number() OVER ()) AS episode
      FROM samples x JOIN w ON x.t_ns >= w.start_mono_ns AND x.t_ns < w.end_mono_ns
      {_APP_OF_SAMPLE}
      ASOF LEFT JOIN w_pauses p ON p.pid = x.pid AND x.t_ns >= p.start_ns
      WHERE x.event = 'state' AND x.role = 'task' AND x.task_attempt_id IS NOT NULL)
    SELECT app_index, task_attempt_id, stage_id, kind, name, operator, unknown,
      sum(w)::DOUBLE AS ns, sum(w::DOUBLE * w) AS squares, count(*)::DOUBLE AS n,
      sum(joined)::DOUBLE AS told_ns
    FROM (SELECT app_index, task_attempt_id, stage_id, kind, name, operator, episode,
        without AND kind = 'asleep' AS unknown,
        sum(weight) AS w, sum(joined) AS joined FROM inside GROUP BY ALL)
    GROUP BY ALL
"""

# Wall samples asleep on a futex, in no sleep whose stack was joined, by stage.
_WALLS_APART = f"""
    SELECT app_index, stage_id, name, operator,
      sum(weight) / sum(sum(weight)) OVER of_stage AS share, sum(count(*)) OVER of_stage AS walls
    FROM (
      SELECT coalesce(a.app_index, {_ONE_APP}) AS app_index, x.stage_id,
        {wait_class("x")} AS name, x.operator, x.weight
      FROM samples x JOIN w ON x.t_ns >= w.start_mono_ns AND x.t_ns < w.end_mono_ns
      {_APP_OF_SAMPLE}
      ASOF LEFT JOIN w_pauses p ON p.pid = x.pid AND x.t_ns >= p.start_ns
      WHERE x.event = 'wall' AND x.clock = 'mono' AND x.state = 'sleeping'
        AND x.task_attempt_id IS NOT NULL AND x.source IS DISTINCT FROM 'python'
        AND (p.end_ns IS NULL OR x.t_ns >= p.end_ns) AND name IN {ON_FUTEX}
        AND NOT EXISTS (SELECT 1 FROM (
            SELECT pid, tid, java_stack, min(t_ns) - {_NEAR_NS} AS since,
              max(t_ns + weight) + {_NEAR_NS} AS until
            FROM samples WHERE event = 'state' AND java_stack IS NOT NULL
            GROUP BY pid, tid, java_stack, episode_id) j
          WHERE j.pid = x.pid AND j.tid = x.tid AND j.java_stack = x.java_stack
            AND x.t_ns BETWEEN j.since AND j.until))
    GROUP BY app_index, stage_id, name, operator
    WINDOW of_stage AS (PARTITION BY app_index, stage_id)
"""

# The split is known no better than its wall samples: at most n with 1/n = 1/sleeps + 1/samples.
_SPLIT = """
    WITH whole AS (SELECT app_index, stage_id, sum(ns) AS all_ns FROM w_states_seen
      WHERE unknown GROUP BY app_index, stage_id)
    SELECT s.app_index, s.task_attempt_id, s.kind, coalesce(a.name, s.name) AS name,
      coalesce(a.operator, s.operator) AS operator, s.ns * coalesce(a.share, 1) AS ns,
      (s.squares + coalesce(s.ns * h.all_ns / a.walls, 0)) * coalesce(a.share, 1) AS squares,
      s.n * coalesce(a.share, 1) AS n, s.told_ns,
      CASE WHEN a.share IS NULL THEN 0 ELSE s.ns * a.share END AS split_ns
    FROM w_states_seen s
    LEFT JOIN w_walls_apart a ON s.unknown AND a.stage_id = s.stage_id
      AND a.app_index IS NOT DISTINCT FROM s.app_index
    LEFT JOIN whole h ON s.unknown AND h.stage_id = s.stage_id
      AND h.app_index IS NOT DISTINCT FROM s.app_index
"""


def waits_of_groups(scope: Scope) -> dict[int, Waits]:
    """Add up ``w_states`` by the groups of ``l_groups`` (`pyrometer.accounts.ledger.sums`)."""
    return _summed(
        scope,
        "SELECT g.number, s.* EXCLUDE (app_index, task_attempt_id) FROM w_states s JOIN l_tasks t"
        " ON t.task_attempt_id = s.task_attempt_id"
        "  AND t.app_index IS NOT DISTINCT FROM s.app_index JOIN l_groups g USING (task)",
    )


def waits(scope: Scope) -> list[Wait]:
    """Account for what the window's tasks waited for, largest first; empty without states."""
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
            joined_ns=round(part.joined_ns),
            split_ns=round(part.split_ns),
            episodes_count=part.n,
            source=SOURCE,
        )
        for name, part in sorted(classes.items(), key=lambda item: (-item[1].ns, item[0]))
    ]


def _summed(scope: Scope, sql: str) -> dict[int, Waits]:
    found: dict[int, Waits] = defaultdict(Waits)
    for number, kind, name, operator, *sums in scope.tables.query(
        "SELECT number, kind, name, operator, sum(ns), sum(squares), round(sum(n))::BIGINT,"
        f" sum(told_ns), sum(split_ns) FROM ({sql}) GROUP BY ALL ORDER BY ALL"
    ):
        part, group = Weighed(*sums), found[int(number)]
        if kind == "asleep":
            group.asleep[name, operator].add(part)
        else:
            (group.paused if kind == "paused" else group.awake).add(part)
    return found
