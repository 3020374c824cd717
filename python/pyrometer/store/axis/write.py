"""Tables ``hosts`` and ``host_clocks``: whose clock is the axis, and how others lie on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from pyrometer.core.doubt import Doubt
from pyrometer.core.json_text import parse_json
from pyrometer.hosts.drivers import on_one_axis
from pyrometer.hosts.host_clocks import HostClocks
from pyrometer.hosts.lines import Lines, lines
from pyrometer.hosts.seen import Seen
from pyrometer.hosts.wall import WallClock
from pyrometer.store.axis.one_machine import doubts_of_machines, of_one_machine
from pyrometer.store.axis.seen import on_their_hosts, seen
from pyrometer.store.services.machines import Machines
from pyrometer.store.sql.host_views import HostRows
from pyrometer.store.tables import Tables
from pyrometer.store.write_tables import write_rows

# First and last record of each host, on its own clock.
_EXTENT = """
SELECT host, min(first) AS first, max(last) AS last FROM (
  SELECT host, min(start_mono_ns) AS first, max(coalesce(end_mono_ns, start_mono_ns)) AS last
    FROM spans GROUP BY host
  UNION ALL SELECT host, min(start_mono_ns), max(coalesce(end_mono_ns, start_mono_ns))
    FROM processes GROUP BY host
  UNION ALL SELECT host, min(mono_ns), max(mono_ns) FROM clock_pairs GROUP BY host
  UNION ALL SELECT host, min(t_mono_ns), max(t_mono_ns) FROM os_series GROUP BY host
  UNION ALL SELECT host, min(t_mono_ns), max(t_mono_ns) FROM thread_counters GROUP BY host)
GROUP BY host
"""


def write_axis(
    folder: Path,
    plugin_files: Iterable[Path] = (),
    launch_host: str | None = None,
    machines: Machines | None = None,
) -> list[Doubt]:
    """Write tables ``hosts`` and ``host_clocks`` of a run of several hosts; of one host, none.

    Table ``host_names`` has the names under which pods recorded whose host is known.

    Parameters
    ----------
    folder : Path
        Folder of the tables; all others are there already.
    plugin_files : iterable of Path
        The plugin's records: of these, the round trips.
    launch_host : str, optional
        Host of the launch, whose clock is the axis where no driver was recorded, or several.
    machines : Machines, optional
        Which hosts pods are on.

    Returns
    -------
    list of Doubt
        What is not known of which clock, and which hosts are one machine.
    """
    with Tables(folder, HostRows.AS_RECORDED) as tables:
        found = seen(tables, plugin_files)
        if len(found.hosts) < 2:
            return []
        host_of = {} if machines is None else machines.host_of
        launch = host_of.get(str(launch_host), launch_host)
        found = on_one_axis(on_their_hosts(found, host_of), launch)
        names = sorted(name for name, host in host_of.items() if host in found.hosts)
        axis = found.driver_host or _other_axis(found, launch)
        clocks = HostClocks.of(replace(found, driver_host=axis))
        extent: dict[str, tuple[int, int]] = {}
        for name, first, last in tables.query(_EXTENT):
            if first is not None:
                host = host_of.get(name, name)
                known = extent.get(host, (int(first), int(last)))
                extent[host] = min(known[0], int(first)), max(known[1], int(last))
        cpus = _cpus(tables, host_of)
        doubts = [*clocks.doubts, *doubts_of_machines(of_one_machine(tables, found.hosts))]
    order = [axis, *(host for host in found.hosts if host != axis)]
    laid = {host: lines(clocks, host) for host in order}
    write_rows(
        folder,
        "hosts",
        [
            _row(number, host, clocks, laid[host], extent.get(host))
            | {
                "cpus_count": cpus.get(host),
                "wall_offset_ns": _walls(host, found, axis, laid[host]),
            }
            for number, host in enumerate(order)
        ],
    )
    if names:
        pods = machines.pods if machines is not None else {}
        rows = [
            {"name": name, "host": host_of[name], "number": number, "pod": pods.get(name)}
            for number, name in enumerate(names, start=len(order))
        ]
        write_rows(folder, "host_names", rows)
    lined = {host: one for host, one in laid.items() if one is not None}
    if lined:
        knots = (row for host, one in lined.items() for row in _knots(host, one))
        write_rows(folder, "host_clocks", knots)
    return doubts


def _other_axis(found: Seen, launch_host: str | None) -> str:
    """Choose the axis without a driver: the launch's host, or that with most readings."""
    if launch_host in found.hosts:
        return str(launch_host)
    readings = {host: len(wall.mono_ns) for host, wall in found.walls.items()}
    return max(found.hosts, key=lambda host: readings.get(host, 0))


def _row(
    number: int, host: str, clocks: HostClocks, laid: Lines | None, extent: tuple[int, int] | None
) -> dict[str, Any]:
    first, last = extent or (None, None)
    row: dict[str, Any] = {"host": host, "number": number, "clock": "unknown"}
    row |= {"first_mono_ns": first, "last_mono_ns": last}
    if host == clocks.driver_host:
        return row | {"clock": "axis", "bound_ns": 0, "typical_bound_ns": 0}
    if laid is None:
        return row
    if host not in clocks.clocks:
        return row | {"clock": "wall"}
    clock = clocks.clocks[host]
    row |= {"clock": "messages", "messages_count": clock.messages_count}
    if len(clock.pieces) == 1:
        drift = clock.pieces[0].drift_ppm
        row |= {"drift_low_ppm": drift.low, "drift_high_ppm": drift.high}
    if first is not None and last is not None:
        row["bound_ns"] = laid.bound(first, last)
        part = laid.bound_ns[(laid.from_host_ns >= first) & (laid.from_host_ns <= last)]
        if part.count():
            row["typical_bound_ns"] = int(np.median(part.compressed()))
    return row


def _knots(host: str, laid: Lines) -> Iterator[dict[str, Any]]:
    bounds = laid.bound_ns.tolist()
    yield from (
        {"host": host, "from_mono_ns": at, "offset_ns": offset, "rate": rate, "bound_ns": bound}
        for at, offset, rate, bound in zip(
            laid.from_host_ns.tolist(),
            laid.offset_ns.tolist(),
            laid.rate.tolist(),
            bounds,
            strict=True,
        )
    )


def _walls(host: str, found: Seen, axis: str, laid: Lines | None) -> int | None:
    """Give what a host's wall clock is behind the axis's, in the middle of its readings."""
    mine, its = found.walls.get(axis), found.walls.get(host)
    if host == axis or laid is None or mine is None or its is None:
        return None
    middle = its.mono_ns[len(its.mono_ns) // 2 : len(its.mono_ns) // 2 + 1]
    driver = laid.to_driver(middle)
    return int(_shown(mine, driver) - _shown(its, middle))


def _shown(clock: WallClock, mono_ns: Any) -> int:
    return int(clock.wall(mono_ns)[0])


def _cpus(tables: Tables, host_of: Mapping[str, str]) -> dict[str, int]:
    """CPUs of each host, as JVMs there saw them: the most, as containers see fewer."""
    found: dict[str, int] = {}
    for host, facts in tables.query("SELECT host, facts FROM processes WHERE facts IS NOT NULL"):
        try:
            count = parse_json(facts).get("cpus_count")
        except (ValueError, AttributeError):
            continue
        if isinstance(count, int) and count > 0:
            name = host_of.get(host, host)
            found[name] = max(found.get(name, 0), count)
    return found
