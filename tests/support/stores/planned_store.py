"""A store in memory, behind ``planned://``, that lists and fails as a test plans, and remembers."""

from __future__ import annotations

import fnmatch
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec import AbstractFileSystem

from pyrometer.store.remote import objects, opened
from pyrometer.store.services import stores

URL = "planned://bucket/runs/one"
ROOT = "bucket/runs/one"


@dataclass
class Store:
    """What lies there, what goes wrong, and what was asked for."""

    objects: dict[str, bytes] = field(default_factory=dict)
    failures: list[BaseException] = field(default_factory=list)
    """Raised by the next requests, one each."""
    listed: list[dict[str, Any]] = field(default_factory=list)
    """Entries that listings hold besides."""
    asked: list[str] = field(default_factory=list)
    after_read: dict[str, bytes] = field(default_factory=dict)
    """What is put there, over what is there, when anything was read."""
    arrived: dict[str, datetime] = field(default_factory=dict)
    """When objects were put there, of those of which it is told."""

    def copy(self, folder: Path, root: str = ROOT) -> None:
        """Put a folder there."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                key = f"{root}/{path.relative_to(folder)}"
                self.objects[key] = path.read_bytes()
                self.arrived[key] = datetime.fromtimestamp(path.stat().st_mtime, UTC)

    def request(self, what: str) -> None:
        """Remember a request, and fail it if that is planned."""
        self.asked.append(what)
        if self.failures:
            raise self.failures.pop(0)

    def entries(self, prefix: str) -> Iterator[dict[str, Any]]:
        """Describe the objects below a prefix."""
        for key, content in sorted(self.objects.items()):
            if key == prefix or key.startswith(f"{prefix}/"):
                etag = hashlib.sha256(content).hexdigest()
                found = {"name": key, "size": len(content), "type": "file", "ETag": etag}
                yield found | ({"LastModified": self.arrived[key]} if key in self.arrived else {})
        yield from self.listed

    def gets(self) -> list[str]:
        """Give the objects that were read, in order."""
        return [what.removeprefix("get ") for what in self.asked if what.startswith("get ")]


class PlannedStore(AbstractFileSystem):  # type: ignore[misc]
    """The store that `use` planned last."""

    protocol = "planned"
    cachable = False
    store = Store()

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return path.partition("://")[2].rpartition("@")[2] if "://" in path else path

    @staticmethod
    def _get_kwargs_from_urls(path: str) -> dict[str, Any]:
        return {}

    def ls(self, path: str, detail: bool = True, **_: Any) -> list[dict[str, Any]]:
        self.store.request(f"list {path}")
        found: dict[str, dict[str, Any]] = {}
        for entry in self.store.entries(path):
            below = entry["name"][len(path) + 1 :] if entry["name"].startswith(f"{path}/") else ""
            first, slash, _ = below.partition("/")
            if slash:
                found[first] = {"name": f"{path}/{first}", "size": 0, "type": "directory"}
            else:
                found[entry["name"]] = entry
        if not found:
            raise FileNotFoundError(path)
        return list(found.values())

    def find(self, path: str, detail: bool = True, **_: Any) -> dict[str, dict[str, Any]]:
        self.store.request(f"find {path}")
        return {entry["name"]: entry for entry in self.store.entries(path)}

    def cat_file(
        self, path: str, start: int | None = None, end: int | None = None, **_: Any
    ) -> bytes:
        self.store.request(f"get {path}")
        content = self.store.objects[path][start:end]
        self.store.objects |= self.store.after_read
        return content

    def rm_file(self, path: str) -> None:
        self.store.request(f"remove {path}")
        del self.store.objects[path]

    def rm(self, path: list[str], **_: Any) -> None:
        for pattern in path:
            for key in fnmatch.filter(list(self.store.objects), pattern):
                self.rm_file(key)


def use(store: Store) -> Store:
    """Make a store the one behind ``planned://``."""
    fsspec.register_implementation("planned", PlannedStore, clobber=True)
    PlannedStore.store = store
    return store


def files_below(folder: Path) -> list[Path]:
    """Give all files and folders below a folder, links not followed."""
    return [Path(at, name) for at, dirs, names in os.walk(folder) for name in (*dirs, *names)]


def own_cache(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder, with a cache of its own, without runs that are open, and no pauses."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setattr(objects, "PAUSES_S", (0.0, 0.0))
    monkeypatch.setattr(opened, "_OPEN", {})
    monkeypatch.setattr(opened, "_CHUNKS", {})
    monkeypatch.setattr(stores, "_AWAY", {})
    monkeypatch.chdir(folder)
    return folder / "cache" / "pyrometer" / "remote"
