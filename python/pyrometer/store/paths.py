"""Names of the files in a run directory: the only place that knows them."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pyrometer.store.remote.opened import address

DRIVER = "driver"
"""What stands for the executor in the names of streams of a driver that ships what it records."""

OF_THE_HOST = ("host", "host")
"""What stands for application and executor in the names of streams of a whole host."""


@dataclass(frozen=True)
class RunPaths:
    """Paths inside one run directory (see docs/reference/run-directory.md).

    Parameters
    ----------
    root : Path
        The run directory itself.
    """

    root: Path

    @property
    def address(self) -> str:
        """What people call it: the path, or the address of a run elsewhere that is read here."""
        return address(self.root)

    @property
    def manifest(self) -> Path:
        """``manifest.json``: what was asked, what happened, what to doubt."""
        return self.root / "manifest.json"

    @property
    def raw(self) -> Path:
        """``raw/``: streams as collected, never rewritten."""
        return self.root / "raw"

    @property
    def tables(self) -> Path:
        """``tables/``: Parquet files, always derivable from ``raw/``."""
        return self.root / "tables"

    @property
    def report(self) -> Path:
        """``report.html``."""
        return self.root / "report.html"

    @property
    def eventlog(self) -> Path:
        """``raw/eventlog/``: Spark's event logs, files or rolling directories."""
        return self.raw / "eventlog"

    @property
    def codegen(self) -> Path:
        """``raw/codegen/``: generated source; missing where none was captured."""
        return self.raw / "codegen"

    @property
    def chunks(self) -> Path:
        """``raw/chunks/``: what agents shipped and is no whole file yet."""
        return self.raw / "chunks"

    @property
    def shipped(self) -> Path:
        """``raw/shipped/``: files made of chunks, by application, executor, attempt and host."""
        return self.raw / "shipped"

    @property
    def iterations(self) -> Path:
        """``raw/iterations.ndjson``: start and end of each iteration."""
        return self.raw / "iterations.ndjson"

    @property
    def exit(self) -> Path:
        """``raw/exit.json``: how the workload ended; missing if nobody saw it end."""
        return self.raw / "exit.json"

    @property
    def agent_properties(self) -> Path:
        """``raw/agent.properties``: the settings of the agent in the JVM."""
        return self.raw / "agent.properties"

    @property
    def stdout(self) -> Path:
        """``raw/stdout``: of Pyrometer's own workload runner, and of commands in experiments."""
        return self.raw / "stdout"

    @property
    def stderr(self) -> Path:
        """``raw/stderr``: of Pyrometer's own workload runner, and of commands in experiments."""
        return self.raw / "stderr"

    def eventlogs(self) -> list[Path]:
        """Give event logs: those in ``raw/eventlog``, and what drivers elsewhere shipped of theirs.

        Each is a file or a rolling directory.
        """
        shipped = _visible(self.shipped, f"*/{DRIVER}/*/*/{self.eventlog.name}/*")
        return [*_visible(self.eventlog, "*"), *shipped]

    def gc_logs(self) -> list[Path]:
        """Unified-logging files ``gc-<role><executor>-<pid>.log``; older ones have no role."""
        return self._streams("gc-*.log*")

    def jit_logs(self) -> list[Path]:
        """Unified-logging files ``jit-<role><executor>-<pid>.log``; older ones have no role."""
        return self._streams("jit-*.log*")

    def profiles(self) -> list[Path]:
        """JFR files ``profile-<role>-<pid>.jfr``."""
        return self._streams("profile-*.jfr")

    def plugin_files(self) -> list[Path]:
        """Plugin records ``plugin-<role>-<executor>-<pid>.ndjson``."""
        return self._streams("plugin-*.ndjson")

    def codegen_files(self) -> list[Path]:
        """Files of generated source ``codegen-<role>-<executor>-<pid>.ndjson``."""
        return self._streams("codegen/codegen-*.ndjson")

    def push_accounts(self) -> list[Path]:
        """Give what was sent: one file ``push-<server>.json`` per server."""
        return _visible(self.raw, "push-*.json")

    def python_files(self) -> list[Path]:
        """Files ``python-<kind>-<pid>.ndjson`` of sampled Python processes."""
        return self._streams("python-*.ndjson")

    def probe_streams(self) -> list[Path]:
        """Arrow IPC streams ``probe-<host>-<name>[.<number>].arrows``, a table each."""
        return self._streams("probe-*.arrows")

    def probe_reports(self) -> list[Path]:
        """Give reports of the OS probes: the launcher's, then those that were shipped."""
        return self._streams("probe-*.report.json")

    def agent_reports(self) -> list[Path]:
        """Give reports of the agents that shipped what executors wrote; none of services."""
        found = _visible(self.shipped, "*/*/*/*/agent-*.report.json")
        return [one for one in found if not self.is_of_a_service(one)]

    def is_of_a_service(self, file: Path) -> bool:
        """Whether a file is of an agent that runs as a service, for all that is on its host."""
        return file.parents[2] == self.shipped.joinpath(*OF_THE_HOST)

    def _streams(self, pattern: str) -> list[Path]:
        return [*_visible(self.raw, pattern), *_visible(self.shipped, f"*/*/*/*/{pattern}")]


def raw_states(raw: Path) -> list[os.stat_result]:
    """Give sizes and times of the raw files of a run; none where the folder is missing."""
    states = []
    for path in raw.rglob("*"):
        # Files of a run that is under way come and go; links may lead nowhere.
        with suppress(OSError):
            state = path.stat()
            if stat.S_ISREG(state.st_mode):
                states.append(state)
    return states


def _visible(folder: Path, pattern: str) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(p for p in folder.glob(pattern) if not p.name.startswith("."))
