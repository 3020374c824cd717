"""Which host the pods and containers of a run are on, as the agents of these hosts say."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyrometer.core.json_text import parse_json
from pyrometer.store.paths import RunPaths
from pyrometer.store.services.applications import applications_of
from pyrometer.store.services.belonging import Belonging, Logged, recorded
from pyrometer.store.services.executors import Found, found_in, service_folders

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

    def start_wall_ns(self, one: Found) -> int | None:
        """Give when a process that it found began, Unix time; ``None`` if it cannot be known.

        The kernel counts the time for which a host was suspended, which the other clock does not:
        such a process seems to have begun after it was seen.
        """
        if one.start_ns is None or not self.pairs:
            return None
        start_ns = one.start_ns
        mono_ns, wall_ns = min(self.pairs, key=lambda pair: abs(pair[0] - start_ns))
        began_ns = wall_ns + start_ns - mono_ns
        is_after = one.seen_wall_ns is not None and began_ns > one.seen_wall_ns + SAME_CLOCK_NS
        return None if is_after else began_ns


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
    strangers : dict of Path to tuple of Found
        By the folder of their streams, processes that say they are executors of the run, and are
        none. A service that found nothing else is none of the run's.
    contested : dict of str to list of str
        Names under which executors recorded, and the hosts that these may be on, where that is not
        one: they are nobody's other name.
    """

    services: dict[Path, Service] = field(default_factory=dict)
    host_of: dict[str, str] = field(default_factory=dict)
    pods: dict[str, str] = field(default_factory=dict)
    probed: set[tuple[str, str]] = field(default_factory=set)
    strangers: dict[Path, tuple[Found, ...]] = field(default_factory=dict)
    contested: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of_run(cls, paths: RunPaths, logged: Logged | None = None) -> Machines:
        """Read what services and plugins said of the executors of a run.

        Parameters
        ----------
        logged : Logged, optional
            Executors that Spark's event logs have; without it these are not asked.
        """
        folders = service_folders(paths.shipped)
        if not folders:
            return cls()
        apps = applications_of(paths)
        seen = [
            Service(folder, _node(folder), tuple(found_in(folder, apps)), _pairs(folder))
            for folder in folders
        ]
        known = Belonging(recorded(paths), logged or Logged(), frozenset(one.host for one in seen))
        names_of = {
            (service.folder, one): names
            for service in seen
            for one in service.found
            if (names := known.hosts_of(one, service.host, service.start_wall_ns(one)))
        }
        # A driver in client mode is its user's; executors may be the cluster's.
        users = {
            (one.app, one.uid)
            for _, one in names_of
            if one.uid is not None and one.role != "driver"
        }
        machines = cls()
        for service in seen:
            own = tuple(
                one
                for one in service.found
                if (service.folder, one) in names_of
                or not (
                    _of_another_user(one, users)
                    or known.contradicts(one, service.host, service.start_wall_ns(one))
                )
            )
            if strangers := tuple(one for one in service.found if one not in own):
                machines.strangers[service.folder] = strangers
            if own or not strangers:
                machines.services[service.folder] = replace(service, found=own)
        machines._name(names_of)
        machines._place(names_of, paths)
        return machines

    def _name(self, names_of: Mapping[tuple[Path, Found], Collection[str]]) -> None:
        """Call each host as the JVMs with its own numbers do, unless others may be there, too."""
        claims: dict[str, set[str]] = defaultdict(set)
        said: dict[str, Counter[str]] = defaultdict(Counter)
        unclear = set[str]()
        for (folder, one), names in names_of.items():
            for name in names:
                claims[name].add(_node(folder))
            if len(names) > 1:
                unclear.update(names)
            elif not one.is_apart:
                said[_node(folder)].update(names)
        self.contested.update(
            (name, sorted(nodes))
            for name, nodes in claims.items()
            if len(nodes) > 1 or name in unclear
        )
        for folder, service in self.services.items():
            known = {
                name: count
                for name, count in said[service.host].items()
                if name not in self.contested
            }
            if known and service.host not in known:
                name = min(known, key=lambda one: (-known[one], one))
                self.services[folder] = replace(service, host=name)

    def _place(
        self, names_of: Mapping[tuple[Path, Found], Collection[str]], paths: RunPaths
    ) -> None:
        """Say which host each other name stands for."""
        beside: dict[str, tuple[tuple[int, int], ...]] = {}
        of_services = set(service_folders(paths.shipped))
        for report in paths.probe_reports():
            if report.parent != paths.raw and report.parent not in of_services:
                app, executor = (unquote(report.parents[n].name) for n in (3, 2))
                self.probed.add((app, executor))
                beside[_node(report.parent)] = _pairs(report.parent)
        for folder, service in self.services.items():
            if _node(folder) != service.host:
                self.host_of[_node(folder)] = service.host
            for one in service.found:
                for name in names_of.get((folder, one), ()):
                    if name == service.host or name in self.contested:
                        continue
                    if _same_clock(beside.get(name, ()), service.pairs):
                        self.host_of.setdefault(name, service.host)
                        if one.pod is not None:
                            self.pods.setdefault(name, one.pod)

    def host(self, name: str) -> str:
        """Give the host that a name stands for."""
        return self.host_of.get(name, name)


def _of_another_user(one: Found, users: Collection[tuple[str, int]]) -> bool:
    """Whether a process is of another user than those whose executors recorded."""
    known = {uid for app, uid in users if app == one.app}
    return one.role != "driver" and one.uid is not None and bool(known) and one.uid not in known


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
