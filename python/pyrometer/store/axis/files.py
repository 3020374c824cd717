"""Which host each raw file is from.

A JVM's files, and those of Python processes that work for it, bear its number, which another host
may have given to another process, also in a folder that both write. The plugin's record beside them
says where it ran: that of the same executor, else that of the same number if there is one; else the
folder that they were shipped to is named as its host.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from pyrometer.store.axis.probe_files import probes_of
from pyrometer.store.paths import RunPaths
from pyrometer.store.services.plugin_records import process_host

_JVM = re.compile(r"-(\d+)(?:\.|$)")
# plugin-executor-0-62.ndjson and codegen-executor-0-62.ndjson, profile-executor0-62.jfr and
# gc-executor0-62.log.
_EXECUTOR = re.compile(
    r"(?:plugin|codegen|profile|gc|jit)-(driver|executor)-?(.*)-\d+\.[a-z]+(?:\.\d+)?"
)


@dataclass
class FileHosts:
    """Hosts of a run's raw files.

    Attributes
    ----------
    raw : Path
        The raw folder.
    launch : str
        Host of the launch: where files are from that say nothing.
    of_jvm : dict
        Hosts of JVMs, by the folder of their plugin files and their number.
    of_executor : dict
        Host of each, by folder, number, role and id.
    probes : set of str
        Hosts of the probes' streams.
    """

    raw: Path
    launch: str
    of_jvm: dict[tuple[Path, int], set[str]] = field(default_factory=dict)
    of_executor: dict[tuple[Path, int, str], str] = field(default_factory=dict)
    probes: set[str] = field(default_factory=set)

    @classmethod
    def of_run(cls, paths: RunPaths, launch: str) -> FileHosts:
        """Read who wrote the plugin's files of a run."""
        found = cls(paths.raw, launch)
        for file in paths.plugin_files():
            number, host = _number(file), process_host(file)
            if number is not None and host is not None:
                found.add(file, number, host)
        found.probes = {probe.host for probe in probes_of(paths.probe_streams())}
        return found

    def add(self, plugin_file: Path, number: int, host: str) -> None:
        """Learn where the JVM of a plugin file ran."""
        self.of_jvm.setdefault((plugin_file.parent, number), set()).add(host)
        self.of_executor[plugin_file.parent, number, _executor(plugin_file)] = host

    @property
    def several(self) -> bool:
        """Whether files are of several hosts."""
        return len({*self.of_executor.values(), *self.probes}) > 1

    def shared(self, files: Sequence[Path]) -> list[tuple[Path, list[str]]]:
        """Give files that JVMs of several hosts wrote, as their numbers are the same."""
        return [(file, sorted(self._hosts(file))) for file in files if len(self._hosts(file)) > 1]

    def of(self, files: Sequence[Path]) -> list[str | None]:
        """Give the host of each file; ``None`` where it is one of several."""
        return [self._of(file) for file in files]

    def _hosts(self, file: Path) -> set[str]:
        number = _number(file)
        if number is None:
            return set()
        own = self.of_executor.get((_folder(file), number, _executor(file)))
        return self.of_jvm.get((_folder(file), number), set()) if own is None else {own}

    def _of(self, file: Path) -> str | None:
        hosts, folder = self._hosts(file), _folder(file)
        if hosts:
            return next(iter(hosts)) if len(hosts) == 1 else None
        beside = {host for (place, *_), host in self.of_executor.items() if place == folder}
        if len(beside) == 1:
            return beside.pop()
        return self.launch if folder == self.raw else unquote(folder.name)


def _folder(file: Path) -> Path:
    return file.parent.parent if file.parent.name == "codegen" else file.parent


def _executor(file: Path) -> str:
    """Give role and id in a name, ``executor 0`` or ``driver``; empty if it has none."""
    found = _EXECUTOR.fullmatch(file.name)
    if found is None or found[1] == "driver":
        return "" if found is None else "driver"
    return f"executor {found[2]}"


def _number(file: Path) -> int | None:
    """Give the number in a name: of ``gc-71.log.3`` and ``profile-driver-71.jfr``, 71."""
    found = _JVM.findall(file.name)
    return int(found[-1]) if found else None
