"""Rule: applications of drivers on several hosts, whose clocks nobody compared."""

from __future__ import annotations

from collections.abc import Iterator

from pyrometer.core.units import counted
from pyrometer.summary.rule import Rule
from pyrometer.summary.schema import Summary
from pyrometer.window.scope import Scope

NEAR_NS = 600 * 10**9
"""Applications further apart than this ran one after the other, whatever their clocks say."""
_NAMED = 3

# Where each application's driver ran, and from when to when by its clock.
_DRIVERS = """
WITH recorded AS (
  SELECT app_id, min(host) AS host FROM processes WHERE role = 'driver' AND app_id IS NOT NULL
  GROUP BY app_id HAVING count(DISTINCT host) = 1)
SELECT l.app_index, coalesce(l.app_id, 'application ' || l.app_index), coalesce(r.host, e.host),
  l.born_wall_ns, l.gone_wall_ns
FROM lives l LEFT JOIN recorded r USING (app_id)
LEFT JOIN (SELECT app_index, min(host) AS host FROM executors WHERE executor_id = 'driver'
  GROUP BY app_index) e USING (app_index)
WHERE coalesce(r.host, e.host) IS NOT NULL AND l.born_wall_ns IS NOT NULL ORDER BY l.app_index
"""


def _check(scope: Scope, summary: Summary) -> Iterator[str]:
    if len(summary.apps) < 2:
        return
    drivers = scope.tables.query(_DRIVERS)
    aligned: set[str] = set()
    if scope.tables.several_hosts:
        known = "SELECT host FROM hosts WHERE clock IN ('axis', 'messages')"
        aligned = {host for (host,) in scope.tables.query(known)}
    apart = [
        (app, host)
        for _, app, host, born, gone in drivers
        if any(
            other != host and not {host, other} <= aligned
            and born <= (ended or began) + NEAR_NS and began <= (gone or born) + NEAR_NS
            for _, _, other, began, ended in drivers
        )
    ]  # fmt: skip
    if apart:
        named = [f"{app} on {host}" for app, host in apart[:_NAMED]]
        more = [f"{len(apart) - _NAMED} more"] if len(apart) > _NAMED else []
        yield (
            f"The clocks of the drivers of {counted(len(apart), 'application')} were never compared"
            f" ({', '.join([*named, *more])}): what one did while another ran is not known, as"
            " times of each are by its own driver's clock."
        )


RULE = Rule(
    code="drivers_apart",
    severity="warning",
    meaning=(
        "Applications of the run had their drivers on different hosts, and nothing says how far"
        " their clocks are apart: they cannot be put on one time axis. Times within each hold."
    ),
    remedy=(
        "Look at each application's log by itself; or measure with the plugin on drivers and"
        " executors (pyrometer run): hosts that have executors of both tell the drivers' clocks."
    ),
    check=_check,
)
