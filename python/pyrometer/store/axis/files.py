"""Which host each raw file is from.

A JVM's files, and those of Python processes that work for it, bear its number, which another host
may have given to another process. The plugin's record beside them says where it ran; else the
folder that they were shipped to is named as its host.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from pyrometer.store.paths import RunPaths
from pyrometer.store.ping_lines import process_host

_JVM = re.compile(r"-(\d+)(?:\.|$)")
_PROBE = re.compile(r"probe-(.+)-[a-z]+\.arrows")


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
        Host of each JVM, by the folder of its plugin file and its number.
    probes : set of str
        Hosts of the probes' streams.
    """

    raw: Path
    launch: str
    of_jvm: dict[tuple[Path, int], str] = field(default_factory=dict)
    probes: set[str] = field(default_factory=set)

    @classmethod
    def of_run(cls, paths: RunPaths, launch: str) -> FileHosts:
        """Read who wrote the plugin's files of a run."""
        found = cls(paths.raw, launch)
        for file in paths.plugin_files():
            number, host = _number(file), process_host(file)
            if number is not None and host is not None:
                found.of_jvm[file.parent, number] = host
        names = (_PROBE.fullmatch(file.name) for file in paths.probe_streams())
        found.probes = {name[1] for name in names if name}
        return found

    @property
    def several(self) -> bool:
        """Whether files are of several hosts."""
        return len({*self.of_jvm.values(), *self.probes}) > 1

    def of(self, files: Sequence[Path]) -> list[str | None]:
        """Give the host of each file."""
        return [self._of(file) for file in files]

    def _of(self, file: Path) -> str | None:
        jvm = _number(file)
        folder = file.parent.parent if file.parent.name == "codegen" else file.parent
        if jvm is not None and (folder, jvm) in self.of_jvm:
            return self.of_jvm[folder, jvm]
        beside = {host for (place, _), host in self.of_jvm.items() if place == folder}
        if len(beside) == 1:
            return beside.pop()
        return self.launch if folder == self.raw else unquote(folder.name)


def _number(file: Path) -> int | None:
    """Give the number in a name: of ``gc-71.log.3`` and ``profile-driver-71.jfr``, 71."""
    found = _JVM.findall(file.name)
    return int(found[-1]) if found else None
