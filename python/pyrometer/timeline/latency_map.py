"""The heat map of I/O latencies: time to the right, buckets upwards, counts as colours."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyrometer.core.process_numbers import own_number
from pyrometer.pages.axis import Axis
from pyrometer.pages.columns import Pack, floats, integers, smallest_uint
from pyrometer.store.tables import Tables

# Columns that can be distinguished on half a screen; a period of the probe is a second.
MAX_COLUMNS = 200
LEAST_MS = 1000.0
MAX_SERIES = 24
MAX_PROCESSES = 8
_KEY = "host, kind, device, operation"

# Numbers of series (most time first) and of processes in them; those beyond share the last one.
_PLACES = f"""
    SELECT {_KEY}, pid, series, least(process, {MAX_PROCESSES}) AS process, n FROM (
      SELECT {_KEY}, pid, n, dense_rank() OVER (ORDER BY whole DESC, {_KEY}) - 1 AS series,
        row_number() OVER (PARTITION BY {_KEY} ORDER BY ns DESC, pid) - 1 AS process
      FROM (SELECT {_KEY}, pid, sum(sum_ns) AS ns, sum(count)::BIGINT AS n,
          sum(sum(sum_ns)) OVER (PARTITION BY {_KEY}) AS whole
        FROM io_latency GROUP BY {_KEY}, pid))
    WHERE series < {MAX_SERIES}
"""
# A period that reaches into several columns counts in each by the part of it that lies there.
_CELLS = """
    SELECT series, process, cell, bucket, sum(count * part) AS count FROM (
      SELECT p.series, p.process, cell, round(log2(greatest(low_ns, 1)))::INTEGER AS bucket, count,
        (least(end_ms, (cell + 1) * ?) - greatest(begin_ms, cell * ?))
          / greatest(end_ms - begin_ms, 1e-6) AS part
      FROM (SELECT *, unnest(range(floor(begin_ms / ?)::BIGINT, ceil(end_ms / ?)::BIGINT)) AS cell
          FROM (SELECT *, (begin_mono_ns + ?) / 1e6 AS begin_ms, (end_mono_ns + ?) / 1e6 AS end_ms
            FROM io_latency WHERE host = ?)) l
      JOIN latency_places p ON p.host = l.host AND p.kind = l.kind AND p.operation = l.operation
        AND p.device IS NOT DISTINCT FROM l.device AND p.pid IS NOT DISTINCT FROM l.pid)
    WHERE cell BETWEEN 0 AND ? GROUP BY ALL ORDER BY ALL
"""


def latency_map(tables: Tables, axis: Axis, pack: Pack) -> dict[str, Any]:
    """Count requests and calls per period, bucket, device, operation and process.

    Returns
    -------
    dict
        ``step_ms``, ``count`` (of columns), ``series[]`` (``host``, ``kind``, ``device``,
        ``operation``, ``processes[]``) and names of packed columns, an entry per cell: series,
        process, time, bucket (power of two of ns), count. Only ``reason`` without any.
    """
    if not tables.has("io_latency"):
        return {"reason": "Latencies of I/O are recorded at tier T0 of the OS probe."}
    tables.define("latency_places", _PLACES)
    step = max(LEAST_MS, axis.duration_ms / MAX_COLUMNS)
    count = max(1, int(np.ceil(axis.duration_ms / step)))
    parts = []
    for (host,) in tables.query("SELECT DISTINCT host FROM io_latency ORDER BY 1"):
        offset = axis.offset(host)
        if offset is not None:
            shift = offset - axis.t0_wall_ns
            steps = [step] * 4
            parts.append(tables.columns(_CELLS, [*steps, shift, shift, host, count - 1]))
    if not any(len(part["series"]) for part in parts):
        return {"reason": "No requests, or no reading that links the host's clock to Unix time."}
    cells = {
        name: np.concatenate([integers(part[name]) for part in parts])
        for name in ("series", "process", "cell", "bucket")
    }
    counts = np.concatenate([floats(part["count"]) for part in parts])
    return {
        "step_ms": step,
        "count": count,
        "series": _series(tables),
        "cut": _cut(tables),
        "columns": {
            "count": pack.add("latencies.count", counts.astype(np.float32)),
            **{k: pack.add(f"latencies.{k}", smallest_uint(v)) for k, v in cells.items()},
        },
    }


def _series(tables: Tables) -> list[dict[str, Any]]:
    hosts = tables.scalar("SELECT count(DISTINCT host) FROM latency_places") > 1
    found: list[dict[str, Any]] = []
    for series, process, host, kind, device, operation, pid, comm, others, n in tables.query(
        f"SELECT series, process, {_KEY}, min(pid), min(comm), count(*), sum(n)::BIGINT FROM"
        " latency_places LEFT JOIN (SELECT host, pid, arg_max(comm, t_mono_ns) AS comm"
        "  FROM thread_counters WHERE pid = tid GROUP BY ALL) USING (host, pid)"
        " GROUP BY ALL ORDER BY series, process"
    ):
        if series == len(found):
            where = {"host": host} if hosts else {}
            found.append({"kind": kind, "device": device, "operation": operation, **where,
                          "processes": []})  # fmt: skip
        one = {"pid": own_number(pid), "comm": "kernel" if pid == 0 else comm}
        rest = {"others": others} if process == MAX_PROCESSES else one
        found[series]["processes"].append({**rest, "count": n})
    return found


def _cut(tables: Tables) -> str | None:
    known = tables.scalar(f"SELECT count(*) FROM (SELECT DISTINCT {_KEY} FROM io_latency)")
    return f"{MAX_SERIES} of {known} kinds with most time" if known > MAX_SERIES else None
