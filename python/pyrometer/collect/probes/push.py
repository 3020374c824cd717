"""Probe ``push``: profiles to a Pyroscope server while the application runs."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from pyrometer.collect.probes.base import Detached, Probe, Problem, complaint, read_object
from pyrometer.push.options import from_environment
from pyrometer.store.manifest import ProbeEntry
from pyrometer.store.paths import RunPaths

# After the application's end: its last chunk, and what the server was late to take.
_STOP_SECONDS = 15.0
_REACH_SECONDS = 2.0


class PushProbe(Probe):
    """Starts ``pyrometer push RUN --follow`` next to the application.

    A process in a session of its own: neither Ctrl-C nor our death reaches it, and it ends when
    the run is over. Tenant, user, token and labels come from its environment
    (docs/how-to/continuous-profiling.md), so that they stand in no argument and no manifest.

    Parameters
    ----------
    url : str
        URL of the Pyroscope server.

    Raises
    ------
    UsageError
        If it is none, or a variable of the environment cannot be understood.
    """

    name = "push"

    def __init__(self, url: str) -> None:
        self._server, _ = from_environment(url)
        self._process = Detached()

    def asked(self) -> str:
        """Say where profiles go."""
        return f"profiles to {self._server.address} every 10 s"

    def check(self) -> list[Problem]:
        """See whether the server can be reached; if not, the run goes on without."""
        server = self._server
        host, port = server.url.hostname or "", server.url.port
        try:
            default = 443 if server.url.scheme == "https" else 80
            socket.create_connection((host, port or default), _REACH_SECONDS).close()
        except OSError as error:
            words = f"{server.address} cannot be reached: {error.strerror or error}"
            return [Problem(self.name, words, "profiles stay on disk: pyrometer push RUN", False)]
        return []

    def start(self, paths: RunPaths, root_pid: int) -> None:
        """Start the process. `report` says whether it failed."""
        command = [
            sys.executable, "-m", "pyrometer", "push", str(paths.root.resolve()),
            "--to", self._server.address, "--follow",
        ]  # fmt: skip
        self._process.start(command, self._log_file(paths))

    def stop(self) -> None:
        """Let it send the rest and end; it is killed if it does not."""
        self._process.stop(_STOP_SECONDS)

    def processes(self) -> list[int]:
        """Pid of the process."""
        return self._process.pids

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Say what the server took, and what it did not."""
        said, failure = complaint(self._log_file(paths)), self._process.failure
        found = next(filter(None, map(read_object, paths.push_accounts())), None)
        if found is None:
            reason = failure or said or "it ended before it had read anything"
            return ProbeEntry(name=self.name, asked=self.asked(), reason=reason)
        fates = found["profiles"]
        lost = fates["refused"] + fates["unsure"]
        reasons = [failure]
        if lost or found["left_bytes"]:
            reasons.append(
                f"{fates['refused']} refused, {fates['unsure']} unsure, "
                f"{found['left_bytes']} bytes of recordings were not sent: {found['last_error']}"
            )
        return ProbeEntry(
            name=self.name,
            tier="push.v1",
            asked=self.asked(),
            got=f"{fates['taken']} profiles taken, {found['sent_bytes']} bytes",
            dropped=lost,
            own_cpu_ns=found["own_cpu_ns"],
            reason="; ".join(reason for reason in reasons if reason) or None,
        )

    def _log_file(self, paths: RunPaths) -> Path:
        return paths.raw / "push.log"
