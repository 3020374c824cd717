"""Tracks of the timeline about block devices: time of a request, requests under way."""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.accounts.disks import LAYERED
from pyrometer.pages.axis import Axis, Line, rate_line
from pyrometer.pages.columns import Pack, floats, texts
from pyrometer.store.tables import Tables
from pyrometer.timeline.machine import MAX_HOSTS, Track, missing_track, series_column

MAX_DISKS = 4
_TITLES = {"diskawait": "Time of a disk request", "diskqueue": "Disk requests under way"}
_HELP = {
    "diskawait": (
        "Mean time of the reads and writes that a device finished, from submission to end, waiting "
        "in its queue included, for all programs of the host. No line where it finished none. "
        "Counters have a resolution of 1 ms: where few requests finish, the line jumps."
    ),
    "diskqueue": (
        "Reads and writes under way on each device, in the mean: time of its requests per second."
    ),
}
_READINGS = """
SELECT scope, name, t_mono_ns, value FROM os_series
WHERE host = ? AND scope LIKE 'disk/%'
  AND name IN ('read_time_ns', 'write_time_ns', 'reads_count', 'writes_count')
ORDER BY scope, name, t_mono_ns
"""
_Floats = npt.NDArray[np.float64]


def disk_tracks(tables: Tables, axis: Axis, pack: Pack) -> list[Track]:
    """Time and number of requests of the busiest devices of each host that lie on no others.

    Parameters
    ----------
    tables : Tables
        Of the run.
    axis : Axis
        That of all tracks.
    pack : Pack
        Where columns go.
    """
    if not tables.has("os_series"):
        return []
    hosts = [host for (host,) in tables.query("SELECT DISTINCT host FROM os_series ORDER BY host")]
    joined = [host for host in hosts if axis.offset(host) is not None]
    tracks: list[Track] = []
    for number, host in enumerate(joined[:MAX_HOSTS]):
        suffix = f" · {host}" if len(joined) > 1 else ""
        tracks += _of_host(tables, axis, pack, (host, number, suffix))
    return tracks


def _of_host(tables: Tables, axis: Axis, pack: Pack, place: tuple[str, int, str]) -> list[Track]:
    host, number, suffix = place
    lines = _lines(axis, host, tables.columns(_READINGS, [host]))
    known = {scope for scope in lines if not LAYERED.match(scope)} or set(lines)
    busiest = sorted(known, key=lambda scope: -float(np.nansum(lines[scope][0])))
    columns: dict[str, list[dict[str, Any]]] = {name: [] for name in _TITLES}
    for scope in busiest[:MAX_DISKS]:
        spent, count = lines[scope]
        device = scope.removeprefix("disk/")
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(count > 0, spent / count, np.nan)
        for name, value in (("diskawait", mean), ("diskqueue", spent / 1e9)):
            key = f"{name}{number}.{device}"
            columns[name].append(series_column(pack, key, device, Line(value)))
    if not busiest:
        why = "The probe read no times of disk requests of this host."
        return [missing_track(f"{name}{number}", f"{_TITLES[name]}{suffix}", why) for name in _HELP]
    more = f"{MAX_DISKS} of {len(busiest)} devices are drawn" if len(busiest) > MAX_DISKS else None
    return [
        {
            "id": f"{name}{number}",
            "kind": "series",
            "title": f"{title}{suffix}",
            "unit": {"diskawait": "ns", "diskqueue": "requests"}[name],
            "help": _HELP[name],
            "series": columns[name],
            "note": more,
        }
        for name, title in _TITLES.items()
    ]


def _lines(
    axis: Axis, host: str, found: dict[str, npt.NDArray[Any]]
) -> dict[str, tuple[_Floats, _Floats]]:
    """Give of each device the ns that its requests took, and their number, per second."""
    at = axis.from_mono(floats(found["t_mono_ns"]), host)
    if at is None or not at.size:
        return {}
    values = floats(found["value"])
    keys = list(zip(texts(found["scope"]), texts(found["name"]), strict=True))
    rates: dict[str, dict[str, _Floats]] = {}
    for (scope, name), rows in groupby(range(len(keys)), key=keys.__getitem__):
        own = list(rows)
        if len(own) > 1:
            rates.setdefault(scope, {})[name] = rate_line(axis, at[own], values[own]).value
    return {
        scope: (
            _sum(own, "read_time_ns", "write_time_ns"), _sum(own, "reads_count", "writes_count")
        )
        for scope, own in rates.items()
        if own.keys() & {"reads_count", "writes_count"}
        and own.keys() & {"read_time_ns", "write_time_ns"}
    }  # fmt: skip


def _sum(own: dict[str, _Floats], *names: str) -> _Floats:
    """Add up what is known; unknown where neither is."""
    parts = [own[name] for name in names if name in own]
    whole: _Floats = np.nansum(parts, axis=0)
    whole[np.isnan(parts).all(axis=0)] = np.nan
    return whole
