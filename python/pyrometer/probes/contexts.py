"""Context slots: what threads and Python workers say of themselves to the OS probe.

Written by the plugin and by a hook in Python workers, into files that have a name in the raw
folder and lie in memory (docs/reference/context-slot.md).
"""

from __future__ import annotations

from pathlib import Path

from pyrometer.probes.base import Needs
from pyrometer.probes.python_workers import HOOK
from pyrometer.store.layout import RunPaths


def needs(paths: RunPaths) -> Needs:
    """Have JVMs and Python workers of the application write slots."""
    return Needs(
        agent={"context": "on"},
        environment={"PYROMETER_CONTEXT_DIR": str(paths.raw.resolve())},
        python_path=(str(HOOK),),
    )


def clean_up(raw: Path) -> None:
    """Remove the files: those of processes that were killed, whose own end did not."""
    for name in raw.glob("context-*"):
        if name.is_symlink():
            # Made by us alone, in a folder of ours: its target is the file of slots.
            name.readlink().unlink(missing_ok=True)
        name.unlink(missing_ok=True)
