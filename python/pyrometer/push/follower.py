"""Follows a run directory and sends its profiles, chunk by chunk, each profile once.

One thread and no queue in memory: what is not sent yet is in the recording.

When a run is over, seen from outside: nobody keeps it and none of its JVMs still runs.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from pyrometer.core.errors import PyrometerError
from pyrometer.core.liveness import runs
from pyrometer.core.redaction import Redactor
from pyrometer.push.delivery import Delivery
from pyrometer.push.options import Settings, Window
from pyrometer.push.profiles import Profile, profiles
from pyrometer.push.recording import Chunk, Recording, TaskLog
from pyrometer.push.sent import Progress, Sent
from pyrometer.store.launcher import Launcher, keeper_alive
from pyrometer.store.paths import RunPaths

# A moment after all others: of a chunk whose clock is not the records', all records are read.
_END_OF_TIME_NS = 1 << 62


@dataclass(frozen=True)
class Limits:
    """How long we wait for what belongs to a chunk, in seconds.

    Parameters
    ----------
    look_s : float
        Between two looks at the files.
    flush_s : float
        After a chunk's end: records that the plugin wrote later show that those of the chunk's time
        are written (its ``flush.interval.ms`` is 0.2 s).
    records_s : float
        At most, for these records: of a JVM that hangs, or has no plugin.
    app_s : float
        At most, until the application of a JVM is known.
    """

    look_s: float = 1.0
    flush_s: float = 0.25
    records_s: float = 5.0
    app_s: float = 60.0


@dataclass(frozen=True)
class Names:
    """What the run is called.

    Parameters
    ----------
    run_id : str
        From the manifest.
    workload : str
        Name of the service where the application has none.
    """

    run_id: str
    workload: str


class Follower:
    """Reads a run directory and sends what is in it.

    Parameters
    ----------
    paths : RunPaths
        The run.
    names : Names
        How it is called.
    delivery : Delivery
        Takes the profiles.
    settings : Settings
        Periods, labels, limits.
    limits : Limits
        How long we wait.
    """

    def __init__(
        self, paths: RunPaths, names: Names, delivery: Delivery,
        settings: Settings | None = None, limits: Limits | None = None,
    ) -> None:  # fmt: skip
        self.paths, self.names, self.delivery = paths, names, delivery
        self.settings, self.limits = settings or Settings(), limits or Limits()
        self._recordings: dict[str, Recording] = {}
        self._logs: dict[Path, TaskLog] = {}
        self._seen: dict[str, tuple[int, float]] = {}

    @property
    def account(self) -> Sent:
        """What was sent."""
        return self.delivery.account

    def once(self) -> None:
        """Send all chunks that are complete now.

        Raises
        ------
        OSError
            If the run directory cannot be read or written.
        """
        self.delivery.last()
        self._round(final=True)
        unsent = [recording.left_bytes() for recording in self._recordings.values()]
        self.account.left_bytes = sum(complete for complete, _ in unsent)
        self.account.open_bytes = sum(rest for _, rest in unsent)
        self.account.state = "finished"
        self.account.save()

    def follow(self, over: Callable[[], bool]) -> None:
        """Send chunks as they are completed, until the run is over or we are asked to stop."""
        stop = self.delivery.stop
        while not stop.is_set() and not over():
            try:
                self._round(final=False)
            except OSError as error:
                # A full disk may have room again; a run directory that is gone is over.
                self.account.last_error = str(error)
            stop.wait(self.limits.look_s)
        self.once()

    def _round(self, final: bool) -> None:
        for path in self.paths.profiles():
            recording = self._recordings.get(path.name)
            if recording is None:
                recording = self._recordings[path.name] = Recording(path)
            progress = self.account.progress(path.name, recording.first_wall_ns())
            recording.offset = progress.offset
            while not self.delivery.gave_up and (chunks := self._ready(recording, progress, final)):
                self._send(recording, chunks, progress)
            if recording.reason:
                self.account.last_error = recording.reason

    def _ready(self, recording: Recording, progress: Progress, final: bool) -> list[Chunk]:
        """Return what may be sent now: complete chunks of a period whose tasks are known."""
        log = self._log(recording.pid)
        if progress.until:
            return recording.upto(progress.until)
        # The length of a chunk is not exact, and the last is shorter.
        chunks, whole = recording.ready(self.settings.every_ns * 9 // 10)
        if not chunks or not (whole or final or (log is not None and log.over())):
            return []
        end = chunks[-1].end
        if self._seen.get(recording.path.name, (0, 0.0))[0] != end:
            self._seen[recording.path.name] = (end, time.monotonic())
        waited = time.monotonic() - self._seen[recording.path.name][1]
        return chunks if final or self._known(log, chunks[-1], waited) else []

    def _known(self, log: TaskLog | None, chunk: Chunk, waited: float) -> bool:
        if log is None:
            return waited >= self.limits.records_s
        over = log.over()
        if not self._read(log, chunk) and waited < self.limits.records_s and not over:
            return False
        return log.app_id is not None or waited >= self.limits.app_s or over

    def _read(self, log: TaskLog, chunk: Chunk) -> bool:
        end = _END_OF_TIME_NS if chunk.end_mono_ns is None else chunk.end_mono_ns
        return log.read_past(end + round(self.limits.flush_s * 1e9))

    def _send(self, recording: Recording, chunks: list[Chunk], progress: Progress) -> None:
        log = self._log(recording.pid)
        where = f"{self.names.run_id}/{recording.path.name}/{chunks[0].offset}"
        if not progress.until:
            progress.until, progress.every_ns = chunks[-1].end, self.settings.every_ns
        try:
            for profile in self._profiles(recording, log, chunks, progress.every_ns):
                if profile.key not in progress.done and not self.delivery.send(
                    profile, self._labels(recording, log), where, progress
                ):
                    return
        except (PyrometerError, RuntimeError, ValueError) as error:
            # One chunk that cannot be read must not end the sending of all that follow.
            self.account.last_error = f"{recording.path.name} at byte {chunks[0].offset}: {error}"
            self.account.unreadable += len(chunks)
        progress.forget(chunks[-1].end)
        recording.offset = progress.offset
        self.account.chunks += len(chunks)
        self.account.save()

    def _profiles(
        self, recording: Recording, log: TaskLog | None, chunks: list[Chunk], every_ns: int
    ) -> Iterator[Profile]:
        window = Window(chunks[0].start_wall_ns, chunks[-1].end_wall_ns, chunks[0].start_mono_ns)
        settings = replace(self.settings, every_ns=every_ns)
        with tempfile.TemporaryDirectory(prefix="pyrometer-push-") as scratch:
            folder = Path(scratch)
            part, tables = folder / recording.path.name, folder / "tables"
            tables.mkdir()
            recording.copy(chunks, part)
            records = None
            if log is not None:
                self._read(log, chunks[-1])
                records = folder / log.path.name
                log.write(chunks[0].start_mono_ns or 0, records)
            alloc_bytes = log.alloc_bytes if log else 0
            begun_in = recording.path if chunks[0].offset else None
            yield from profiles(part, records, tables, window, settings, alloc_bytes, begun_in)

    def _log(self, pid: int) -> TaskLog | None:
        found = [path for path in self.paths.plugin_files() if path.stem.endswith(f"-{pid}")]
        if not found:
            return None
        return self._logs.setdefault(found[-1], TaskLog(found[-1]))

    def _labels(self, recording: Recording, log: TaskLog | None) -> dict[str, str]:
        facts = log.facts if log else {}
        labels = {
            "service_name": facts.get("app_name") or self.names.workload,
            "app_id": facts.get("app_id"),
            "executor": facts.get("executor_id"),
            "role": facts.get("role") or recording.role,
            "host": facts.get("host"),
            "run_id": self.names.run_id,
            **self.settings.labels,
        }
        redactor = Redactor()
        return {name: redactor.setting(name, str(value)) for name, value in labels.items() if value}


def is_over(paths: RunPaths, launcher: Launcher | None) -> bool:
    """Whether nothing more will be recorded; a keeper that was killed leaves its JVMs running.

    Parameters
    ----------
    paths : RunPaths
        The run.
    launcher : Launcher or None
        The process that keeps it, from the manifest.
    """
    if not paths.raw.is_dir():
        return True
    if not paths.exit.exists() and keeper_alive(launcher):
        return False
    pids = (path.stem.rpartition("-")[2] for path in (*paths.plugin_files(), *paths.profiles()))
    return not any(pid.isdecimal() and runs(int(pid)) for pid in pids)
