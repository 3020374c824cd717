"""What a program or shared library needs to be started: its loader, libraries, and their folders.

Of 64-bit little-endian files (ELF, System V ABI, chapters 4 and 5). Damaged files need nothing.
"""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from typing import BinaryIO

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_ENTRY = struct.Struct("<qQ")
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS, _STRINGS_BYTES, _RPATH, _RUNPATH = 1, 5, 10, 15, 29
_MOST_SEGMENTS = 64
_MOST_BYTES = 1 << 22


@dataclass(frozen=True)
class Needs:
    """What a file needs.

    Attributes
    ----------
    loader : str or None
        Path of the program that loads it.
    libraries : tuple of str
        Names of shared libraries.
    folders : tuple of str
        Where it has them looked for before the system's own; ``$ORIGIN`` is the file's folder.
    """

    loader: str | None = None
    libraries: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()

    def beside(self, path: str) -> tuple[str, ...]:
        """Give the folders, for a file at this path.

        Examples
        --------
        >>> Needs(folders=("$ORIGIN/../lib", "/opt/lib")).beside("/env/bin/python3")
        ('/env/bin/../lib', '/opt/lib')
        """
        origin = os.path.dirname(path)
        return tuple(
            one.replace("${ORIGIN}", origin).replace("$ORIGIN", origin) for one in self.folders
        )


def needs(file: BinaryIO) -> Needs:
    """Read what an ELF file needs; nothing of any other file."""
    head = file.read(_HEADER.size)
    if len(head) < _HEADER.size or head[:6] != b"\x7fELF\x02\x01":
        return Needs()
    fields = _HEADER.unpack(head)
    offset, size, count = fields[5], fields[9], fields[10]
    if size != _SEGMENT.size or count > _MOST_SEGMENTS:
        return Needs()
    table = _at(file, offset, size * count)
    segments = [_SEGMENT.unpack_from(table, at * size) for at in range(len(table) // size)]
    return Needs(_loader(file, segments), *_dynamic(file, segments))


Segment = tuple[int, int, int, int, int, int, int, int]


def _at(file: BinaryIO, offset: int, size: int) -> bytes:
    if size > _MOST_BYTES or offset >= 1 << 62:
        return b""
    file.seek(offset)
    return file.read(size)


def _loader(file: BinaryIO, segments: list[Segment]) -> str | None:
    for kind, _, offset, _, _, size, _, _ in segments:
        if kind == _INTERPRETER and size < 4096:
            return _text(_at(file, offset, size), 0)
    return None


def _dynamic(file: BinaryIO, segments: list[Segment]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read names of libraries, and the folders in which they are looked for."""
    dynamic = next(((one[2], one[5]) for one in segments if one[0] == _DYNAMIC), None)
    if dynamic is None:
        return (), ()
    data = _at(file, *dynamic)
    entries = [_ENTRY.unpack_from(data, at) for at in range(0, len(data) - 15, 16)]
    values = dict(entries)
    start = _offset(segments, values.get(_STRINGS, 0))
    strings = _at(file, start, values.get(_STRINGS_BYTES, 0)) if start is not None else b""
    names = (_text(strings, value) for tag, value in entries if tag == _NEEDED)
    # The older of the two is ignored where a file has both.
    where = values.get(_RUNPATH, values.get(_RPATH))
    folders = "" if where is None else _text(strings, where)
    return tuple(name for name in names if name), tuple(filter(None, folders.split(":")))


def _offset(segments: list[Segment], address: int) -> int | None:
    """Give where in the file an address of memory comes from."""
    for kind, _, offset, start, _, size, _, _ in segments:
        if kind == _LOAD and start <= address < start + size:
            return offset + address - start
    return None


def _text(strings: bytes, at: int) -> str:
    end = strings.find(b"\0", at)
    return strings[at : end if end >= 0 else None].decode("utf-8", "replace")
