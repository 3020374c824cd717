"""How long the CPUs of a host worked: by its threads' clocks, else by its ticks."""

from __future__ import annotations

from collections.abc import Mapping

from pyrometer.window.counters import BUSY

TICKS = "/proc/stat, in ticks of 10 ms"
TICK_NS = 10_000_000
"""What the core view resolves, but of short windows: CPU times of a host are counted in ticks."""
STATES = (*BUSY, "cpu_steal_ns", "cpu_idle_ns", "cpu_iowait_ns")
"""Series of the host that add up to CPUs × time, unless ticks are missed."""
THREADS, SWITCHED = "cpu_threads_ns", "cpu_switched_ns"
_MISSED_RATIO = 0.01


def busy_ns(
    host: Mapping[str, int], apart_ns: int, watched_ns: int | None, cpus: int
) -> tuple[int, str]:
    """Give the CPU time of all threads of a host in a window, and where it is from.

    Ticks are sampled, and an idle CPU's time is exact. A guest whose CPU is not run misses ticks,
    so that its busy times are too small: then the scheduler's own clock of what has left its CPU
    is used where the kernel shows it (``/proc/schedstat``). It lags by what runs on at the end of
    the window, less what ran at its begin, and is not used where ticks are complete.

    Parameters
    ----------
    host : mapping of str to int
        What the series of the host grew by in the window.
    apart_ns : int
        Interrupt time that is no thread's, nanoseconds.
    watched_ns : int or None
        CPUs × time during which the host was read, nanoseconds; ``None`` if that is not known.
    cpus : int
        Its CPUs.

    Examples
    --------
    >>> ticks = {"cpu_user_ns": 40 * TICK_NS, "cpu_idle_ns": 40 * TICK_NS}
    >>> busy_ns(ticks | {"cpu_switched_ns": 59 * TICK_NS}, 0, 100 * TICK_NS, 1)
    (590000000, '/proc/schedstat: this guest missed 20.0 % of its ticks')
    >>> busy_ns(ticks | {"cpu_switched_ns": 59 * TICK_NS}, 0, 81 * TICK_NS, 1)
    (400000000, '/proc/stat, in ticks of 10 ms')
    """
    if THREADS in host:
        return host[THREADS], "cpuacct.usage of the root"
    ticks = sum(host.get(name, 0) for name in BUSY) - apart_ns
    missed = (watched_ns or 0) - sum(host.get(name, 0) for name in STATES)
    if SWITCHED in host and missed > max(_MISSED_RATIO * (watched_ns or 0), 2 * cpus * TICK_NS):
        share = f"{100 * missed / (watched_ns or 1):.1f}"
        return host[
            SWITCHED
        ] - apart_ns, f"/proc/schedstat: this guest missed {share} % of its ticks"
    return ticks, TICKS
