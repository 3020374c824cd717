"""What accompanies an application: started before it, told of after it."""

from __future__ import annotations

from pyrometer.run import cgroup, cluster, neighbours
from pyrometer.run.ballast import READY
from pyrometer.run.companions import Companions
from pyrometer.run.launch import Launch
from pyrometer.run.memory import MemoryWatch, ballast_command, missed
from pyrometer.run.record import Record


def accompany(launch: Launch, record: Record, companions: Companions) -> None:
    """Start ballast, cluster and neighbours.

    Raises
    ------
    CapabilityError
        If one of them does not start.
    """
    raw, wanted = record.paths.raw, launch.host.memory
    if wanted is not None and wanted.by == "ballast":
        companions.hold("ballast", ballast_command(wanted.knob), raw / "ballast.log", READY)
    if launch.cluster is not None:
        place = launch.host.placement.application
        with record.phase("cluster"), cgroup.joined(launch.host.group.folders):
            cluster.start(launch.cluster, companions, launch.env, raw / "cluster", place)
    neighbours.start(launch.host.neighbours, companions, raw)


def tell(launch: Launch, record: Record, companions: Companions, memory: MemoryWatch) -> None:
    """Tell in the manifest what neighbours got done, and which state of memory was reached."""
    for text in companions.gone:
        record.doubt("companion_ended", f"{text} before the application did.")
    record.manifest.neighbours = neighbours.done(launch.host.neighbours, record.paths.raw)
    if record.manifest.neighbours:
        done = neighbours.told(record.manifest.neighbours)
        record.doubt("accompanied", f"Beside it ran {done}.")
    record.manifest.memory = memory.told()
    short = missed(record.manifest.memory) if record.manifest.memory else None
    if short is not None:
        record.doubt("memory_condition_missed", f"{short}.")
