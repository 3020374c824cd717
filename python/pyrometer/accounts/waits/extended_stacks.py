"""How well states of threads were joined with Java stacks: published with every run."""

from __future__ import annotations

from pyrometer.accounts.waits.schema import (
    ExtendedStacks,
    JoinStatus,
    KernelStack,
    Skew,
    SleepLength,
    WaitShare,
    WakeUps,
)
from pyrometer.accounts.waits.waits import has_states, waits
from pyrometer.attribution.samples import UNCLASSIFIED
from pyrometer.core import schema, units
from pyrometer.core.doubt import Doubt
from pyrometer.core.estimate import Estimate
from pyrometer.statistics.shares import LEVEL, part_by_weight, wilson
from pyrometer.window.scope import Scope

MS = 1_000_000
LENGTHS_NS = (0, MS, 10 * MS, 50 * MS, 200 * MS, 1000 * MS)
"""Where classes of sleeps by their length begin."""
BY_EVENTS = "scheduler events"
BY_PASSES = "passes of the probe: lower bounds"
MAX_STACKS = 5
# Below this share of long sleeps with a stack, above that share of rows lost, a run is doubted.
_LONG_NS, _JOINED, _DROPPED = 50 * MS, 0.98, 0.001
# Less time asleep than this is not worth a doubt.
_WORTH_NS = 500 * MS
# Symbols of a kernel stack nearest its leaf that are shown.
_ENDS = 4
# What a wall sample of a single tick of the profiler weighs.
_TICK = (
    "SELECT min(weight) FROM samples WHERE event = 'wall' AND weight > 0"
    " AND source IS DISTINCT FROM 'python'"
)

# Sleeps of tasks in the window, each with its length. A pass inside an interval of the scheduler's
# has that interval's length; else a sleep is at least as long as from its first pass to its last.
_EPISODES = """
    WITH mine AS (
      SELECT x.*, s.end_mono_ns, s.begin_mono_ns, s.user_sp, s.user_pc
      FROM samples x JOIN w ON x.t_ns >= w.start_mono_ns AND x.t_ns < w.end_mono_ns
      LEFT JOIN thread_states s
        ON s.pid = x.pid AND s.tid = x.tid AND s.host = x.host AND s.begin_mono_ns = x.t_ns
      WHERE x.event = 'state' AND x.role = 'task' AND x.task_attempt_id IS NOT NULL
        AND x.episode_id IS NOT NULL),
    exact AS (
      SELECT episode_id, sum(off_ns)::BIGINT AS exact_ns FROM (
        SELECT DISTINCT m.episode_id, o.begin_mono_ns, o.off_ns
        FROM mine m ASOF JOIN (SELECT * FROM off_cpu WHERE count = 1) o
          ON o.pid = m.pid AND o.tid = m.tid AND m.t_ns >= o.begin_mono_ns
        WHERE m.t_ns <= o.end_mono_ns) GROUP BY 1)
    SELECT episode_id, any_value(m.pid) AS pid, any_value(m.tid) AS tid,
      any_value(join_status) AS status, any_value(wait_class) AS class,
      any_value(user_sp) AS user_sp, any_value(user_pc) AS user_pc,
      any_value(kernel_stack) AS kernel_stack,
      sum(weight)::DOUBLE AS ns,
      coalesce(sum(weight) FILTER (java_stack IS NOT NULL), 0)::DOUBLE AS joined,
      coalesce(any_value(e.exact_ns), CASE WHEN (SELECT count(*) > 0 FROM off_cpu) THEN 0 END,
        nullif(max(end_mono_ns) - min(begin_mono_ns), 0)) AS length
    FROM mine m LEFT JOIN exact e USING (episode_id) GROUP BY episode_id
"""

_SKEW = """
    SELECT quantile_disc(skew, 0.5), quantile_disc(skew, 0.95), max(skew), count(*) FROM (
      SELECT least(CASE WHEN a.until IS NOT NULL THEN greatest(0, x.t_ns - a.until) END,
        b.t_ns - s.end_mono_ns) AS skew
      FROM (SELECT x.* FROM samples x JOIN w
          ON x.t_ns >= w.start_mono_ns AND x.t_ns < w.end_mono_ns
        WHERE x.event = 'state' AND x.role = 'task' AND x.task_attempt_id IS NOT NULL
          AND x.java_stack IS NOT NULL) x
      JOIN thread_states s
        ON s.pid = x.pid AND s.tid = x.tid AND s.host = x.host AND s.begin_mono_ns = x.t_ns
      ASOF LEFT JOIN walls a ON a.pid = x.pid AND a.tid = x.tid AND a.java_stack = x.java_stack
        AND s.end_mono_ns >= a.t_ns
      ASOF LEFT JOIN walls b ON b.pid = x.pid AND b.tid = x.tid AND b.java_stack = x.java_stack
        AND s.end_mono_ns < b.t_ns)
"""

# The class of a joined sleep is predicted by its place where all others there have one class.
_AGREEMENT = """
    SELECT coalesce(sum(right_count), 0)::BIGINT, coalesce(sum(predicted_count), 0)::BIGINT FROM (
      SELECT CASE WHEN classes = 1 THEN n ELSE 0 END AS right_count,
        CASE WHEN classes = 1 THEN n WHEN classes = 2 AND least_n = 1 THEN
          CASE WHEN n = 2 THEN 2 ELSE 1 END ELSE 0 END AS predicted_count
      FROM (SELECT pid, tid, user_sp, user_pc, kernel_stack, sum(n) AS n, count(*) AS classes,
            min(n) AS least_n
          FROM (SELECT pid, tid, user_sp, user_pc, kernel_stack, class, count(*) AS n
            FROM w_episodes WHERE joined > 0 AND user_sp IS NOT NULL AND class <> 'gc_or_safepoint'
            GROUP BY ALL)
          GROUP BY ALL) WHERE n > 1)
"""


def extended_stacks(scope: Scope) -> ExtendedStacks:
    """Say what part of the time asleep in tasks has a Java stack, and why the rest has none."""
    if not has_states(scope):
        reason = scope.unrecorded or "the OS probe recorded no states of threads"
        return ExtendedStacks(reason=reason)
    scope.tables.define("w_episodes", _EPISODES)
    asleep, joined, squares, n = scope.tables.query(
        "SELECT coalesce(sum(ns), 0), coalesce(sum(joined), 0), coalesce(sum(ns * ns), 0), count(*)"
        " FROM w_episodes"
    )[0]
    if not n:
        return ExtendedStacks(reason="no task thread was seen asleep")
    return ExtendedStacks(
        asleep_ns=round(asleep),
        joined_ns=round(joined),
        joined_ratio=_ratio(joined, asleep, squares, n),
        by_length=_by_length(scope),
        lengths_by=BY_EVENTS if scope.has("off_cpu") else BY_PASSES,
        by_status=[
            JoinStatus(status=status, asleep_ns=round(ns), episodes_count=count)
            for status, ns, count in scope.tables.query(
                "SELECT status, sum(ns), count(*) FROM w_episodes GROUP BY 1 ORDER BY 2 DESC, 1"
            )
        ],
        classes=[
            WaitShare(
                wait_class=wait.wait_class,
                asleep_ns=wait.asleep_ns,
                joined_ns=wait.joined_ns,
                split_ns=wait.split_ns,
                share=wait.share,
                episodes_count=wait.episodes_count,
            )
            for wait in waits(scope)
        ],
        same_place_agreement=_agreement(scope),
        skew=_skew(scope),
        wake_ups=_wake_ups(scope),
        dropped_ratio=_dropped(scope),
        unclassified=_unclassified(scope),
    )


def doubts(found: ExtendedStacks) -> list[Doubt]:
    """Raise doubts where long sleeps lack stacks that they could have, or the probe lost rows."""
    raised = []
    long = [row for row in found.by_length if (row.low_ns or 0) >= _LONG_NS]
    asleep = sum(r.asleep_ns - r.uninterruptible_ns for r in long)
    joined = sum(r.joined_ns for r in long)
    if asleep > _WORTH_NS and joined < _JOINED * asleep:
        share = units.percent(joined / asleep)
        time = units.duration(asleep)
        message = f"{share} of the {time} in sleeps of 50 ms and more has a Java stack"
        raised.append(schema.doubt("stacks_unjoined", message))
    if (found.dropped_ratio or 0.0) > _DROPPED:
        share = units.percent(found.dropped_ratio or 0.0)
        raised.append(schema.doubt("states_dropped", f"{share} of its rows"))
    return raised


def _ratio(part: float, whole: float, squares: float, n: int) -> Estimate:
    return part_by_weight(1.0, part, whole, whole * whole / squares if squares else 0.0, n)


def _by_length(scope: Scope) -> list[SleepLength]:
    rows = dict.fromkeys((None, *LENGTHS_NS), (0.0, 0.0, 0.0, 0, 0.0))
    bounds = " ".join(f"WHEN length >= {low} THEN {low}" for low in reversed(LENGTHS_NS))
    for low, *sums in scope.tables.query(
        f"SELECT CASE {bounds} END, sum(ns), sum(joined), sum(ns * ns), count(*),"
        "  coalesce(sum(ns) FILTER (status = 'uninterruptible'), 0)"
        " FROM w_episodes GROUP BY 1"
    ):
        rows[low] = (sums[0], sums[1], sums[2], sums[3], sums[4])
    ends: list[int | None] = [*LENGTHS_NS[1:], None]
    high_of = dict(zip(LENGTHS_NS, ends, strict=True))
    return [
        SleepLength(
            low_ns=low,
            high_ns=None if low is None else high_of[low],
            asleep_ns=round(ns),
            joined_ns=round(joined),
            uninterruptible_ns=round(deaf),
            joined_ratio=_ratio(joined, ns, squares, n),
            episodes_count=n,
        )
        for low, (ns, joined, squares, n, deaf) in rows.items()
        if n
    ]


def _agreement(scope: Scope) -> Estimate | None:
    right, predicted = scope.tables.query(_AGREEMENT)[0]
    if not predicted:
        return None
    low, high = wilson(right, predicted)
    ratio = right / predicted
    return Estimate(value=ratio, low=low, high=high, level=LEVEL, n=predicted, method="wilson")


def _skew(scope: Scope) -> Skew:
    scope.tables.define(
        "walls",
        f"SELECT pid, tid, java_stack, t_ns, t_ns + weight - ({_TICK}) AS until"
        " FROM samples WHERE event = 'wall' AND clock = 'mono' AND state = 'sleeping'"
        "  AND source IS DISTINCT FROM 'python'",
    )
    p50, p95, most, n = scope.tables.query(_SKEW)[0]
    return Skew(p50_ns=p50, p95_ns=p95, max_ns=most, n=n)


def _wake_ups(scope: Scope) -> WakeUps:
    caused = int(
        scope.tables.scalar(
            "SELECT count(*) FROM samples x JOIN w"
            " ON x.t_ns >= w.start_mono_ns AND x.t_ns < w.end_mono_ns"
            " WHERE x.event = 'wall' AND x.clock = 'mono' AND x.state = 'sleeping'"
            " AND x.task_attempt_id IS NOT NULL AND x.source IS DISTINCT FROM 'python'"
            # A sample that stands for several ticks was taken without waking the thread.
            f" AND x.weight <= ({_TICK})"
        )
    )
    switches = scope.tables.scalar(
        "SELECT sum(n)::BIGINT FROM (SELECT max(s.switches_count) - min(s.switches_count) AS n"
        " FROM thread_states s JOIN w"
        " ON s.begin_mono_ns >= w.start_mono_ns AND s.begin_mono_ns < w.end_mono_ns"
        " WHERE (s.pid, s.tid) IN (SELECT (pid, tid) FROM w_spans) GROUP BY s.pid, s.tid)"
    )
    ratio = caused / switches if switches else None
    return WakeUps(caused_count=caused, switches_count=switches, ratio=ratio)


def _dropped(scope: Scope) -> float | None:
    manifest = scope.run.manifest
    found = [p.dropped for p in manifest.probes if p.name == "os"] if manifest else []
    known = [dropped for dropped in found if dropped is not None]
    lost = sum(known) if known else None
    kept = scope.tables.rows_count("thread_states")
    return None if lost is None or not kept else lost / (lost + kept)


def _unclassified(scope: Scope) -> list[KernelStack]:
    return [
        KernelStack(symbols=symbols, asleep_ns=round(ns))
        for symbols, ns in scope.tables.query(
            "SELECT coalesce(k.ends, '[no kernel stack]'), sum(e.ns) FROM w_episodes e LEFT JOIN"
            "  (SELECT stack_id, string_agg(method, ';' ORDER BY i) AS ends FROM"
            "    (SELECT stack_id, unnest(frame_ids) AS frame_id,"
            "      generate_subscripts(frame_ids, 1) - len(frame_ids) AS i FROM stacks"
            "     WHERE stack_id IN (SELECT kernel_stack FROM w_episodes))"
            f"   JOIN frames USING (frame_id) WHERE i > -{_ENDS} GROUP BY 1) k"
            "  ON k.stack_id = e.kernel_stack"
            f" WHERE e.class = '{UNCLASSIFIED}' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MAX_STACKS}"
        )
    ]
