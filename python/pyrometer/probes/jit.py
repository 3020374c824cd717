"""Probe ``jit``: unified logging of compilations, from the agent's start in each JVM."""

from __future__ import annotations

from pyrometer.probes.base import Needs, Probe
from pyrometer.probes.gc import DECORATORS
from pyrometer.store.layout import RunPaths
from pyrometer.store.manifest import ProbeEntry

# The agent adds the reasons of deoptimisations where this Java logs them (18 and later).
WHAT = "jit+compilation=debug,nmethod+install,codecache=warning"


class JitProbe(Probe):
    """Compilations and code that was given up; what it costs: docs/adr/0010-jit-log.md."""

    name = "jit"

    def asked(self) -> str:
        """Say what is logged."""
        return f"unified log {WHAT} with {DECORATORS}"

    def needs(self, paths: RunPaths) -> Needs:
        """Switch it on from inside: as an argument, an unknown tag would stop the JVM."""
        return Needs(agent={"jitlog.what": WHAT, "jitlog.decorators": DECORATORS})

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
