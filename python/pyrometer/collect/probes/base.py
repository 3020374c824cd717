"""What a probe is: it declares, is checked, starts, stops, and returns data.

A probe says what it needs of the launch (:class:`Needs`) and whether this host can give it
(:meth:`Probe.check`). All probes are checked before anything is launched and every problem is
reported together. Most probes live inside the observed JVM and start with it; only those outside
(the OS probe) have something to start and stop.

Also `Detached`: a process of ours next to the application, in a session of its own.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyrometer.core.json_text import parse_json
from pyrometer.core.replacing import new_file
from pyrometer.store.manifest import ProbeEntry
from pyrometer.store.paths import RunPaths


@dataclass(frozen=True)
class Problem:
    """Why a probe cannot deliver all it should.

    Parameters
    ----------
    probe : str
        Name of the probe.
    reason : str
        What is wrong and where.
    remedy : str
        What to do next, a command where there is one.
    fatal : bool
        The probe can deliver nothing: the run is refused. Otherwise it delivers less and the
        run gets a doubt.
    """

    probe: str
    reason: str
    remedy: str
    fatal: bool = True


@dataclass(frozen=True)
class Needs:
    """What a probe needs of the launch.

    Parameters
    ----------
    jvm_options : tuple of str
        For the driver's JVM, one argument each.
    executor_options : tuple of str
        For executor JVMs, appended to ``spark.executor.extraJavaOptions``.
    agent : mapping
        Keys of ``agent.properties`` (docs/reference/plugin.md).
    environment : mapping
        Variables that the application inherits.
    python_path : tuple of str
        Folders put in front of its ``PYTHONPATH``.
    """

    jvm_options: tuple[str, ...] = ()
    executor_options: tuple[str, ...] = ()
    agent: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    python_path: tuple[str, ...] = ()


class Probe:
    """Something that collects a raw stream during a trial.

    Attributes
    ----------
    name : str
        As in the manifest: ``eventlog``, ``plugin``, ``gc``, ``stacks``, ``python``, ``os``.
    profiles : tuple of str
        Profiles that have it (``off``, ``light``, ``full``) because its module lies in this folder;
        empty for probes that :mod:`pyrometer.collect.probes.selection` chooses by their events.
    """

    name: str = ""
    profiles: tuple[str, ...] = ()

    def asked(self) -> str:
        """Exact events and periods, as printed and stored."""
        raise NotImplementedError

    def needs(self, paths: RunPaths) -> Needs:
        """Say what the launch must carry for this probe."""
        return Needs()

    def check(self) -> list[Problem]:
        """Try, on this host, what the probe will do; empty if all is well."""
        return []

    def start(self, paths: RunPaths, root_pid: int) -> None:
        """Begin to observe the process `root_pid` and its descendants."""

    def stop(self) -> None:
        """End, and let everything collected reach the disk. Never raises."""

    def processes(self) -> list[int]:
        """Pids of what the probe started itself; they are not the application's."""
        return []

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Say what was delivered, from what lies in the run directory."""
        raise NotImplementedError


def check_all(probes: Iterable[Probe]) -> list[Problem]:
    """Every problem of every probe."""
    return [problem for probe in probes for problem in probe.check()]


def merge_needs(probes: Iterable[Probe], paths: RunPaths) -> Needs:
    """Needs of all probes together; later probes win where an agent key is given twice."""
    jvm: list[str] = []
    executors: list[str] = []
    python_path: list[str] = []
    agent: dict[str, str] = {}
    environment: dict[str, str] = {}
    for probe in probes:
        needs = probe.needs(paths)
        # Word by word as they are: `--add-opens A --add-opens B` says the same word twice.
        jvm += needs.jvm_options
        executors += needs.executor_options
        agent.update(needs.agent)
        environment.update(needs.environment)
        python_path += [folder for folder in needs.python_path if folder not in python_path]
    return Needs(tuple(jvm), tuple(executors), agent, environment, tuple(python_path))


def reported(probe: Probe, paths: RunPaths) -> ProbeEntry:
    """Give what a probe delivered; that what it wrote cannot be read is its reason."""
    try:
        return probe.report(paths)
    except Exception as error:
        why = f"what it wrote cannot be read: {type(error).__name__}: {error}"
        return ProbeEntry(name=probe.name, asked=probe.asked(), reason=why)


class Detached:
    """Starts and stops one process that neither Ctrl-C nor our death reaches.

    Attributes
    ----------
    pid : int or None
        Of the process, once it was started.
    failure : str or None
        Why it did not start, or did not end when asked to.
    """

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.pid: int | None = None
        self.failure: str | None = None

    def start(self, command: Sequence[str | Path], log: Path) -> None:
        """Start `command`; what it complains about goes to `log`."""
        try:
            with new_file(log) as file:
                self._process = subprocess.Popen(
                    list(command),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=file,
                    start_new_session=True,
                )
        except OSError as error:
            self.failure = f"{command[0]}: {error}"
            return
        self.pid = self._process.pid

    @property
    def runs(self) -> bool:
        """Whether it was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    def stop(self, seconds: float) -> int:
        """Ask it to end; it is killed if it does not within `seconds`.

        Returns
        -------
        int
            Its exit code, less than 0 if a signal ended it; 0 if it was not started.
        """
        process = self._process
        if process is None:
            return 0
        process.terminate()
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.failure = f"did not end within {seconds:g} s and was killed"
        self._process = None
        return process.returncode

    @property
    def pids(self) -> list[int]:
        """Pid of the process, if it was started."""
        return [] if self.pid is None else [self.pid]


def complaint(log: Path) -> str:
    """Read what a process complained about; an empty file is removed."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
    if not text:
        log.unlink(missing_ok=True)
    return text


def read_object(path: Path) -> dict[str, Any] | None:
    """Read a JSON object; ``None`` if there is none that can be read."""
    try:
        found = parse_json(path.read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
