"""What the rules found for each group of task attempts, side by side: input of the rows."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyrometer.analyse.counters import BUSY, growth
from pyrometer.analyse.ledger.groups import Group
from pyrometer.analyse.ledger.off_cpu import OffCpu, define_off_cpu, off_cpu
from pyrometer.analyse.ledger.pauses import Paused, define_pauses_of_tasks, paused
from pyrometer.analyse.ledger.run_queue import RunQueue, define_run_queue, run_queue
from pyrometer.analyse.ledger.samples import Counts, counts, define_samples_of_tasks
from pyrometer.analyse.ledger.tasks import define_tasks
from pyrometer.analyse.scope import Scope
from pyrometer.analyse.waits import Waits, define_states, has_states, waits_of_groups


@dataclass(frozen=True)
class Sources:
    """What was recorded at all; a group of a run that has a source may still have none of it."""

    spans: bool
    threads: bool
    pauses: bool
    off_cpu: bool
    states: bool


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
    spans, wall, span_cpu : int or None
        Of the plugin: how many spans, their length, CPU of their threads; ``span_cpu`` is ``None``
        where a span lacks it.
    run_queue, paused, off_cpu, counts, states
        What the rules of these names found; ``None`` where their source is missing.
    steal : tuple of int or None
        Time that the hypervisor took from the host, and the host's busy time.
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
    spans: int = 0
    wall: int = 0
    span_cpu: int | None = None
    run_queue: RunQueue | None = None
    paused: Paused | None = None
    off_cpu: OffCpu | None = None
    counts: Counts = field(default_factory=Counts)
    states: Waits | None = None
    steal: tuple[int, int] | None = None
    python: tuple[int, int] = (0, 0)

    @property
    def total(self) -> int:
        """Time of the attempts; of their spans where no event log knows them."""
        return self.wall if self.took is None else self.took


def prepare(scope: Scope) -> Sources:
    """Leave every rule's sums per task in the database; made once for a scope."""
    kept: Sources | None = scope.kept.get("ledger_sources")
    # Another window of the same run makes these tables anew.
    if kept is not None and scope.tables.scalar("SELECT name FROM l_window") == scope.window.name:
        return kept
    found = Sources(
        spans=scope.has("spans") and scope.has_mono,
        threads=scope.has("thread_counters") and scope.has_mono,
        pauses=scope.has("gc_pauses") and scope.has_mono,
        off_cpu=scope.has("off_cpu") and scope.has_mono,
        states=has_states(scope),
    )
    scope.tables.define("l_window", "SELECT ?::VARCHAR AS name", [scope.window.name])
    define_tasks(scope)
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
    host = growth(scope, "scope = 'host'") if scope.has("os_series") and scope.has_mono else {}
    stolen, busy = host.get("cpu_steal_ns", 0), sum(host.get(name, 0) for name in BUSY)
    queued = run_queue(scope) if sources.threads else {}
    stops = paused(scope) if sources.pauses else {}
    off = off_cpu(scope) if sources.off_cpu else {}
    seen = counts(scope)
    states = waits_of_groups(scope) if sources.states else {}
    workers = _python(scope)
    for number, mine in found.items():
        mine.steal = (stolen, busy) if stolen and busy else None
        mine.run_queue = queued.get(number, RunQueue(0, 0, 0, 0)) if sources.threads else None
        mine.paused = stops.get(number, Paused(0, 0)) if sources.pauses else None
        mine.off_cpu = off.get(number)
        mine.counts = seen.get(number, Counts())
        mine.states = states.get(number)
        mine.python = workers.get(number, (0, 0))
    return found


_ATTEMPTS = """
SELECT g.number, sum(attempts)::BIGINT AS attempts,
  round(sum(took_ns))::BIGINT AS took, round(sum(run_ns))::BIGINT AS run,
  round(sum(cpu_ns))::BIGINT AS cpu, round(sum(deserialize_ns))::BIGINT AS deserialize,
  round(sum(deserialize_outside_ns))::BIGINT AS deserialize_outside,
  round(sum(serialize_ns))::BIGINT AS serialize, round(sum(getting_ns))::BIGINT AS getting,
  round(sum(spark_delay_ns))::BIGINT AS spark_delay, round(sum(delay_ns))::BIGINT AS delay,
  round(sum(fetch_wait_ns))::BIGINT AS fetch_wait, round(sum(bare_ns))::BIGINT AS bare,
  sum(spans)::BIGINT AS spans, sum(measured)::BIGINT AS measured,
  round(sum(wall_ns))::BIGINT AS wall, round(sum(span_cpu_ns))::BIGINT AS span_cpu
FROM l_tasks t JOIN l_groups g USING (task) GROUP BY g.number
"""


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
