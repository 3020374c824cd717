"""Which files of this host a machine needs: programs, what loads them, and where links lead.

Everything has the same path in the machine as here, so that no setting has to be translated.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pyrometer.guests.parts.elf import needs

NO_DATA = frozenset({".git", ".hg", ".svn", "lost+found"})
"""Names of folders that are left out wherever they are."""

NO_PROGRAMS = NO_DATA | {"node_modules", "jmods", "site-packages", "dist-packages"}
"""Names of folders that no program needs, or only those that name them: a Python's packages are
below the modules of the Python that it was made of, which has others."""

OF_THE_KERNEL = ("/dev", "/proc", "/sys")
"""Folders that a machine has from its own kernel: a command that names a file there means that."""

IN_MEMORY = "/dev/shm/"  # noqa: S108 - nothing is written there
"""Files below it are no kernel's, and are not copied: a machine has an empty one."""

_LIBRARY = re.compile(r"^\s+(\S+) \(([^)]*)\) => (\S+)$", re.MULTILINE)
_MOST_LINKS = 40


@dataclass
class Listing:
    """Files to be copied, by absolute path.

    Attributes
    ----------
    folders : set of str
        Folders.
    files : dict of str to os.stat_result
        Regular files.
    links : dict of str to str
        Symbolic links, and where they lead.
    missing : list of str
        What was asked for and is not there.
    unreadable : list of str
        Files and folders that this user may not read: they are left out.
    in_memory : list of str
        What was asked for and lies below `IN_MEMORY`: it is left out, as is whatever else does.
    """

    folders: set[str] = field(default_factory=set)
    files: dict[str, os.stat_result] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    in_memory: list[str] = field(default_factory=list)

    def add(self, other: Listing) -> None:
        """Add what another lists."""
        self.folders |= other.folders
        self.files |= other.files
        self.links |= other.links
        self.missing += other.missing
        self.unreadable += other.unreadable
        self.in_memory += other.in_memory

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(found.st_size for found in self.files.values())


def parse_libraries(text: str) -> dict[str, str]:
    r"""Read what ``ldconfig -p`` prints: paths of shared libraries by name.

    Examples
    --------
    >>> parse_libraries("2 libs\n\tlibz.so.1 (libc6,x86-64) => /lib/libz.so.1\n")
    {'libz.so.1': '/lib/libz.so.1'}
    """
    found: dict[str, str] = {}
    for name, kind, path in _LIBRARY.findall(text):
        if "x86-64" in kind:
            found.setdefault(name, path)
    return found


def libraries_here() -> dict[str, str]:
    """Shared libraries of this host by name; none where ldconfig is missing."""
    environment = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"}
    try:
        done = subprocess.run(
            ["ldconfig", "-p"], env=environment, capture_output=True, text=True, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except OSError:
        return {}
    return parse_libraries(done.stdout)


def collect(
    roots: Iterable[str | Path],
    libraries: Mapping[str, str],
    without: Listing | None = None,
    passed_over: Callable[[str], bool] = lambda folder: False,
    left_out: Collection[str] = NO_PROGRAMS,
) -> Listing:
    """List files, folders with all that is in them, and what they need in turn.

    Parameters
    ----------
    roots : iterable of path
        Where to begin; what is not there is noted.
    libraries : mapping
        Shared libraries by name.
    without : Listing, optional
        What another disk of the machine has already.
    passed_over : callable
        Whether a folder below a root is left out.
    left_out : collection of str
        Names of folders that are, whatever is in them.
    """
    found = Listing()
    known = without or Listing()
    waiting = [os.path.abspath(root) for root in roots]
    asked = set(waiting)
    while waiting:
        path = _through_links(waiting.pop(), found, known, asked)
        if path is None or path in found.folders or path in found.files:
            continue
        try:
            facts = os.lstat(path)
        except OSError:
            if path in asked:
                found.missing.append(path)
            continue
        if stat.S_ISDIR(facts.st_mode):
            if path not in asked and passed_over(path):
                continue
            found.folders.add(path)
            waiting += _entries(path, found, left_out)
        elif stat.S_ISREG(facts.st_mode) and path not in known.files:
            if not os.access(path, os.R_OK):
                found.unreadable.append(path)
                continue
            found.files[path] = facts
            waiting += _needed(path, facts, libraries)
    return found


def _through_links(path: str, found: Listing, known: Listing, asked: Collection[str]) -> str | None:
    """Note the links in a path; gives the path without any.

    ``None`` where they lead in circles, or to what is the kernel's.
    """
    parts = path.strip("/").split("/")
    at, count = "", 0
    while parts:
        part = parts.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            at = os.path.dirname(at)
            continue
        here = f"{at}/{part}"
        if here in OF_THE_KERNEL:
            there = "/".join([here, *parts])
            if path in asked and there.startswith(IN_MEMORY) and os.path.exists(there):
                found.in_memory.append(path)
            return None
        try:
            target = os.readlink(here)
        except OSError:
            at = here
            continue
        count += 1
        if count > _MOST_LINKS:
            return None
        if here not in known.links:
            found.links[here] = target
        parts = target.strip("/").split("/") + parts
        if target.startswith("/"):
            at = ""
    return at or "/"


def _entries(folder: str, found: Listing, left_out: Collection[str]) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.path for entry in entries if entry.name not in left_out]
    except PermissionError:
        found.unreadable.append(folder)
    except OSError:
        pass  # Gone meanwhile.
    return []


def _needed(path: str, facts: os.stat_result, libraries: Mapping[str, str]) -> list[str]:
    if not (facts.st_mode & 0o111 or ".so" in os.path.basename(path)):
        return []
    try:
        with open(path, "rb") as file:
            wanted = needs(file)
    except OSError:
        return []
    folders = wanted.beside(path)
    found = (_library(name, folders) or libraries.get(name) for name in wanted.libraries)
    return [one for one in (*found, wanted.loader) if one]


def _library(name: str, folders: Iterable[str]) -> str | None:
    """Find a library in the folders that a file names itself, as Conda does."""
    paths = (os.path.join(folder, name) for folder in folders if folder.startswith("/"))
    return next((one for one in paths if os.path.isfile(one)), None)
