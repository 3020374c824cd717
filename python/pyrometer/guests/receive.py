"""Files that a machine sends, written below a run directory: nowhere else, and only so much."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pyrometer.guests.frames import DamagedError, Piece

MANIFEST = "manifest.json"
"""The machine's own manifest, kept apart: the host completes its own with it."""
RAW = "raw"

_PART = re.compile(r"(?!\.)[A-Za-z0-9._+@%=,:~$-]{1,200}")
_DEEPEST = 8


def may_be_sent(name: str) -> bool:
    """Whether that is the name of a file below ``raw`` that a host takes.

    Examples
    --------
    >>> may_be_sent("raw/eventlog/app-1"), may_be_sent("raw/../x"), may_be_sent("raw/a b")
    (True, False, False)
    """
    parts = name.split("/")
    return parts[0] == RAW and 2 <= len(parts) <= _DEEPEST and all(map(_PART.fullmatch, parts))


@dataclass(frozen=True)
class Bounds:
    """How much a machine may send.

    Attributes
    ----------
    bytes_count, files_count : int
        In all, what was replaced included.
    """

    bytes_count: int = 64 << 30
    files_count: int = 50_000


class Received:
    """Files of a machine as they grow.

    Parameters
    ----------
    root : Path
        The run directory.
    manifest : Path
        Where the machine's manifest goes.
    bounds : Bounds
        How much is taken.
    reserved : collection of str
        Names of files in ``raw`` that the host itself writes.

    Attributes
    ----------
    bytes_count : int
        How much came.
    """

    def __init__(
        self,
        root: Path,
        manifest: Path,
        bounds: Bounds = Bounds(),
        reserved: Collection[str] = (),
    ) -> None:
        self._root = root
        self._manifest = manifest
        self._bounds = bounds
        self._reserved = {f"{RAW}/{name}" for name in reserved}
        self._files: dict[str, tuple[int, int]] = {}
        self.bytes_count = 0

    @property
    def files_count(self) -> int:
        """How many files came."""
        return len(self._files)

    def take(self, piece: Piece) -> None:
        """Write a piece where it belongs.

        Raises
        ------
        DamagedError
            If it belongs nowhere: a name that is none below ``raw``, a gap, or too much.
        """
        path = self._path(piece.name)
        generation, size = self._files.get(piece.name, (-1, 0))
        fresh = piece.generation > generation
        if not fresh and piece.generation != generation:
            raise DamagedError(f"{piece.name!r}: a piece of a file that was replaced")
        if piece.offset != (0 if fresh else size):
            raise DamagedError(f"{piece.name!r}: a gap before byte {piece.offset}")
        self.bytes_count += len(piece.data)
        if self.bytes_count > self._bounds.bytes_count:
            raise DamagedError(f"more than {self._bounds.bytes_count} bytes")
        if piece.name not in self._files and len(self._files) >= self._bounds.files_count:
            raise DamagedError(f"more than {self._bounds.files_count} files")
        self._write(path, piece.data, fresh)
        self._files[piece.name] = (piece.generation, piece.offset + len(piece.data))

    def remove(self, name: str) -> None:
        """Remove a file that came, and that the machine has removed or renamed since."""
        if self._files.pop(name, None) is not None:
            self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        if name == MANIFEST:
            return self._manifest
        if not may_be_sent(name):
            raise DamagedError(f"{name[:200]!r} is not the name of a file below {RAW}")
        if name in self._reserved:
            raise DamagedError(f"{name!r} is a file of the host")
        return self._root.joinpath(*name.split("/"))

    def _write(self, path: Path, data: bytes, fresh: bool) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(path, flags | (os.O_TRUNC if fresh else os.O_APPEND), 0o644)
        except (FileExistsError, NotADirectoryError, IsADirectoryError) as error:
            raise DamagedError(f"{path.name}: a file where a folder is, or the reverse") from error
        try:
            left = memoryview(data)
            while left:
                left = left[os.write(descriptor, left) :]
        finally:
            os.close(descriptor)


class OfEach:
    """Files of the trials of one machine: the first part of a name is the number of the trial.

    Parameters
    ----------
    each : sequence of Received
        Takes the files of one.
    """

    def __init__(self, each: Sequence[Received]) -> None:
        self._each = each

    def take(self, piece: Piece) -> None:
        """Write a piece where it belongs; raises as :meth:`Received.take`."""
        received, name = self._part(piece.name)
        received.take(replace(piece, name=name))

    def remove(self, name: str) -> None:
        """Remove a file as :meth:`Received.remove`."""
        received, rest = self._part(name)
        received.remove(rest)

    def _part(self, name: str) -> tuple[Received, str]:
        number, _, rest = name.partition("/")
        for at, one in enumerate(self._each):
            if number == str(at):
                return one, rest
        raise DamagedError(f"{name[:200]!r} is of no trial of the machine")
