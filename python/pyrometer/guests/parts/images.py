"""Read-only disks of a machine, made of files of this host and kept by what is in them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
from pathlib import Path

from pyrometer.core import units
from pyrometer.core.errors import CapabilityError
from pyrometer.guests.cache import staging
from pyrometer.guests.parts.closure import Listing
from pyrometer.guests.parts.nameless import format_ext4
from pyrometer.store.private import FILE_MODE

KEPT = 8
"""Images that stay in the cache; those not used for longest go."""
_BLOCK = 4096
_SPARE = 16 << 20
_VERSION = b"1"
_COMPILED = "/__pycache__"


def key_of(listing: Listing) -> str:
    """Digest of paths, kinds, rights, sizes and times: equal listings are equal disks.

    Compiled Python is left out: it follows from its sources, and comes and goes by itself.
    """
    digest = hashlib.sha256(_VERSION)
    for path in sorted(listing.folders):
        if path.endswith(_COMPILED):
            continue
        digest.update(f"d{path}\0".encode(errors="surrogateescape"))
    for path, target in sorted(listing.links.items()):
        digest.update(f"l{path}\0{target}\0".encode(errors="surrogateescape"))
    for path, facts in sorted(listing.files.items()):
        if f"{_COMPILED}/" in path:
            continue
        line = f"f{path}\0{facts.st_mode} {facts.st_size} {facts.st_mtime_ns}\0"
        digest.update(line.encode(errors="surrogateescape"))
    return digest.hexdigest()[:32]


def image_of(listing: Listing, cache: Path) -> Path:
    """Give the disk that holds a listing; it is made if it is not in the cache.

    Raises
    ------
    CapabilityError
        If there is no room for it, it cannot be written, or mke2fs is missing.
    """
    target = cache / f"{key_of(listing)}.ext4"
    with contextlib.suppress(OSError):
        os.utime(target)
        return target
    with staging(cache) as folder:
        size = _size(listing)
        free = shutil.disk_usage(cache).free
        if free < 2 * size:
            raise CapabilityError(
                f"{cache}: a disk of {units.size(size)} for the virtual machine is to be made, and"
                f" {units.size(free)} are free",
                "free some space, or set PYROMETER_CACHE to a folder on another disk",
            )
        stage, made = folder / "stage", folder / "made"
        stage.mkdir()
        _copy(listing, stage)
        # Files that nobody else may read are in it.
        made.touch(FILE_MODE)
        os.truncate(made, size)
        format_ext4(str(made), size, stage)
        made.replace(target)
    _forget(cache, target)
    return target


def _size(listing: Listing) -> int:
    blocks = sum(-(-facts.st_size // _BLOCK) * _BLOCK for facts in listing.files.values())
    entries = len(listing.files) + len(listing.folders) + len(listing.links)
    # mke2fs has an inode for each 16 KiB by default: many small files need more than their bytes.
    return (max(blocks * 11 // 10, entries * (16 << 10)) + blocks // 50 + _SPARE) & -(1 << 20)


def _copy(listing: Listing, stage: Path) -> None:
    root = str(stage)
    for path in sorted(listing.folders):
        os.makedirs(root + path, exist_ok=True)
    for path, facts in listing.files.items():
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        try:
            # Nothing is copied where the file system and the rights allow it.
            os.link(path, root + path)
        except OSError:
            shutil.copyfile(path, root + path)
            os.chmod(root + path, stat.S_IMODE(facts.st_mode))
            os.utime(root + path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    for path, target in listing.links.items():
        os.makedirs(os.path.dirname(root + path), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.symlink(target, root + path)


def _forget(cache: Path, newest: Path) -> None:
    used: dict[Path, float] = {}
    for one in cache.glob("*.ext4"):
        # Another process forgets, too.
        with contextlib.suppress(FileNotFoundError):
            used[one] = one.stat().st_mtime
    for old in sorted(used, key=lambda one: used[one], reverse=True)[KEPT:]:
        if old != newest:
            old.unlink(missing_ok=True)
