"""The host's side of the conversation: takes what a machine sends, asks for its time, ends it."""

from __future__ import annotations

import contextlib
import json
import select
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pyrometer.guests import frames, vcpus
from pyrometer.guests.emulator import Running
from pyrometer.guests.frames import DamagedError, Decoder, Piece
from pyrometer.guests.pings import Pings
from pyrometer.guests.receive import OfEach, Received

PING_S = 1.0
CONSOLE, CPUS, QEMU_LOG = "console.txt", "vcpus.ndjson", "qemu.log"
SEEN_FROM_HERE = (CONSOLE, CPUS, QEMU_LOG)
"""Files in ``raw/`` that the host itself writes of a machine."""
CONSOLE_BYTES = 4 << 20
LONGEST_LINE = 4096
MOST_MILESTONES = 64
_PORTION = 1 << 18


@dataclass(frozen=True)
class Milestone:
    """A step of a machine's boot.

    Attributes
    ----------
    name : str
        ``kernel`` (the first process begins), ``modules``, ``mounted``, ``started`` (the trial's
        command), ``ended``, ``failed``.
    uptime_s : float or None
        On the machine's clock, since its kernel began.
    host_mono_ns : int
        When the host heard of it.
    said : str
        What else.
    """

    name: str
    uptime_s: float | None
    host_mono_ns: int
    said: str = ""


def milestone(line: str, now_ns: int) -> Milestone | None:
    """Read a line of the boot port; ``None`` if it is none.

    Examples
    --------
    >>> milestone("mounted 3.37 ", 7)
    Milestone(name='mounted', uptime_s=3.37, host_mono_ns=7, said='')
    """
    name, _, rest = line.strip().partition(" ")
    shown, _, said = rest.partition(" ")
    if not name.isalpha() or not name.isascii():
        return None
    whole, _, parts = shown.partition(".")
    known = whole.isdecimal() and len(whole) < 10 and (parts.isdecimal() or not parts)
    return Milestone(name[:32], float(shown) if known else None, now_ns, said[:400].strip())


@dataclass
class Heard:
    """What has been heard of a machine.

    Attributes
    ----------
    milestones : list of Milestone
        Of its boot, in order.
    messages : list of dict
        What it said, times and progress left out.
    damaged : str or None
        Why nothing of it is taken any more.
    """

    milestones: list[Milestone] = field(default_factory=list)
    messages: list[dict[str, Any]] = field(default_factory=list)
    damaged: str | None = None

    def at(self, name: str) -> Milestone | None:
        """Give the first milestone of that name."""
        return next((one for one in self.milestones if one.name == name), None)

    def said(self, event: str) -> dict[str, Any] | None:
        """Give the first message of that kind."""
        return next((one for one in self.messages if one.get("event") == event), None)

    def of(self, number: int) -> Heard:
        """Give what was said of one of its trials, and of the machine."""
        mine = [one for one in self.messages if one.get("trial") in (None, number)]
        return replace(self, messages=mine)


class Conversation:
    """What is exchanged with one machine.

    Parameters
    ----------
    running : Running
        The machine.
    received : OfEach or Received
        Takes its files.
    raw : Path
        Where the console and the host's view of its CPUs go.
    progress : callable
        Called with messages on how far it is.
    """

    def __init__(
        self,
        running: Running,
        received: OfEach | Received,
        raw: Path,
        progress: Callable[[dict[str, Any]], None],
    ) -> None:
        self.heard = Heard()
        self.pings = Pings()
        self.given = vcpus.Given()
        self._running = running
        self._received = received
        self._progress = progress
        self._decoder = Decoder()
        self._line = b""
        self._console_bytes = 0
        self._ping_due = 0.0
        self._console = raw / CONSOLE
        self._cpus = raw / CPUS
        self._takers: dict[socket.socket, Callable[[bytes], None]] = {
            running.console: self._take_console,
            running.boot: self._take_boot,
            running.stream: self._take_stream,
        }

    @property
    def over(self) -> bool:
        """Whether the machine has ended, and everything that it sent was taken."""
        return self._running.process.poll() is not None and not self._takers

    def turn(self, seconds: float) -> None:
        """Take what comes within this time."""
        now = time.monotonic()
        self.given.turn(now)
        if now >= self._ping_due:
            self._ping_due = now + PING_S
            self._look()
        ready, _, _ = select.select(list(self._takers), [], [], seconds)
        for port in ready:
            try:
                data = port.recv(_PORTION)
            except OSError:
                data = b""
            if not data:
                del self._takers[port]
                continue
            self._takers[port](data)
        if not self._takers and self._running.process.poll() is None:
            time.sleep(min(seconds, 0.05))

    def ask(self, **message: Any) -> None:
        """Ask the machine for something; it is left out where the machine does not listen."""
        with contextlib.suppress(OSError):
            self._running.stream.send(frames.say(message), socket.MSG_DONTWAIT)

    def _look(self) -> None:
        if self.heard.said("machine"):
            self.ask(**self.pings.ask(time.monotonic_ns()))
        if self._running.process.poll() is None:
            reading = vcpus.read(self._running.process.pid, time.monotonic_ns())
            self.given.look(reading)
            with contextlib.suppress(OSError), self._cpus.open("a", encoding="utf-8") as file:
                file.write(json.dumps(reading.line(), separators=(",", ":")) + "\n")

    def _take_console(self, data: bytes) -> None:
        kept = data[: max(0, CONSOLE_BYTES - self._console_bytes)]
        self._console_bytes += len(kept)
        if kept:
            with contextlib.suppress(OSError), self._console.open("ab") as file:
                file.write(kept)

    def _take_boot(self, data: bytes) -> None:
        *lines, self._line = (self._line + data).split(b"\n")
        self._line = self._line[-LONGEST_LINE:]
        for line in lines:
            text = line[:LONGEST_LINE].decode("utf-8", "replace")
            found = milestone(text, time.monotonic_ns())
            if found is not None and len(self.heard.milestones) < MOST_MILESTONES:
                self.heard.milestones.append(found)

    def _take_stream(self, data: bytes) -> None:
        now = time.monotonic_ns()
        if self.heard.damaged is not None:
            return
        try:
            for one in self._decoder.feed(data):
                if isinstance(one, Piece) or one.get("event") == "gone":
                    self._file(one)
                elif one.get("event") == "time":
                    self.pings.heard(one, now)
                elif one.get("event") == "progress":
                    self._progress(one)
                elif len(self.heard.messages) < MOST_MILESTONES:
                    self.heard.messages.append(one)
        except DamagedError as error:
            self.heard.damaged = f"the virtual machine sent what cannot be: {error}"
        except _UnwrittenError as error:
            self.heard.damaged = f"what the virtual machine sent could not be written: {error}"

    def _file(self, one: Piece | dict[str, Any]) -> None:
        try:
            if isinstance(one, Piece):
                self._received.take(one)
            else:
                self._received.remove(str(one.get("name")))
        except OSError as error:
            raise _UnwrittenError(error.strerror) from error


class _UnwrittenError(Exception):
    """A file of a machine that this host could not write."""
