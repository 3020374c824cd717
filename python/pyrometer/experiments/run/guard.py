"""The guard: what else the machine does before and during a trial, and whether that is too much.

Canaries: what the machine attains just before a trial, as a covariate of its time.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pyrometer import _artifacts
from pyrometer.collect.host.card import cpu_times, steal
from pyrometer.collect.host.facts import descendants, parse_meminfo
from pyrometer.core.errors import PyrometerError
from pyrometer.experiments.folder import Canaries, Surroundings
from pyrometer.experiments.plan.file import Guard
from pyrometer.workloads import canary

LOOK_S = 0.3
HEAVY = 0.05
"""Share of one CPU from which a process is named."""

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Look:
    """Counters of the host at a moment.

    Parameters
    ----------
    moment_s : float
        On a monotonic clock.
    cpu : list of int
        Ticks of all CPUs, as the first line of ``/proc/stat`` has them.
    swapped : int
        Pages swapped in and out since boot.
    own_s : float
        CPU seconds of this process and its children so far.
    processes : mapping
        Ticks and name by pid, without this process and what it started.
    """

    moment_s: float
    cpu: list[int]
    swapped: int
    own_s: float
    processes: Mapping[int, tuple[int, str]]


def look(with_processes: bool = True) -> Look:
    """Read the counters."""
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return Look(
        moment_s=time.monotonic(),
        cpu=cpu_times(_text("/proc/stat")),
        swapped=swapped_pages(_text("/proc/vmstat")),
        own_s=sum(one.ru_utime + one.ru_stime for one in usage),
        processes=_processes() if with_processes else {},
    )


def swapped_pages(vmstat: str) -> int:
    r"""Pages swapped in and out.

    Examples
    --------
    >>> swapped_pages("pgfault 7\npswpin 2\npswpout 3\n")
    5
    """
    counts = dict(line.split(" ", 1) for line in vmstat.splitlines() if " " in line)
    return int(counts.get("pswpin", 0)) + int(counts.get("pswpout", 0))


def between(first: Look, last: Look, load: float | None, free: float | None) -> Surroundings:
    """Report what other processes did between two readings of the counters.

    Their CPU time is the busy time of all CPUs, less that of this process and of the children that
    it has waited for.

    Examples
    --------
    >>> a = Look(0.0, [0] * 10, 0, 0.0, {7: (0, "make")})
    >>> b = Look(1.0, [50, 0, 0, 140, 0, 0, 0, 10, 0, 0], 3, 0.2, {7: (30, "make")})
    >>> found = between(a, b, 0.5, 0.8)
    >>> found.busy_ratio, found.steal_ratio, found.swapped_pages_count, found.heaviest
    (0.15, 0.05, 3, ['make (7) 0.30 CPU'])
    """
    spent = [new - old for old, new in zip(first.cpu[:8], last.cpu[:8], strict=False)]
    total, length = sum(spent), last.moment_s - first.moment_s
    # user, nice, system, irq, softirq: neither idle, nor waiting, nor taken by the hypervisor.
    busy = total - sum(spent[at] for at in (3, 4, 7) if at < len(spent))
    others = max(0.0, busy - (last.own_s - first.own_s) * _TICKS_PER_S)
    used = {
        pid: (ticks - first.processes[pid][0]) / _TICKS_PER_S / length
        for pid, (ticks, _) in last.processes.items()
        if pid in first.processes and length > 0
    }
    heavy = sorted((pid for pid in used if used[pid] >= HEAVY), key=lambda pid: -used[pid])[:3]
    return Surroundings(
        busy_ratio=others / total if total else None,
        steal_ratio=steal(first.cpu, last.cpu) if total else None,
        load=load,
        free_memory_ratio=free,
        swapped_pages_count=last.swapped - first.swapped,
        heaviest=[f"{last.processes[pid][1]} ({pid}) {used[pid]:.2f} CPU" for pid in heavy],
    )


def disturbances(found: Surroundings, guard: Guard, during: bool) -> list[str]:
    """Say what is beyond the limits.

    Examples
    --------
    >>> disturbances(Surroundings(busy_ratio=0.4, heaviest=["make (7) 0.80 CPU"]), Guard(), False)
    ['others use 40 % of the CPUs: make (7) 0.80 CPU']
    """
    disturbing = []
    if found.busy_ratio is not None and found.busy_ratio > guard.busy:
        who = f": {', '.join(found.heaviest)}" if found.heaviest else ""
        disturbing.append(f"others use {100 * found.busy_ratio:.0f} % of the CPUs{who}")
    if found.steal_ratio is not None and found.steal_ratio > guard.steal:
        disturbing.append(f"the hypervisor took {100 * found.steal_ratio:.0f} % of the CPU time")
    free = found.free_memory_ratio
    if not during and free is not None and free < guard.free_memory:
        disturbing.append(f"{100 * free:.1f} % of the memory is available")
    if guard.load is not None and not during and found.load is not None and found.load > guard.load:
        disturbing.append(f"the load average is {found.load:.2f} a CPU")
    pages = found.swapped_pages_count
    if during and guard.swapped is not None and pages is not None and pages > guard.swapped:
        disturbing.append(f"{pages} pages were swapped")
    return disturbing


def before_trial(guard: Guard, say: Callable[[str], None]) -> Surroundings:
    """Judge the machine before a trial; unless the policy is to flag, wait until it is calm."""
    since, said = time.monotonic(), False
    while True:
        first = look()
        time.sleep(LOOK_S)
        found = between(first, look(), _load(), _free())
        found.disturbed = disturbances(found, guard, during=False)
        found.waited_s = round(first.moment_s - since, 3)
        waited = time.monotonic() - since
        if not found.disturbed or guard.policy == "flag" or waited >= guard.wait:
            return found
        if not said:
            said = True
            say(f"waiting for calm, at most {guard.wait:.0f} s: {found.disturbed[0]}")
        time.sleep(min(2.0, max(0.0, guard.wait - waited)))


def after_trial(first: Look, guard: Guard, expected_swap: bool) -> Surroundings:
    """Judge what others did during a trial; swapping that a factor asks for does not count."""
    found = between(first, look(), _load(), _free())
    limits = guard.model_copy(update={"swapped": None}) if expected_swap else guard
    found.disturbed = disturbances(found, limits, during=True)
    return found


def _processes() -> dict[int, tuple[int, str]]:
    ours = {os.getpid(), *descendants(os.getpid())}
    found = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit() and int(entry) not in ours:
            text = _text(f"/proc/{entry}/stat")
            fields = text[text.rfind(")") + 2 :].split()
            if len(fields) > 12:
                name = text[text.find("(") + 1 : text.rfind(")")]
                found[int(entry)] = (int(fields[11]) + int(fields[12]), name)
    return found


def _load() -> float | None:
    try:
        return os.getloadavg()[0] / (os.cpu_count() or 1)
    except OSError:
        return None


def _free() -> float | None:
    sizes = parse_meminfo(_text("/proc/meminfo"))
    if not sizes.get("MemTotal") or "MemAvailable" not in sizes:
        return None
    return sizes["MemAvailable"] / sizes["MemTotal"]


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def measure_canaries() -> Canaries:
    """Measure arithmetic, memory latency and copy bandwidth for a few tenths of a second."""
    try:
        return Canaries.model_validate(canary.measure(_artifacts.canary_command()))
    except PyrometerError as error:
        return Canaries(reason=error.message)
