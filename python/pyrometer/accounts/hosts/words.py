"""How uneven hosts are, in words: only what is sure, and large enough to matter."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyrometer.accounts.hosts.schema import HostSkew, HostTasks
from pyrometer.accounts.hosts.skew import may_be_chance
from pyrometer.core import units
from pyrometer.core.estimate import Estimate

MOST_SKEWS = 4
CLEAR = 1.1
"""Times the others' median from which on a difference is told."""
_NAMES = {
    "task_ns": "task time",
    "executor_cpu_time_ns": "task CPU",
    "jvm_gc_time_ns": "GC time",
    "shuffle_fetch_wait_time_ns": "shuffle fetch wait",
    "input_bytes": "input",
    "shuffle_read_total_bytes": "shuffle read",
    "shuffle_read_remote_bytes": "shuffle read from other hosts",
    "shuffle_written_bytes": "shuffle written",
    "disk_spilled_bytes": "spilled to disk",
}


def uneven(hosts: Sequence[HostTasks], skew: Sequence[HostSkew]) -> list[str]:
    """Say on which host tasks take longest, and which host has most of what."""
    said = [text for text in (_longest(hosts),) if text]
    count = sum(one.task_ns > 0 for one in hosts)
    sure = [one for one in skew if _is_sure(one, count)]
    sure.sort(key=lambda one: -(one.ratio.value or math.inf))
    return [*said, *map(_said, sure[:MOST_SKEWS])]


def _is_sure(one: HostSkew, hosts: int) -> bool:
    if one.others_median <= 0:
        return not may_be_chance(one.ratio.n, hosts, one.slots_ratio)
    return _is_clear(one.ratio, one.slots_ratio or 1.0)


def _is_clear(ratio: Estimate, slots_ratio: float = 1.0) -> bool:
    """Whether it is more than chance, and than the slots of the host, explain."""
    expected = max(1.0, slots_ratio)
    return (ratio.low or 0.0) > expected and (ratio.value or 0.0) >= CLEAR * expected


def _longest(hosts: Sequence[HostTasks]) -> str | None:
    known = [(one.task_time_ratio, one.host) for one in hosts if one.task_time_ratio]
    slow = [(one, host) for one, host in known if _is_clear(one)]
    if not slow:
        return None
    worst, host = max(slow, key=lambda pair: pair[0].value or 0.0)
    return f"longest tasks: on {host} a task takes {_times(worst)} the other hosts' median"


def _said(one: HostSkew) -> str:
    amount, usual = (units.quantity(one.measure, x) for x in (one.value, one.others_median))
    text = f"{_NAMES[one.measure]}: {one.host} has {amount}, "
    if one.ratio.value is None:
        text += "most of the other hosts have none"
    else:
        text += f"{_times(one.ratio)} the other hosts' median ({usual})"
    if one.slots_ratio is not None and one.slots_ratio >= CLEAR:
        text += f", with {units.digits(one.slots_ratio)} × the slots"
    return text


def _times(one: Estimate) -> str:
    value, low, high = (units.digits(x or 0.0) for x in (one.value, one.low, one.high))
    return f"{value} × [{low}, {high}]"
