"""Profiles: which probes a run asks for, with their exact events and periods."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from pyrometer.core.errors import UsageError
from pyrometer.trial.factors import did_you_mean

NAMED = ("off", "light", "full")

# Event kinds of async-profiler and the periods we ask for.
STACK_EVENTS: Mapping[str, str] = {
    "cpu": "10ms",
    "ctimer": "10ms",
    "itimer": "10ms",
    "wall": "50ms",
    "alloc": "8m",
    "live": "8m",
    "lock": "10ms",
    "nativemem": "512k",
}
_BYTE_EVENTS = ("alloc", "live", "nativemem")
CPU_ENGINES = ("cpu", "ctimer", "itimer")
# Stacks of Python workers, which no profiler of the JVM sees.
PYTHON = "python"
PYTHON_PERIOD = "20ms"
_PERIODS = {**STACK_EVENTS, PYTHON: PYTHON_PERIOD}
_FULL = ("cpu", "wall", "alloc", "lock", PYTHON)
_LIGHT_PROBES = ("eventlog", "plugin", "gc", "jit", "os")


@dataclass(frozen=True)
class Profile:
    """What is collected.

    Parameters
    ----------
    name : str
        As the user gave it.
    probes : tuple of str
        Names of the probes, in the order they are listed.
    stack_events : mapping
        async-profiler events with their periods; empty without stacks.
    debug : bool
        Exact line numbers: ``DebugNonSafepoints`` and comments in generated source.
    python_period : str, optional
        How often stacks of Python workers are sampled; ``None``: they are not.
    """

    name: str
    probes: tuple[str, ...]
    stack_events: Mapping[str, str] = field(default_factory=dict)
    debug: bool = False
    python_period: str | None = None


def parse_profile(text: str) -> Profile:
    """Read ``--profile``.

    Raises
    ------
    UsageError
        If it is neither a profile nor a list of event kinds.

    Examples
    --------
    >>> parse_profile("light").probes
    ('eventlog', 'plugin', 'gc', 'jit', 'os')
    >>> parse_profile("cpu,lock").stack_events
    {'cpu': '10ms', 'lock': '10ms'}
    >>> parse_profile("cpu,alloc=512k").stack_events
    {'cpu': '10ms', 'alloc': '512k'}
    >>> parse_profile("cpu,python=50ms").probes[-2:]
    ('stacks', 'python')
    """
    if text == "off":
        return Profile(text, ("eventlog",))
    if text == "light":
        return Profile(text, _LIGHT_PROBES)
    words = _FULL if text == "full" else tuple(word.strip() for word in text.split(","))
    periods: dict[str, str] = {}
    for word in words:
        kind, equals, period = word.partition("=")
        if kind not in _PERIODS:
            known = "use off, light, full, or some of " + ", ".join(_PERIODS)
            raise UsageError(
                f"unknown profile or event {kind!r}",
                did_you_mean(kind, [*NAMED, *_PERIODS]) or known,
            )
        units = "k|m|g" if kind in _BYTE_EVENTS else "ns|us|ms|s"
        if equals and not re.fullmatch(rf"[1-9][0-9]*({units})?", period):
            raise UsageError(
                f"--profile {text}: {period!r} is not a period of {kind}",
                f"give a number and a unit, as {kind}={_PERIODS[kind]}",
            )
        periods[kind] = period or _PERIODS[kind]
    kinds = tuple(periods)
    if len([kind for kind in kinds if kind in CPU_ENGINES]) > 1:
        raise UsageError(
            f"--profile {text}: cpu, ctimer and itimer are three ways to sample the same",
            "give one of them",
        )
    if periods.get("alloc", periods.get("live")) != periods.get("live", periods.get("alloc")):
        raise UsageError(
            f"--profile {text}: live objects are those of alloc's samples, of one period",
            f"give live={periods['live']} alone: it gives both",
        )
    events = {kind: periods[kind] for kind in STACK_EVENTS if kind in periods}
    python = periods.get(PYTHON)
    more = ("stacks",) * bool(events) + (PYTHON,) * bool(python)
    return Profile(text, (*_LIGHT_PROBES, *more), events, debug=bool(events), python_period=python)
