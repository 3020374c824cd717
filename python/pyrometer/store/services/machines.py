"""Which host the pods and containers of a run are on, as the agents of these hosts say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyrometer.core.json_text import parse_json
from pyrometer.store.paths import RunPaths
from pyrometer.store.services.applications import applications_of
from pyrometer.store.services.executors import Found, found_in, service_folders
from pyrometer.store.services.plugin_records import first_process

SAME_CLOCK_NS = 10**9
"""Times of a pod are those of its node unless it has a name space for them, which is far off."""


@dataclass(frozen=True)
class Service:
    """What the agent of a host recorded in one life.

    Attributes
    ----------
    folder : Path
        Its streams.
    host : str
        Its host, as the tables call it.
    found : tuple of Found
        Executors of the run that it found.
    pairs : tuple of (int, int)
        CLOCK_MONOTONIC and Unix time at the same moments.
    """

    folder: Path
    host: str
    found: tuple[Found, ...]
    pairs: tuple[tuple[int, int], ...] = ()

    def mono(self, wall_ns: int) -> int | None:
        """Give a time of Unix on the host's CLOCK_MONOTONIC; ``None`` if it cannot be known."""
        if not self.pairs:
            return None
        nearest = min(self.pairs, key=lambda pair: abs(pair[1] - wall_ns))
        return nearest[0] + wall_ns - nearest[1]


@dataclass(frozen=True)
class Machines:
    """Hosts of a run that agents observed as services.

    Attributes
    ----------
    services : dict of Path to Service
        By the folder of their streams.
    host_of : dict of str to str
        Names under which executors recorded, and the host that they are on, where it has another:
        of pods and containers.
    pods : dict of str to str
        Of these names, those of pods.
    probed : set of (str, str)
        Applications and executors beside which a probe of their own was.
    """

    services: dict[Path, Service] = field(default_factory=dict)
    host_of: dict[str, str] = field(default_factory=dict)
    pods: dict[str, str] = field(default_factory=dict)
    probed: set[tuple[str, str]] = field(default_factory=set)

    @classmethod
    def of_run(cls, paths: RunPaths) -> Machines:
        """Read what services and plugins said of the executors of a run."""
        folders = service_folders(paths.shipped)
        if not folders:
            return cls()
        recorded = dict(_recorded(paths))
        apps = applications_of(paths)
        found = {folder: found_in(folder, apps) for folder in folders}
        names = _names(found, recorded)
        services = {
            folder: Service(folder, names[_node(folder)], tuple(ones), _pairs(folder))
            for folder, ones in found.items()
        }
        machines = cls(services)
        beside: dict[str, tuple[tuple[int, int], ...]] = {}
        for report in paths.probe_reports():
            if report.parent != paths.raw and report.parent not in services:
                app, executor = (unquote(report.parents[n].name) for n in (3, 2))
                machines.probed.add((app, executor))
                beside[_node(report.parent)] = _pairs(report.parent)
        for service in services.values():
            if _node(service.folder) != service.host:
                machines.host_of[_node(service.folder)] = service.host
            for one in service.found:
                name = recorded.get((one.app, one.executor))
                if name is None or name == service.host:
                    continue
                if _same_clock(beside.get(name, ()), service.pairs):
                    machines.host_of.setdefault(name, service.host)
                    if one.pod is not None:
                        machines.pods.setdefault(name, one.pod)
        return machines

    def host(self, name: str) -> str:
        """Give the host that a name stands for."""
        return self.host_of.get(name, name)


def _recorded(paths: RunPaths) -> Iterator[tuple[tuple[str, str], str]]:
    """Give the host that each executor of each application recorded under."""
    for file in paths.plugin_files():
        said = first_process(file)
        app, executor, host = (said.get(name) for name in ("app_id", "executor_id", "host"))
        if all(isinstance(one, str) and one for one in (app, executor, host)):
            yield (str(app), str(executor)), str(host)


def _names(
    found: Mapping[Path, list[Found]], recorded: Mapping[tuple[str, str], str]
) -> dict[str, str]:
    """Choose the name of each host: that of the JVMs with its own numbers, else the agent's."""
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for folder, ones in found.items():
        said[_node(folder)].update(
            name
            for one in ones
            if not one.is_apart and (name := recorded.get((one.app, one.executor)))
        )
    return {
        node: node if node in names or not names else min(names, key=lambda n: (-names[n], n))
        for node, names in said.items()
    }


def _node(folder: Path) -> str:
    return unquote(folder.name)


def _pairs(folder: Path) -> tuple[tuple[int, int], ...]:
    """Give the readings of both clocks in the report of a probe."""
    found = []
    for path in sorted(folder.glob("probe-*.report.json")):
        for pair in _listed(path):
            mono, wall = (pair.get(name) for name in ("mono_ns", "wall_ns"))
            if type(mono) is int and type(wall) is int and max(abs(mono), abs(wall)) < 1 << 62:
                found.append((mono, wall))
    return tuple(found)


def _listed(path: Path) -> list[dict[str, Any]]:
    try:
        pairs = parse_json(path.read_bytes())["clock_pairs"]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    return [one for one in pairs if isinstance(one, dict)] if isinstance(pairs, list) else []


def _same_clock(one: Sequence[tuple[int, int]], other: Sequence[tuple[int, int]]) -> bool:
    """Whether a pod's clock is its node's: so it is, unless readings of both say otherwise."""
    if not one or not other:
        return True
    ahead = [wall - mono for mono, wall in (one[0], other[0])]
    return abs(ahead[0] - ahead[1]) < SAME_CLOCK_NS
