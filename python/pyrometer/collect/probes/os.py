"""Probe ``os``: threads, processes and the host, read from ``/proc`` by ``pyro-probe``.

Context slots: what threads and Python workers say of themselves to the OS probe.

Written by the plugin and by a hook in Python workers, into files that have a name in the raw
folder and lie in memory (docs/reference/context-slot.md).
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrometer import _artifacts
from pyrometer.collect.host.settings_restore import put_back
from pyrometer.collect.probes.base import Detached, Needs, Probe, Problem, complaint, read_object
from pyrometer.collect.probes.plain_path import plain
from pyrometer.collect.probes.python_workers import HOOK
from pyrometer.core import units
from pyrometer.core.errors import CapabilityError, PyrometerError, UsageError
from pyrometer.core.installation import reinstall
from pyrometer.core.patience import patient
from pyrometer.store.axis.probe_reports import got, pace_of, reasons
from pyrometer.store.manifest import ProbeEntry
from pyrometer.store.paths import RunPaths


def needs(paths: RunPaths, counters: str = "none") -> Needs:
    """Have JVMs and Python workers write slots, and executors elsewhere the same counters."""
    return Needs(
        agent={"context": "on", "probe.tree": "on", "ship.counters": counters},
        environment={"PYROMETER_CONTEXT_DIR": str(plain(paths.raw))},
        python_path=(str(plain(HOOK)),),
    )


def clean_up(raw: Path) -> None:
    """Remove the files that processes which were killed could not remove."""
    for name in raw.glob("context-*"):
        with suppress(OSError):
            # The application may write there, too: a link may lead to any file.
            if name.is_symlink() and name.readlink().name.endswith(f".{name.name}"):
                name.readlink().unlink(missing_ok=True)
            name.unlink(missing_ok=True)


TIERS = ("auto", "T0", "T1", "T2", "T3")
# What is tried where none was asked for, and those at which the kernel delivers records.
BEST_TIER = "T0"
RECORDS_TIERS = ("T0", "T1")
HZ = 20.0
"""Passes per second where nothing else is said."""

_READY_SECONDS = 2.0
_STOP_SECONDS = 5.0


@dataclass(frozen=True)
class Capability:
    """Something that this host can or cannot measure.

    Attributes
    ----------
    name : str
        ``os``, ``pmu``, ``bandwidth``, ``pressure``, ...
    tier : str or None
        Tier of the OS probe, where the capability is one.
    available : bool
        It was tried and works.
    reason : str
        What the attempt showed.
    remedy : str or None
        How to get it; ``None`` if it is there.
    """

    name: str
    tier: str | None
    available: bool
    reason: str
    remedy: str | None


def capabilities() -> list[Capability]:
    """Let the probe try everything it could measure on this host.

    Raises
    ------
    CapabilityError
        If the probe binary is missing, does not run, or is of another version.
    """
    version = _ask("--version").removeprefix("pyro-probe").strip()
    _artifacts.check_version("the probe", version)
    try:
        return [Capability(**row) for row in json.loads(_ask("tiers", "--json"))]
    except (ValueError, TypeError) as error:
        raise CapabilityError(f"pyro-probe tiers: {error}", reinstall()) from error


def _ask(*arguments: str) -> str:
    binary = _artifacts.probe_binary()
    try:
        done = subprocess.run(
            [binary, *arguments], capture_output=True, text=True, timeout=patient(30), check=True
        )
    except subprocess.TimeoutExpired as error:
        raise CapabilityError(
            f"{binary} gave no answer within {error.timeout:.0f} s: this machine is very busy",
            "try again when it is less busy, or wait longer: export PYROMETER_PATIENCE=10",
        ) from error
    except (OSError, subprocess.SubprocessError) as error:
        raise CapabilityError(f"{binary} does not run: {error}", reinstall()) from error
    return done.stdout.strip()


class OsProbe(Probe):
    """CPU, run-queue time and faults per thread; I/O and memory per process; series of the host.

    The binary runs in a session of its own: neither Ctrl-C nor our death reaches it, and it ends
    when the last process it follows has ended.

    Parameters
    ----------
    hz : float
        Passes per second.
    host : str, optional
        Name of this host in rows and file names; that of the host by default.
    threads : bool
        Record every thread, not only processes and the host.
    also : sequence of int
        Processes to follow besides the one that `start` names.
    annotation : str, optional
        What to read from a process's memory besides its state: ``word@ADDRESS[:TYPE][=NAMES]``
        or ``postgres`` (docs/how-to/attach.md).
    tier : str, optional
        ``T0`` to ``T3``; by default, the best that can be had.
    budget : float, optional
        Share of a CPU that passes may cost: they become rarer for it. By default, any.
    until_we_end : bool
        End with this process: what is observed goes on without it.
    counters : str
        Perf counters of threads, which slow each of their switches down: ``none``; ``hardware``,
        where there are hardware counters; ``all``, also where the kernel's own are all there is.
    """

    name = "os"

    def __init__(
        self,
        hz: float = HZ,
        host: str | None = None,
        threads: bool = True,
        also: Sequence[int] = (),
        annotation: str | None = None,
        tier: str | None = None,
        budget: float | None = None,
        until_we_end: bool = False,
        counters: str = "none",
    ) -> None:
        self.hz = hz
        self.host = (host or socket.gethostname()).replace("/", "_")
        self.threads = threads
        self.also = tuple(also)
        self.annotation = annotation
        self.tier = tier
        self.budget = budget
        self.until_we_end = until_we_end
        self.counters = counters
        self._process = Detached()
        self._raw: Path | None = None

    def asked(self) -> str:
        """Say what is read and how often."""
        what = "threads, processes and host" if self.threads else "processes and host"
        if self.tier:
            what += f" at tier {self.tier}"
        if self.annotation:
            what += f", {self.annotation}"
        said = f"{what} at {self.hz:g} Hz, memory and devices at {self.hz / 5:g} Hz"
        if self.budget is None:
            return said
        return f"{said}, for {units.percent(self.budget)} of a CPU"

    def needs(self, paths: RunPaths) -> Needs:
        """Have threads say what they work for."""
        return needs(paths, self.counters) if self.threads else Needs()

    def check(self) -> list[Problem]:
        """Run the binary and let it try what it will read."""
        try:
            found = capabilities()
        except PyrometerError as error:
            return [Problem(self.name, error.message, error.remedy or reinstall())]
        return [
            Problem(self.name, row.reason, row.remedy or "pyrometer doctor")
            for row in found
            if row.name == "os" and row.tier == "T2" and not row.available
        ] + self._worse_than_asked(found)

    def _worse_than_asked(self, found: Sequence[Capability]) -> list[Problem]:
        """Say why the tier will be a worse one than asked for, or than the best one."""
        wanted = self.tier or BEST_TIER
        if not self.threads or wanted not in RECORDS_TIERS:
            return []
        return [
            Problem(
                self.name,
                f"tier {row.tier}: {row.reason}",
                row.remedy or "pyrometer doctor",
                fatal=False,
            )
            for row in found
            if row.name == "os" and row.tier == wanted and not row.available
        ]

    def start(self, paths: RunPaths, root_pid: int) -> None:
        """Follow `root_pid`; returns after the first reading. `report` says whether it failed."""
        self._raw = paths.raw
        report = self._report_file(paths)
        report.unlink(missing_ok=True)
        command: list[str | Path] = [
            _artifacts.probe_binary(), "record", "--root-pid", str(root_pid),
            "--raw-dir", paths.raw.resolve(), "--host", self.host, "--hz", str(self.hz),
            "--thread-counters", self.counters,
        ]  # fmt: skip
        if not self.threads:
            command.append("--no-threads")
        if self.tier:
            command += ["--tier", self.tier]
        if self.budget is not None:
            command += ["--budget", f"{100 * self.budget:g}%"]
        for pid in self.also:
            command += ["--also-pid", str(pid)]
        if self.annotation:
            command += ["--annotate", self.annotation]
        if self.until_we_end:
            command += ["--keeper-pid", str(os.getpid())]
        self._process.start(command, self._log_file(paths))
        deadline = time.monotonic() + patient(_READY_SECONDS)
        while self._process.runs and time.monotonic() < deadline:
            if report.exists():
                return
            time.sleep(0.002)

    def stop(self) -> None:
        """Ask the binary to take a last reading and end; it is killed if it does not."""
        killed = self._process.stop(patient(_STOP_SECONDS)) < 0
        if killed:
            put_back()
        if self._raw is not None:
            clean_up(self._raw)

    def processes(self) -> list[int]:
        """Pid of the binary."""
        return self._process.pids

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Say what the binary wrote of itself."""
        said, failure = complaint(self._log_file(paths)), self._process.failure
        found = read_object(self._report_file(paths))
        if found is None:
            reason = failure or said or "the probe was not started"
            return ProbeEntry(name=self.name, host=self.host, asked=self.asked(), reason=reason)
        said_of_it = [failure, said or None, *reasons(found)]
        if found.get("annotation"):
            said_of_it.append(unread(found["annotation"]))
        return ProbeEntry(
            name=self.name,
            host=self.host,
            tier=found.get("tier"),
            asked=self.asked(),
            got=got(found),
            dropped=found.get("dropped_rows_count"),
            own_cpu_ns=found.get("own_cpu_ns"),
            reason="; ".join(reason for reason in said_of_it if reason) or None,
            pace=pace_of(found),
            counters=found.get("counters"),
        )

    def read_annotation(self, pid: int) -> tuple[str | None, str | None]:
        """Read the annotation of a process once: what it says now, or why it cannot be had.

        Raises
        ------
        UsageError
            If the annotation is malformed.
        """
        binary = _artifacts.probe_binary()
        words = ["annotate", "--pid", str(pid), "--annotate", self.annotation or ""]
        done = subprocess.run([binary, *words], capture_output=True, text=True, check=False)
        if done.returncode:
            said = done.stderr.partition("\n")[0].removeprefix("pyro-probe: ").strip()
            raise UsageError(
                f"--annotate {said}",
                "--annotate postgres, or --annotate word@SYMBOL:u32=FILE-OF-NAMES",
            )
        found = json.loads(done.stdout)
        return found["annotation"], found["reason"]

    def _report_file(self, paths: RunPaths) -> Path:
        return paths.raw / f"probe-{self.host}.report.json"

    def _log_file(self, paths: RunPaths) -> Path:
        return paths.raw / f"probe-{self.host}.log"


def budget_of(text: str) -> float | None:
    """Read ``--probe-budget``: a share of a CPU, or ``none``.

    Raises
    ------
    UsageError
        If it is no share.

    Examples
    --------
    >>> budget_of("2%"), budget_of("0.5%"), budget_of("none")
    (0.02, 0.005, None)
    """
    if text == "none":
        return None
    try:
        ratio = float(text.removesuffix("%")) / 100 if text.endswith("%") else 0.0
    except ValueError:
        ratio = 0.0
    if not 0 < ratio <= 1:
        raise UsageError(f"--probe-budget {text}: not a share of a CPU", "--probe-budget 2%")
    return ratio


def unread(annotation: Mapping[str, Any]) -> str | None:
    """Say that an annotation was never read, and why; ``None`` if it was.

    Examples
    --------
    >>> unread({"spec": "postgres", "readings_count": 0, "reasons": ["process 7: no symbol x"]})
    'annotation postgres was never read: process 7: no symbol x'
    """
    if annotation.get("readings_count"):
        return None
    why = "; ".join(annotation.get("reasons") or ["no process was followed"])
    return f"annotation {annotation.get('spec')} was never read: {why}"
