"""The shared time axis of a run: one origin, one grid, clocks joined."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.store.lives import SOUND_TASKS, define_lives
from pyrometer.store.tables import Tables

Floats = npt.NDArray[np.float64]

# Buckets on the axis: the width of a large screen, so that nothing finer could be seen unzoomed.
MAX_BUCKETS = 1500
MIN_STEP_NS = 100_000_000


@dataclass(frozen=True)
class Axis:
    """A run's time axis. Everything on it is in ms after ``t0_wall_ns``.

    Attributes
    ----------
    t0_wall_ns, end_wall_ns : int
        First and last moment shown, Unix time.
    offsets : dict of str to int
        Per host, Unix time minus CLOCK_MONOTONIC in ns; of several hosts on one axis that of the
        axis, which their times are on.
    """

    t0_wall_ns: int
    end_wall_ns: int
    offsets: dict[str, int]

    @property
    def duration_ms(self) -> float:
        """Length in ms."""
        return (self.end_wall_ns - self.t0_wall_ns) / 1e6

    @property
    def step_ms(self) -> float:
        """Width of a bucket in ms: at least 100 ms."""
        span = self.end_wall_ns - self.t0_wall_ns
        return max(MIN_STEP_NS, span / MAX_BUCKETS) / 1e6

    @property
    def count(self) -> int:
        """Number of buckets."""
        return max(1, int(np.ceil(self.duration_ms / self.step_ms)))

    @property
    def edges(self) -> Floats:
        """Edges of the buckets in ms, ``count + 1`` of them."""
        return np.arange(self.count + 1, dtype=np.float64) * self.step_ms

    def from_wall(self, wall_ns: Floats) -> Floats:
        """Unix time in ns to ms on the axis."""
        return (wall_ns - self.t0_wall_ns) / 1e6

    def offset(self, host: str | None) -> int | None:
        """Offset of a host's monotonic clock; of the only host where ``host`` is not known."""
        if host in self.offsets:
            return self.offsets[host]
        distinct = list(self.offsets.values())
        return distinct[0] if len(distinct) == 1 else None

    def from_mono(self, mono_ns: Floats, host: str | None) -> Floats | None:
        """CLOCK_MONOTONIC in ns to ms on the axis; None if the host's clocks were never joined."""
        offset = self.offset(host)
        return None if offset is None else (mono_ns + (offset - self.t0_wall_ns)) / 1e6


def find_axis(tables: Tables, manifest: Mapping[str, Any]) -> Axis | None:
    """Find the axis of a run: from its launch (else its first event) to its end (else its last)."""
    offsets = _offsets(tables, manifest)
    starts, ends = [manifest.get("started_wall_ns")], [manifest.get("ended_wall_ns")]
    define_lives(tables)
    for table, start, end, source in (
        ("apps", "born_wall_ns", "gone_wall_ns", "lives"),
        ("tasks", "launch_wall_ns", "finish_wall_ns", SOUND_TASKS),
        ("iterations", "start_wall_ns", "end_wall_ns", "iterations"),
    ):
        if tables.has(table):
            row = tables.query(f"SELECT min({start}), max({end}) FROM {source}")[0]
            starts.append(row[0])
            ends.append(row[1])
    if tables.has("os_series"):
        for host, low, high in tables.query(
            "SELECT host, min(t_mono_ns), max(t_mono_ns) FROM os_series GROUP BY host"
        ):
            if host in offsets:
                starts.append(low + offsets[host])
                ends.append(high + offsets[host])
    known_starts = [int(v) for v in starts if v is not None]
    known_ends = [int(v) for v in ends if v is not None]
    if not known_starts or not known_ends or max(known_ends) <= min(known_starts):
        return None
    return Axis(min(known_starts), max(known_ends), offsets)


def _offsets(tables: Tables, manifest: Mapping[str, Any]) -> dict[str, int]:
    offsets: dict[str, int] = {}
    pairs = [
        p["wall_ns"] - p["mono_ns"]
        for p in manifest.get("clock_pairs") or []
        if p.get("wall_ns") is not None and p.get("mono_ns") is not None
    ]
    host = (manifest.get("host") or {}).get("hostname")
    if pairs and host:
        offsets[host] = int(np.median(pairs))
    if tables.has("clock_pairs"):
        for name, offset in tables.query(
            "SELECT host, median(wall_ns - mono_ns)::BIGINT FROM clock_pairs GROUP BY host"
        ):
            offsets.setdefault(name, int(offset))
    if tables.several_hosts:
        return _on_one_axis(tables, offsets)
    return offsets


def _on_one_axis(tables: Tables, offsets: dict[str, int]) -> dict[str, int]:
    """Give all hosts the offset of the one whose clock is the axis; of another where it has none.

    Readings of all hosts are on that clock: what their wall clocks differ is all they differ by.
    """
    hosts = tables.query("SELECT host FROM hosts WHERE clock <> 'unknown' ORDER BY number")
    known = [offsets[host] for (host,) in hosts if host in offsets]
    return {host: known[0] for (host,) in hosts} if known else {}


@dataclass(frozen=True)
class Line:
    """A series on the grid: value per bucket; extremes where buckets hold several readings."""

    value: Floats
    low: Floats | None = None
    high: Floats | None = None


def gauge_line(axis: Axis, t_ms: Floats, value: Floats) -> Line:
    """Put a level on the grid: its value at each centre, and the extremes of readings inside.

    Buckets outside the readings are NaN: nothing is extrapolated.
    """
    edges = axis.edges
    centres = (edges[:-1] + edges[1:]) / 2
    at = np.interp(centres, t_ms, value, left=np.nan, right=np.nan)
    bucket = np.clip((t_ms / axis.step_ms).astype(np.int64), 0, axis.count - 1)
    if t_ms.size <= axis.count:
        return Line(at)
    low, high = np.where(np.isnan(at), np.inf, at), np.where(np.isnan(at), -np.inf, at)
    np.minimum.at(low, bucket, value)
    np.maximum.at(high, bucket, value)
    empty = ~np.isfinite(low)
    low[empty], high[empty] = np.nan, np.nan
    return Line(at, low, high)


def rate_line(axis: Axis, t_ms: Floats, cumulative: Floats) -> Line:
    """Put a counter on the grid: its rate per second in each bucket, exact for the bucket.

    The extremes are those of the readings' own intervals, where buckets hold several.
    """
    edges = np.clip(axis.edges, t_ms[0], t_ms[-1])
    width = np.diff(edges)
    gained = np.diff(np.interp(edges, t_ms, cumulative))
    with np.errstate(divide="ignore", invalid="ignore"):
        # A sliver of a bucket at either end would show resolution, not a rate.
        rate = np.where(width > axis.step_ms / 4, gained / width * 1e3, np.nan)
        steps, raw = np.diff(t_ms), np.diff(cumulative)
        if t_ms.size <= 2 * axis.count or (steps <= 0).any():
            return Line(rate)
        fine = raw / steps * 1e3
    low, high = np.where(np.isnan(rate), np.inf, rate), np.where(np.isnan(rate), -np.inf, rate)
    bucket = np.clip(
        ((t_ms[:-1] + t_ms[1:]) / 2 / axis.step_ms).astype(np.int64), 0, axis.count - 1
    )
    np.minimum.at(low, bucket, fine)
    np.maximum.at(high, bucket, fine)
    low[~np.isfinite(low)], high[~np.isfinite(high)] = np.nan, np.nan
    return Line(rate, low, high)


def occupancy(axis: Axis, start_ms: Floats, end_ms: Floats) -> Floats:
    """Mean number of intervals that cover each bucket (exact, whatever their number)."""

    def begun(marks: Floats) -> Floats:
        ordered = np.sort(marks)
        sums = np.concatenate(([0.0], np.cumsum(ordered)))
        place = np.searchsorted(ordered, axis.edges, side="left")
        return axis.edges * place - sums[place]

    return np.diff(begun(start_ms) - begun(end_ms)) / axis.step_ms
