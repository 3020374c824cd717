"""Neighbours of the workload (``co.run``): built-in programs, and what they got done.

Companion processes of the application: they end with it, and die with us.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrometer.collect.host import bind, neighbour
from pyrometer.collect.host.placement import ANYWHERE, Place
from pyrometer.core import units
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.trial.factors import parse_numbers, write_numbers

END_S = 10.0


class Companions:
    """Those that were started, in their order."""

    def __init__(self) -> None:
        self._started: list[tuple[str, subprocess.Popen[bytes]]] = []

    @property
    def pids(self) -> list[int]:
        """Of all."""
        return [process.pid for _, process in self._started]

    @property
    def gone(self) -> list[str]:
        """Those that have ended by themselves, in words."""
        ended = ((name, process.poll()) for name, process in self._started)
        return [f"{name} ended with code {code}" for name, code in ended if code is not None]

    def start(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        env: Mapping[str, str] | None = None,
        place: Place = ANYWHERE,
    ) -> None:
        """Start one at its place; what it writes goes to `log`.

        Raises
        ------
        CapabilityError
            If it cannot be started.
        """
        words = [sys.executable, "-I", "-S", bind.__file__, "--with-parent", str(os.getpid())]
        words += place.options
        try:
            with log.open("ab") as file:
                process = subprocess.Popen(
                    [*words, "--", *command],
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    env=None if env is None else dict(env),
                    start_new_session=True,
                )
        except OSError as error:
            raise CapabilityError(f"{name}: {error}") from error
        self._started.append((name, process))

    def hold(self, name: str, command: Sequence[str], log: Path, ready: str) -> None:
        """Start one, and wait until it writes that it is ready.

        Raises
        ------
        CapabilityError
            If it ends before, with what it wrote last.
        """
        self.start(name, command, log)
        while ready not in log.read_text(encoding="utf-8", errors="replace"):
            if self.gone:
                text = log.read_text(encoding="utf-8", errors="replace")
                last = text.strip().rpartition("\n")[2] or "it wrote nothing"
                raise CapabilityError(f"{self.gone[-1]}: {last}")
            time.sleep(0.02)

    def stop(self) -> None:
        """End all, the last first."""
        for _, process in reversed(self._started):
            process.terminate()
        deadline = time.monotonic() + END_S
        for _, process in reversed(self._started):
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._started.clear()


@contextlib.contextmanager
def ended_after() -> Iterator[Companions]:
    """Have companions while the block lasts."""
    companions = Companions()
    try:
        yield companions
    finally:
        companions.stop()


_PART = re.compile(r"(?P<kind>[a-z]+)(?::(?P<count>[0-9]+))?(?:@(?P<cpus>[0-9,-]+))?")


@dataclass(frozen=True)
class Neighbour:
    """One process.

    Attributes
    ----------
    kind : str
        What it uses up: a key of `neighbour.KINDS`.
    cpus : frozenset of int or None
        CPUs that it may use; ``None``: as we may.
    """

    kind: str
    cpus: frozenset[int] | None = None


def neighbours(level: str) -> tuple[Neighbour, ...]:
    """Read a level of ``co.run``.

    Examples
    --------
    >>> [one.kind for one in neighbours("memory:2+disk")]
    ['memory', 'memory', 'disk']

    Raises
    ------
    UsageError
        If a CPU may not be used.
    """
    planned: list[Neighbour] = []
    for part in level.split("+"):
        match = _PART.fullmatch(part)
        if match is None or match["kind"] == "none":
            continue
        cpus = frozenset(parse_numbers(match["cpus"])) if match["cpus"] else None
        missing = (cpus or frozenset()) - os.sched_getaffinity(0)
        if missing or cpus == frozenset():
            raise UsageError(
                f"co.run={level}: CPUs {write_numbers(missing) or match['cpus']}"
                " may not be used here",
                f"choose from {write_numbers(os.sched_getaffinity(0))}",
            )
        planned += [Neighbour(match["kind"], cpus)] * int(match["count"] or 1)
    return tuple(planned)


def start(wanted: tuple[Neighbour, ...], companions: Companions, raw: Path) -> None:
    """Start them; each writes how far it is into ``raw/neighbour-<n>-<kind>.ndjson``."""
    for number, one in enumerate(wanted):
        command = [sys.executable, "-I", "-S", neighbour.__file__, one.kind, str(raw)]
        log = raw / f"neighbour-{number}-{one.kind}.ndjson"
        companions.start(f"neighbour {one.kind}", command, log, place=Place(one.cpus))


def done(wanted: tuple[Neighbour, ...], raw: Path) -> list[dict[str, Any]]:
    """Give what each got done, for the manifest: work per second from first to last line."""
    results = []
    for number, one in enumerate(wanted):
        rate, lines = None, _lines(raw / f"neighbour-{number}-{one.kind}.ndjson")
        if len(lines) > 1 and lines[-1]["mono_ns"] > lines[0]["mono_ns"]:
            length_s = (lines[-1]["mono_ns"] - lines[0]["mono_ns"]) / 1e9
            rate = (lines[-1]["work"] - lines[0]["work"]) / length_s
        results.append(
            {
                "kind": one.kind,
                "cpus": sorted(one.cpus) if one.cpus else None,
                "unit": neighbour.UNITS[one.kind],
                "per_s": rate,
                "reason": None if rate is not None else "it ended within its first second",
            }
        )
    return results


def described(found: list[dict[str, Any]]) -> str:
    """Say what neighbours got done.

    Examples
    --------
    >>> described([{"kind": "disk", "unit": "bytes", "per_s": 2e6, "cpus": None}])
    'disk (1.91 MiB/s)'
    """
    return ", ".join(f"{one['kind']} ({_rate(one['per_s'], one['unit'])})" for one in found)


def _rate(per_s: float | None, unit: str) -> str:
    if per_s is None:
        return "how fast is not known"
    return f"{units.size(per_s)}/s" if unit == "bytes" else f"{per_s:.3g} {unit}/s"


def _lines(path: Path) -> list[dict[str, int]]:
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            record = parse_json(line)
            found.append({key: int(record[key]) for key in ("mono_ns", "work")})
        except (ValueError, KeyError, TypeError):
            continue
    return found
