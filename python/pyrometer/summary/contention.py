"""Contention for the host's CPUs in words: who held the CPUs that a run's threads wanted."""

from __future__ import annotations

from pyrometer.accounts.machine_schema import HostContention
from pyrometer.core import units
from pyrometer.core.doubt import Severity
from pyrometer.summary.schema import Summary

_A_FEW = 0.03
"""Share of the run's CPUs that others may have without a word."""
_FEW_BEHIND = 0.02
"""Share of their time that tasks may wait behind others without a word."""
_ELSEWHERE = 0.1
"""Share of the whole host that others may have where the run has CPUs of its own."""
_LARGE, _OVERWHELMING = 0.1, 0.5
_BEHIND_WEIGHS = 2.0
"""A share of tasks' time counts as so much of the CPUs."""
_QUEUED = 0.05
MOST_NAMED = 3


def contention(summary: Summary) -> HostContention | None:
    """Give the contention of a window where it is worth a word; ``None`` where it is not.

    Of several hosts it is that of the one with most. Queueing behind the application's own threads
    is no contention: `queue_words` tells it.
    """
    hosts = summary.contention.hosts or [summary.contention]
    return max(filter(_is_worth, hosts), key=_weight, default=None)


def _is_worth(found: HostContention) -> bool:
    return found.others_ratio is not None and (
        _taken(found) >= _A_FEW
        or (found.behind_others_ratio or 0) >= _FEW_BEHIND
        or (found.host_others_ratio or 0) >= _ELSEWHERE
    )


def _weight(found: HostContention) -> float:
    return max(_taken(found), _BEHIND_WEIGHS * (found.behind_others_ratio or 0))


def severity(found: HostContention) -> Severity:
    """Grade contention by its size."""
    weight = _weight(found)
    if weight >= _OVERWHELMING:
        return "error"
    return "warning" if weight >= _LARGE else "info"


def graded(summary: Summary) -> Severity:
    """Grade the contention of a window; that of neighbours that were asked for is a remark.

    They are the treatment, and no reason to doubt what it did.
    """
    found = contention(summary)
    wanted = any(doubt.code == "accompanied" for doubt in summary.doubts)
    return "info" if found is None or wanted else severity(found)


def contention_words(found: HostContention) -> str:
    """Say in one clause what others took, and what tasks waited behind them.

    Examples
    --------
    >>> said = contention_words(HostContention(cpus_count=2, host_cpus_count=2, others_ratio=0.61,
    ...     steal_ratio=0.0, run_queue_ratio=0.25, behind_others_ratio=0.21))
    >>> said.split("; ")[0]
    "other processes took 61.0 % of the host's CPU time"
    >>> said.split("; ")[1]
    'tasks waited 21.0 % of their time behind them'
    >>> contention_words(HostContention(cpus=[1], cpus_count=1, host_cpus_count=2,
    ...     others_ratio=0.0, steal_ratio=0.0, host_others_ratio=0.4))
    "other processes took 40.0 % of the host's CPU time, on CPUs that this run did not use"
    >>> contention_words(HostContention(host="h2", cpus_count=2, others_ratio=0.5))
    'other processes took 50.0 % of the CPU time of h2'
    """
    parts = _takers(found)
    behind = found.behind_others_ratio
    if behind is not None and behind >= _FEW_BEHIND:
        parts.append(f"tasks waited {units.percent(behind)} of their time behind them")
    return "; ".join(parts)


def _takers(found: HostContention) -> list[str]:
    host = "the host's CPU time" if found.host is None else f"the CPU time of {found.host}"
    whose = host
    if found.cpus:
        on = "" if found.host is None else f", on {found.host}"
        whose = f"the time of {_cpus(found.cpus)}{on}"
    parts = []
    if (found.others_ratio or 0) >= _A_FEW or not found.cpus:
        parts.append(f"other processes took {units.percent(found.others_ratio)} of {whose}")
    elif found.host_others_ratio:
        parts.append(
            f"other processes took {units.percent(found.host_others_ratio)} of {host}, on CPUs"
            " that this run did not use"
        )
    if (found.steal_ratio or 0) >= _A_FEW:
        parts.append(f"the hypervisor took {units.percent(found.steal_ratio)} of it")
    return parts


def queue_words(summary: Summary) -> str | None:
    """Say who held the CPUs that tasks waited for; ``None`` where they hardly waited.

    The application's own threads are others of its task slots, its compiler and collector, its
    Python workers: fewer slots than CPUs leave them room.
    """
    found = summary.contention
    queued = found.run_queue_ratio
    if queued is None or queued < _QUEUED:
        return None
    tasks = "tasks" if found.host is None else f"tasks on {found.host}"
    said = f"{tasks} waited {units.percent(queued)} of their time for a CPU"
    behind = found.behind_others_ratio or 0
    if behind >= 0.9 * queued:
        return f"{said} that other processes held"
    if behind <= 0.1 * queued:
        return f"{said} that the application's own threads held"
    return (
        f"{said}, {units.percent(behind)} behind other processes, the rest behind its own threads"
    )


def _taken(found: HostContention) -> float:
    return (found.others_ratio or 0) + (found.steal_ratio or 0)


def _cpus(cpus: list[int]) -> str:
    """Name a few CPUs of a run, count many."""
    if len(cpus) == 1:
        return f"CPU {cpus[0]}, the one that this run used"
    named = f"CPUs {', '.join(map(str, cpus))}" if len(cpus) <= 4 else f"{len(cpus)} CPUs"
    return f"{named}, those that this run used"
