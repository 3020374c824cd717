"""What a probe is: it declares, is checked, starts, stops, and returns data.

A probe says what it needs of the launch (:class:`Needs`) and whether this host can give it
(:meth:`Probe.check`). All probes are checked before anything is launched and every problem is
reported together. Most probes live inside the observed JVM and start with it; only those outside
(the OS probe) have something to start and stop.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pyrometer.store.layout import RunPaths
from pyrometer.store.manifest import ProbeEntry


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
        ``eventlog``, ``plugin``, ``gc``, ``stacks``, ``python`` or ``os``.
    """

    name: str = ""

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
        jvm += [option for option in needs.jvm_options if option not in jvm]
        executors += [option for option in needs.executor_options if option not in executors]
        agent.update(needs.agent)
        environment.update(needs.environment)
        python_path += [folder for folder in needs.python_path if folder not in python_path]
    return Needs(tuple(jvm), tuple(executors), agent, environment, tuple(python_path))
