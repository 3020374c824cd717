"""Round trips of executors to the driver, as their plugin files have them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyrometer.core.json_text import parse_json

FIELDS = ("sent_mono_ns", "driver_mono_ns", "received_mono_ns")

_PING, _PROCESS = b'{"k":"ping"', b'{"k":"process"'
_LONGEST_BYTES = 1 << 20
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
    for file in files:
        host, pings = None, Pings()
        for line in _lines(file):
            if line.startswith(_PING):
                times = _times(line)
                if times is None:
                    pings.unreadable_count += 1
                else:
                    pings.times.append(times)
            elif host is None and line.startswith(_PROCESS):
                host = _host(line)
        if host is not None and (pings.times or pings.unreadable_count):
            all_of_host = found.setdefault(host, Pings())
            all_of_host.times += pings.times
            all_of_host.unreadable_count += pings.unreadable_count
    return found


def process_host(file: Path) -> str | None:
    """Give the host that a plugin file names as its own; ``None`` if it names none."""
    for line in _lines(file):
        if line.startswith(_PROCESS) and (host := _host(line)) is not None:
            return host
    return None


def first_process(file: Path) -> dict[str, Any]:
    """Give the first record in which a plugin file names its application, else its host; or {}."""
    found: dict[str, Any] = {}
    for line in _lines(file):
        if line.startswith(_PROCESS):
            record = _record(line)
            found = found or record
            if record.get("app_id"):
                return record
    return found


def _record(line: bytes) -> dict[str, Any]:
    try:
        record = parse_json(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


def _lines(file: Path) -> Iterator[bytes]:
    # That it cannot be read is said where its records are.
    with suppress(OSError), file.open("rb") as lines:
        while line := lines.readline(_LONGEST_BYTES):
            # The last line of a JVM that was killed may be half a line.
            if line.endswith(b"\n"):
                yield line


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


def _host(line: bytes) -> str | None:
    host = _record(line).get("host")
    return host if isinstance(host, str) and host else None
