"""The file tree of a container: its host's, with what is its own over it.

Nothing is made on the host for it. Where a mount needs a folder that is not there, the folder above
is replaced, for this container, by one in memory that holds all its entries.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from tests.cluster.kube.kubelet import kernel

OWN = ("/tmp", "/var/tmp")
"""Folders of which each container has its own, empty at first."""
FRESH = ("/run",)
"""The same, in memory."""
LINKS = 40


@dataclass(frozen=True)
class Mount:
    """A folder or file of the host in a container.

    Parameters
    ----------
    source : str
        On the host.
    target : str
        In the container.
    read_only : bool
        Whether the container may not write there.
    """

    source: str
    target: str
    read_only: bool = False


@dataclass
class Tree:
    """A tree that is made, in a mount namespace of the container's own.

    Parameters
    ----------
    root : Path
        A folder of the host, which becomes the container's root.
    """

    root: Path
    _ours: set[Path] = field(default_factory=set)

    def compose(self, own: Path, mounts: list[Mount], host_processes: bool) -> None:
        """Make the tree: the host's top folders, those of the container, then mounts in order."""
        kernel.keep_mounts_to_ourselves()
        self.root.mkdir(parents=True, exist_ok=True)
        kernel.mount("tmpfs", self.root, "mode=755")
        self._ours.add(self.root)
        for entry in sorted(Path("/").iterdir()):
            target = self.root / entry.name
            if str(entry) in (*OWN, *FRESH) or (str(entry) == "/proc" and not host_processes):
                target.mkdir()
            else:
                _mirror(entry, target)
        if not host_processes:
            kernel.mount("proc", self.root / "proc")
        for name in FRESH:
            kernel.mount("tmpfs", self.root / name.strip("/"), "mode=755")
            self._ours.add(self.root / name.strip("/"))
        for name in OWN:
            folder = own / name.strip("/")
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o1777)
            place = self._place(PurePosixPath(name), is_folder=True)
            kernel.bind(folder, place)
            self._ours.add(place)
        for one in mounts:
            source = Path(one.source)
            target = self._place(PurePosixPath(one.target), is_folder=source.is_dir())
            kernel.bind(source, target, one.read_only)
            self._ours.discard(target)

    def folder(self, inside: str) -> None:
        """Have a folder, which nothing has to be mounted on."""
        self._place(PurePosixPath(inside), is_folder=True)

    def enter(self) -> None:
        """Make it the root of this process."""
        kernel.pivot(self.root)

    def _place(self, inside: PurePosixPath, *, is_folder: bool) -> Path:
        """Give where a path of the container lies here; it is made if it is not there."""
        at, parts, links = self.root, list(inside.parts[1:]), 0
        while parts:
            part = parts.pop(0)
            following = at / part
            if following.is_symlink():
                links += 1
                if links > LINKS:
                    raise OSError(f"{inside}: too many links")
                to = PurePosixPath(os.readlink(following))
                parts = [p for p in to.parts if p != "/"] + parts
                at = self.root if to.is_absolute() else at
            elif part == "..":
                at = at if at == self.root else at.parent
            else:
                if not following.exists():
                    self._writable(at)
                    if parts or is_folder:
                        following.mkdir()
                        self._ours.add(following)
                    else:
                        following.touch()
                at = following
        return at

    def _writable(self, folder: Path) -> None:
        if folder in self._ours:
            return
        aside = self.root / ".aside"
        aside.mkdir(exist_ok=True)
        kernel.bind(folder, aside)
        kernel.mount("tmpfs", folder, "mode=755")
        for entry in sorted(aside.iterdir()):
            _mirror(entry, folder / entry.name)
        kernel.unmount(aside)
        aside.rmdir()
        self._ours.add(folder)


def _mirror(entry: Path, target: Path) -> None:
    if entry.is_symlink():
        target.symlink_to(os.readlink(entry))
    elif entry.is_dir():
        target.mkdir()
        kernel.bind(entry, target)
    elif entry.is_file():
        target.touch()
        kernel.bind(entry, target)
