"""Probe ``stacks``: async-profiler inside driver and executors, one JFR file per JVM.

Lines of generated code mean nothing without their source: it belongs to this probe.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from pyrometer.collect.probes.base import Needs, Probe, Problem
from pyrometer.collect.probes.plugin import records
from pyrometer.collect.probes.profile import CPU_ENGINES
from pyrometer.store.manifest import ProbeEntry
from pyrometer.store.paths import RunPaths

# Exact lines for code between safepoints.
DEBUG_OPTIONS = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints")

# Without events of JVM (1) and system properties (2): arguments and values may hold secrets, and a
# recording cannot be redacted.
NO_SETTINGS = "jfropts=3"

# How often the plugin looks for newly compiled code.
CODEGEN_MS = 1000
SOURCE = b'{"k":"source"'
DROPS = {
    "evicted": "left Spark's cache before they were seen",
    "source": "not kept (codegen.max.bytes, or unreadable)",
    "write": "not written (is the disk full?)",
}


class StacksProbe(Probe):
    """Stacks of threads on CPU, of waiting tasks, of allocations and contended locks.

    Parameters
    ----------
    events : mapping
        Event kinds with their periods (:data:`pyrometer.collect.probes.profile.STACK_EVENTS`).
    """

    name = "stacks"

    def __init__(self, events: Mapping[str, str]) -> None:
        self.events = dict(events)

    def asked(self) -> str:
        """Say the events with their periods."""
        words = {
            "wall": "wall {} on task threads",
            "alloc": "alloc / {}",
            "live": "live objects / {}",
            "lock": "lock / {}",
            "nativemem": "nativemem / {}",
        }
        return ", ".join(
            words.get(kind, kind + " {}").format(period) for kind, period in self.events.items()
        )

    def command(self) -> str:
        """Arguments of async-profiler as an agent, without the file."""
        engine = next((kind for kind in self.events if kind in CPU_ENGINES), None)
        words = ["start"]
        if engine:
            words += [f"event={engine}", f"interval={self.events[engine]}"]
        events = dict(self.events)
        if "live" in events:
            # Objects of alloc's samples that are in use at the end: the profiler's word is a flag.
            events["alloc"] = events.pop("live")
            words.append("live")
        words += [f"{k}={v}" for k, v in events.items() if k not in CPU_ENGINES]
        # A chunk every 10 s: what is on disk stays readable if the JVM is killed.
        return ",".join([*words, "clock=monotonic", "chunktime=10s", NO_SETTINGS])

    def needs(self, paths: RunPaths) -> Needs:
        """Start with the plugin, in every JVM of the application."""
        return Needs(
            jvm_options=DEBUG_OPTIONS,
            executor_options=DEBUG_OPTIONS,
            agent={
                "asprof.command": self.command(),
                "asprof.wall.threads": "tasks",
                "conf.spark.sql.codegen.comments": "true",
                "codegen.interval.ms": str(CODEGEN_MS),
                "codegen.lines": "on",
            },
        )

    def check(self) -> list[Problem]:
        """See how CPU will be sampled; async-profiler falls back to timers without perf events."""
        if "cpu" not in self.events:
            return []
        level = perf_event_paranoid()
        if os.geteuid() == 0 or (level is not None and level <= 1):
            return []
        return [
            Problem(
                self.name,
                "kernel.perf_event_paranoid is "
                f"{level}: CPU is sampled by timers, without kernel frames",
                "sysctl -w kernel.perf_event_paranoid=1 kernel.kptr_restrict=0",
                fatal=False,
            )
        ]

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Count files and sources; what profiler and capture reported as errors is the reason."""
        files = [file for file in paths.profiles() if file.stat().st_size]
        started = [r for f in paths.plugin_files() for r in records(f, "profiler")]
        errors = sorted({str(r["error"]) for r in started if r.get("error")})
        version = next((str(r["version"]) for r in started if r.get("version")), None)
        sources, dropped, failures = captured(paths.codegen_files())
        if not files and not errors:
            errors = ["no JVM started the profiler"]
        reasons = [*errors, *(f"generated code: {words}" for words in failures)]
        return ProbeEntry(
            name=self.name,
            tier=f"async-profiler {version}" if version else None,
            asked=self.asked(),
            got=f"{len(files)} recording(s), {sources} generated source(s)" if files else None,
            dropped=dropped,
            reason="; ".join(reasons) or None,
        )


def captured(files: Iterable[Path]) -> tuple[int, int | None, list[str]]:
    """Add up what the files of generated code say.

    Parameters
    ----------
    files : iterable of Path
        ``raw/codegen/*.ndjson`` (docs/reference/plugin.md).

    Returns
    -------
    tuple
        Sources written; sources lost, ``None`` without a file; what was lost and why, in words.
    """
    sources, lost, errors, seen = 0, Counter[str](), set[str](), False
    for file in files:
        seen = True
        drops: dict[str, int] = {}
        for record in records(file, "drop", "error"):
            if record["k"] == "drop":
                drops[str(record.get("kind"))] = int(record.get("count") or 0)
            else:
                errors.add(f"{record.get('where')}: {record.get('message')}")
        lost.update(drops)
        with file.open("rb") as lines:
            sources += sum(line.startswith(SOURCE) and line.endswith(b"\n") for line in lines)
    words = [f"{count} {DROPS.get(kind, kind)}" for kind, count in sorted(lost.items())]
    return sources, lost.total() if seen else None, [*words, *sorted(errors)]


def perf_event_paranoid() -> int | None:
    """``kernel.perf_event_paranoid``; ``None`` where the kernel has no perf events."""
    try:
        return int(Path("/proc/sys/kernel/perf_event_paranoid").read_text())
    except (OSError, ValueError):
        return None
