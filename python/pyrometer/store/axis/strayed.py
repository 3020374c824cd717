"""Readings of threads that bear times of another clock than the passes that made them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyrometer.core import schema
from pyrometer.core.units import counted
from pyrometer.store.sql.host_views import HostRows
from pyrometer.store.tables import Tables

SLACK_NS = 60_000_000_000
"""A reading belongs to a pass, which is not so far off; clocks of namespaces usually are."""

_STRAYED = f"""
SELECT c.host, count(*) FROM thread_counters c
JOIN (SELECT host, min(t_mono_ns) AS since, max(t_mono_ns) AS until FROM os_series
  WHERE name = 'passes_count' GROUP BY host) p USING (host)
WHERE c.t_mono_ns NOT BETWEEN p.since::HUGEINT - {SLACK_NS} AND p.until::HUGEINT + {SLACK_NS}
GROUP BY c.host ORDER BY c.host
"""


def strayed(folder: Path) -> list[dict[str, Any]]:
    """Doubt hosts whose threads were read on another clock, as native readers give doubts.

    The kernel's programs (tiers T0 and T1) know the clock of the machine alone. Older probes wrote
    what those said, in a time namespace whose clock is set apart, beside times of their own.
    """
    read = ("thread_counters", "os_series")
    with Tables(folder, HostRows.AS_RECORDED, only=read) as tables:
        found = tables.query(_STRAYED)
    declared = schema.doubt("probe_clocks_mixed", "")
    return [
        {
            "code": declared.code,
            "severity": declared.severity,
            "message": f"{counted(count, 'reading')} of threads on {host}.",
        }
        for host, count in found
    ]
