"""The data cache: datasets are built once, and found by a hash of their recipe.

A dataset is a folder ``<root>/data/<name>-<recipe hash>`` with its files and ``dataset.json``.
It is written under another name and renamed when complete, so a folder of that name is complete.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyrometer.core import units
from pyrometer.core.errors import CapabilityError, PyrometerError
from pyrometer.core.json_text import parse_json
from pyrometer.workloads.values import DataFile, Prepared, Progress, no_progress

MANIFEST = "dataset.json"
_CHUNK = 1 << 20

Build = Callable[[Path, Progress], Mapping[str, Any]]
"""Writes the files of a dataset into a folder; returns the facts about them (JSON values)."""


def default_root() -> Path:
    """Folder of the user's cache: ``$PYROMETER_CACHE``, else ``$XDG_CACHE_HOME/pyrometer``."""
    own = os.environ.get("PYROMETER_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    # By the XDG specification a relative path is ignored.
    root = Path(base) if base and os.path.isabs(base) else Path.home() / ".cache"
    return root / "pyrometer"


class DataCache:
    """Datasets on disk.

    Parameters
    ----------
    root : path, optional
        Folder of the cache; `default_root` if not given.
    verify : bool
        Read and hash every file of a dataset that is found, instead of comparing sizes.
    """

    def __init__(self, root: str | Path | None = None, *, verify: bool = False) -> None:
        self.root = Path(root) if root is not None else default_root()
        self._verify = verify

    def path_of(self, name: str, recipe: Mapping[str, Any]) -> Path:
        """Folder of the dataset of that recipe, whether or not it exists."""
        return self.root / "data" / f"{name}-{recipe_hash(recipe)}"

    def find(self, name: str, recipe: Mapping[str, Any]) -> Prepared | None:
        """Dataset of that recipe, or ``None`` if it is missing or damaged."""
        folder = self.path_of(name, recipe)
        prepared = _read(folder, recipe_hash(recipe))
        if prepared is None:
            return None
        for file in prepared.files:
            path = folder / file.path
            try:
                sound = path.stat().st_size == file.bytes and (
                    not self._verify or sha256_of(path) == file.sha256
                )
            except OSError:
                sound = False
            if not sound:
                return None
        return prepared

    def ensure(
        self,
        name: str,
        recipe: Mapping[str, Any],
        build: Build,
        *,
        bytes_needed: int,
        progress: Progress = no_progress,
    ) -> Prepared:
        """Find a dataset, or build it.

        Parameters
        ----------
        name : str
            Readable part of the folder's name.
        recipe : Mapping
            Everything that determines the bytes: generator version, parameters, library versions.
        build : callable
            Writes the files; called only if the dataset is missing or damaged.
        bytes_needed : int
            Estimate of its size, checked before anything is written.
        progress : Progress
            Passed to `build`; also called while files are hashed.

        Raises
        ------
        CapabilityError
            Too little disk space, or a folder that cannot be written.
        """
        found = self.find(name, recipe)
        if found is not None:
            return found
        folder = self.path_of(name, recipe)
        try:
            with self._lock(folder.name, progress):
                # Another process may have built it while we waited.
                found = self.find(name, recipe)
                if found is not None:
                    return found
                self.root.mkdir(parents=True, exist_ok=True)
                check_room(self.root, bytes_needed)
                return self._make(folder, recipe_hash(recipe), recipe, build, progress)
        except PyrometerError:
            raise
        except OSError as error:
            raise CapabilityError(
                f"dataset {folder.name} cannot be written below {self.root}: {error}",
                "set PYROMETER_CACHE to a folder that is writable and has room",
            ) from error

    def _make(
        self,
        folder: Path,
        digest: str,
        recipe: Mapping[str, Any],
        build: Build,
        progress: Progress,
    ) -> Prepared:
        # We hold the lock, so no process still writes what is incomplete here.
        partial = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            partial.mkdir(parents=True)
            facts = dict(build(partial, progress))
            files = _hash_all(partial, progress)
            manifest = {
                "schema": "pyrometer/dataset/1",
                "recipe_hash": digest,
                "recipe": dict(recipe),
                "facts": facts,
                "files": [{"path": f.path, "bytes": f.bytes, "sha256": f.sha256} for f in files],
            }
            with (partial / MANIFEST).open("w", encoding="utf-8") as out:
                json.dump(manifest, out, indent=1)
                out.flush()
                os.fsync(out.fileno())
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)
        except BaseException:
            shutil.rmtree(partial, ignore_errors=True)
            raise
        prepared = _read(folder, digest)
        if prepared is None:
            raise CapabilityError(f"{folder} cannot be read back", "look at the disk's health")
        return prepared

    @contextlib.contextmanager
    def _lock(self, name: str, progress: Progress) -> Iterator[None]:
        locks = self.root / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        with (locks / f"{name}.lock").open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                progress("waiting for another process that makes this data", 0, 0)
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield


def check_room(folder: Path, bytes_needed: int) -> None:
    """Check that data would fit below a folder, before any is written.

    Raises
    ------
    CapabilityError
        If its disk has too little room.
    """
    free = shutil.disk_usage(folder).free
    if free < bytes_needed:
        raise CapabilityError(
            f"the data needs about {units.size(bytes_needed)} below "
            f"{folder}, where {units.size(free)} are free",
            "free some disk, set PYROMETER_CACHE to a larger one, or use a smaller --scale",
        )


def recipe_hash(recipe: Mapping[str, Any]) -> str:
    """First 16 hex digits of the sha256 of the recipe in canonical JSON."""
    text = json.dumps(recipe, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def sha256_of(path: Path) -> str:
    """Hash a file without holding it in memory."""
    digest = hashlib.sha256()
    with path.open("rb") as source:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _hash_all(folder: Path, progress: Progress) -> tuple[DataFile, ...]:
    paths = sorted(p for p in folder.rglob("*") if p.is_file())
    sizes = [p.stat().st_size for p in paths]
    total, done, files = sum(sizes), 0, []
    for path, size in zip(paths, sizes, strict=True):
        progress("hashing files", done, total)
        files.append(DataFile(path.relative_to(folder).as_posix(), size, sha256_of(path)))
        done += size
    progress("hashing files", total, total)
    return tuple(files)


def _read(folder: Path, digest: str) -> Prepared | None:
    try:
        value = parse_json((folder / MANIFEST).read_text(encoding="utf-8"))
        if value["schema"] != "pyrometer/dataset/1" or value["recipe_hash"] != digest:
            return None
        if not isinstance(value["facts"], dict):
            return None
        return Prepared(
            paths={"data": str(folder)},
            files=tuple(_file(one) for one in value["files"]),
            root=str(folder),
            facts=value["facts"],
            recipe=digest,
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _file(value: Mapping[str, Any]) -> DataFile:
    path, size, digest = value["path"], value["bytes"], value["sha256"]
    if not (isinstance(path, str) and isinstance(size, int) and isinstance(digest, str)):
        raise TypeError("a dataset's manifest holds a file of wrong types")
    return DataFile(path, size, digest)
