"""What the rules found for each group of task attempts: input of the ledger's rows.

Groupings: which task attempts belong together.

``l_groups`` maps each task of a grouping to a number from 0; a task that it lacks is left out. The
window is the grouping of everything, with what ran between tasks (``task`` is null there).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from pyrometer.accounts.cpu import pauses_of_tasks, unwatched_hosts
from pyrometer.accounts.ledger.delays import (
    Paused,
    RunQueue,
    define_pauses_of_tasks,
    define_run_queue,
    paused,
    run_queue,
)
from pyrometer.accounts.ledger.rows import Counts, counts, define_samples_of_tasks
from pyrometer.accounts.ledger.tasks import define_tasks
from pyrometer.accounts.waits.off_cpu import OffCpu, define_off_cpu, off_cpu
from pyrometer.accounts.waits.waits import Waits, define_states, has_states, waits_of_groups
from pyrometer.window.counters import BUSY, growth
from pyrometer.window.scope import Scope

By = Literal["sql", "stage", "task"]
KEYS: dict[By, tuple[str, ...]] = {
    "sql": ("app_index", "sql_id"),
    "stage": ("app_index", "stage_id", "stage_attempt"),
    "task": ("app_index", "stage_id", "stage_attempt", "task_attempt_id"),
}
REST = "rest"


@dataclass(frozen=True)
class Only:
    """Task attempts to look at; ``None`` leaves a column free.

    Attributes
    ----------
    app_index, stage_id, stage_attempt, sql_id, task_attempt_id : int or None
        What they have to be.
    """

    app_index: int | None = None
    stage_id: int | None = None
    stage_attempt: int | None = None
    sql_id: int | None = None
    task_attempt_id: int | None = None

    def where(self) -> str:
        """Give the SQL condition on ``l_tasks t``."""
        parts = [f"t.{name} = {int(v)}" for name, v in vars(self).items() if v is not None]
        return " AND ".join(parts) or "true"

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return all(value is None for value in vars(self).values())


@dataclass(frozen=True)
class Group:
    """One group of a grouping: its number in ``l_groups``, and what its tasks have in common.

    ``keys`` is empty for the window and for the rest of a grouping that was cut.
    """

    number: int
    keys: dict[str, int | None]
    tasks_count: int


def group_all(scope: Scope, only: Only | None = None) -> list[Group]:
    """Put all tasks that ``only`` keeps into one group; by default, the whole window."""
    if only is None or only.everything:
        sql = "SELECT task, 0 AS number FROM l_tasks UNION ALL SELECT NULL, 0"
    else:
        sql = f"SELECT task, 0 AS number FROM l_tasks t WHERE {only.where()}"
    scope.tables.define("l_groups", sql)
    n = int(scope.tables.scalar("SELECT count(task) FROM l_groups"))
    return [Group(0, {}, n)]


def group_by(scope: Scope, by: By, only: Only, most: int) -> tuple[list[Group], int]:
    """Group tasks: those with most time one by one, all others together in a last group.

    Parameters
    ----------
    by : str
        What tasks of one group share.
    only : Only
        Tasks to look at.
    most : int
        Groups to keep apart.

    Returns
    -------
    list of Group
        Largest first; the rest, without keys, last.
    int
        How many groups there are in all.
    """
    keys = ", ".join(KEYS[by])
    known = " AND ".join(f"{key} IS NOT NULL" for key in KEYS[by][1:2])
    scope.tables.define(
        "l_ranked",
        f"SELECT *, row_number() OVER (ORDER BY time DESC, {keys}) - 1 AS number FROM"
        f" (SELECT {keys}, coalesce(sum(took_ns), sum(wall_ns), 0) AS time, count(*) AS n"
        f"  FROM l_tasks t WHERE {only.where()} AND {known} GROUP BY {keys})",
    )
    same = " AND ".join(f"t.{key} IS NOT DISTINCT FROM r.{key}" for key in KEYS[by])
    scope.tables.define(
        "l_groups",
        f"SELECT t.task, coalesce(least(r.number, {most}), {most}) AS number FROM l_tasks t"
        f" LEFT JOIN l_ranked r ON {same} WHERE {only.where()}",
    )
    found = [
        Group(int(number), dict(zip(KEYS[by], values, strict=True)), int(n))
        for *values, number, n in scope.tables.query(
            f"SELECT {keys}, number, n FROM l_ranked WHERE number < {most} ORDER BY number"
        )
    ]
    rest = int(scope.tables.scalar(f"SELECT count(*) FROM l_groups WHERE number = {most}"))
    if rest:
        found.append(Group(most, {}, rest))
    return found, int(scope.tables.scalar("SELECT count(*) FROM l_ranked"))


@dataclass(frozen=True)
class Sources:
    """What was recorded at all; a group of a run that has a source may still have none of it.

    ``unwatched`` names hosts whose task threads no probe read: of several hosts, what the probe
    alone sees is then no part of all tasks' time, and what it counts is without these.
    ``delay_unsplit`` says why messages of no task can be held against the event log's times.
    """

    spans: bool
    threads: bool
    pauses: bool
    off_cpu: bool
    states: bool
    unwatched: tuple[str, ...] = ()
    delay_unsplit: str | None = None


@dataclass
class Sums:
    """Sums over the task attempts of one group (ns), each cut to the window.

    Attributes
    ----------
    attempts : int
        Attempts in the event log.
    took, run, cpu, deserialize, deserialize_outside, serialize, getting, spark_delay, delay,
    fetch_wait, bare : int or None
        Of the event log; ``delay`` uses the span where there is one, ``bare`` is the time of
        attempts without metrics.
    launch, result : int
        Of ``delay`` of ``parted`` attempts, before the span and after it; ``…_low`` and ``…_high``
        are what clocks leave open. ``unsplit`` is the delay of others, of ``unsplit_attempts``.
    spans, wall, span_cpu : int or None
        Of the plugin: how many spans, their length, CPU of their threads; ``span_cpu`` is ``None``
        where a span lacks it.
    run_queue, paused, off_cpu, counts, states
        What the rules of these names found; ``None`` where their source is missing.
    steal : tuple of int or None
        Time that the hypervisor took from the host, and the host's busy time.
    steal_of_hosts : int or None
        Of several hosts, what it took from each by the part of its busy time that is the group's.
    python : tuple of int
        CPU of Python workers for these tasks, and samples behind it.
    """

    sources: Sources
    attempts: int = 0
    took: int | None = None
    run: int = 0
    cpu: int | None = None
    deserialize: int = 0
    deserialize_outside: int = 0
    serialize: int = 0
    getting: int = 0
    spark_delay: int = 0
    delay: int = 0
    fetch_wait: int | None = None
    bare: int = 0
    launch: int = 0
    launch_low: int = 0
    launch_high: int = 0
    result: int = 0
    result_low: int = 0
    result_high: int = 0
    parted: int = 0
    unsplit: int = 0
    unsplit_attempts: int = 0
    spans: int = 0
    wall: int = 0
    span_cpu: int | None = None
    run_queue: RunQueue | None = None
    paused: Paused | None = None
    off_cpu: OffCpu | None = None
    counts: Counts = field(default_factory=Counts)
    states: Waits | None = None
    steal: tuple[int, int] | None = None
    steal_of_hosts: int | None = None
    python: tuple[int, int] = (0, 0)

    @property
    def total(self) -> int:
        """Time of the attempts; of their spans where no event log knows them."""
        return self.wall if self.took is None else self.took


def prepare(scope: Scope) -> Sources:
    """Store the sums per task of every rule in the database, once per scope."""
    kept: Sources | None = scope.kept.get("ledger_sources")
    # Another window of the same run redefines these tables.
    if kept is not None and scope.tables.scalar("SELECT name FROM l_window") == scope.window.name:
        return kept
    unwatched, watched = unwatched_hosts(scope)
    found = Sources(
        spans=scope.has("spans") and scope.has_mono,
        threads=scope.has("thread_counters") and scope.has_mono and watched,
        pauses=scope.has_mono and pauses_of_tasks(scope),
        off_cpu=scope.has("off_cpu") and scope.has_mono and not unwatched,
        states=has_states(scope) and not unwatched,
        unwatched=tuple(unwatched),
    )
    scope.tables.define("l_window", "SELECT ?::VARCHAR AS name", [scope.window.name])
    found = replace(found, delay_unsplit=define_tasks(scope))
    define_samples_of_tasks(scope)
    define_pauses_of_tasks(scope)
    if found.threads:
        define_run_queue(scope)
    if found.off_cpu:
        define_off_cpu(scope)
    if found.states:
        define_states(scope)
    scope.kept["ledger_sources"] = found
    return found


def sums(scope: Scope, groups: list[Group]) -> dict[int, Sums]:
    """Add up every rule's sums by the groups of ``l_groups``."""
    sources = prepare(scope)
    found = {group.number: Sums(sources) for group in groups}
    for row in scope.tables.records(_ATTEMPTS):
        number = int(row.pop("number"))
        measured = row.pop("measured")
        mine = found[number]
        for name, value in row.items():
            if value is not None:
                setattr(mine, name, int(value))
        if mine.spans != measured or not mine.spans:
            mine.span_cpu = None
    host, by_host = {}, {}
    if scope.has("os_series") and scope.has_mono:
        host = growth(scope, "scope = 'host'")
        by_host = _steal_of_hosts(scope) if scope.tables.several_hosts else {}
    stolen, busy = host.get("cpu_steal_ns", 0), sum(host.get(name, 0) for name in BUSY)
    queued = run_queue(scope) if sources.threads else {}
    stops = paused(scope) if sources.pauses else {}
    off = off_cpu(scope) if sources.off_cpu else {}
    seen = counts(scope)
    states = waits_of_groups(scope) if sources.states else {}
    workers = _python(scope)
    for number, mine in found.items():
        mine.steal = (stolen, busy) if stolen and busy else None
        mine.steal_of_hosts = by_host.get(number)
        mine.run_queue = queued.get(number, RunQueue(0, 0, 0, 0)) if sources.threads else None
        mine.paused = stops.get(number, Paused(0, 0)) if sources.pauses else None
        mine.off_cpu = off.get(number)
        mine.counts = seen.get(number, Counts())
        mine.states = states.get(number)
        mine.python = workers.get(number, (0, 0))
    return found


_OF_DELAY = (
    "launch", "launch_low", "launch_high", "result", "result_low", "result_high", "unsplit",
)  # fmt: skip
_ATTEMPTS = f"""
SELECT g.number, sum(attempts)::BIGINT AS attempts,
  round(sum(took_ns))::BIGINT AS took, round(sum(run_ns))::BIGINT AS run,
  round(sum(cpu_ns))::BIGINT AS cpu, round(sum(deserialize_ns))::BIGINT AS deserialize,
  round(sum(deserialize_outside_ns))::BIGINT AS deserialize_outside,
  round(sum(serialize_ns))::BIGINT AS serialize, round(sum(getting_ns))::BIGINT AS getting,
  round(sum(spark_delay_ns))::BIGINT AS spark_delay, round(sum(delay_ns))::BIGINT AS delay,
  round(sum(fetch_wait_ns))::BIGINT AS fetch_wait, round(sum(bare_ns))::BIGINT AS bare,
  {", ".join(f"coalesce(round(sum({name}_ns)), 0)::BIGINT AS {name}" for name in _OF_DELAY)},
  sum(parted)::BIGINT AS parted, sum(unsplit)::BIGINT AS unsplit_attempts,
  sum(spans)::BIGINT AS spans, sum(measured)::BIGINT AS measured,
  round(sum(wall_ns))::BIGINT AS wall, round(sum(span_cpu_ns))::BIGINT AS span_cpu
FROM l_tasks t JOIN l_groups g USING (task) GROUP BY g.number
"""


def _steal_of_hosts(scope: Scope) -> dict[int, int]:
    """Give groups their part of what was taken from each host, by their part of its busy time."""
    busy = ", ".join(f"'{name}'" for name in BUSY)
    rows = scope.tables.query(
        f"""
        WITH hosts_used AS (
          SELECT host, sum(growth) FILTER (name = 'cpu_steal_ns') AS stolen,
            sum(growth) FILTER (name IN ({busy})) AS busy
          FROM w_series WHERE scope = 'host' GROUP BY host),
        placed AS (SELECT DISTINCT app_index, task_attempt_id, host FROM w_tasks),
        tasks_used AS (
          SELECT g.number, p.host, sum(coalesce(t.span_cpu_ns, t.cpu_ns)) AS cpu
          FROM l_tasks t JOIN l_groups g USING (task)
          JOIN placed p USING (app_index, task_attempt_id)
          GROUP BY ALL)
        SELECT number, round(sum(stolen * least(1, cpu / busy)))::BIGINT
        FROM tasks_used JOIN hosts_used USING (host) WHERE busy > 0 AND stolen > 0 GROUP BY number
        """
    )
    return {int(number): int(stolen) for number, stolen in rows if stolen}


def _python(scope: Scope) -> dict[int, tuple[int, int]]:
    return {
        int(number): (int(used), int(n))
        for number, used, n in scope.tables.query(
            "SELECT g.number, sum(x.weight)::BIGINT, count(*) FROM w_python x"
            " JOIN l_tasks t ON t.task_attempt_id = x.task_attempt_id"
            "  AND (t.app_index = x.app_index OR x.app_index IS NULL)"
            " JOIN l_groups g USING (task) WHERE x.event = 'cpu' AND x.role = 'python'"
            " GROUP BY g.number"
        )
    }
