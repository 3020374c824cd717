"""Follow the files of a run directory, and say what is new in them as pieces.

Runs in the machine. Almost every file only grows; what was replaced, or changed where it had been
sent already, is sent again. Spark renames an event log when it closes it: the host is told that
the file of the old name is gone, or it would have the log twice.
"""

from __future__ import annotations

import os
import stat
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import FileIO
from pathlib import Path

from pyrometer.guests.frames import PIECE_BYTES, Piece
from pyrometer.guests.receive import MANIFEST, RAW, may_be_sent


@dataclass
class _Sent:
    inode: int
    generation: int = 0
    size: int = 0
    checksum: int = 0


@dataclass(frozen=True)
class Gone:
    """A file that was sent, and is there no longer.

    Attributes
    ----------
    name : str
        As of a piece.
    """

    name: str


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

    def news(self) -> Iterator[Piece | Gone]:
        """Give what was appended since, and files that were replaced or are gone."""
        yield from self._changes(complete=False)

    def rest(self) -> Iterator[Piece | Gone]:
        """Give what is missing once nothing is written any more; every file is read again."""
        yield from self._changes(complete=True)

    def _changes(self, complete: bool) -> Iterator[Piece | Gone]:
        found = dict(self._files())
        for name, path in found.items():
            yield from self._of(name, path, complete)
        for name in [one for one in self._sent if one not in found]:
            del self._sent[name]
            yield Gone(name)

    def _files(self) -> Iterator[tuple[str, Path]]:
        for folder, folders, names in os.walk(self._root / RAW):
            folders[:] = sorted(one for one in folders if not one.startswith("."))
            for name in sorted(names):
                path = Path(folder, name)
                text = path.relative_to(self._root).as_posix()
                # The host refuses other names, and then everything else as well.
                if not name.endswith(".tmp") and may_be_sent(text):
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
