"""First process of a host: gives it its name and files, then does nothing until it is killed.

Runs in the host's new namespaces, as ``python -I -S inside.py JSON`` (``bed.mounts``). With process
numbers of its own it is number 1: when it is killed, the kernel kills all the others.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

# Found before anything is covered: what PATH names may be a link in a folder that will be.
MOUNT = os.path.realpath(shutil.which("mount") or "mount")


def mount(*arguments: str) -> None:
    """Mount something in this namespace."""
    subprocess.run([MOUNT, *arguments], check=True)


def arrange(wanted: dict[str, dict[str, str]]) -> None:
    """Put the host's own files over the machine's, and shared folders back on top."""
    stashed = {}
    for number, (inside, source) in enumerate(wanted["shared"].items()):
        if not Path(source).is_dir():
            continue
        stash = Path(f"{wanted['stash']}/{number}")
        stash.mkdir(parents=True)
        mount("--bind", source, str(stash))
        stashed[inside] = stash
    for inside, source in wanted["covers"].items():
        if Path(inside).is_dir():
            Path(source).mkdir(parents=True)
            Path(source).chmod(Path(inside).stat().st_mode)
            mount("--bind", source, inside)
    for inside, stash in stashed.items():
        Path(inside).mkdir(parents=True, exist_ok=True)
        mount("--move", str(stash), inside)
    mount("-t", "tmpfs", "tmpfs", "/dev/shm")
    mount("--bind", str(wanted["hosts_file"]), "/etc/hosts")


def main() -> None:
    """Make the host and stay."""
    wanted = json.loads(sys.argv[1])
    socket.sethostname(wanted["hostname"])
    arrange(wanted)
    # What ends here is waited for by nobody else.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    Path(wanted["ready"]).touch()
    while True:
        signal.pause()


if __name__ == "__main__":
    main()
