"""Canaries of hosts: what each attained before the executors of a run began there.

The agent that runs as a service measures them while no executor is on its host, and appends a line
each to ``canary-<host>.ndjson``.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Final

from pyrometer.core.json_text import parse_json
from pyrometer.store.paths import RunPaths
from pyrometer.store.services.executors import Found
from pyrometer.store.services.machines import Machines
from pyrometer.store.services.plugin_records import lines_of

FILES = "canary-*.ndjson"
SCHEMA = "pyrometer/canary/1"
MEASURES = ("alu_ns", "latency_ns", "copy_bytes_per_s")
STATES = ("measured", "failed", "killed", "broken_off", "not_free")

NOT_OBSERVED: Final = "no agent that runs as a service observed it"

_MOST_REPETITIONS = 64
_LONGEST_REASON = 200
_TOLD_LATE_S = 1.0
"""Ticks and two readings of clocks make a begin seem later than it was noticed by less than this.
"""


@dataclass(frozen=True)
class CanaryLine:
    """A line of an agent: a canary, or why there is none.

    Attributes
    ----------
    state : str
        One of `STATES`.
    begin_wall_ns, begin_mono_ns, end_wall_ns, end_mono_ns : int
        When, Unix time and CLOCK_MONOTONIC of the host.
    repetitions : dict of str to tuple of float
        All repetitions of each of `MEASURES`; empty unless it was measured.
    reason : str or None
        Why it was not.
    """

    state: str
    begin_wall_ns: int
    begin_mono_ns: int
    end_wall_ns: int
    end_mono_ns: int
    repetitions: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    reason: str | None = None

    @property
    def medians(self) -> dict[str, float]:
        """The median of the repetitions of each measure."""
        return {name: median(values) for name, values in self.repetitions.items()}


@dataclass(frozen=True)
class CanaryBefore:
    """The canary of a host that was measured last before executors of a run began there.

    Attributes
    ----------
    line : CanaryLine or None
        The canary; ``None`` if there is none.
    age_s : float or None
        From its end until the first of these executors began; where that cannot be told, until the
        agent found it.
    reason : str or None
        Why there is none.
    """

    line: CanaryLine | None = None
    age_s: float | None = None
    reason: str | None = None


def canaries_before(paths: RunPaths) -> dict[str, CanaryBefore]:
    """Give the canary before a run of each host that an agent observed, as the tables call it."""
    services = Machines.of_run(paths).services.values()
    lines: dict[str, list[CanaryLine]] = defaultdict(list)
    found: dict[str, list[Found]] = defaultdict(list)
    for service in services:
        found[service.host] += (one for one in service.found if one.role == "executor")
        for file in sorted(service.folder.glob(FILES)):
            lines[service.host] += read_canaries(file)
    return {host: before(lines[host], ones) for host, ones in found.items() if ones}


def before(lines: Iterable[CanaryLine], found: Sequence[Found]) -> CanaryBefore:
    """Choose the last canary before the first of some executors.

    None is measured beside an executor: one that had ended when the agent found the first was
    measured before that began.

    Parameters
    ----------
    lines : iterable of CanaryLine
        Of one host, in any order; the same may be there several times.
    found : sequence of Found
        Executors on that host.
    """
    known = [one for one in found if one.seen_wall_ns is not None]
    if not known:
        return CanaryBefore(reason="the agent does not say when it found the executors")
    first = min(known, key=lambda one: one.seen_wall_ns or 0)
    seen_ns = first.seen_wall_ns or 0
    earlier = sorted(
        (one for one in lines if one.end_wall_ns <= seen_ns), key=lambda one: one.end_wall_ns
    )
    measured = [one for one in earlier if one.state == "measured"]
    if measured:
        return CanaryBefore(measured[-1], _age_s(measured[-1], first.start_ns, seen_ns))
    if earlier:
        return CanaryBefore(reason=_why(earlier[-1]))
    return CanaryBefore(reason="its agent had measured none before the executors began")


def _age_s(line: CanaryLine, start_ns: int | None, seen_wall_ns: int) -> float:
    noticed_s = (seen_wall_ns - line.end_wall_ns) / 1e9
    if start_ns is not None:
        # Of a host that was suspended, times of processes are ahead of its CLOCK_MONOTONIC.
        began_s = (start_ns - line.end_mono_ns) / 1e9
        if 0 <= began_s <= noticed_s + _TOLD_LATE_S:
            return began_s
    return noticed_s


def _why(line: CanaryLine) -> str:
    what = {
        "not_free": "its agent found the host not free",
        "broken_off": "its canary was broken off",
        "killed": "its canary was killed",
    }.get(line.state, "its canary failed")
    return f"{what}: {line.reason}" if line.reason else what


def read_canaries(file: Path) -> list[CanaryLine]:
    """Read the lines of an agent's file; what is no such line is left out."""
    return [one for one in map(parse_canary, lines_of(file)) if one is not None]


def parse_canary(line: bytes) -> CanaryLine | None:
    """Read one line; ``None`` if it is none of a version that is known.

    Examples
    --------
    >>> found = parse_canary(
    ...     b'{"schema": "pyrometer/canary/1", "state": "measured", "begin_wall_ns": 1,'
    ...     b' "begin_mono_ns": 2, "end_wall_ns": 3, "end_mono_ns": 4, "alu_ns": [5, 7, 6],'
    ...     b' "latency_ns": [90.5], "copy_bytes_per_s": [8e9, 9e9]}'
    ... )
    >>> found.medians
    {'alu_ns': 6.0, 'latency_ns': 90.5, 'copy_bytes_per_s': 8500000000.0}
    """
    try:
        said = parse_json(line)
        if said["schema"] != SCHEMA or said["state"] not in STATES:
            return None
        names = ("begin_wall_ns", "begin_mono_ns", "end_wall_ns", "end_mono_ns")
        times = [said[name] for name in names]
        state, reason = said["state"], said.get("reason")
        values = {name: said[name] for name in MEASURES} if state == "measured" else {}
    except (ValueError, TypeError, KeyError):
        return None
    if not all(type(one) is int and 0 <= one < 1 << 62 for one in times):
        return None
    if not all(_is_sound(one) for one in values.values()):
        return None
    return CanaryLine(
        state=state,
        begin_wall_ns=times[0],
        begin_mono_ns=times[1],
        end_wall_ns=times[2],
        end_mono_ns=times[3],
        repetitions={name: tuple(map(float, ones)) for name, ones in values.items()},
        reason=_in_a_line(reason) if isinstance(reason, str) and reason else None,
    )


def _is_sound(values: Any) -> bool:
    return (
        isinstance(values, list)
        and 0 < len(values) <= _MOST_REPETITIONS
        and all(
            type(one) in (int, float) and 0 < one < 1e300 and math.isfinite(one) for one in values
        )
    )


def _in_a_line(reason: str) -> str:
    return "".join(one if one.isprintable() else " " for one in reason[:_LONGEST_REASON])
