"""Archives that the kernel unpacks before it starts the first process (cpio, format ``newc``).

Documentation/driver-api/early-userspace/buffer-format.rst of the kernel.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

TRAILER = "TRAILER!!!"


@dataclass(frozen=True)
class Entry:
    """A file, folder, link or device of an archive.

    Attributes
    ----------
    name : str
        Path without a leading slash; folders come before what is in them.
    mode : int
        Kind and rights, as in ``st_mode``.
    content : bytes
        Of a file; of a symbolic link, where it leads.
    device : (int, int)
        Numbers of a device.
    """

    name: str
    mode: int
    content: bytes = b""
    device: tuple[int, int] = (0, 0)


def folder(name: str, mode: int = 0o755) -> Entry:
    """Describe a folder."""
    return Entry(name, stat.S_IFDIR | mode)


def file(name: str, content: bytes, mode: int = 0o644) -> Entry:
    """Describe a file."""
    return Entry(name, stat.S_IFREG | mode, content)


def link(name: str, target: str) -> Entry:
    """Describe a symbolic link."""
    return Entry(name, stat.S_IFLNK | 0o777, target.encode())


def character_device(name: str, major: int, minor: int, mode: int = 0o600) -> Entry:
    """Describe a character device."""
    return Entry(name, stat.S_IFCHR | mode, device=(major, minor))


def archive(entries: Iterable[Entry]) -> bytes:
    """Write an archive: owned by root, without times, so that equal entries are equal bytes."""
    parts: list[bytes] = []
    for number, entry in enumerate(entries, 1):
        parts += _member(number, entry)
    parts += _member(0, Entry(TRAILER, 0))
    return b"".join(parts)


def _member(number: int, entry: Entry) -> Iterator[bytes]:
    name = entry.name.encode() + b"\0"
    links = 2 if stat.S_ISDIR(entry.mode) else 1
    fields = (
        number, entry.mode, 0, 0, links, 0, len(entry.content), 0, 0, *entry.device, len(name), 0,
    )  # fmt: skip
    head = b"070701" + "".join(f"{one:08X}" for one in fields).encode() + name
    yield head + b"\0" * (-len(head) % 4)
    yield entry.content + b"\0" * (-len(entry.content) % 4)
