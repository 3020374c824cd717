"""The machine's side of the conversation: ships files, answers for the time, hears what to end."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyrometer.guests import frames
from pyrometer.guests.frames import Piece
from pyrometer.guests.shipping import Follower, Gone

PORT = "STREAM"
"""Variable that names the port."""
EVERY_S = 1.0
LAST_WORD_S = 120.0
"""How long the last pieces may take to be acknowledged."""

STOPPING = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGHUP": signal.SIGHUP}


class Talk:
    """A thread of its own that has the port, until :meth:`finish`.

    Parameters
    ----------
    port : Path
        Device of the port.
    roots : sequence of Path
        Run directories, whose files are shipped as they grow: names begin with the number of the
        directory.
    """

    def __init__(self, port: Path, roots: Sequence[Path]) -> None:
        self._port = os.open(port, os.O_RDWR | os.O_CLOEXEC)
        self._followers = [Follower(one) for one in roots]
        self._decoder = frames.Decoder()
        self._writing = threading.Lock()
        self._stopped = threading.Event()
        self._heard = threading.Event()
        self._thread = threading.Thread(target=self._run, name="talk", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopped.set()
        os.close(self._port)

    def say(self, event: str, **rest: Any) -> None:
        """Tell the host something."""
        self._send(frames.say({"event": event, **rest}))

    def finish(self, words: Iterable[Mapping[str, Any]]) -> None:
        """Ship what is left, say the last word on each trial, and wait until the host has it."""
        self._stopped.set()
        self._thread.join()
        self._ship(one.rest() for one in self._followers)
        for word in words:
            self._send(frames.say(word))
        deadline = time.monotonic() + LAST_WORD_S
        while not self._heard.is_set() and time.monotonic() < deadline:
            self._listen(EVERY_S)

    def _run(self) -> None:
        due = time.monotonic()
        # Signals are for the thread that waits for the application.
        signal.pthread_sigmask(signal.SIG_BLOCK, {*STOPPING.values(), signal.SIGCHLD})
        while not self._stopped.is_set():
            with contextlib.suppress(OSError, frames.DamagedError):
                self._listen(max(0.0, due - time.monotonic()))
                if time.monotonic() >= due:
                    due = time.monotonic() + EVERY_S
                    self._ship(one.news() for one in self._followers)

    def _ship(self, directories: Iterable[Iterable[Piece | Gone]]) -> None:
        for number, changes in enumerate(directories):
            for one in changes:
                name = f"{number}/{one.name}"
                if isinstance(one, Gone):
                    self.say("gone", name=name)
                else:
                    self._send(frames.piece(replace(one, name=name)))

    def _listen(self, seconds: float) -> None:
        ready, _, _ = select.select([self._port], [], [], seconds)
        if not ready:
            return
        data = os.read(self._port, 1 << 16)
        if not data:
            # The host has gone: the kernel reports it as the end of the file, again and again.
            time.sleep(EVERY_S)
            return
        for one in self._decoder.feed(data):
            if isinstance(one, dict):
                self._answer(one)

    def _answer(self, message: Mapping[str, Any]) -> None:
        if message.get("ask") == "time":
            self.say("time", number=message.get("number"), mono_ns=time.monotonic_ns())
        elif message.get("ask") == "stop":
            os.kill(os.getpid(), STOPPING.get(str(message.get("signal")), signal.SIGTERM))
        elif message.get("ask") == "end":
            self._heard.set()

    def _send(self, frame: bytes) -> None:
        with self._writing:
            left = memoryview(frame)
            while left:
                left = left[os.write(self._port, left) :]
