"""Cross-checks: the same quantity from two sources that do not know of each other."""

from __future__ import annotations

from pyrometer.accounts.busy import STATES, SWITCHED
from pyrometer.accounts.cpu import OWN_PROCESS, process_cpu_ns
from pyrometer.accounts.ledger.core_view import cpus_count, watched_ns
from pyrometer.accounts.ledger.delays import compare, delay_checks
from pyrometer.accounts.ledger.schema import Check
from pyrometer.accounts.ledger.slot_view import EVENT_LOG_MS
from pyrometer.core.units import duration
from pyrometer.window.counters import BUSY, growth
from pyrometer.window.scope import Scope

MARKING = ("remark", "cleanup")
"""Pauses of G1's concurrent marking, in no bean of the collectors before JDK 20 (JDK-8297247)."""
CONCURRENT_BEAN = '"G1 Concurrent GC"'
"""The bean that counts them since then, by its name in the facts of a process."""


def checks(scope: Scope) -> list[Check]:
    """All checks for which both sides are known."""
    event_log = scope.tables.record(
        "SELECT count(*) AS n, sum(executor_cpu_time_ns + executor_deserialize_cpu_time_ns)::BIGINT"
        " AS cpu, sum(executor_run_time_ns)::BIGINT AS run, sum(jvm_gc_time_ns)::BIGINT AS gc,"
        " sum(executor_deserialize_time_ns + result_serialization_time_ns)::BIGINT AS around"
        " FROM w_tasks"
    )
    found: list[Check] = []
    if scope.has("spans") and scope.has_mono:
        found += _span_checks(scope, event_log)
    if scope.has("os_series") and scope.has_mono:
        found += _host_checks(scope)
        found += delay_checks(scope)
    return found


def _span_checks(scope: Scope, event_log: dict[str, int | None]) -> list[Check]:
    tables = scope.tables
    slack = (event_log["n"] or 0) * EVENT_LOG_MS
    spans = tables.record(
        "SELECT sum(cpu_ns * inside)::BIGINT AS cpu, sum(end_ns - start_ns)::BIGINT AS wall"
        " FROM w_spans"
    )
    found = [
        compare(
            "task CPU: spans and Spark",
            spans["cpu"],
            event_log["cpu"],
            0,
            "Spans hold CPU from onTaskStart to the end, result serialisation included; Spark's"
            " side is Executor CPU Time + Executor Deserialize CPU Time.",
        ),
        compare(
            "task time: spans and Spark",
            spans["wall"],
            _plus(event_log["run"], event_log["around"]),
            slack,
            "Spark's side is run time + deserialisation + result serialisation, in whole"
            " milliseconds. A span begins within the deserialisation, and also holds what Spark"
            " times nowhere: collecting metrics, and waiting for a CPU in between.",
        ),
    ]
    if scope.has("thread_counters"):
        counted = tables.scalar("SELECT sum(run_ns)::BIGINT FROM w_threads WHERE role = 'task'")
        found.append(
            compare(
                "task CPU: probe and spans",
                counted,
                spans["cpu"],
                0,
                "The probe counts the whole thread, between tasks too: launching, deserialising"
                " and reporting a task before and after its span.",
            )
        )
    if scope.has("gc_pauses"):
        found.append(_pauses_check(scope, event_log["gc"], slack))
    ticks = tables.record(
        "SELECT sum(weight)::BIGINT AS t FROM w_samples"
        " WHERE event = 'wall' AND role = 'task' AND task_attempt_id IS NOT NULL"
    )["t"]
    if ticks is not None:
        found.append(
            compare(
                "wall samples and spans",
                ticks,
                spans["wall"],
                0,
                "Σ weights of wall-clock samples of task threads; less than the spans where the"
                " profiler could not keep its period. Shares are not affected.",
            )
        )
    return found


def _pauses_check(scope: Scope, spark_ns: int | None, slack: int) -> Check:
    """Compare the GC log with Spark's time, both without what the collectors' beans leave out."""
    concurrent = "FALSE"
    if scope.has("processes"):
        concurrent = (
            f"p.pid IN (SELECT pid FROM processes WHERE contains(facts, '{CONCURRENT_BEAN}'))"
        )
    row = scope.tables.record(
        "SELECT coalesce(sum(t) FILTER (counted), 0)::BIGINT AS counted,"
        " coalesce(sum(t) FILTER (NOT counted), 0)::BIGINT AS others FROM (SELECT"
        " least(s.end_ns, p.end_ns) - greatest(s.start_ns, p.start_ns) AS t,"
        f" p.kind NOT IN {MARKING} OR {concurrent} AS counted"
        " FROM w_spans s JOIN w_pauses p ON (p.pid = s.pid OR p.pid IS NULL)"
        " AND s.start_ns < p.end_ns AND s.end_ns > p.start_ns)"
    )
    left_out = f" ({duration(row['others'])})" if row["others"] else ""
    return compare(
        "GC: pauses × running tasks and Spark",
        row["counted"],
        spark_ns,
        slack,
        "Spark's JVM GC Time charges every running task with all that the collectors' beans count,"
        " in whole milliseconds. Before JDK 20 these leave out G1's remark and cleanup pauses"
        f"{left_out}, and so does this side; of ZGC and Shenandoah they count concurrent work.",
    )


def _host_checks(scope: Scope) -> list[Check]:
    found = []
    total = process_cpu_ns(scope)
    if total is not None and scope.has("thread_counters"):
        threads = scope.tables.scalar(
            f"SELECT sum(run_ns)::BIGINT FROM w_threads WHERE pid NOT IN ({OWN_PROCESS})"
        )
        found.append(
            compare(
                "process CPU: threads and process",
                threads,
                total,
                0,
                "Threads that ended between two readings are only in the process's own total.",
            )
        )
    host = growth(scope, "scope = 'host'")
    cpus = cpus_count(scope)
    if host and cpus:
        found.append(
            compare(
                "host: CPUs × wall",
                sum(host.get(name, 0) for name in STATES),
                watched_ns(scope),
                cpus * 20_000_000,
                "All times of /proc/stat against the clock; ticks of 10 ms per CPU.",
            )
        )
    if cpus and "cpu_threads_ns" in host:
        found.append(
            compare(
                "host: ticks and threads",
                sum(host.get(name, 0) for name in BUSY),
                host["cpu_threads_ns"],
                cpus * 20_000_000,
                "Busy times of /proc/stat against the CPU time of every thread (cpuacct.usage of"
                " the root). A guest that is not run misses ticks; interrupts while a CPU idles"
                " are in no thread.",
            )
        )
    if cpus and SWITCHED in host:
        found.append(
            compare(
                "host: ticks and the scheduler",
                sum(host.get(name, 0) for name in BUSY),
                host[SWITCHED],
                cpus * 20_000_000,
                "Busy times of /proc/stat against the CPU time of threads that left their CPU"
                " (/proc/schedstat). A guest that is not run misses ticks.",
            )
        )
    return found


def _plus(left: int | None, right: int | None) -> int | None:
    return None if left is None else left + (right or 0)
