"""When the weight of each fact of the flame graph was spent: what a selection of time needs.

One entry per fact and time bucket, ordered by fact. The sum of a fact's entries is the fact, so
that the weights of any selection of whole buckets are exact. A sample of the CPU or of an
allocation stands in the bucket of its moment. A wall sample and a wait for a lock last from their
moment for their weight, which async-profiler joins into one sample while a thread sleeps; where
that reaches over several buckets, the entry's ``span`` says how many further ones, and its weight
lies evenly over them.

The buckets are the narrowest of `WIDTHS_MS` that need no more than `MAX_ENTRIES` entries (or one
per fact, where there are more facts) and no more than `MAX_BUCKETS` buckets. Samples without a
time take one entry per fact at most.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pyrometer.report.axis import Axis
from pyrometer.report.columns import floats, integers
from pyrometer.report.flame_facts import DIMENSIONS, FOLDED, SAMPLES
from pyrometer.report.pack import Pack, smallest_uint
from pyrometer.store.tables import Tables

MAX_ENTRIES = 1_000_000
MAX_BUCKETS = 500_000
# Each divides the next. The first is the row height of FlameScope's heat maps, 50 to the second.
WIDTHS_MS = (20, 100, 200, 1_000, 5_000, 10_000, 60_000, 600_000, 3_600_000)
# Events that last from their moment on for their weight.
LASTING = ("wall", "state", "lock")
# Clocks are joined to about a millisecond; what lies further outside the run has no place on it.
SLACK_NS = 1_000_000_000
_MOMENTS = "flame_moments"


def build_times(
    tables: Tables, axis: Axis | None, fact_rows: npt.NDArray[np.int64], pack: Pack
) -> dict[str, Any]:
    """Put times of facts into ``pack``, after `facts_of` has told the facts.

    Parameters
    ----------
    tables : Tables
        The run's tables, with the temporary ones of `facts_of`.
    axis : Axis or None
        The run's time axis; times are buckets from its start.
    fact_rows : numpy.ndarray
        Row in the packed facts of each row of `facts_of`: rows may have been summed since.
    pack : Pack
        Gets columns ``times.entries`` (entries of each packed fact), and for each entry ``bucket``,
        ``span``, ``weight``, ``critical`` and ``n``.

    Returns
    -------
    dict
        ``bucket_ms``, ``count`` (buckets), and ``unplaced``: samples without a time on the axis,
        whose bucket is ``count``. ``{"reason": ...}`` where there are no times.
    """
    if axis is None:
        return {"reason": "Nothing in this run has a start and an end, so samples have no time."}
    _define_moments(tables, axis)
    most = max(MAX_ENTRIES, fact_rows.size)
    if not tables.scalar(f"SELECT count(first) FROM {_MOMENTS}"):
        return {"reason": "No sample has a time within the run that its clocks tell."}
    for width in WIDTHS_MS:
        by = width // WIDTHS_MS[0]
        count = int(np.ceil(axis.duration_ms / width))
        if count > MAX_BUCKETS:
            continue
        entries = f"""
            SELECT fact, first // {by} AS bucket, last // {by} - first // {by} AS span,
                   sum(weight)::DOUBLE AS weight, sum(critical)::DOUBLE AS critical,
                   sum(n)::BIGINT AS n
            FROM {_MOMENTS} GROUP BY 1, 2, 3
        """
        if tables.scalar(f"SELECT count(bucket) FROM ({entries})") <= most:
            found = tables.columns(f"{entries} ORDER BY fact, bucket, span")
            return _pack(found, fact_rows, width, count, pack)
    return {"reason": f"Its stacks are too many to keep their times: more than {most:,} entries."}


def _define_moments(tables: Tables, axis: Axis) -> None:
    """Define the samples' sums by fact, first and last bucket of the narrowest width."""
    hosts = [host for (host,) in tables.query(f"SELECT DISTINCT host FROM {SAMPLES}")]
    offsets = [axis.offset(host) for host in hosts]
    tables.keep("flame_hosts", {"host": "VARCHAR", "ahead": "BIGINT"},
                {"host": hosts, "ahead": offsets})  # fmt: skip
    keys = ("stack", "event", *DIMENSIONS, "top_class")
    same = " AND ".join(f"s.{key} IS NOT DISTINCT FROM f.{key}" for key in keys)
    width_ns, length_ns = WIDTHS_MS[0] * 1_000_000, axis.end_wall_ns - axis.t0_wall_ns
    tables.define(
        _MOMENTS,
        f"""
        WITH timed AS (
            SELECT s.*, f.fact,
                   s.t_ns + CASE s.clock WHEN 'wall' THEN 0 WHEN 'mono' THEN h.ahead END
                       - {axis.t0_wall_ns} AS after_ns,
                   CASE WHEN after_ns BETWEEN -{SLACK_NS} AND {length_ns + SLACK_NS}
                        THEN greatest(0, least(after_ns, {length_ns} - 1)) END AS at_ns,
                   CASE WHEN s.event IN {LASTING} THEN greatest(s.weight, 1) ELSE 1 END AS lasting
            FROM {SAMPLES} s JOIN {FOLDED} f ON {same}
            LEFT JOIN flame_hosts h ON s.host IS NOT DISTINCT FROM h.host
        )
        SELECT fact, at_ns // {width_ns} AS first,
               CASE WHEN at_ns IS NOT NULL
                    THEN least(at_ns + lasting, {length_ns}) - 1 END // {width_ns} AS last,
               sum(weight) AS weight, coalesce(sum(critical), 0) AS critical, count(*) AS n
        FROM timed GROUP BY ALL
        """,
    )


def _pack(
    found: dict[str, Any],
    fact_rows: npt.NDArray[np.int64],
    width_ms: int,
    count: int,
    pack: Pack,
) -> dict[str, Any]:
    bucket = integers(found["bucket"], missing=count)
    span = integers(found["span"], missing=0)
    # Facts that fell together in the tree have one row; their entries of a bucket fall together.
    shape = (int(fact_rows.max()) + 1, count + 1, int(span.max()) + 1)
    key = np.ravel_multi_index((fact_rows[integers(found["fact"])], bucket, span), shape)
    unique, inverse = np.unique(key, return_inverse=True)
    row, bucket, span = np.unravel_index(unique, shape)

    def summed(name: str) -> npt.NDArray[np.float64]:
        weights = floats(found[name])
        return np.bincount(inverse, weights=weights, minlength=row.size).astype(np.float64)

    n = summed("n").astype(np.int64)
    pack.add("times.entries", smallest_uint(np.bincount(row, minlength=shape[0])))
    pack.add("times.bucket", smallest_uint(bucket))
    pack.add("times.span", smallest_uint(span))
    pack.add("times.weight", summed("weight"))
    pack.add("times.critical", summed("critical"))
    pack.add("times.n", smallest_uint(n))
    return {"bucket_ms": width_ms, "count": count, "unplaced": int(n[bucket == count].sum())}
