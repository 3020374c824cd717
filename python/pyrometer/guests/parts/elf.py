"""What a program or shared library needs to be started: its loader, and libraries by name.

Of 64-bit little-endian files (ELF, System V ABI, chapters 4 and 5). Damaged files need nothing.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import BinaryIO

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SEGMENT = struct.Struct("<IIQQQQQQ")
_ENTRY = struct.Struct("<qQ")
_LOAD, _DYNAMIC, _INTERPRETER = 1, 2, 3
_NEEDED, _STRINGS, _STRINGS_BYTES = 1, 5, 10
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
    """

    loader: str | None = None
    libraries: tuple[str, ...] = ()


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
    return Needs(_loader(file, segments), _libraries(file, segments))


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


def _libraries(file: BinaryIO, segments: list[Segment]) -> tuple[str, ...]:
    dynamic = next(((one[2], one[5]) for one in segments if one[0] == _DYNAMIC), None)
    if dynamic is None:
        return ()
    data = _at(file, *dynamic)
    entries = [_ENTRY.unpack_from(data, at) for at in range(0, len(data) - 15, 16)]
    values = dict(entries)
    start = _offset(segments, values.get(_STRINGS, 0))
    strings = _at(file, start, values.get(_STRINGS_BYTES, 0)) if start is not None else b""
    names = (_text(strings, value) for tag, value in entries if tag == _NEEDED)
    return tuple(name for name in names if name)


def _offset(segments: list[Segment], address: int) -> int | None:
    """Give where in the file an address of memory comes from."""
    for kind, _, offset, start, _, size, _, _ in segments:
        if kind == _LOAD and start <= address < start + size:
            return offset + address - start
    return None


def _text(strings: bytes, at: int) -> str:
    end = strings.find(b"\0", at)
    return strings[at : end if end >= 0 else None].decode("utf-8", "replace")
