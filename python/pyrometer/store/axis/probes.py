"""Streams of the probes of a run into tables, and of several probes on one host into one account.

The launcher's probe, those beside executors and those of agents that run as services each read the
whole host and their own processes. What is the host's, or a control group's, counts once
(:mod:`pyrometer.store.axis.one_host`).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pyrometer.store.axis.one_host import OneHost
from pyrometer.store.axis.picked import join_parts
from pyrometer.store.axis.probe_files import ProbeFiles, host_of_stream, probes_of, read_streams
from pyrometer.store.axis.strayed import strayed
from pyrometer.store.services.machines import Machines, Service


def read_probes(
    streams: Sequence[Path],
    raw: Path,
    building: Path,
    core: Any,
    machines: Machines | None = None,
    run_wall_ns: tuple[int, int] | None = None,
) -> str:
    """Make the tables of all probes of a run.

    Parameters
    ----------
    streams : sequence of Path
        Streams of all probes.
    raw : Path
        Folder of the launcher's: what it read of its host is taken as it is.
    building : Path
        Folder of the tables.
    core : module
        The native module.
    machines : Machines, optional
        Hosts that agents observed as services, and which pods are on them.
    run_wall_ns : (int, int), optional
        Begin and end of the run, Unix time; of a service only what is near them is read.

    Returns
    -------
    str
        What the native readers return: a JSON object of ``tables``, ``doubts`` and ``stats``.
    """
    alone: list[Path] = [stream for stream in streams if host_of_stream(stream) is None]
    several: dict[str, list[ProbeFiles]] = {}
    by_host: dict[str, list[ProbeFiles]] = defaultdict(list)
    machines = machines or Machines()
    for probe in probes_of(streams, machines):
        service = probe.service
        if service is None and probe.folder in machines.strangers:
            continue
        by_host[service.host if service else machines.host(probe.host)].append(probe)
    first: dict[str, ProbeFiles] = {}
    for host, probes in by_host.items():
        own = [probe for probe in probes if probe.folder == raw]
        beside = [probe for probe in probes if probe.service is None]
        whole = own[:1] or beside[: len(beside) == 1]
        for probe in whole:
            first[host] = probe
            alone += probe.streams
        several[host] = [probe for probe in probes if probe not in whole]
    answers = [read_streams(core, alone, building)] if alone else []
    number = 0
    for host, probes in several.items():
        joined = OneHost(building, core, first.get(host), number, _window_of(run_wall_ns))
        answers += joined.add(probes)
        number = joined.number
    join_parts(building)
    return json.dumps(_merged([*answers, {"doubts": strayed(building)}]))


def _window_of(
    run_wall_ns: tuple[int, int] | None,
) -> Callable[[Service], tuple[int, int] | None]:
    """Give the run on the clocks of hosts."""

    def window(service: Service) -> tuple[int, int] | None:
        ends = [service.mono(wall_ns) for wall_ns in run_wall_ns or ()]
        return (ends[0], ends[1]) if len(ends) == 2 and None not in ends else None  # type: ignore[return-value]

    return window


def _merged(answers: Iterable[dict[str, Any]]) -> dict[str, Any]:
    tables: dict[str, int] = defaultdict(int)
    doubts: list[Any] = []
    size = 0
    for answer in answers:
        for table, rows in answer.get("tables", {}).items():
            tables[table] += rows
        doubts += answer.get("doubts", [])
        size += answer.get("stats", {}).get("bytes", 0)
    return {"tables": tables, "doubts": doubts, "stats": {"bytes": size}}
