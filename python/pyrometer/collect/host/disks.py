"""Disks of this host: those below a folder, found through partitions, volumes and file systems."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path("/")


def disks_below(folder: Path, root: Path = ROOT) -> tuple[str, ...]:
    """Name the whole disks that hold a folder, as ``/sys/block`` does; none if it is on no disk.

    Parameters
    ----------
    folder : Path
        The folder.
    root : Path
        Root of the file system; another one simulates a host.
    """
    number, _, source = _mount(folder, root)
    block = root / "sys/dev/block" / number
    blocks = [block]
    # btrfs has numbers of its own, and says where it is from.
    if not block.exists() and source.startswith("/dev/"):
        blocks = _together(Path(os.path.realpath(source)).name, root)
    return tuple(sorted({disk for one in blocks if one.exists() for disk in _whole(one)}))


def file_system(folder: Path, root: Path = ROOT) -> str:
    """Name the kind of file system that holds a folder, as the kernel does; empty if unknown.

    Parameters
    ----------
    folder : Path
        The folder, which need not be there yet.
    root : Path
        Root of the file system; another one simulates a host.
    """
    try:
        return _mount(folder, root)[1]
    except OSError:
        return ""


def _mount(folder: Path, root: Path) -> tuple[str, str, str]:
    """Give number, kind and source of the file system that holds a folder."""
    path = str(folder.resolve())
    found, nearest = ("", "", ""), ""
    for line in (root / "proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        front, _, back = line.partition(" - ")
        fields = front.split()
        place = fields[4].replace("\\040", " ")
        above = place.rstrip("/") + "/"
        # Of what is mounted over each other, the last one is seen.
        if f"{path}/".startswith(above) and len(above) >= len(nearest):
            kind, source = back.split()[:2]
            found, nearest = (fields[2], kind, source), above
    return found


def all_disks(root: Path = ROOT) -> tuple[str, ...]:
    """Name the disks that are devices; loops, memory and volumes on top of them are left out."""
    return tuple(sorted(one.parent.name for one in (root / "sys/block").glob("*/device")))


def _together(name: str, root: Path) -> list[Path]:
    """Give a device, and all others of its btrfs: mounts name one of them alone."""
    for devices in (root / "sys/fs/btrfs").glob("*/devices"):
        if (devices / name).exists():
            return list(devices.iterdir())
    return [root / "sys/class/block" / name]


def _whole(block: Path) -> set[str]:
    block = block.resolve()
    if below := list((block / "slaves").glob("*")):
        return {name for one in below for name in _whole(one)}
    return {block.parent.name if (block / "partition").exists() else block.name}
