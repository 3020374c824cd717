"""Probe ``eventlog``: Spark's own event log, uncompressed and in one file where we choose."""

from __future__ import annotations

from pyrometer.probes.base import Needs, Probe
from pyrometer.store.layout import RunPaths
from pyrometer.store.manifest import ProbeEntry


class EventLogProbe(Probe):
    """Spark's event log. The user's own event log settings stay; its files are then copied."""

    name = "eventlog"

    def asked(self) -> str:
        """Every event, uncompressed, with stage executor metrics."""
        return "all events, uncompressed, one file, stage executor metrics"

    def needs(self, paths: RunPaths) -> Needs:
        """Switch it on; the rest only where the user has not switched it on."""
        return Needs(
            agent={
                "force.spark.eventLog.enabled": "true",
                "conf.spark.eventLog.dir": paths.eventlog.resolve().as_uri(),
                "conf.spark.eventLog.rolling.enabled": "false",
                "conf.spark.eventLog.compress": "false",
                "conf.spark.eventLog.logStageExecutorMetrics": "true",
            }
        )

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Count files and bytes."""
        logs = paths.eventlogs()
        files = [f for log in logs for f in ([log] if log.is_file() else log.rglob("*"))]
        size = sum(f.stat().st_size for f in files if f.is_file())
        got = f"{len(logs)} log(s), {size} bytes" if logs else None
        reason = None if logs else "no SparkContext wrote an event log"
        return ProbeEntry(name=self.name, asked=self.asked(), got=got, dropped=0, reason=reason)
