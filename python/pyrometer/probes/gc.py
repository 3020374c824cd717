"""Probe ``gc``: unified logging of collections and safepoints, from the start of each JVM."""

from __future__ import annotations

from pyrometer.probes.base import Needs, Probe
from pyrometer.store.layout import RunPaths
from pyrometer.store.manifest import ProbeEntry

WHAT = "gc*,gc+age=trace,safepoint"
DECORATORS = "timenanos,uptimenanos,tid,level,tags"


class GcProbe(Probe):
    """GC and safepoint log; ``timenanos`` is CLOCK_MONOTONIC."""

    name = "gc"

    def asked(self) -> str:
        """Say what is logged."""
        return f"-Xlog:{WHAT} with {DECORATORS}"

    def needs(self, paths: RunPaths) -> Needs:
        """Log from the driver's first moment; executors are switched on by the agent."""
        file = paths.raw.resolve() / "gc-%p.log"
        return Needs(
            # filecount=0: one file that is never rotated.
            jvm_options=(f'-Xlog:{WHAT}:file="{file}":{DECORATORS}:filecount=0',),
            agent={"gclog.what": WHAT, "gclog.decorators": DECORATORS},
        )

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
