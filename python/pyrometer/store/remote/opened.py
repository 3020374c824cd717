"""The runs elsewhere that this process opened, by their places here; what it fetched of stores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pyrometer.core.errors import UsageError
from pyrometer.store.remote.address import checked, is_nearly_url, is_url

if TYPE_CHECKING:
    from pyrometer.store.remote.mirror import Mirror

_OPEN: dict[Path, Mirror] = {}
_CHUNKS: dict[str, Counter[str]] = {}


def place_of(path: str | Path) -> Path:
    """Give the place here of a path, or of an address, whose run is opened.

    Raises
    ------
    UsageError
        If there is no run and no event log at an address, it cannot be read, or is misspelled.
    CapabilityError
        If the package that reads it is not installed.
    """
    if not is_url(path):
        place = Path(path)
        if is_nearly_url(path) and not place.exists():
            raise UsageError(
                f"{path}: no such file or directory, and not an address",
                "give an address a scheme, a colon and two slashes: s3://bucket/folder/run",
            )
        return place
    from pyrometer.store.remote.mirror import Mirror

    return keep(Mirror(checked(str(path)))).root


def keep(mirror: Mirror) -> Mirror:
    """Remember a run; of one that is open in the same state already, give that one."""
    known = _OPEN.setdefault(mirror.root, mirror)
    if known is not mirror:
        known.objects.fetched_bytes += mirror.objects.fetched_bytes
        known.objects.requests_count += mirror.objects.requests_count
        mirror.close()
    return known


def mirror_of(path: Path) -> Mirror | None:
    """Give the run elsewhere whose place here this is, if it is one's."""
    return _OPEN.get(path)


def address(path: str | Path) -> str:
    """Give what people call a place: the address of a run elsewhere, else the path."""
    mirror = _OPEN.get(Path(path))
    return str(path) if mirror is None else mirror.shown


def beside(run: Path, name: str) -> Path:
    """Give where a page of a run is written if nobody says: in it, or here if it is elsewhere."""
    return run / name if mirror_of(run) is None else Path(f"{run.name}.{name}")


def in_addresses(text: str) -> str:
    """Call places by their addresses in a text for people."""
    for root, mirror in _OPEN.items():
        text = text.replace(str(root), mirror.shown)
    return text


def count_chunks(store: str, **counts: int) -> None:
    """Count what was fetched of a store of chunks: ``bytes``, ``chunks``, ``requests``."""
    _CHUNKS.setdefault(store, Counter()).update(counts)


def fetched() -> Iterator[str]:
    """Say of each run and store elsewhere that was read how much of it was fetched."""
    for mirror in _OPEN.values():
        objects = mirror.objects
        yield (
            f"fetched {objects.fetched_bytes} of {mirror.size_bytes} bytes"
            f" in {objects.requests_count} requests: {mirror.shown}"
        )
    for store, counts in _CHUNKS.items():
        yield (
            f"fetched {counts['bytes']} bytes, {counts['chunks']} chunks among them,"
            f" in {counts['requests']} requests: {store}"
        )
