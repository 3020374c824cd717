"""Probes: declare, check, start, stop, report."""

from pyrometer.collect.probes.base import Probe
from pyrometer.collect.probes.profile import Profile

LIGHT_TIER = "T1"
"""Tier of the OS probe where no stacks are asked for."""


def make_probes(profile: Profile, tier: str | None = None) -> list[Probe]:
    """Make the probes of a profile; `tier` is that of probe ``os``.

    Default: it is the best one, and without stacks the one that costs threads nothing by itself:
    the scheduler's events (T0) are some tenths of a microsecond at every switch.

    The agent is always there: it carries the overlay.
    """
    from pyrometer.collect.probes.logs import EventLogProbe, GcProbe, JitProbe
    from pyrometer.collect.probes.os import OsProbe
    from pyrometer.collect.probes.plugin import PluginProbe
    from pyrometer.collect.probes.profile import PYTHON_PERIOD
    from pyrometer.collect.probes.python_workers import PythonProbe
    from pyrometer.collect.probes.stacks import StacksProbe

    every: dict[str, Probe] = {
        "eventlog": EventLogProbe(),
        "plugin": PluginProbe(),
        "gc": GcProbe(),
        "jit": JitProbe(),
        "os": OsProbe(tier=tier or (None if profile.stack_events else LIGHT_TIER)),
        "stacks": StacksProbe(profile.stack_events),
        "python": PythonProbe(profile.python_period or PYTHON_PERIOD),
    }
    chosen = [every[name] for name in profile.probes]
    if "plugin" not in profile.probes:
        chosen.append(PluginProbe(records=False))
    return chosen
