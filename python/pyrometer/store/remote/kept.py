"""Objects that never change, kept whole: each with its checksum, within the bound of the cache."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from pyrometer.core.replacing import replacing
from pyrometer.store.private import FILE_MODE
from pyrometer.store.remote.cache import Held, bound_bytes
from pyrometer.store.remote.objects import Object

_RESERVED_BYTES = 256 << 20
"""Room is made for so much at once: to look how much others keep takes time."""
_SUM_BYTES = hashlib.sha256().digest_size


class Kept:
    """What was fetched of one part of a store.

    Parameters
    ----------
    shown : str
        Address of the store, without secrets.
    part : str
        Which part: it is removed as a whole.

    Raises
    ------
    UsageError
        If the folder of what is fetched cannot be had.
    """

    def __init__(self, shown: str, part: str) -> None:
        self._bound = bound_bytes()
        self._held = Held(hashlib.sha256(repr((shown, part)).encode()).hexdigest()[:32])
        self._own_bytes: int | None = None
        self._room_bytes = 0

    def get(self, one: Object) -> bytes | None:
        """Give an object as it was fetched; ``None`` if it has to be fetched."""
        try:
            content = self._path(one).read_bytes()
        except OSError:
            return None
        digest, content = content[:_SUM_BYTES], content[_SUM_BYTES:]
        is_whole = len(content) == one.size_bytes and hashlib.sha256(content).digest() == digest
        return content if is_whole and one.mark else None

    def put(self, one: Object, content: bytes) -> None:
        """Keep an object, unless there is no room, or the store tells no states apart."""
        if not one.mark or not self._has_room(len(content) + _SUM_BYTES):
            return
        # On a full disk nothing is kept: it is fetched again.
        with suppress(OSError), replacing(self._path(one), FILE_MODE) as out:
            out.write(hashlib.sha256(content).digest())
            out.write(content)

    def close(self) -> None:
        """Let the folder be removed when room is needed."""
        self._held.close()

    def _path(self, one: Object) -> Path:
        state = repr((one.key, one.size_bytes, one.mark))
        return self._held.path / hashlib.sha256(state.encode()).hexdigest()[:40]

    def _has_room(self, wanted_bytes: int) -> bool:
        if wanted_bytes > self._room_bytes:
            reserved = max(wanted_bytes, min(_RESERVED_BYTES, self._bound // 4))
            own_bytes = self._own()
            if own_bytes + reserved > self._bound:
                self._clear()
                own_bytes = 0
            if reserved > self._bound:
                return False
            self._held.make_room(own_bytes + reserved)
            self._room_bytes = reserved
        self._room_bytes -= wanted_bytes
        self._own_bytes = self._own() + wanted_bytes
        return True

    def _own(self) -> int:
        if self._own_bytes is None:
            self._own_bytes = 0
            for path in self._held.path.iterdir():
                with suppress(OSError):
                    self._own_bytes += path.lstat().st_size
        return self._own_bytes

    def _clear(self) -> None:
        for path in self._held.path.iterdir():
            with suppress(OSError):
                path.unlink()
        self._own_bytes = 0
