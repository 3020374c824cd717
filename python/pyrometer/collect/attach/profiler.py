"""async-profiler in a JVM that runs already: started and stopped through the attach socket."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from pyrometer import _artifacts
from pyrometer.collect.attach.as_user import put_for_all
from pyrometer.collect.attach.hotspot import Jvm, NoAnswerError, mapped
from pyrometer.collect.probes.base import Detached, Probe, complaint
from pyrometer.collect.probes.stacks import StacksProbe
from pyrometer.core.errors import CapabilityError
from pyrometer.store.manifest import ProbeEntry
from pyrometer.store.paths import RunPaths

_STOP_S = 5.0
_LOG_BYTES = 16 << 10
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ENTERED = 0o711
_ALREADY = "already started"
# Of the copy that an agent in the JVM, such as ours, loads from its jar and then removes.
_COPY = "libasyncProfiler-"


class AttachedStacks(Probe):
    """Stacks of a running JVM, all threads: by CPU, by time, of allocations and contended locks.

    Lines of code between safepoints are those of the next safepoint, as ``DebugNonSafepoints``
    cannot be switched on any more.

    Parameters
    ----------
    jvm : Jvm
        The JVM.
    role : str
        ``driver`` or ``executor``, for the name of the recording.
    stacks : StacksProbe
        What to sample.
    """

    name = "stacks"

    def __init__(self, jvm: Jvm, role: str, stacks: StacksProbe) -> None:
        self.jvm = jvm
        self.role = role
        self._stacks = stacks
        self._library: Path | None = None
        self._file: Path | None = None
        self._version: str | None = None
        self._notes: list[str] = []
        self._keeper = Detached()
        self._log: Path | None = None

    def asked(self) -> str:
        """Say the events with their periods."""
        return self._stacks.asked().replace("on task threads", "on all threads")

    def start(self, paths: RunPaths, root_pid: int) -> None:
        """Load the library and begin.

        Raises
        ------
        CapabilityError
            If the JVM does not see the run directory, or its user cannot enter it; if it cannot
            load the library, is profiled by somebody else, or an agent in it has loaded another.
        """
        raw = paths.raw.resolve()
        if not sees(Path(f"/proc/{self.jvm.pid}/root"), raw):
            raise CapabilityError(
                f"JVM {self.jvm.pid} does not see {raw}, where it is to write its recording: it"
                " runs in a container",
                "give -o a folder that is mounted at the same path in the container, or observe it"
                f" from outside: pyrometer probe --pid {self.jvm.pid}",
            )
        if (copy := copy_of_another(self.jvm)) is not None:
            raise _has_another(self.jvm, copy)
        file = raw / f"profile-{self.role}-{self.jvm.pid}.jfr"
        log = raw / f".profiler-{self.jvm.pid}.log"
        folder = os.open(raw, _FOLDER)
        try:
            self._start(paths, folder, file, log)
        finally:
            for made in (log, *([file] if self._file is None else [])):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(made.name, dir_fd=folder)
            os.close(folder)
        self._keep(paths)

    def stop(self) -> None:
        """End the recording and complete its file; if the JVM has ended, it stays as it is.

        If the JVM does not answer, what waits for our death stays: it goes on trying then.
        """
        file, self._file = self._file, None
        answered = True
        if file is not None and self._library is not None and self.jvm.runs:
            try:
                code = self.jvm.load(self._library, stop_options(file))
                if code:
                    self._notes.append(f"the profiler did not stop: code {code}")
            except NoAnswerError as error:
                answered = False
                self._notes.append(f"the profiler was not stopped yet: {error.message}")
            except CapabilityError as error:
                self._notes.append(f"the profiler did not stop: {error.message}")
        if answered:
            self._keeper.stop(_STOP_S)
        if self._log is not None:
            complaint(self._log)

    def processes(self) -> list[int]:
        """Pid of what waits for our death."""
        return self._keeper.pids

    def report(self, paths: RunPaths) -> ProbeEntry:
        """Report how many recordings there are, and their size."""
        files = [file for file in paths.profiles() if file.stat().st_size]
        size = sum(file.stat().st_size for file in files)
        return ProbeEntry(
            name=self.name,
            tier=f"async-profiler {self._version}" if self._version else "async-profiler",
            asked=self.asked(),
            got=f"{len(files)} recording(s), {size} bytes" if files else None,
            dropped=0 if files else None,
            reason="; ".join(self._notes) or None,
        )

    def _start(self, paths: RunPaths, folder: int, file: Path, log: Path) -> None:
        """Begin, with files in the raw folder: no name there is followed or trusted later on."""
        theirs = os.geteuid() != self.jvm.uid
        if theirs:
            # The JVM may reach its files here; nothing else can be read or listed.
            _let_in(paths.root)
            os.fchmod(folder, _ENTERED)
        with self._made(folder, file.name, theirs), self._made(folder, log.name, theirs) as said:
            why = unwritable(self.jvm, file) if theirs else None
            if why is not None:
                raise CapabilityError(
                    f"user {self.jvm.uid} of JVM {self.jvm.pid} cannot write {file}: {why}",
                    "give -o a new folder in one that this user may enter: -o /tmp/NAME",
                )
            self._library = library(self.jvm)
            self._version = self._ask_version(log, said)
            for command in attempts(self._stacks.command()):
                os.ftruncate(said, 0)
                options = f"{command},jfr,loglevel=error,log={_plain(log)},file={_plain(file)}"
                if self.jvm.load(self._library, options) == 0:
                    self._file = file
                    return
                why = _beginning(said) or "no reason given"
                if _ALREADY in why.lower():
                    raise _profiled(self.jvm, why)
                self._notes.append(f"{command}: {why}")
        raise CapabilityError(
            f"async-profiler does not start in JVM {self.jvm.pid}: {'; '.join(self._notes)}"
        )

    @contextlib.contextmanager
    def _made(self, folder: int, name: str, theirs: bool) -> Iterator[int]:
        """Make a file that the JVM writes, which may be another user's than root, who attaches."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            if theirs:
                os.fchown(descriptor, self.jvm.uid, -1)
            yield descriptor
        finally:
            os.close(descriptor)

    def _ask_version(self, log: Path, said: int) -> str | None:
        assert self._library is not None
        with contextlib.suppress(CapabilityError, OSError):
            self.jvm.load(self._library, f"version,loglevel=none,file={_plain(log)}")
            return next(iter(_beginning(said).split()), None)
        return None

    def _keep(self, paths: RunPaths) -> None:
        # Killed, we could not stop it, and it would record as long as the JVM lives.
        assert self._file is not None
        words = ["-I", "-m", "pyrometer.collect.attach.profiler_keeper", str(os.getpid())]
        command = [sys.executable, *words, str(self.jvm.pid), str(self._library)]
        self._log = paths.raw / f"keeper-{self.jvm.pid}.log"
        self._keeper.start([*command, stop_options(self._file)], self._log)


def stop_options(file: Path) -> str:
    """Options with which a recording is ended and completed."""
    return f"stop,jfr,loglevel=none,file={_plain(file)}"


def attempts(command: str) -> list[str]:
    """Give the command, then with less of what a machine may refuse.

    Examples
    --------
    >>> attempts("start,event=cpu,interval=10ms,lock=10ms")[1:]
    ['start,event=ctimer,interval=10ms,lock=10ms', 'start,event=ctimer,interval=10ms']
    """
    timer = command.replace("event=cpu", "event=ctimer")
    bare = [word for word in timer.split(",") if not word.startswith(("lock", "alloc", "live"))]
    return list(dict.fromkeys([command, timer, ",".join(bare)]))


def sees(root: Path, folder: Path) -> bool:
    """Whether a folder of ours is the same folder, by the same path, below another root.

    Examples
    --------
    >>> sees(Path("/proc/self/root"), Path("/usr")), sees(Path("/usr"), Path("/usr"))
    (True, False)
    """
    try:
        return (root / folder.relative_to("/")).samefile(folder)
    except OSError:
        return False


def unwritable(jvm: Jvm, file: Path) -> str | None:
    """Say why a JVM's user cannot write a file, by its path in the JVM; ``None`` if it can."""

    def opened() -> None:
        os.close(os.open(file.relative_to("/"), os.O_WRONLY | os.O_CLOEXEC, dir_fd=root))

    try:
        root = os.open(f"/proc/{jvm.pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            jvm.user.does(opened)
        finally:
            os.close(root)
    except OSError as error:
        return error.strerror or str(error)
    return None


def copy_of_another(jvm: Jvm) -> str | None:
    """Give the copy of async-profiler that an agent in the JVM has loaded; ``None`` without one.

    It is another library to the JVM than ours, so neither would know of the other's recording. It
    stays loaded once that has ended: whether it still records cannot be seen.
    """
    with contextlib.suppress(OSError):
        return mapped(jvm.pid, f"/{_COPY}") or mapped(jvm.pid, f"/.{_COPY}")
    return None


def _profiled(jvm: Jvm, why: str) -> CapabilityError:
    return CapabilityError(f"JVM {jvm.pid} is being profiled already ({why})", "end that first")


def _has_another(jvm: Jvm, copy: str) -> CapabilityError:
    return CapabilityError(
        f"JVM {jvm.pid}: an agent has loaded an async-profiler of its own ({copy})",
        f"restart it without the agent, or observe it from outside: pyrometer probe --pid {jvm.pid}"
        " (a JVM that `pyrometer run` started has its own recording)",
    )


def library(jvm: Jvm) -> Path:
    """Give ``libasyncProfiler.so`` as the JVM opens it: one path for all calls, as it stays loaded.

    Raises
    ------
    CapabilityError
        If there is none for this processor, or no place for it.
    """
    kind = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}.get(platform.machine())
    jar = _artifacts.plugin_jar()
    with zipfile.ZipFile(jar) as opened:
        name = f"{kind}/libasyncProfiler.so"
        if name not in opened.namelist():
            raise CapabilityError(f"there is no async-profiler for {platform.machine()} in {jar}")
        content = opened.read(name)
    digest = hashlib.sha256(content).hexdigest()[:16]
    inside = Path(tempfile.gettempdir()) / f"pyrometer-{jvm.uid}-{digest}.so"
    # As the JVM sees it: it may run in a container.
    outside = Path(f"/proc/{jvm.pid}/root") / inside.parent.relative_to("/")
    try:
        folder = os.open(outside, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            jvm.user.does(lambda: put_for_all(folder, inside.name, content, jvm.uid))
        finally:
            os.close(folder)
    except OSError as error:
        raise CapabilityError(
            f"{outside / inside.name}: user {jvm.uid} cannot write it: {error.strerror or error}",
            "make the folder for temporary files writable for the JVM's user",
        ) from error
    return inside


def _let_in(folder: Path) -> None:
    opened = os.open(folder, _FOLDER)
    try:
        os.fchmod(opened, _ENTERED)
    finally:
        os.close(opened)


def _beginning(log: int) -> str:
    """Give what the profiler said, whatever else the JVM's user writes there."""
    return " ".join(os.pread(log, _LOG_BYTES, 0).decode("utf-8", "replace").split())


def _plain(file: Path) -> str:
    # Commas and percent signs mean something in the profiler's options.
    text = str(file)
    if "," in text or "%" in text:
        raise CapabilityError(f"{text}: async-profiler takes no comma or percent sign in a path",
                              "give another folder with -o")  # fmt: skip
    return text
