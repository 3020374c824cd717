"""Brings profiles to the server one after another: tries again, gives up, counts the outcomes."""

from __future__ import annotations

import random
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pyrometer.push.profiles import Profile
from pyrometer.push.sent import Progress, Sent
from pyrometer.push.server import Answer, Server, message

__all__ = ["Delivery", "Note", "Patience"]

Note = Callable[[str], None]


@dataclass(frozen=True)
class Patience:
    """How long we wait for a server, in seconds.

    Parameters
    ----------
    first_pause_s, longest_pause_s : float
        Bounds of the pause after a message that was not taken: it doubles, and its length is drawn
        evenly between 0 and that ("full jitter",
        https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
    last_s : float
        Without a profile taken, once nothing more is being recorded.
    stop_s : float
        In all, once we are asked to stop.
    """

    first_pause_s: float = 1.0
    longest_pause_s: float = 30.0
    last_s: float = 10.0
    stop_s: float = 12.0

    def pause_s(self, tries: int, reply_wait_s: float | None, denied: bool) -> float:
        """Length of the pause after so many tries; not shorter than the server asks for."""
        doubled = self.first_pause_s * 2 ** min(tries, 20)
        top = self.longest_pause_s if denied else min(self.longest_pause_s, doubled)
        drawn = random.uniform(0, top)  # noqa: S311
        return max(drawn, min(reply_wait_s or 0, 10 * self.longest_pause_s))


class Delivery:
    """Sends profiles and records the outcome of each.

    Parameters
    ----------
    server : Server
        Where they go.
    account : Account
        What became of them.
    patience : Patience
        How long to wait.
    note : callable
        Called when the server begins or ceases to take profiles, and of each that it refuses.

    Attributes
    ----------
    stop : threading.Event
        Set: what is on disk is still sent, in the time that there is for it.
    gave_up : bool
        It did not; nothing more is sent.
    """

    def __init__(self, server: Server, account: Sent, patience: Patience, note: Note) -> None:
        self.server, self.account, self.patience, self.note = server, account, patience, note
        self.stop = threading.Event()
        self.gave_up = False
        self._last_at: float | None = None
        self._stop_at: float | None = None
        self._failing = False

    def last(self) -> None:
        """From now on nothing more is recorded: patience has an end."""
        self._last_at = time.monotonic() + self.patience.last_s

    def send(
        self, profile: Profile, labels: Mapping[str, str], where: str, progress: Progress
    ) -> bool:
        """Send one profile; False if we gave up.

        Raises
        ------
        OSError
            If the account cannot be written: nothing was sent then.
        """
        name = str(uuid.uuid5(uuid.NAMESPACE_URL, f"{where}/{profile.key}"))
        body = message({**labels, "__name__": profile.name}, profile.data, name)
        tries = 0
        while not self._late():
            progress.sending = [profile.key, profile.event, profile.weight]
            try:
                self.account.save()
            except OSError:
                progress.sending = None
                raise
            reply = self.server.send(body)
            progress.sending = None
            if reply.answer not in (Answer.NOT_YET, Answer.DENIED):
                progress.done.append(profile.key)
                self._settle(profile, reply.answer, reply.detail, len(body))
                self.account.save()
                return True
            denied = reply.answer is Answer.DENIED
            self._fails(reply.detail)
            self._wait(self.patience.pause_s(tries, reply.wait_s, denied), denied)
            tries += 1
        self.account.save()
        return False

    def _late(self) -> bool:
        now = time.monotonic()
        if self.stop.is_set():
            self._stop_at = self._stop_at or now + self.patience.stop_s
        self.gave_up = self.gave_up or (self._stop_at is not None and now >= self._stop_at)
        return self.gave_up

    def _settle(self, profile: Profile, answer: Answer, detail: str, size: int) -> None:
        account = self.account
        account.settle(profile.event, profile.weight, answer.value)
        if answer is not Answer.TAKEN:
            account.last_error = detail
            self.note(f"{self.server.address}: a profile is {answer.value}: {detail}")
            return
        if self._failing:
            self._failing = False
            self.note(f"{self.server.address} takes profiles again")
        if self._last_at is not None:
            self.last()
        account.sent_bytes += size
        account.uncompressed_bytes += profile.raw_bytes
        account.delayed(time.time_ns() - profile.end_wall_ns)

    def _fails(self, detail: str) -> None:
        self.account.retries += 1
        self.account.last_error = detail
        if not self._failing:
            self._failing = True
            self.note(f"{self.server.address} takes no profiles ({detail}); they stay on disk")

    def _wait(self, pause_s: float, denied: bool) -> None:
        until = time.monotonic() + pause_s
        while True:
            if self.stop.is_set() and self._last_at is None:
                self.last()
            now = time.monotonic()
            if self._last_at is not None and (denied or now >= self._last_at):
                self.gave_up = True
                return
            remaining = until - now
            if remaining <= 0:
                return
            if self._last_at is None:
                self.stop.wait(remaining)
            else:
                time.sleep(min(remaining, self._last_at - now))
