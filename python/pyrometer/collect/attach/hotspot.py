"""A running HotSpot JVM, spoken to through its attach socket: no JDK is needed for it.

The protocol is the one of `com.sun.tools.attach` on Linux: a file ``.attach_pid<pid>`` and SIGQUIT
make the JVM listen at ``/tmp/.java_pid<pid>``; each request is the version ``1``, a command and
three arguments, each ended by a zero byte; the answer is a number, 0 for success, and text
(OpenJDK, src/jdk.attach/linux and src/hotspot/os/linux/attachListener_linux.cpp).
"""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import socket
import stat
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from pyrometer.collect.attach.as_user import User, marked
from pyrometer.collect.host.facts import descendants
from pyrometer.core.errors import CapabilityError, UsageError
from pyrometer.core.liveness import start_ticks
from pyrometer.core.users import user_name

LISTEN_S = 10.0
ANSWER_S = 30.0
_MOST_BYTES = 64 << 20
_DISABLED = "-XX:+DisableAttachMechanism"


class NoAnswerError(CapabilityError):
    """A JVM does not listen or answer, and may do so later: it may be stopped, or busy."""


class Jvm:
    """A JVM that may be asked; nothing is sent to it before `ask` or `lines` is called.

    Parameters
    ----------
    pid : int
        Its process.

    Raises
    ------
    UsageError
        If there is no such process, or it is not a HotSpot JVM.
    CapabilityError
        If it is another user's, or was started so that nobody can attach.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._born = require_process(pid)
        self._proc = Path(f"/proc/{pid}")
        self.arguments = _words(self._proc / "cmdline")
        status = _status(pid)
        # The one with which it creates files.
        self.uid = int(status["Uid"].split()[3])
        groups = [int(group) for group in status.get("Groups", "").split()]
        self.user = User(self.uid, int(status["Gid"].split()[3]), groups)
        self._caught = int(status["SigCgt"], 16)
        self.inner_pid = int(status.get("NSpid", str(pid)).split()[-1])
        require_owner(pid, "attach")
        if not self._has_libjvm():
            raise UsageError(
                f"process {pid} ({status['Name']}) is not a HotSpot JVM",
                f"pyrometer probe --pid {pid}",
            )
        options = [*self.arguments, *_environment_options(self._proc)]
        if _DISABLED in options:
            raise CapabilityError(
                f"JVM {pid} runs with {_DISABLED}: nobody can attach to it",
                f"start it without, or take what needs no attaching: pyrometer probe --pid {pid}",
            )

    @property
    def runs(self) -> bool:
        """Whether it is still there."""
        return start_ticks(self.pid) == self._born

    def ask(self, command: str, *arguments: str) -> str:
        """Run one command; returns its answer.

        Raises
        ------
        NoAnswerError
            If the JVM does not listen or does not answer.
        CapabilityError
            If it refuses, or cannot be made to listen.
        """
        return "".join(self.lines(command, *arguments))

    def lines(self, command: str, *arguments: str) -> Iterator[str]:
        """Run one command; gives its answer line by line, as it comes.

        Raises
        ------
        NoAnswerError, CapabilityError
            As `ask`.
        """
        given = [*arguments, "", "", ""][:3]
        request = b"".join(word.encode() + b"\0" for word in ("1", command, *given))
        try:
            with self._connected() as connection:
                connection.sendall(request)
                with connection.makefile("r", encoding="utf-8", errors="replace") as answer:
                    code = answer.readline().strip()
                    if code != "0":
                        said = " ".join(answer.read(4000).split())
                        raise CapabilityError(
                            f"JVM {self.pid} refused {command}: {said or f'code {code}'}"
                        )
                    remaining = _MOST_BYTES
                    while remaining > 0 and (line := answer.readline(remaining)):
                        remaining -= len(line)
                        yield line
        except OSError as error:
            raise NoAnswerError(
                f"JVM {self.pid} does not answer {command}: {error.strerror or error}",
                f"try again; if it is stopped, let it go on first: kill -CONT {self.pid}"
                if self.runs
                else "list processes with ps -e: it has ended",
            ) from error

    def properties(self) -> dict[str, str]:
        """System properties."""
        return parse_properties(self.ask("properties"))

    def load(self, library: Path, options: str) -> int:
        """Load a native agent, or call one that is loaded; returns what its entry point returned.

        Raises
        ------
        NoAnswerError
            As `ask`.
        CapabilityError
            If the library cannot be loaded, in the JVM's words.
        """
        answer = self.ask("load", str(library), "true", options).strip()
        # Java 8 answers the number alone, later ones "return code: 0", or the loader's complaint.
        code = answer.rpartition(":")[2].strip() or "0"
        if not code.lstrip("-").isdigit():
            raise CapabilityError(f"JVM {self.pid} cannot load {library}: {answer}")
        return int(code)

    def _has_libjvm(self) -> bool:
        try:
            return mapped(self.pid, "/libjvm.so") is not None
        except OSError as error:
            raise CapabilityError(
                f"process {self.pid} may not be looked into: {error.strerror}",
                "run as root, outside of a container that forbids it",
            ) from error

    @property
    def _socket(self) -> Path:
        return self._proc / "root" / "tmp" / f".java_pid{self.inner_pid}"

    @contextlib.contextmanager
    def _connected(self) -> Iterator[socket.socket]:
        if not self._listens():
            self._wake()
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(ANSWER_S)
            connection.connect(str(self._socket))
            yield connection

    def _wake(self) -> None:
        # A JVM that does not catch SIGQUIT would be ended by it.
        if not self._caught >> (signal.SIGQUIT - 1) & 1:
            raise CapabilityError(
                f"JVM {self.pid} does not catch SIGQUIT (started a moment ago, or with -Xrs)",
                "try again in a second",
            )
        with self._marked():
            if not self.runs:
                raise CapabilityError(f"JVM {self.pid} has ended")
            os.kill(self.pid, signal.SIGQUIT)
            deadline = time.monotonic() + LISTEN_S
            while not self._listens():
                if time.monotonic() > deadline or not self.runs:
                    raise NoAnswerError(
                        f"JVM {self.pid} does not begin to listen",
                        f"if it is stopped, let it go on: kill -CONT {self.pid}; if a file of"
                        f" options has {_DISABLED}, start it without",
                    )
                time.sleep(0.02)

    def _listens(self) -> bool:
        """Whether its socket is there, and no link to another one."""
        try:
            found = self._socket.lstat()
        except OSError:
            return False
        return stat.S_ISSOCK(found.st_mode) and found.st_uid == self.uid

    @contextlib.contextmanager
    def _marked(self) -> Iterator[None]:
        name = f".attach_pid{self.inner_pid}"
        with contextlib.ExitStack() as kept:
            try:
                kept.enter_context(marked(self._proc / "cwd", name, self.user))
            except OSError:
                folder = self._proc / "root" / "tmp"
                try:
                    kept.enter_context(marked(folder, name, self.user))
                except OSError as error:
                    raise CapabilityError(
                        f"JVM {self.pid}: its user cannot create {folder / name}:"
                        f" {error.strerror or error}",
                        "make the JVM's /tmp writable for its user",
                    ) from error
            yield


def require_process(pid: int) -> int:
    """See that a process runs; returns when it started, in clock ticks after boot.

    Raises
    ------
    UsageError
        If it does not.
    """
    born = start_ticks(pid)
    if born is None:
        raise UsageError(f"there is no process {pid}", "list processes with ps -e")
    return born


def require_owner(pid: int, verb: str) -> None:
    """Check that we may observe a process: its user may, and root.

    Raises
    ------
    CapabilityError
        If it is another user's, with the command that root would give.
    """
    uid = int(_status(pid)["Uid"].split()[1])
    if os.geteuid() in (0, uid):
        return
    target = f"--pid {pid}" if verb == "probe" else str(pid)
    # As root: the owner may be unable to enter the folder of this Python, or to write in ours.
    # By its path: sudo has a PATH of its own. Not here: the folder may be ours, and is not root's.
    ours = f"{shlex.quote(sys.executable)} -m pyrometer"
    raise CapabilityError(
        f"process {pid} belongs to user {user_name(uid)}",
        f"sudo {ours} {verb} {target} -o /var/tmp/pyrometer-{pid}",
    )


def has_other_users(pids: Sequence[int]) -> bool:
    """Whether one of these processes, or one below it, is a user's who is neither we nor root."""
    ours = {0, os.geteuid()}
    below = [child for pid in pids for child in descendants(pid)]
    for pid in (*pids, *below):
        # A process may have ended meanwhile.
        with contextlib.suppress(UsageError):
            if not ours.issuperset(map(int, _status(pid)["Uid"].split())):
                return True
    return False


def command_line(pid: int) -> list[str]:
    """Words that a process was started with; its name in brackets where there are none."""
    return _words(Path(f"/proc/{pid}/cmdline")) or [f"[{_status(pid).get('Name', pid)}]"]


def mapped(pid: int, word: str) -> str | None:
    """Give the path of a mapped file of a process, by a word in it; ``None`` without one.

    Raises
    ------
    OSError
        If we may not look, or the process is gone.
    """
    with Path(f"/proc/{pid}/maps").open(encoding="utf-8", errors="replace") as lines:
        found = next((line for line in lines if word in line), None)
    return None if found is None else found.split(maxsplit=5)[5].strip()


def parse_properties(text: str) -> dict[str, str]:
    r"""Read what ``Properties.store`` wrote.

    Examples
    --------
    >>> parse_properties("#Mon\na.b=x\\:\\\\y\nc\\ d=caf\\u00e9\n")
    {'a.b': 'x:\\y', 'c d': 'café'}
    """
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith(("#", "!")) or not line.strip():
            continue
        key: list[str] = []
        value: list[str] = []
        into = 0
        letters = iter(line)
        for letter in letters:
            if letter == "\\":
                letter = _escaped(next(letters, ""), letters)
            elif letter in "=:" and not into:
                into = 1
                continue
            (value if into else key).append(letter)
        found["".join(key)] = "".join(value)
    return found


def _escaped(letter: str, rest: Iterator[str]) -> str:
    if letter == "u":
        digits = "".join(next(rest, "") for _ in range(4))
        try:
            return chr(int(digits, 16))
        except ValueError:
            return digits
    return {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}.get(letter, letter)


def _status(pid: int) -> dict[str, str]:
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise UsageError(f"there is no process {pid}", "list processes with ps -e") from error
    return {k: v.strip() for k, _, v in (line.partition(":") for line in text.splitlines())}


def _words(path: Path) -> list[str]:
    try:
        raw = path.read_bytes()
    except OSError:
        return []
    return [word for word in raw.decode("utf-8", "replace").split("\0") if word]


def _environment_options(proc: Path) -> list[str]:
    names = ("JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS=")
    found = [w.partition("=")[2] for w in _words(proc / "environ") if w.startswith(names)]
    return [option for options in found for option in options.split()]
