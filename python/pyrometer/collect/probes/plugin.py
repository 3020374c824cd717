"""Probe ``plugin``: Pyrometer's agent and Spark plugin inside driver and executors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyrometer import _artifacts
from pyrometer.collect.probes.base import Needs, Probe, Problem
from pyrometer.collect.probes.plain_path import plain, plain_for_all
from pyrometer.core.errors import PyrometerError
from pyrometer.core.installation import reinstall
from pyrometer.core.json_text import parse_json
from pyrometer.store.elsewhere import is_told_of_another
from pyrometer.store.manifest import ProbeEntry
from pyrometer.store.paths import RunPaths

SERIES_MS = 500
_LONGEST_BYTES = 16 << 20
CLOCK_MS = 1000


class PluginProbe(Probe):
    """Task spans, MXBean series and clock pairs; the agent also carries the overlay.

    Parameters
    ----------
    records : bool
        False: only the overlay is applied, nothing is recorded (profile ``off``).
    """

    name = "plugin"

    def __init__(self, records: bool = True) -> None:
        self.records = records

    def asked(self) -> str:
        """Say which records and how often."""
        if not self.records:
            return "configuration overlay only"
        return f"task spans, MXBeans every {SERIES_MS} ms, clock pairs every {CLOCK_MS} ms"

    def needs(self, paths: RunPaths) -> Needs:
        """Load the agent into the driver; Spark brings it to executors."""
        raw = plain(paths.raw)
        properties = str(raw / paths.agent_properties.name)
        return Needs(
            jvm_options=(f"-javaagent:{plain_for_all(_artifacts.plugin_jar())}={properties}",),
            environment={"PYROMETER_AGENT_PROPERTIES": properties},
            agent={
                "raw.dir": str(raw),
                "plugin": "on" if self.records else "off",
                "mx.interval.ms": str(SERIES_MS),
                "clock.interval.ms": str(CLOCK_MS),
            },
        )

    def check(self) -> list[Problem]:
        """See that the jar is there."""
        try:
            _artifacts.plugin_jar()
        except PyrometerError as error:
            return [Problem(self.name, error.message, error.remedy or reinstall())]
        return []

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Add up what the files say of themselves."""
        files = paths.plugin_files()
        written = dropped = own_cpu = 0
        closed = elsewhere = 0
        for file in files:
            elsewhere += sum(
                is_told_of_another(str(one.get("where")), str(one.get("message")))
                for one in records(file, "error")
            )
            last = read_last(file, "bye")
            if last is not None:
                closed += 1
                written += int(last.get("written") or 0)
                dropped += int(last.get("dropped") or 0)
                own_cpu += int(last.get("own_cpu_ns") or 0)
        reason = None
        if not files:
            reason = "no JVM with the agent started a SparkContext"
        elif closed < len(files):
            reason = f"{len(files) - closed} of {len(files)} JVMs ended without closing their file"
        elif elsewhere:
            reason = f"records of {elsewhere} executor(s) are on the hosts where they ran"
        return ProbeEntry(
            name=self.name,
            asked=self.asked(),
            got=f"{len(files)} JVM(s), {written} records" if files else None,
            dropped=dropped if closed else None,
            own_cpu_ns=own_cpu if closed else None,
            reason=reason,
        )


def records(file: Path, *kinds: str) -> Iterator[dict[str, Any]]:
    """Give the records of some kinds in a plugin file; cut lines are passed over."""
    marks = tuple(f'"k":"{kind}"'.encode() for kind in kinds)
    try:
        with file.open("rb") as lines:
            while line := lines.readline(_LONGEST_BYTES):
                if not any(mark in line for mark in marks):
                    continue
                try:
                    record = parse_json(line)
                except ValueError:
                    continue
                if isinstance(record, dict) and record.get("k") in kinds:
                    yield record
    except OSError:
        return


def read_last(file: Path, kind: str, tail_bytes: int = 65536) -> dict[str, Any] | None:
    """Last record of a kind within the end of a file; ``None`` if there is none."""
    try:
        with file.open("rb") as lines:
            lines.seek(0, 2)
            lines.seek(max(0, lines.tell() - tail_bytes))
            tail = lines.read().splitlines()
    except OSError:
        return None
    for line in reversed(tail):
        if f'"k":"{kind}"'.encode() in line:
            try:
                record = parse_json(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                return record
    return None
