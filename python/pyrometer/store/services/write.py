"""What agents of hosts say beside their streams, as rows of tables."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyrometer.store.services.machines import Machines
from pyrometer.store.sql.host_views import HostRows
from pyrometer.store.tables import Tables
from pyrometer.store.write_tables import write_part

PART = "agents"
MOST_PAIRS = 4096
"""Readings of both clocks of one host that are kept."""


def write_found(machines: Machines, building: Path) -> str:
    """Write the clocks of hosts that services observed, and executors that have no other record.

    Parameters
    ----------
    machines : Machines
        What they found.
    building : Path
        Folder of the tables.

    Returns
    -------
    str
        What native readers return: a JSON object of ``tables``, ``doubts`` and ``stats``.
    """
    with Tables(building, HostRows.AS_RECORDED) as tables:
        known = set(
            tables.query("SELECT app_id, executor_id FROM processes WHERE executor_id IS NOT NULL")
        )
    processes = [row for row in _processes(machines) if row[3:5] not in known]
    pairs = sorted(
        {
            (service.host, "probe", mono, wall)
            for service in machines.services.values()
            for mono, wall in service.pairs[:MOST_PAIRS]
        }
    )
    counts = {}
    for table, columns, rows in (
        ("clock_pairs", "host, source, mono_ns, wall_ns", pairs),
        ("processes", "host, pid, role, app_id, executor_id, start_mono_ns", processes),
    ):
        if rows:
            counts[table] = _write(building, table, columns, rows)
    doubts = [
        {"code": code, "severity": severity, "message": message}
        for code, severity, messages in (
            ("agents_threads_apart", "info", _apart(machines)),
            ("agents_strangers", "warning", _strangers(machines)),
            ("agents_hosts_contested", "warning", _contested(machines)),
        )
        for message in messages
    ]
    return json.dumps({"tables": counts, "doubts": doubts, "stats": {}})


def _write(building: Path, table: str, columns: str, rows: list[tuple[Any, ...]]) -> int:
    names = columns.split(", ")
    types = {
        name: "BIGINT" if name.endswith("_ns") or name == "pid" else "VARCHAR" for name in names
    }
    with Tables(building, HostRows.AS_RECORDED) as tables:
        tables.keep("found_rows", types, dict(zip(names, zip(*rows, strict=True), strict=True)))
        return write_part(tables, table, PART, "FROM found_rows")


def _processes(machines: Machines) -> Iterator[tuple[Any, ...]]:
    """Give a row for each executor with its host's numbers."""
    seen = set()
    for service in machines.services.values():
        for one in service.found:
            row = (service.host, one.pid, one.role, one.app, one.executor, one.start_ns)
            if not one.is_apart and one.start_ns is not None and row not in seen:
                seen.add(row)
                yield row


def _apart(machines: Machines) -> list[str]:
    """Say of which executors threads are not known, as only a service saw them."""
    return sorted(
        {
            f"Executor {one.executor} of {one.app} in"
            f" {f'pod {one.pod}' if one.pod else 'a container'} on {service.host}."
            for service in machines.services.values()
            for one in service.found
            if one.is_apart and (one.app, one.executor) not in machines.probed
        }
    )


def _strangers(machines: Machines) -> list[str]:
    """Say how many processes on which hosts are not what they say."""
    found = {
        (unquote(folder.name), one.pid, one.start_ns)
        for folder, strangers in machines.strangers.items()
        for one in strangers
    }
    counts = Counter(node for node, _, _ in found)
    return [f"{count} on {node}" for node, count in sorted(counts.items())]


def _contested(machines: Machines) -> list[str]:
    return [
        f"Executors that call their host {name} may be on {' or '.join(nodes)}"
        for name, nodes in sorted(machines.contested.items())
    ]
