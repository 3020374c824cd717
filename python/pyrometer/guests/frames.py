"""What a machine and its host say to each other over a serial port: frames with a checksum.

What comes from the machine is not trusted: a frame is bounded, and bytes that are none end the
conversation.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pyrometer.core.json_text import parse_json

Kind = Literal["say", "piece"]

MAGIC = b"PyG1"
MOST_BYTES = 1 << 20
"""Of a frame's content."""
PIECE_BYTES = 256 << 10
"""Of a file in one frame."""
LONGEST_NAME = 1024

_HEAD = struct.Struct("<4sBII")
_PIECE = struct.Struct("<HIQ")
_KINDS: dict[int, Kind] = {1: "say", 2: "piece"}


@dataclass(frozen=True)
class Piece:
    """Bytes of a file.

    Attributes
    ----------
    name : str
        Its path below the run directory, parts separated by ``/``.
    generation : int
        How often the file was replaced; offsets of a new one begin at 0.
    offset : int
        Where in the file the bytes belong.
    data : bytes
        The bytes.
    """

    name: str
    generation: int
    offset: int
    data: bytes


class DamagedError(ValueError):
    """Bytes that are no frame."""


def say(message: Mapping[str, Any]) -> bytes:
    """Write a message as a frame."""
    return _frame(1, json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode())


def piece(found: Piece) -> bytes:
    """Write bytes of a file as a frame."""
    name = found.name.encode()
    return _frame(2, _PIECE.pack(len(name), found.generation, found.offset) + name + found.data)


def _frame(kind: int, content: bytes) -> bytes:
    if len(content) > MOST_BYTES:
        raise ValueError(f"a frame of {len(content)} bytes")
    return _HEAD.pack(MAGIC, kind, len(content), zlib.crc32(content)) + content


class Decoder:
    """Reads frames from bytes that come in any portions.

    Examples
    --------
    >>> decoder = Decoder()
    >>> sent = say({"event": "ready"})
    >>> [*decoder.feed(sent[:5])], [*decoder.feed(sent[5:])]
    ([], [{'event': 'ready'}])
    """

    def __init__(self) -> None:
        self._kept = bytearray()

    @property
    def rest_bytes(self) -> int:
        """Bytes of a frame that has not come in full."""
        return len(self._kept)

    def feed(self, data: bytes) -> Iterator[dict[str, Any] | Piece]:
        """Give messages and pieces that are complete now.

        Raises
        ------
        DamagedError
            Where bytes are no frame; what came before was given.
        """
        self._kept += data
        while len(self._kept) >= _HEAD.size:
            magic, kind, size, checksum = _HEAD.unpack_from(self._kept)
            if magic != MAGIC or kind not in _KINDS or size > MOST_BYTES:
                raise DamagedError("bytes that do not begin a frame")
            if len(self._kept) < _HEAD.size + size:
                return
            content = bytes(self._kept[_HEAD.size : _HEAD.size + size])
            if zlib.crc32(content) != checksum:
                raise DamagedError("a frame whose checksum is wrong")
            del self._kept[: _HEAD.size + size]
            yield _message(content) if _KINDS[kind] == "say" else _piece(content)


def _message(content: bytes) -> dict[str, Any]:
    try:
        found = parse_json(content)
    except ValueError as error:
        raise DamagedError(f"a message that is not JSON: {error}") from error
    if not isinstance(found, dict):
        raise DamagedError("a message that is not an object")
    return found


def _piece(content: bytes) -> Piece:
    if len(content) < _PIECE.size:
        raise DamagedError("a piece without a head")
    length, generation, offset = _PIECE.unpack_from(content)
    name, data = content[_PIECE.size : _PIECE.size + length], content[_PIECE.size + length :]
    if len(name) < length or length > LONGEST_NAME:
        raise DamagedError("a piece whose name is cut")
    try:
        return Piece(name.decode(), generation, offset, data)
    except UnicodeDecodeError as error:
        raise DamagedError("a piece whose name is not text") from error
