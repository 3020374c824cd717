"""Round trips of executors to the driver, as their plugin files have them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pyrometer.core.json_text import parse_json
from pyrometer.store.services.plugin_records import PROCESS, app_in, host_in, lines_of

FIELDS = ("sent_mono_ns", "driver_mono_ns", "received_mono_ns")

_PING = b'{"k":"ping"'
_TIMES = range(-(1 << 63), 1 << 63)


@dataclass
class Pings:
    """Round trips of one host's JVMs.

    Attributes
    ----------
    times : list of tuple
        When the host asked, the driver answered, and the host had the answer: each by its own
        CLOCK_MONOTONIC, in ns.
    unreadable_count : int
        Records that have no such times, or whose answer came before it was asked for.
    """

    times: list[tuple[int, int, int]] = field(default_factory=list)
    unreadable_count: int = 0


def read_pings(files: Iterable[Path]) -> dict[str, Pings]:
    """Read ``ping`` records of plugin files, by host; files that do not name theirs have none."""
    found: dict[str, Pings] = {}
    for host, of_apps in pings_of_apps(files).items():
        all_of_host = found.setdefault(host, Pings())
        for pings in of_apps.values():
            all_of_host.times += pings.times
            all_of_host.unreadable_count += pings.unreadable_count
    return found


def pings_of_apps(files: Iterable[Path]) -> dict[str, dict[str | None, Pings]]:
    """Read the same by host and by the application whose driver answered, where a file names it."""
    found: dict[str, dict[str | None, Pings]] = {}
    for file in files:
        host, app, pings = None, None, Pings()
        for line in lines_of(file):
            if line.startswith(_PING):
                times = _times(line)
                if times is None:
                    pings.unreadable_count += 1
                else:
                    pings.times.append(times)
            elif line.startswith(PROCESS) and (host is None or app is None):
                host, app = host or host_in(line), app or app_in(line)
        if host is not None and (pings.times or pings.unreadable_count):
            of_app = found.setdefault(host, {}).setdefault(app, Pings())
            of_app.times += pings.times
            of_app.unreadable_count += pings.unreadable_count
    return found


def _times(line: bytes) -> tuple[int, int, int] | None:
    try:
        record = parse_json(line)
    except ValueError:
        return None
    values = [record.get(name) for name in FIELDS]
    if not all(type(value) is int and value in _TIMES for value in values):
        return None
    sent, driver, received = values
    return (sent, driver, received) if sent <= received else None
