"""Probe ``eventlog``: Spark's own event log, uncompressed and in one file where we choose.

Probe ``gc``: unified logging of collections and safepoints, from the agent's start in each JVM.

Probe ``jit``: unified logging of compilations, from the agent's start in each JVM.
"""

from __future__ import annotations

from pyrometer.collect.probes.base import Needs, Probe
from pyrometer.collect.probes.plain_path import plain
from pyrometer.collect.probes.plugin import records
from pyrometer.store.manifest import ProbeEntry
from pyrometer.store.paths import RunPaths

EVENT_LOG = {
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
    "spark.eventLog.logStageExecutorMetrics": "true",
    "spark.eventLog.includeTaskMetricsAccumulators": "false",
}
"""Settings of an event log that is ours. Spark writes the metrics of each task a second time, as
accumulators, which nobody reads: its own History Server does not, and from Spark 4.0 on they can be
left out (SPARK-42204). They are a third of a task's event and of what writing it costs."""

NO_LOG = "no event log: "
"""Begins the agent's reason where it did not switch the event log on."""


class EventLogProbe(Probe):
    """Spark's event log. The user's event log settings stay; the files are then copied."""

    name = "eventlog"

    def asked(self) -> str:
        """Every event, uncompressed, with stage executor metrics."""
        return "all events, uncompressed, one file, stage executor metrics"

    def needs(self, paths: RunPaths) -> Needs:
        """Switch it on; the rest only where the user has not switched it on."""
        return Needs(
            agent={
                "force.spark.eventLog.enabled": "true",
                "conf.spark.eventLog.dir": (plain(paths.raw) / paths.eventlog.name).as_uri(),
                **{f"conf.{key}": value for key, value in EVENT_LOG.items()},
            }
        )

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Count files and bytes."""
        logs = paths.eventlogs()
        files = [f for log in logs for f in ([log] if log.is_file() else log.rglob("*"))]
        size = sum(f.stat().st_size for f in files if f.is_file())
        got = f"{len(logs)} log(s), {size} bytes" if logs else None
        decisions = (r for f in paths.plugin_files() for r in records(f, "overlay"))
        why = next((r["reason"] for r in decisions if NO_LOG in str(r.get("reason"))), None)
        reason = None if logs else why or "no SparkContext wrote an event log"
        return ProbeEntry(name=self.name, asked=self.asked(), got=got, dropped=0, reason=reason)


GC_WHAT = "gc*,gc+age=trace,safepoint"
DECORATORS = "timenanos,uptimenanos,tid,level,tags"


class GcProbe(Probe):
    """GC and safepoint log; ``timenanos`` is CLOCK_MONOTONIC."""

    name = "gc"

    def asked(self) -> str:
        """Say what is logged."""
        return f"unified log {GC_WHAT} with {DECORATORS}"

    def needs(self, paths: RunPaths) -> Needs:
        """Switch it on from inside: as an argument, a file that cannot be opened stops the JVM."""
        return Needs(agent={"gclog.what": GC_WHAT, "gclog.decorators": DECORATORS})

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Count files."""
        logs = [log for log in paths.gc_logs() if log.stat().st_size]
        return ProbeEntry(
            name=self.name,
            asked=self.asked(),
            got=f"{len(logs)} log(s)" if logs else None,
            dropped=0 if logs else None,
            reason=None if logs else "no JVM wrote a GC log",
        )


# The agent adds why code was deoptimised where this Java logs them (18 and later).
JIT_WHAT = "jit+compilation=debug,nmethod+install,codecache=warning"


class JitProbe(Probe):
    """Compilations and code that was given up; what it costs: docs/adr/0010-jit-log.md."""

    name = "jit"

    def asked(self) -> str:
        """Say what is logged."""
        return f"unified log {JIT_WHAT} with {DECORATORS}"

    def needs(self, paths: RunPaths) -> Needs:
        """Switch it on from inside: as an argument, an unknown tag would stop the JVM."""
        return Needs(agent={"jitlog.what": JIT_WHAT, "jitlog.decorators": DECORATORS})

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Count files."""
        logs = [log for log in paths.jit_logs() if log.stat().st_size]
        return ProbeEntry(
            name=self.name,
            asked=self.asked(),
            got=f"{len(logs)} log(s)" if logs else None,
            dropped=0 if logs else None,
            reason=None if logs else "no JVM wrote a JIT log",
        )
