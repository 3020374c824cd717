"""How far off times of each host may be, where they are held against those of the event log.

The event log has the driver's wall clock, in whole milliseconds; processes and tasks were recorded
by the monotonic clocks of their hosts, which are given on one axis within a bound.
"""

from __future__ import annotations

from pyrometer.core.process_numbers import KEY
from pyrometer.core.units import duration
from pyrometer.window.scope import Scope

LOG_NS = 1_000_000
"""Event logs have whole milliseconds."""
_SET_NS = 100_000_000
"""A wall clock whose distance from the monotonic one changed by more was set."""
_EVER = 1 << 62
_NO_DRIVER = "no record of the driver's process: its clock cannot be compared with that of others"
_DRIVERS_APART = "drivers ran on several hosts: each event log has times of another wall clock"
_NO_PAIRS = "nothing joins the driver's clocks: times of the event log are not on the others' axis"

_DRIVERS = "SELECT count(DISTINCT host) FROM main.processes WHERE role = 'driver'"
# The driver's host has to be that of the axis; where hosts are not told apart, the only one.
_OTHER_AXIS = """
SELECT count(*) FILTER (p.role = 'driver' AND h.number IS NOT DISTINCT FROM 0) = 0
FROM main.processes p LEFT JOIN hosts h ON h.host = p.host
"""
_OTHER_HOST = """
SELECT count(DISTINCT host) FILTER (role = 'driver') <> 1 OR count(DISTINCT host) > 1
FROM main.processes
"""
_SPREAD = """
SELECT max(wall_ns - mono_ns) - min(wall_ns - mono_ns) FROM main.clock_pairs
WHERE source <> 'launcher' AND host IN (SELECT host FROM main.processes WHERE role = 'driver')
"""
_ONE_HOST = f"""
SELECT 0::BIGINT AS number, {-_EVER} AS since, {_EVER} AS until, $1::BIGINT AS bound_ns
"""
_LINES = f"""
SELECT x.number::BIGINT AS number, coalesce(l.since, {-_EVER}) AS since,
  lead(l.since, 1, {_EVER}) OVER (PARTITION BY x.number ORDER BY l.since) AS until,
  $1 + CASE WHEN h.number = 0 THEN 0 ELSE l.bound_ns END AS bound_ns
FROM (SELECT DISTINCT host, number FROM axis_hosts) x JOIN hosts h USING (host)
LEFT JOIN (SELECT host, bound_ns, greatest({-_EVER}, least({_EVER},
    from_mono_ns::HUGEINT + offset_ns))::BIGINT AS since FROM host_clocks) l USING (host)
"""


def define_clock_bounds(scope: Scope) -> str | None:
    """Define ``l_clock_bounds``: in which time no time of a host is further off than by how much.

    Columns: number (what stands above bit 32 of its process numbers), since, until (on the axis),
    bound_ns (null: nothing bounds it; what readings of the driver's two clocks differ is in it).

    Returns
    -------
    str or None
        Why no time of any host can be held against the event log's; ``None`` where they can.
    """
    tables = scope.tables
    spread = tables.scalar(_SPREAD) or 0
    if "l_clock_bounds" not in tables.defined:
        tables.define("l_clock_bounds", _LINES if tables.several_hosts else _ONE_HOST, [spread])
    if scope.offset_ns is None:
        return _NO_PAIRS
    if tables.scalar(_DRIVERS) > 1:
        return _DRIVERS_APART
    if tables.scalar(_OTHER_AXIS if tables.several_hosts else _OTHER_HOST):
        return _NO_DRIVER
    if spread > _SET_NS:
        return f"the driver's wall clock was set by up to {duration(spread)} during the run"
    return None


def bound_at(process: str, time: str) -> str:
    """Write the bound of the host of a process at a time on the axis, as a scalar in SQL.

    Parameters
    ----------
    process, time : str
        The process's number, and the time.
    """
    return (
        f"(SELECT max(b.bound_ns) FROM l_clock_bounds b WHERE b.number = ({process}) // {KEY}"
        f" AND b.since <= {time} AND {time} < b.until)"
    )
