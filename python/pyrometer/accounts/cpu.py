"""CPU of the whole application against CPU as Spark sees it; cost of our instruments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyrometer.accounts.machine_schema import Cpu, CpuRole, Instrument
from pyrometer.accounts.schema import Totals
from pyrometer.attribution.python_workers import own_cpu_ns
from pyrometer.core.json_text import parse_json
from pyrometer.core.units import counted
from pyrometer.store.manifest import ProbeEntry
from pyrometer.window.scope import Scope

NO_PROBE = "the OS probe delivered nothing for this window"
NO_CLOCK = "no clock pair joins the probe's clock with the window"
NOT_OBSERVED = "not observed: no probe ran there"
EXITED = "exited"
_NAMED = 4
"""Executors that are named; more are counted."""

# Processes of Pyrometer itself, by the kernel's name of their main thread.
OWN_PROCESS = "SELECT DISTINCT pid FROM thread_counters WHERE pid = tid AND comm = 'pyro-probe'"
# Processes of the application that came and went between two readings, as a `chmod` for each file
# that Hadoop writes: only the exits of their threads are known.
SHORT_LIVED = (
    "SELECT pid FROM (SELECT DISTINCT pid FROM thread_counters) WHERE 'process/' || pid NOT IN"
    " (SELECT scope FROM os_series WHERE scope LIKE 'process/%' AND name = 'cpu_ns')"
)


def cpu(scope: Scope, succeeded: Totals, failed: Totals) -> Cpu:
    """CPU by thread role, process total, and what Spark counts of it.

    Parameters
    ----------
    scope : Scope
        A run cut to a window, with ``w_threads`` and ``w_series``.
    succeeded, failed : Totals
        Totals of the window: Spark's view includes attempts that failed.
    """
    spark = _plus(succeeded.get("executor_cpu_time_ns"), failed.get("executor_cpu_time_ns"))
    if not scope.has("thread_counters") and not scope.has("os_series"):
        return Cpu(executor_cpu_time_ns=spark, reason=NO_PROBE)
    if not scope.has_mono:
        return Cpu(executor_cpu_time_ns=spark, reason=NO_CLOCK)
    roles = [
        CpuRole(role=role, cpu_ns=run, run_delay_ns=delay, threads_count=threads)
        for role, run, delay, threads in scope.tables.query(
            "SELECT role, sum(run_ns)::BIGINT, sum(run_delay_ns)::BIGINT, count(*)"
            f" FROM w_threads WHERE pid NOT IN ({OWN_PROCESS}) GROUP BY role ORDER BY 2 DESC"
        )
    ]
    total = process_cpu_ns(scope)
    threads = sum(r.cpu_ns for r in roles)
    if total is not None and total > threads:
        gone = CpuRole(role=EXITED, cpu_ns=total - threads, threads_count=0, method="by_complement")
        roles.append(gone)
    whole = total if total is not None else threads or None
    unseen = _unseen(scope)
    return Cpu(
        process_cpu_ns=whole,
        executor_cpu_time_ns=spark,
        ratio=whole / spark if whole and spark and unseen is None else None,
        run_delay_ns=sum(r.run_delay_ns or 0 for r in roles) if roles else None,
        roles=roles,
        reason=unseen
        or (None if total is not None else "process totals missing: sum of its threads"),
    )


def unseen_executors(scope: Scope) -> tuple[int, dict[str, int]]:
    """Count executors that ran tasks, and by host those of them that no probe saw.

    Without records of the plugin nobody can know, and there are none.
    """
    if "unseen_executors" not in scope.kept:
        scope.kept["unseen_executors"] = _unseen_executors(scope)
    found: tuple[int, dict[str, int]] = scope.kept["unseen_executors"]
    return found


def _unseen_executors(scope: Scope) -> tuple[int, dict[str, int]]:
    if not scope.has("processes"):
        return 0, {}
    # A number is an executor's within its application; a log without its head names none.
    rows = scope.tables.query(
        """
        WITH ran AS (
          SELECT DISTINCT t.app_index, a.app_id, t.executor_id, t.host
          FROM w_tasks t LEFT JOIN apps a USING (app_index) WHERE t.executor_id IS NOT NULL),
        seen AS (
          SELECT DISTINCT p.app_id, p.executor_id FROM processes p
          JOIN (SELECT DISTINCT host, pid FROM thread_counters) t USING (host, pid)
          WHERE p.executor_id IS NOT NULL),
        told AS (
          SELECT r.host, EXISTS (SELECT 1 FROM seen s WHERE s.executor_id = r.executor_id
            AND coalesce(s.app_id = r.app_id, true)) AS followed FROM ran r)
        SELECT coalesce(host, '?'), count(*), count(*) FILTER (NOT followed)
        FROM told GROUP BY 1 ORDER BY 1
        """
    )
    return sum(ran for _, ran, _ in rows), {host: missing for host, _, missing in rows if missing}


def unwatched_hosts(scope: Scope) -> tuple[list[str], bool]:
    """Name hosts on which tasks ran and no probe read threads; say whether one did on any."""
    if not scope.tables.several_hosts:
        return [], True
    rows = scope.tables.query(
        "SELECT host, host IN (SELECT DISTINCT host FROM thread_counters) FROM"
        " (SELECT DISTINCT host FROM spans WHERE host IS NOT NULL) ORDER BY host"
    )
    return [host for host, watched in rows if not watched], not rows or any(w for _, w in rows)


def pauses_of_tasks(scope: Scope) -> bool:
    """Whether a GC log is of a host on which tasks ran; of one host, any is.

    One without a pause has other safepoints.
    """
    logged = scope.has("gc_pauses") or scope.has("safepoints")
    if not (logged and scope.tables.several_hosts):
        return logged
    logs = "SELECT host FROM gc_pauses UNION ALL SELECT host FROM safepoints"
    known = f"SELECT count(*) FROM ({logs}) WHERE host IN (SELECT host FROM spans)"
    return bool(scope.tables.scalar(known))


def _unseen(scope: Scope) -> str | None:
    ran, missing = unseen_executors(scope)
    return f"no probe saw {sum(missing.values())} of {ran} executors" if missing else None


def process_cpu_ns(scope: Scope, table: str = "w_series") -> int | None:
    """CPU of all followed processes, ended threads included, without the probe itself.

    Processes that no reading saw count by the exits of their threads.

    Parameters
    ----------
    scope : Scope
        A run cut to a window.
    table : str
        Growth of series in it, or in a part of it.
    """
    known: dict[str, int | None] = scope.kept.setdefault("process_cpu_ns", {})
    if table not in known:
        found = scope.tables.scalar(
            f"SELECT sum(growth)::BIGINT FROM {table} WHERE name = 'cpu_ns'"
            " AND scope LIKE 'process/%'"
            f" AND scope NOT IN (SELECT 'process/' || pid FROM ({OWN_PROCESS}))"
        )
        known[table] = None if found is None else int(found) + _unread_cpu_ns(scope)
    return known[table]


def _unread_cpu_ns(scope: Scope) -> int:
    if "unread_cpu_ns" not in scope.kept:
        scope.kept["unread_cpu_ns"] = int(
            scope.tables.scalar(
                "SELECT coalesce(sum(run_ns), 0)::BIGINT FROM w_threads"
                f" WHERE pid IN ({SHORT_LIVED}) AND pid NOT IN ({OWN_PROCESS})"
            )
        )
    found: int = scope.kept["unread_cpu_ns"]
    return found


def instruments(scope: Scope, process_cpu: int | None) -> list[Instrument]:
    """CPU of each instrument in the window, with its share of the application's."""
    found: list[Instrument] = []
    seen = scope.has("thread_counters") and scope.has_mono

    def add(name: str, used: int | None, reason: str | None = None, **of: str | None) -> None:
        share = used / process_cpu if used is not None and process_cpu else None
        known = {"cpu_ns": used, "share_of_process_cpu": share, "reason": reason}
        found.append(Instrument.model_validate({"name": name, **known, **of}))

    for name, pattern in (("plugin", "^pyrometer"), ("async-profiler", "^Async-profiler")):
        if not seen:
            add(name, None, NO_PROBE)
            continue
        used = scope.tables.scalar(
            "SELECT sum(run_ns)::BIGINT FROM w_threads WHERE role = 'pyrometer'"
            f" AND regexp_matches(comm, '{pattern}') AND pid NOT IN ({OWN_PROCESS})"
        )
        add(name, int(used or 0), "its own threads")
    add("inside the application's threads", *_inside(scope, process_cpu))
    for host, tier, used, reason in _probes(scope):
        add("probe", used, reason, host=host, tier=tier)
    shipping = [used for used in map(_own_cpu, scope.run.paths.agent_reports()) if used is not None]
    if shipping:
        add("agents", sum(shipping), f"whole run: {counted(len(shipping), 'report')}")
    add("launcher", *_launcher_cpu(scope))
    sampler = own_cpu_ns(scope)
    if sampler is not None:
        add("sampler in Python", sampler, "its own threads")
    pushed = _entry(scope, "push")
    if pushed is not None:
        add("push", pushed.own_cpu_ns, "whole run")
    return found


def _probes(scope: Scope) -> list[tuple[str | None, str | None, int | None, str | None]]:
    """Give what the probes of each host cost: host, tier, CPU time, why it is not known."""
    used: dict[str, int] = {}
    if scope.has_mono:
        used = dict(
            scope.tables.query(
                "SELECT host, sum(growth)::BIGINT FROM w_series"
                " WHERE scope LIKE 'probe%' AND name = 'own_cpu_ns' GROUP BY host"
            )
        )
    if not scope.tables.several_hosts:
        entry = _entry(scope, "os")
        tier = entry.tier if entry is not None else None
        if used:
            return [(None, tier, sum(used.values()), None)]
        whole = _reported_probe_cpu(scope)
        return [(None, tier, whole, "whole run: its report" if whole is not None else NO_PROBE)]
    tiers = tiers_by_host(scope)

    def why(host: str, clock: str) -> str | None:
        if host in used:
            return None
        return NO_CLOCK if clock == "unknown" or not scope.has_mono else NOT_OBSERVED

    return [
        (host, tiers.get(host), used.get(host), why(host, clock))
        for host, clock in scope.tables.query("SELECT host, clock FROM hosts ORDER BY number")
    ]


def tiers_by_host(scope: Scope) -> dict[str, str]:
    """Give the tier of the probes of each host, of several the worst."""
    found: dict[str, str] = {}
    for host, entry in _os_probes(scope):
        if entry.tier:
            found[host] = max(found.get(host, ""), entry.tier)
    return found


def observers_by_host(scope: Scope) -> dict[str, list[str]]:
    """Say whose probes observed each host, and at which tier.

    Executors that were observed at the same tier are named together.
    """
    said: dict[str, dict[tuple[str, str], list[str]]] = {}
    for host, entry in _os_probes(scope):
        who = "the agent there" if entry.service else "the launcher"
        if entry.executor_id is not None:
            who = "executor"
        own = said.setdefault(host, {}).setdefault((who, entry.tier or "no tier"), [])
        # One probe may have gone on in another's place.
        if entry.executor_id is not None and entry.executor_id not in own:
            own.append(entry.executor_id)
    return {
        host: [f"{_named(who, ids)} at {tier}" for (who, tier), ids in probes.items()]
        for host, probes in said.items()
    }


def _named(who: str, ids: Sequence[str]) -> str:
    if not ids:
        return who
    if len(ids) > _NAMED:
        return counted(len(ids), "executor")
    return f"{who}{'s' * (len(ids) > 1)} {', '.join(ids)}"


def _os_probes(scope: Scope) -> list[tuple[str, ProbeEntry]]:
    """Give the probes of hosts that delivered something, with the host: of a pod, its node."""
    entries = scope.run.manifest.probes if scope.run.manifest else []
    host_of = dict(scope.tables.query("SELECT name, host FROM host_names"))
    return [
        (host_of.get(entry.host, entry.host), entry)
        for entry in entries
        if entry.name == "os" and entry.host and entry.got is not None
    ]


def _entry(scope: Scope, name: str) -> ProbeEntry | None:
    entries = scope.run.manifest.probes if scope.run.manifest else []
    return next((entry for entry in entries if entry.name == name), None)


def _launcher_cpu(scope: Scope) -> tuple[int | None, str | None]:
    entry = _entry(scope, "launcher")
    if entry is None or entry.own_cpu_ns is None:
        return None, "not recorded in this run"
    marks = entry.own_cpu_marks
    if not marks or not scope.has_mono:
        return entry.own_cpu_ns, "whole run"
    parts = scope.tables.query("SELECT start_mono_ns, end_mono_ns FROM w")
    return round(sum(used_by(marks, end) - used_by(marks, start) for start, end in parts)), None


def used_by(marks: Sequence[Sequence[int]], moment: int) -> float:
    """CPU time used by a moment, on straight lines between the marks [moment, used].

    Examples
    --------
    >>> used_by([[0, 0], [10, 100], [20, 110]], 15), used_by([[0, 0], [10, 100]], 99)
    (105.0, 100.0)
    """
    before = [mark for mark in marks if mark[0] <= moment]
    after = [mark for mark in marks if mark[0] > moment]
    if not before or not after:
        return float((before or after)[-1 if before else 0][1])
    (left, low), (right, high) = before[-1], after[0]
    return low + (high - low) * (moment - left) / (right - left)


def _inside(scope: Scope, process_cpu: int | None) -> tuple[int | None, str]:
    """CPU of signal handlers and plugin hooks: the share of samples found in their code."""
    hits, n = scope.tables.query(
        "SELECT coalesce(sum(hits) FILTER (category = 'pyrometer' AND role <> 'pyrometer'), 0)"
        "::BIGINT, coalesce(sum(hits), 0)::BIGINT FROM w_samples WHERE event = 'cpu'"
    )[0]
    if not n or process_cpu is None:
        return None, "no CPU samples"
    return round(process_cpu * hits / n), f"{hits} of {n} CPU samples in Pyrometer's own code"


def _reported_probe_cpu(scope: Scope) -> int | None:
    reported = map(_own_cpu, scope.run.paths.probe_reports())
    known = [used for used in reported if used is not None]
    return sum(known) if known else None


def _own_cpu(path: Path) -> int | None:
    try:
        report: Any = parse_json(path.read_bytes())
        return int(report["own_cpu_ns"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _plus(left: int | None, right: int | None) -> int | None:
    """Sum of successes and failures; ``None`` if successes lack the metric and failures have 0."""
    return (left or 0) + (right or 0) if left is not None or right else None
