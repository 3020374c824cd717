"""Streams of the probes of a run: which are of one probe, and of whose host."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrometer.core.json_text import parse_json
from pyrometer.store.services.machines import Machines, Service

STREAM = re.compile(
    r"probe-(.+?)-"
    r"(threads|series|states|kernel-stacks|off-cpu|io-latency|perf-counts|delays)"
    r"(\.[0-9]+|)\.arrows",
    re.ASCII,
)
"""Names of streams: the host, of which table, and which probe after the first of its folder."""


@dataclass(frozen=True)
class ProbeFiles:
    """The streams of one probe.

    Attributes
    ----------
    folder : Path
        Where they lie.
    host : str
        Its host, as the names of the streams have it.
    streams : tuple of Path
        The files.
    number : str
        What stands in their names, as ``.2``, where another probe wrote there before.
    service : Service or None
        The agent whose probe it is, if that runs as a service.
    """

    folder: Path
    host: str
    streams: tuple[Path, ...]
    number: str = ""
    service: Service | None = None

    @property
    def groups(self) -> list[str]:
        """Folders of the control group that it read; none where its report does not say."""
        try:
            report = self.folder / f"probe-{self.host}{self.number}.report.json"
            found = parse_json(report.read_bytes())
            return sorted(map(str, found.get("cgroup_folders") or []))
        except (OSError, ValueError, AttributeError, TypeError):
            return []


def host_of_stream(file: Path) -> str | None:
    """Give the host in the name of a probe's stream.

    Examples
    --------
    >>> host_of_stream(Path("probe-a-b-kernel-stacks.arrows")), host_of_stream(Path("gc.log"))
    ('a-b', None)
    """
    found = STREAM.fullmatch(file.name)
    return found[1] if found else None


def is_of_states(file: Path) -> bool:
    """Whether a stream is of states of threads.

    Examples
    --------
    >>> is_of_states(Path("probe-h-states.2.arrows")), is_of_states(Path("probe-h-series.arrows"))
    (True, False)
    """
    found = STREAM.fullmatch(file.name)
    return found is not None and found[2] == "states"


def probes_of(streams: Iterable[Path], machines: Machines | None = None) -> list[ProbeFiles]:
    """Group streams by the probe that wrote them; names that are no stream's are left out."""
    services = {} if machines is None else machines.services
    found: dict[tuple[Path, str, str], list[Path]] = defaultdict(list)
    for stream in streams:
        name = STREAM.fullmatch(stream.name)
        if name is not None:
            found[stream.parent, name[1], name[3]].append(stream)
    return [
        ProbeFiles(folder, host, tuple(files), number, services.get(folder))
        for (folder, host, number), files in found.items()
    ]


def read_streams(core: Any, streams: Iterable[Path], folder: Path) -> dict[str, Any]:
    """Make tables of streams; gives what the native reader says of its work."""
    answer: dict[str, Any] = parse_json(core.ingest_probe(list(map(str, streams)), str(folder)))
    return answer
