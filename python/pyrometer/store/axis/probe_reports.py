"""What probes on other hosts say of themselves: entries of the manifest, each with its host."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pydantic import ValidationError

from pyrometer.core import units
from pyrometer.core.json_text import parse_json
from pyrometer.store.manifest import Manifest, Pace, ProbeEntry
from pyrometer.store.paths import RunPaths


def shipped_entries(paths: RunPaths) -> list[ProbeEntry]:
    """Give an entry for each report that was shipped into a run; what is no report has none."""
    entries: dict[tuple[Any, ...], ProbeEntry] = {}
    for path in paths.probe_reports():
        entry = None if path.parent == paths.raw else _entry(path, paths.is_of_a_service(path))
        if entry is not None:
            # Of several lives of an agent that runs as a service the last one tells.
            entries[(*_whose(entry), path if entry.executor_id else None)] = entry
    return list(entries.values())


def with_shipped(manifest: Manifest, paths: RunPaths) -> Manifest:
    """Add the probes whose reports came after the manifest was closed; newer reports replace."""
    shipped = shipped_entries(paths)
    if not shipped:
        return manifest
    newer = {_whose(entry) for entry in shipped}
    kept = [entry for entry in manifest.probes if _whose(entry) not in newer]
    return manifest.model_copy(update={"probes": [*kept, *shipped]})


def doubts_of(entry: ProbeEntry) -> Iterator[tuple[str, str]]:
    """Give codes and messages of what a probe did not deliver, or not as often as asked for."""
    if entry.got is None:
        yield "probe_missing", f"Probe {label(entry)} delivered nothing: {entry.reason}."
    elif entry.dropped:
        yield "probe_degraded", f"Probe {label(entry)} dropped {entry.dropped} records."
    if said := slowed(entry):
        yield "probe_slowed", said


def label(entry: ProbeEntry) -> str:
    """Name a probe in a sentence.

    Examples
    --------
    >>> label(ProbeEntry(name="os", asked="", host="h2", executor_id="1"))
    'os of executor 1 on h2'
    """
    if entry.service:
        return f"{entry.name} of the agent on {entry.host}"
    if entry.executor_id is None:
        return entry.name
    return f"{entry.name} of executor {entry.executor_id} on {entry.host}"


def slowed(entry: ProbeEntry) -> str | None:
    """Say that a probe read more rarely than asked for; ``None`` if it did not.

    Examples
    --------
    >>> pace = Pace(asked_hz=20, mean_hz=11.2, budget_ratio=0.02, changes_count=1)
    >>> slowed(ProbeEntry(name="os", asked="threads", pace=pace))
    'Probe os: 11.2 passes per second, not 20: more would have cost above 2.00 % of a CPU.'
    """
    pace = entry.pace
    if pace is None or pace.budget_ratio is None:
        return None
    budget = f"{units.percent(pace.budget_ratio)} of a CPU"
    rate = f"Probe {label(entry)}: {pace.mean_hz:.3g} passes per second"
    if pace.unheld_cpu_ratio is not None:
        cost = units.percent(pace.unheld_cpu_ratio)
        return f"{rate} still cost {cost} of a CPU: its budget is {budget}."
    if not pace.changes_count:
        return None
    return f"{rate}, not {pace.asked_hz:g}: more would have cost above {budget}."


def got(report: Mapping[str, Any]) -> str:
    """Say how much a probe wrote.

    Examples
    --------
    >>> got({"rows_count": {"threads": 7}, "passes_count": 3})
    '7 rows of threads in 3 passes'
    """
    rows = report.get("rows_count") or {}
    said = ", ".join(f"{count} rows of {name}" for name, count in rows.items()) or "no rows"
    return f"{said} in {report.get('passes_count')} passes"


def reasons(report: Mapping[str, Any]) -> list[str]:
    """Say what a probe lacked, by its report.

    Examples
    --------
    >>> reasons({"tier_reason": "not root", "state": "finished"})
    ['not root']
    """
    found = [report["tier_reason"]] if report.get("tier_reason") else []
    if report.get("write_error"):
        found.append(f"writing stopped: {report['write_error']}")
    if report.get("state") != "finished":
        found.append("the probe was killed; the last second may be missing")
    if report.get("io_denied_processes_count"):
        found.append(
            f"I/O counters of {report['io_denied_processes_count']} process(es) may not be read"
        )
    if report.get("urgency") == "ordinary":
        found.append(
            "it may not go before other threads (CAP_SYS_NICE or Linux 6.12 would let it):"
            " on a busy machine sampled states show too many threads asleep"
        )
    return found


def pace_of(report: Mapping[str, Any]) -> Pace | None:
    """Give the pace in a report; ``None`` if it has none."""
    return Pace.model_validate(report["pace"]) if report.get("pace") else None


def _entry(path: Path, service: bool) -> ProbeEntry | None:
    try:
        report = parse_json(path.read_bytes())
        if not isinstance(report, dict):
            return None
        app, executor = path.parents[3].name, path.parents[2].name
        pace = pace_of(report)
        often = f" at {report['hz']:g} Hz" if report.get("hz") else ""
        # What a service cost since it began is not this run's: series have what it cost meanwhile.
        whose: dict[str, Any] = (
            {"service": True}
            if service
            else {
                "executor_id": unquote(executor),
                "app_id": unquote(app),
                "own_cpu_ns": report.get("own_cpu_ns"),
            }
        )
        who = "every executor there" if service else f"executor {unquote(executor)}"
        # One that runs on has no end yet.
        lacking = [one for one in reasons(report) if not service or "was killed" not in one]
        return ProbeEntry.model_validate(
            {
                "name": "os",
                "host": report.get("host") or unquote(path.parent.name),
                "tier": report.get("tier"),
                "asked": f"{who} and its host{often}",
                "got": got(report),
                "dropped": report.get("dropped_rows_count"),
                "reason": "; ".join(lacking) or None,
                "pace": pace,
                "counters": report.get("counters"),
                **whose,
            }
        )
    except (OSError, ValueError, TypeError, AttributeError, ValidationError):
        return None


def _whose(entry: ProbeEntry) -> tuple[Any, ...]:
    app = (entry.model_extra or {}).get("app_id")
    return entry.name, entry.host, entry.service, entry.executor_id, app
