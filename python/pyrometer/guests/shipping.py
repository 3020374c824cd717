"""Follow the files of a run directory, and say what is new in them as pieces.

Runs in the machine. Almost every file only grows; what was replaced, or changed where it had been
sent already, is sent again.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from pyrometer.guests.frames import LONGEST_NAME, PIECE_BYTES, Piece
from pyrometer.guests.receive import MANIFEST, RAW


@dataclass
class _Sent:
    inode: int
    generation: int = 0
    size: int = 0
    checksum: int = 0


class Follower:
    """What of a run directory has been sent.

    Parameters
    ----------
    root : Path
        The run directory.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._sent: dict[str, _Sent] = {}

    def news(self) -> Iterator[Piece]:
        """Give what was appended since, and files that were replaced."""
        for name, path in self._files():
            yield from self._of(name, path, complete=False)

    def rest(self) -> Iterator[Piece]:
        """Give what is missing once nothing is written any more; every file is read again."""
        for name, path in self._files():
            yield from self._of(name, path, complete=True)

    def _files(self) -> Iterator[tuple[str, Path]]:
        for folder, folders, names in os.walk(self._root / RAW):
            folders[:] = sorted(one for one in folders if not one.startswith("."))
            for name in sorted(names):
                path = Path(folder, name)
                text = path.relative_to(self._root).as_posix()
                half = name.startswith(".") or name.endswith(".tmp")
                if not half and len(text.encode()) <= LONGEST_NAME:
                    yield text, path
        yield MANIFEST, self._root / MANIFEST

    def _of(self, name: str, path: Path, complete: bool) -> Iterator[Piece]:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return  # Gone, or the name of something in memory.
        with open(descriptor, "rb", buffering=0) as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return
            sent = self._sent.get(name)
            if sent is None:
                sent = self._sent[name] = _Sent(found.st_ino)
                if found.st_size == 0:
                    yield Piece(name, 0, 0, b"")
            elif (
                sent.inode != found.st_ino
                or found.st_size < sent.size
                or (complete and _checksum(file, sent.size) != sent.checksum)
            ):
                sent.inode, sent.size, sent.checksum = found.st_ino, 0, 0
                sent.generation += 1
                if found.st_size == 0:
                    yield Piece(name, sent.generation, 0, b"")
            file.seek(sent.size)
            while data := file.read(min(PIECE_BYTES, max(0, found.st_size - sent.size))):
                yield Piece(name, sent.generation, sent.size, data)
                sent.size += len(data)
                sent.checksum = zlib.crc32(data, sent.checksum)


def _checksum(file: FileIO, size: int) -> int:
    checksum, left = 0, size
    file.seek(0)
    while left and (data := file.read(min(PIECE_BYTES, left))):
        checksum = zlib.crc32(data, checksum)
        left -= len(data)
    return checksum
