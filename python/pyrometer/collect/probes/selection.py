"""Which probes a trial has, and whether this host lets them work."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache

from pyrometer.collect import probes as folder
from pyrometer.collect.probes.base import Probe, Problem, check_all
from pyrometer.collect.probes.logs import EventLogProbe, GcProbe, JitProbe
from pyrometer.collect.probes.os import HZ, OsProbe
from pyrometer.collect.probes.plugin import PluginProbe
from pyrometer.collect.probes.profile import NAMED, PYTHON_PERIOD, Profile, parse_profile
from pyrometer.collect.probes.push import PushProbe
from pyrometer.collect.probes.python_workers import PythonProbe
from pyrometer.collect.probes.stacks import StacksProbe
from pyrometer.core.doubt import Doubt
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.schema import doubt
from pyrometer.trial.trial import ProbeBudget, Trial, probe_budget
from pyrometer.workloads import registry

LIGHT_TIER = "T1"
"""Tier of the OS probe where no stacks are asked for."""

CLOSE_HZ = 100.0
"""Passes per second of the OS probe where it is the only one."""


def probes_of(trial: Trial) -> list[Probe]:
    """Make the probes of a trial's profile: of a workload without Spark, those of the system.

    Raises
    ------
    UsageError
        If profiles are to be sent, and none are recorded.
    """
    profile = parse_profile(trial.profile)
    probes = make_probes(profile, trial.tier, trial.probe_budget)
    if trial.push is not None:
        probes.append(push_probe(trial.push, profile))
    if trial.name is not None and registry.get(trial.name).engine == "process":
        return [_process_probe(trial, profile)] if "os" in profile.probes else []
    return list(probes)


def make_probes(
    profile: Profile, tier: str | None = None, budget: ProbeBudget = None
) -> list[Probe]:
    """Make the probes of a profile; `tier` and `budget` are those of probe ``os``.

    Default: it is the best one, and without stacks the one that costs threads nothing by itself,
    without their counters: at every switch the scheduler's events (T0) take about 0.9 µs, and
    counters more than that again (``python -m benchmarks.switches``).

    The agent is always there: it carries the overlay.
    """
    every: dict[str, Probe] = {
        "eventlog": EventLogProbe(),
        "plugin": PluginProbe(),
        "gc": GcProbe(),
        "jit": JitProbe(),
        "os": OsProbe(
            tier=tier or (None if profile.stack_events else LIGHT_TIER),
            budget=probe_budget(budget, bool(profile.stack_events)),
            counters="hardware" if profile.stack_events else "none",
        ),
        "stacks": StacksProbe(profile.stack_events),
        "python": PythonProbe(profile.python_period or PYTHON_PERIOD),
    }
    chosen = [every[name] for name in profile.probes]
    if "plugin" not in profile.probes:
        chosen.append(PluginProbe(records=False))
    named = profile.name if profile.name in NAMED else "light"
    return [*chosen, *(kind() for kind in _found() if named in kind.profiles)]


@cache
def _found() -> tuple[type[Probe], ...]:
    """Find the probes that say themselves which profiles have them, in the order of modules."""
    names = sorted(module.name for module in pkgutil.iter_modules(folder.__path__))
    modules = [importlib.import_module(f"{folder.__name__}.{name}") for name in names]
    return tuple(
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type)
        and issubclass(kind, Probe)
        and kind.__module__ == module.__name__
        and kind.profiles
    )


def _process_probe(trial: Trial, profile: Profile) -> Probe:
    """Make the OS probe; with stacks asked for it looks closer, at what processes say, too."""
    assert trial.name is not None
    if "stacks" not in profile.probes:
        budget = probe_budget(trial.probe_budget, False)
        return OsProbe(tier=trial.tier or LIGHT_TIER, budget=budget)
    workload = registry.get(trial.name)
    chosen = {n: str(v) for n, v in trial.treatment.items() if n in workload.variants}
    spec = registry.resolve(trial.name, chosen, trial.scale)
    budget = probe_budget(trial.probe_budget, True)
    if budget is not None:
        # So much more often it may cost so much more.
        budget = min(1.0, budget * CLOSE_HZ / HZ)
    return OsProbe(
        CLOSE_HZ,
        annotation=workload.annotation(spec),
        tier=trial.tier,
        budget=budget,
        counters="hardware",
    )


def push_probe(url: str, profile: Profile) -> Probe:
    """Make the probe that sends profiles.

    Raises
    ------
    UsageError
        If the profile samples no stacks, or the address is none.
    """
    if "stacks" not in profile.probes:
        raise UsageError(
            f"--push: profile {profile.name} samples no stacks", "--profile full or --profile cpu"
        )
    return PushProbe(url)


def require(probes: Sequence[Probe]) -> list[Doubt]:
    """Check all probes on this host; what only degrades one comes back as doubts.

    Raises
    ------
    CapabilityError
        If a probe can deliver nothing, with every problem of every probe.
    """
    problems = check_all(probes)
    if any(problem.fatal for problem in problems):
        raise CapabilityError(
            "\n".join(f"probe {p.probe}: {p.reason}" for p in problems),
            "; ".join(dict.fromkeys(p.remedy for p in problems)),
        )
    return [_degraded(problem) for problem in problems]


def _degraded(problem: Problem) -> Doubt:
    degraded = doubt("probe_degraded", f"Probe {problem.probe}: {problem.reason}.")
    return degraded.model_copy(update={"remedy": problem.remedy})
