"""What runs beside the workload (``co.run``): built-in neighbours, and what they got done."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyrometer import units
from pyrometer.errors import UsageError
from pyrometer.run import neighbour
from pyrometer.run.companions import Companions
from pyrometer.run.placing import Place
from pyrometer.run.topology import numbers, written

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
    made: list[Neighbour] = []
    for part in level.split("+"):
        match = _PART.fullmatch(part)
        if match is None or match["kind"] == "none":
            continue
        cpus = frozenset(numbers(match["cpus"])) if match["cpus"] else None
        missing = (cpus or frozenset()) - os.sched_getaffinity(0)
        if missing or cpus == frozenset():
            raise UsageError(
                f"co.run={level}: CPUs {written(missing) or match['cpus']} may not be used here",
                f"of {written(os.sched_getaffinity(0))}",
            )
        made += [Neighbour(match["kind"], cpus)] * int(match["count"] or 1)
    return tuple(made)


def start(wanted: tuple[Neighbour, ...], companions: Companions, raw: Path) -> None:
    """Start them; each writes how far it is into ``raw/neighbour-<n>-<kind>.ndjson``."""
    for number, one in enumerate(wanted):
        command = [sys.executable, "-I", "-S", neighbour.__file__, one.kind, str(raw)]
        log = raw / f"neighbour-{number}-{one.kind}.ndjson"
        companions.start(f"neighbour {one.kind}", command, log, place=Place(one.cpus))


def done(wanted: tuple[Neighbour, ...], raw: Path) -> list[dict[str, Any]]:
    """Tell what each got done, for the manifest: work a second between its first and last line."""
    told = []
    for number, one in enumerate(wanted):
        rate, lines = None, _lines(raw / f"neighbour-{number}-{one.kind}.ndjson")
        if len(lines) > 1 and lines[-1]["mono_ns"] > lines[0]["mono_ns"]:
            length_s = (lines[-1]["mono_ns"] - lines[0]["mono_ns"]) / 1e9
            rate = (lines[-1]["work"] - lines[0]["work"]) / length_s
        told.append(
            {
                "kind": one.kind,
                "cpus": sorted(one.cpus) if one.cpus else None,
                "unit": neighbour.UNITS[one.kind],
                "per_s": rate,
                "reason": None if rate is not None else "it ended within its first second",
            }
        )
    return told


def told(found: list[dict[str, Any]]) -> str:
    """Say what neighbours got done.

    Examples
    --------
    >>> told([{"kind": "disk", "unit": "bytes", "per_s": 2e6, "cpus": None}])
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
            told = json.loads(line)
            found.append({key: int(told[key]) for key in ("mono_ns", "work")})
        except (ValueError, KeyError, TypeError):
            continue
    return found
