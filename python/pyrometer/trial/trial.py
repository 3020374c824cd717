"""A trial: one launch of one treatment, as a pure value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import Level

PROBE_BUDGET = 0.02
"""Share of a CPU that passes of the OS probe may cost by default.

200 threads cost up to 1.3 % at tier T1 and 20 Hz: an ordinary job is observed at the rate that was
asked for.
"""
LIGHT_PROBE_BUDGET = 0.005
"""The same of profiles without stacks, which are to be left on: some 250 threads of a busy JVM are
read at 10 Hz for it, 700 at 5 Hz. Sums are as right as at any rate."""

ProbeBudget = float | Literal["auto"] | None
"""Share of a CPU; of the profile's own choice; any."""


def probe_budget(asked: ProbeBudget, with_stacks: bool) -> float | None:
    """Resolve what passes of the OS probe may cost in a profile with stacks, or without.

    Examples
    --------
    >>> probe_budget("auto", True), probe_budget("auto", False), probe_budget(None, False)
    (0.02, 0.005, None)
    """
    if asked != "auto":
        return asked
    return PROBE_BUDGET if with_stacks else LIGHT_PROBE_BUDGET


@dataclass(frozen=True)
class Trial:
    """What to launch once.

    Parameters
    ----------
    name : str or None
        A built-in workload; ``None`` for a command.
    command : tuple of str
        The user's command; empty for a built-in workload.
    treatment : mapping
        Levels by factor, as :func:`pyrometer.trial.factors.parse_treatment` gives them.
    profile : str
        ``off``, ``light``, ``full`` or a list of event kinds.
    iterations : int
        Measured iterations (built-in workloads; a command is one).
    warmup : int or "auto"
        Iterations before the measured ones; ``"auto"``: one, and further ones until steady.
    scale : str
        ``test``, ``default``, ``seed`` or a number.
    run_dir : Path or None
        Where to write; ``None``: a new folder under ``./pyrometer-runs``.
    push : str or None
        Address of a Pyroscope server that gets the profiles while the application runs.
    agents : str or None
        Store of agents that run as services on the hosts of a cluster.
    tier : str or None
        How well to look at threads, ``T0`` to ``T3``; ``None``: the best that the host allows.
    probe_budget : float, "auto" or None
        Share of a CPU that the OS probe's passes may cost before they become rarer; ``None``: any;
        ``"auto"``: what is right for the profile.
    timeout_s : float or None
        Longest time of the application, in seconds; then it is ended. ``None``: none.
    canaries : bool
        Whether what the machine attains is measured before each iteration of a workload.
    turns : tuple of (mapping, tuple of int)
        Treatments that take turns in one JVM: levels of each on top of `treatment`, and the
        positions of its iterations.
    barrier : (str, int, int) or None
        Where it waits for trials that run in parallel: folder, its position, number of trials.
    overlap : (float, float) or None
        When measurement of this workload of a co-run begins, and that of the last one, in seconds;
        all of it is under load of the others. ``None``: their iterations are in step.
    co_running : tuple of str
        Workloads that run at the same time, for the manifest.
    captured : bool
        Whether the streams of a command go to files of its run, as those of a workload always do,
        instead of the terminal.
    """

    name: str | None = None
    command: tuple[str, ...] = ()
    treatment: Mapping[str, Level] = field(default_factory=dict)
    profile: str = "full"
    iterations: int = 3
    warmup: int | Literal["auto"] = "auto"
    scale: str = "default"
    run_dir: Path | None = None
    push: str | None = None
    agents: str | None = None
    tier: str | None = None
    probe_budget: ProbeBudget = "auto"
    timeout_s: float | None = None
    canaries: bool = False
    turns: tuple[tuple[Mapping[str, str], tuple[int, ...]], ...] = ()
    barrier: tuple[str, int, int] | None = None
    overlap: tuple[float, float] | None = None
    co_running: tuple[str, ...] = ()
    captured: bool = False

    def __post_init__(self) -> None:
        if bool(self.name) == bool(self.command):
            raise UsageError(
                "give either the name of a workload or a command after --",
                "pyrometer run parquet-scan   or   pyrometer run -- spark-submit my_app.py",
            )
        if self.iterations < 1:
            raise UsageError(f"--iterations {self.iterations}: at least one is needed")
        if self.warmup != "auto" and self.warmup < 0:
            raise UsageError(f"--warmup {self.warmup}: not negative, or auto")

    @property
    def label(self) -> str:
        """Short name for people and folders: the workload, or what the command starts."""
        if self.name:
            path = Path(self.name)
            if path.suffix not in (".sql", ".py", ".yaml", ".yml"):
                return self.name if self.name == path.name else path.absolute().name
            return path.absolute().parent.name if path.stem == "workload" else path.stem
        for word in self.command[1:]:
            if word.endswith((".py", ".jar", ".sql", ".R")):
                return Path(word).stem
        return Path(self.command[0]).name
