"""What was sent to one server: in the run directory, so that nothing is sent twice.

Written before a message is sent and after its answer. A message of which only the first was
written, since we were killed, may have been taken: it is counted as unsure and not sent again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import statistics
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from pyrometer.core.errors import UsageError
from pyrometer.core.json_text import parse_json
from pyrometer.core.redaction import redacted
from pyrometer.core.replacing import replacing
from pyrometer.store.private import FILE_MODE

__all__ = ["Progress", "Sent"]

SCHEMA = "pyrometer/push/1"
# Delays that are kept for their median, the latest.
DELAYS = 1000
FATES = ("taken", "refused", "unsure")


@dataclass
class Progress:
    """How far a recording is sent.

    Parameters
    ----------
    first_wall_ns : int or None
        Start of its first chunk: by it a recording of the same name is known as another.
    offset : int
        All before it is done with.
    until, every_ns : int
        End and length of the periods of the chunks that are being sent; 0 if none are.
    done : list of str
        Keys of their profiles that are done with.
    sending : list or None
        Key, event and weight of the one on its way.
    """

    first_wall_ns: int | None = None
    offset: int = 0
    until: int = 0
    every_ns: int = 0
    done: list[str] = field(default_factory=list)
    sending: list[Any] | None = None

    def forget(self, offset: int) -> None:
        """Be done with all before an offset."""
        self.offset = offset
        self.until = self.every_ns = 0
        self.done = []


class Sent:
    """Progress and sums of all that was sent from one run to one server.

    Parameters
    ----------
    raw : Path
        ``raw/`` of the run.
    address, tenant : str
        The server.

    Attributes
    ----------
    lost_before : Counter
        What earlier calls did not bring to the server, and none will: see `lost`.

    Raises
    ------
    UsageError
        If another process sends this run there, or the folder cannot be written.
    """

    def __init__(self, raw: Path, address: str, tenant: str | None) -> None:
        name = hashlib.sha256(f"{address} {tenant or ''}".encode()).hexdigest()[:8]
        self.path = raw / f"push-{name}.json"
        self.address, self.tenant = address, tenant
        self.state = "running"
        self.files: dict[str, Progress] = {}
        self.profiles: Counter[str] = Counter()
        self.weights: dict[str, Counter[str]] = {fate: Counter() for fate in FATES}
        self.sent_bytes = self.uncompressed_bytes = 0
        self.retries = self.chunks = self.unreadable = 0
        self.left_bytes = self.open_bytes = 0
        self.delays_ns: list[int] = []
        self.last_error: str | None = None
        self.lost_before: Counter[str] = Counter()
        self._cpu_before_ns = 0
        self._lock = self._locked(raw / f".push-{name}.lock")
        self._read()

    @property
    def own_cpu_ns(self) -> int:
        """CPU of all processes that sent, this one included."""
        return self._cpu_before_ns + time.process_time_ns()

    @property
    def lost(self) -> Counter[str]:
        """What this call did not bring to the server, and no other will."""
        return self._all_lost() - self.lost_before

    def settle(self, event: str, weight: int, fate: str) -> None:
        """Count a profile by what became of it: ``taken``, ``refused`` or ``unsure``."""
        self.profiles[fate] += 1
        self.weights[fate][event] += weight

    def progress(self, name: str, first_wall_ns: int | None) -> Progress:
        """Return the progress of a recording; of one that replaced another, none."""
        known = self.files.get(name)
        if known is None or first_wall_ns not in (None, known.first_wall_ns or first_wall_ns):
            known = self.files[name] = Progress()
        known.first_wall_ns = known.first_wall_ns or first_wall_ns
        if known.sending is not None:
            key, event, weight = known.sending
            self.settle(event, weight, "unsure")
            known.done.append(key)
            known.sending = None
        return known

    def summary(self) -> dict[str, Any]:
        """Return all as data (``pyrometer/push/1``)."""
        delays = sorted(self.delays_ns)
        return {
            "schema": SCHEMA,
            "to": self.address,
            "tenant": self.tenant,
            "pid": os.getpid(),
            "state": self.state,
            "updated_wall_ns": time.time_ns(),
            "chunks_count": self.chunks,
            "unreadable_chunks_count": self.unreadable,
            "profiles": {fate: self.profiles[fate] for fate in FATES},
            "weights": {fate: dict(sorted(self.weights[fate].items())) for fate in FATES},
            "sent_bytes": self.sent_bytes,
            "uncompressed_bytes": self.uncompressed_bytes,
            "retries_count": self.retries,
            "left_bytes": self.left_bytes,
            "open_bytes": self.open_bytes,
            "delay": {
                "n": len(delays),
                "median_ns": round(statistics.median(delays)) if delays else None,
                "max_ns": delays[-1] if delays else None,
            },
            "own_cpu_ns": self.own_cpu_ns,
            "last_error": self.last_error,
        }

    def delayed(self, delay_ns: int) -> None:
        """Keep how long after the end of its period a profile was taken."""
        self.delays_ns.append(delay_ns)
        del self.delays_ns[:-DELAYS]

    def save(self) -> None:
        """Write the file through a temporary name.

        Raises
        ------
        OSError
            If the disk does not take it; nothing may be sent then.
        """
        data = self.summary() | {
            "delays_ns": self.delays_ns,
            "files": {name: vars(progress) for name, progress in self.files.items()},
        }
        with replacing(self.path, FILE_MODE) as out:
            out.write(f"{redacted(json.dumps(data))}\n".encode())

    def close(self) -> None:
        """Let another process go on."""
        self._lock.close()

    def _locked(self, path: Path) -> IO[bytes]:
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
            lock = os.fdopen(os.open(path, flags, FILE_MODE), "wb")
        except OSError as error:
            raise UsageError(
                f"{path}: {error.strerror}; what was sent is kept there",
                "copy the run directory to a place where you may write",
            ) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise UsageError(
                f"another process is pushing this run to {self.address}", "wait for its end"
            ) from error
        return lock

    def _read(self) -> None:
        try:
            data = parse_json(self.path.read_bytes())
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise self._unreadable(error) from error
        try:
            self.files = {name: Progress(**kept) for name, kept in data["files"].items()}
            self.profiles.update(data["profiles"])
            for fate in FATES:
                self.weights[fate].update(data["weights"][fate])
            self.sent_bytes, self.uncompressed_bytes = (
                data["sent_bytes"],
                data["uncompressed_bytes"],
            )
            self.unreadable = data["unreadable_chunks_count"]
            self.retries, self.chunks = data["retries_count"], data["chunks_count"]
            self.delays_ns = list(data["delays_ns"])
            self._cpu_before_ns = data["own_cpu_ns"]
            self.lost_before = +self._all_lost()
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise self._unreadable(error) from error

    def _all_lost(self) -> Counter[str]:
        profiles = {fate: self.profiles[fate] for fate in ("refused", "unsure")}
        return Counter(profiles | {"chunks unreadable": self.unreadable})

    def _unreadable(self, error: Exception) -> UsageError:
        self.close()
        return UsageError(
            f"{self.path}: cannot be read ({error}): what was sent is not known",
            f"to send all again: rm {self.path}",
        )
