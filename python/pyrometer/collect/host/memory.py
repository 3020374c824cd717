"""Whether memory is short (``memory.condition``): by which knob, and which level was reached.

The conditions are those of the published study of page reclaim: underutilising, about 10 % of the
memory on the list of inactive file pages; overcommitting, about 10 % swapped out. The knob is a
limit of a control group with swap beyond it, or a ballast that makes the whole host short. A pilot
finds it, once; it is then the same for all treatments, as a part of the level: ``over@3g``.
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyrometer.collect.host import ballast
from pyrometer.collect.host.ballast import SPARE_BYTES
from pyrometer.collect.host.facts import parse_meminfo
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.trial.factors import Level, find_factor, parse_level

SHARE = 0.1
"""Share of memory that a condition is about, where the treatment does not say."""

MEMINFO = Path("/proc/meminfo")
SWAP_ON = "fallocate -l 8G /swapfile && chmod 600 /swapfile && mkswap /swapfile && swapon /swapfile"


@dataclass(frozen=True)
class Condition:
    """A condition with its knob.

    Attributes
    ----------
    name : {"under", "over"}
        Which.
    knob : int
        Bytes: limit of the control group, or size of the ballast.
    by : {"cgroup", "ballast"}
        What brings it about.
    share : float
        Share of the memory that is to be on the list of inactive file pages, or swapped out.
    """

    name: Literal["under", "over"]
    knob: int
    by: Literal["cgroup", "ballast"]
    share: float


def condition(
    treatment: Mapping[str, Level],
    meminfo: Mapping[str, int] | None = None,
    *,
    here: bool = True,
) -> Condition | None:
    """Read the condition of a treatment; ``None`` if it has none.

    Parameters
    ----------
    treatment : mapping
        Levels.
    meminfo : mapping, optional
        Of the host; read from it by default.
    here : bool
        Whether it applies to this host; else to a machine, in which we are root.

    Raises
    ------
    UsageError
        Levels that contradict each other.
    CapabilityError
        No knob, no swap, too little memory, no right to lock it.
    """
    if "memory.condition" not in treatment:
        for alone in ("memory.by", "memory.share"):
            if alone in treatment:
                raise UsageError(f"{alone} needs memory.condition", "give both, or leave it out")
        return None
    level = str(treatment["memory.condition"])
    name, _, knob = level.partition("@")
    clash = [one for one in ("cgroup.memory", "cgroup.swap") if one in treatment]
    if clash:
        raise UsageError(f"{clash[0]}: memory.condition sets it", "leave one out")
    touched = [f"{k}={v}" for k, v in treatment.items() if "+AlwaysPreTouch" in str(v)]
    if touched:
        raise UsageError(
            f"{touched[0]}: a heap that is touched beforehand decides what memory is short of",
            "leave -XX:+AlwaysPreTouch out beside memory.condition",
        )
    if not knob:
        raise CapabilityError(
            f"memory.condition={level}: its knob is not known: a pilot fixes it, once for all "
            "treatments",
            f"pyrometer experiment calibrate FILE; or give it: memory.condition={level}@3g",
        )
    found = meminfo if meminfo is not None else _meminfo()
    if name == "over" and not found.get("SwapTotal"):
        raise CapabilityError(f"memory.condition={level}: this host has no swap", SWAP_ON)
    wanted = Condition(
        "over" if name == "over" else "under",
        int(parse_level(find_factor("cgroup.memory"), "memory.condition", knob)),
        "ballast" if treatment.get("memory.by") == "ballast" else "cgroup",
        float(treatment.get("memory.share", SHARE)),
    )
    if wanted.by == "ballast":
        _require_ballast(wanted, level, found, here)
    return wanted


def _require_ballast(wanted: Condition, level: str, meminfo: Mapping[str, int], here: bool) -> None:
    room = meminfo.get("MemAvailable", 0) - SPARE_BYTES
    if wanted.knob > room:
        raise CapabilityError(
            f"memory.condition={level}: a ballast of {wanted.knob} bytes leaves less than "
            f"{SPARE_BYTES >> 20} MiB of what is available",
            f"give at most {max(0, room)} bytes",
        )
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    # Root (CAP_IPC_LOCK) may lock beyond it.
    if here and os.geteuid() != 0 and limit != resource.RLIM_INFINITY and limit < wanted.knob:
        raise CapabilityError(
            f"memory.condition={level}: this user may lock {limit} bytes",
            "run as root, or raise it: ulimit -l unlimited",
        )


def with_limit(treatment: Mapping[str, Level]) -> dict[str, Level]:
    """Give the levels with the limit that the condition stands for."""
    wanted = condition(treatment)
    limit = {"cgroup.memory": wanted.knob} if wanted and wanted.by == "cgroup" else {}
    return {**treatment, **limit}


def ballast_command(size: int) -> list[str]:
    """Give the command that holds so much memory."""
    return [sys.executable, "-I", "-S", ballast.__file__, str(size)]


@dataclass
class MemoryWatch:
    """Looks how much is on the list of inactive file pages, and how much is swapped out.

    Parameters
    ----------
    folders : sequence of str
        Control groups of the run.
    wanted : Condition or None
        The condition; ``None``: there is none, and nothing is looked at.
    meminfo : Path
        The kernel's file on the memory of the host.
    """

    folders: Sequence[str]
    wanted: Condition | None
    meminfo: Path = MEMINFO
    _seen: list[tuple[int, int, int]] = field(default_factory=list)
    _before: dict[str, int] = field(default_factory=dict)

    def look(self) -> None:
        """Look once."""
        if self.wanted is None:
            return
        seen = None
        # Looked at while the application runs: what cannot be read is missing, and nothing ends.
        with contextlib.suppress(OSError, ValueError, KeyError):
            seen = self._group() if self.wanted.by == "cgroup" else self._host()
        if seen is not None:
            self._seen.append(seen)

    def reached(self) -> dict[str, Any] | None:
        """Give, for the manifest, what was reached: the largest share during the run."""
        if self.wanted is None:
            return None
        size = self.wanted.knob
        if self.wanted.by == "ballast":
            size = self._before.get("MemTotal", 0) - self.wanted.knob
        inactive, swapped, own = (
            max((one[at] for one in self._seen), default=None) for at in range(3)
        )
        known = size > 0 and inactive is not None and swapped is not None
        return {
            "condition": self.wanted.name,
            "by": self.wanted.by,
            "knob_bytes": self.wanted.knob,
            "of_bytes": size,
            "wanted_ratio": self.wanted.share,
            "inactive_file_ratio": inactive / size if known and inactive is not None else None,
            "swapped_ratio": swapped / size if known and swapped is not None else None,
            "anonymous_bytes": own,
            "samples_count": len(self._seen),
            "reason": None if known else "memory of the run could not be read while it lasted",
        }

    def _group(self) -> tuple[int, int, int] | None:
        for folder in map(Path, self.folders):
            with contextlib.suppress(OSError, ValueError):
                rows = dict(
                    line.split() for line in (folder / "memory.stat").read_text().splitlines()
                )
                if "total_inactive_file" in rows:  # Version 1.
                    names = ("total_inactive_file", "total_swap", "total_rss", "total_shmem")
                    found = [int(rows.get(name, 0)) for name in names]
                else:
                    swap = folder / "memory.swap.current"
                    swapped = int(swap.read_text()) if swap.is_file() else 0
                    own = (int(rows["anon"]), int(rows.get("shmem", 0)))
                    found = [int(rows["inactive_file"]), swapped, *own]
                # Shared memory, as ZGC's heap is, can only be swapped out, too.
                return found[0], found[1], found[2] + found[3]
        return None

    def _host(self) -> tuple[int, int, int] | None:
        now = parse_meminfo(self.meminfo.read_text(encoding="ascii"))
        self._before = self._before or now
        swapped = now["SwapTotal"] - now["SwapFree"]
        at_first = self._before["SwapTotal"] - self._before["SwapFree"]
        grown = (now.get(k, 0) - self._before.get(k, 0) for k in ("AnonPages", "Shmem"))
        return now["Inactive(file)"], max(0, swapped - at_first), max(0, sum(grown))


def missed(memory: Mapping[str, Any]) -> str | None:
    """Say that a condition was not reached: less than half, or more than twice of the share.

    Examples
    --------
    >>> memory = {"condition": "over", "swapped_ratio": 0.01, "wanted_ratio": 0.1, "reason": None}
    >>> missed(memory)
    'memory.condition=over: 1.0 % of the memory swapped out, 10.0 % were wanted'
    """
    reached = reached_ratio(memory)
    words = "swapped out" if memory["condition"] == "over" else "on the list of inactive file pages"
    if reached is None:
        return f"memory.condition={memory['condition']}: {memory['reason']}"
    if memory["wanted_ratio"] / 2 <= reached <= 2 * memory["wanted_ratio"]:
        return None
    return (
        f"memory.condition={memory['condition']}: {100 * reached:.1f} % of the memory {words}, "
        f"{100 * memory['wanted_ratio']:.1f} % were wanted"
    )


def reached_ratio(memory: Mapping[str, Any]) -> float | None:
    """Give the share that the condition is about."""
    ratio = memory["swapped_ratio" if memory["condition"] == "over" else "inactive_file_ratio"]
    return None if ratio is None else float(ratio)


def _meminfo() -> dict[str, int]:
    try:
        return parse_meminfo(MEMINFO.read_text(encoding="ascii"))
    except OSError:
        return {}
