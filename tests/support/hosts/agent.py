"""The agent of hosts as executors start it: the program in the plugin's jar."""

from __future__ import annotations

import platform
from pathlib import Path

from pyrometer import _artifacts
from pyrometer.collect.agent.programs import programs

MACHINE = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}


def unpacked(folder: Path) -> Path:
    """Write the agent for this machine below a folder."""
    program = folder / "pyro-agent"
    program.write_bytes(
        programs(_artifacts.plugin_jar())[MACHINE[platform.machine()]][program.name]
    )
    program.chmod(0o700)
    return program
