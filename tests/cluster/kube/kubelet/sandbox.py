"""First process of a pod: holds its namespaces and runs its containers, with a kubelet or without.

``python -S -m …sandbox FOLDER``: reads ``sandbox.json`` there, waits until a byte comes on its
standard input (its network is ready), and keeps ``state.json`` up to date. SIGTERM asks all
containers to end; it ends with the last one.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tests.cluster.kube.kubelet import groups, kernel
from tests.cluster.kube.kubelet.tree import Mount, Tree

BACKOFF_S = (10.0, 20.0, 40.0, 80.0, 160.0, 300.0)
"""Before a container is started again, the last one from then on."""
STEADY_S = 600.0
"""One that ran for so long is started again as if for the first time."""
UNSTARTED = 128
"""Exit code of a container whose command could not be executed."""
RESTARTED: dict[str, Callable[[int], bool]] = {
    "Always": lambda code: True,
    "OnFailure": lambda code: code != 0,
}
"""Whether a container is started again, by the policy of its pod and its exit code."""


@dataclass(frozen=True)
class Container:
    """What a container is, with everything resolved.

    Parameters
    ----------
    name : str
        Unique within its pod.
    command : list of str
        Program and arguments.
    env : dict
        All of its variables.
    folder : str
        Where it begins, in the container.
    mounts : list of Mount
        Over the host's files, in order.
    groups : list of str
        Control groups.
    own : str
        Folder of the host with what it writes: files, and ``log``.
    init : bool
        Whether it runs, alone and to its end, before those that do not.
    user, group : int
        Whose it runs as.
    """

    name: str
    command: list[str]
    env: dict[str, str]
    folder: str
    mounts: list[Mount]
    groups: list[str]
    own: str
    init: bool = False
    user: int = 0
    group: int = 0


@dataclass(frozen=True)
class Pod:
    """What a sandbox is told.

    Parameters
    ----------
    hostname : str
        What it calls itself.
    groups : list of str
        Control groups of this process.
    containers : list of Container
        In the order of their start.
    restart : str
        ``Always``, ``OnFailure`` or ``Never``.
    own_network, own_processes : bool
        Whether it has namespaces of its own, or is in those of its host.
    in_memory : dict
        Folders of the host that are in memory for this pod, and options of that.
    """

    hostname: str
    groups: list[str]
    containers: list[Container]
    restart: str = "Never"
    own_network: bool = True
    own_processes: bool = True
    in_memory: dict[str, str] = field(default_factory=dict)


@dataclass
class State:
    """What became of a container: ``waiting``, ``running`` or ``terminated``."""

    state: str = "waiting"
    started_at: str | None = None
    finished_at: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    message: str | None = None
    restarts: int = 0
    last_exit_code: int | None = None


def write(pod: Pod, folder: Path) -> None:
    """Write what :func:`main` reads."""
    replace(folder / "sandbox.json", asdict(pod))


def read(folder: Path) -> Pod:
    """Read what :func:`write` wrote."""
    fields = loaded(folder / "sandbox.json")
    containers = [
        Container(**{**one, "mounts": [Mount(**mount) for mount in one["mounts"]]})
        for one in fields.pop("containers")
    ]
    return Pod(**fields, containers=containers)


def states(folder: Path) -> dict[str, State]:
    """Read what became of containers; empty before the first was started."""
    try:
        fields = loaded(folder / "state.json")
    except FileNotFoundError:
        return {}
    return {name: State(**one) for name, one in fields.items()}


def replace(file: Path, what: Any) -> None:
    """Write a file that is whole at any moment."""
    partial = file.with_suffix(".tmp")
    partial.write_text(json.dumps(what), "utf-8")
    partial.replace(file)


def loaded(file: Path) -> Any:
    """Read what :func:`replace` wrote."""
    return json.loads(file.read_text("utf-8"))


def start_ticks(pid: int) -> int | None:
    """Give when a process was started, which tells it from a later one of its number."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[19])
    except OSError:
        return None


class Sandbox:
    """The loop of a pod's first process.

    Parameters
    ----------
    pod : Pod
        What to run.
    folder : Path
        Of the pod, on the host.
    """

    def __init__(self, pod: Pod, folder: Path) -> None:
        self._pod = pod
        self._folder = folder
        self._states = {one.name: State() for one in pod.containers}
        self._running: dict[int, Container] = {}
        self._began: dict[str, float] = {}
        self._due: dict[str, float] = {}
        self._stopping = False

    def run(self) -> None:
        """Run all containers to their end."""
        for one in (c for c in self._pod.containers if c.init):
            self._start(one)
            while one.name in self._due or one in self._running.values():
                self._wait()
            if self._states[one.name].exit_code != 0:
                return
        for one in (c for c in self._pod.containers if not c.init):
            if not self._stopping:
                self._start(one)
        while self._running or self._due:
            self._wait()

    def _start(self, one: Container) -> None:
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            _become(one, not self._pod.own_processes, writer)
        os.close(writer)
        with os.fdopen(reader, "rb") as pipe:
            message = pipe.read().decode("utf-8", "replace")
        state = self._states[one.name]
        state.state, state.started_at, state.finished_at = "running", _now(), None
        state.reason, state.message = ("StartError", message) if message else (None, None)
        self._running[pid] = one
        self._began[one.name] = time.monotonic()
        self._report()

    def _wait(self) -> None:
        due = min(self._due.values(), default=float("inf")) - time.monotonic()
        got = signal.sigtimedwait([signal.SIGCHLD, signal.SIGTERM], max(0.0, min(due, 60.0)))
        if got is not None and got.si_signo == signal.SIGTERM:
            self._stopping = True
            self._due.clear()
            for pid in self._running:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
        self._reap()
        now = time.monotonic()
        for name in [name for name, at in self._due.items() if at <= now]:
            del self._due[name]
            self._start(next(c for c in self._pod.containers if c.name == name))

    def _reap(self) -> None:
        while True:
            try:
                pid, how = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if one := self._running.pop(pid, None):
                # What a container leaves behind ends with it.
                groups.kill([folder for folder in one.groups if self._pod.own_processes])
                self._ended(one, os.waitstatus_to_exitcode(how))

    def _ended(self, one: Container, code: int) -> None:
        state = self._states[one.name]
        state.state, state.finished_at = "terminated", _now()
        state.exit_code = 128 - code if code < 0 else code
        if state.reason is None:
            killed = groups.out_of_memory(one.groups)
            state.reason = "OOMKilled" if killed else "Error" if state.exit_code else "Completed"
        policy = "OnFailure" if one.init and self._pod.restart == "Always" else self._pod.restart
        again = RESTARTED.get(policy)
        if not self._stopping and again is not None and again(state.exit_code):
            long = time.monotonic() - self._began[one.name] > STEADY_S
            wait = BACKOFF_S[0 if long else min(state.restarts, len(BACKOFF_S) - 1)]
            self._due[one.name] = time.monotonic() + wait
            state.state, state.last_exit_code = "waiting", state.exit_code
            state.reason, state.restarts = "CrashLoopBackOff", state.restarts + 1
        self._report()

    def _report(self) -> None:
        replace(self._folder / "state.json", {name: asdict(s) for name, s in self._states.items()})


def main() -> None:
    """Be the first process of the pod of a folder."""
    folder = Path(sys.argv[1])
    pod = read(folder)
    groups.join(pod.groups)
    network = kernel.NEWNET if pod.own_network else 0
    names = kernel.NEWUTS if pod.own_network else 0
    processes = kernel.NEWPID if pod.own_processes else 0
    kernel.unshare(kernel.NEWNS | kernel.NEWIPC | network | names | processes)
    pid = os.fork()
    if pid:
        replace(folder / "sandbox.pid", [pid, start_ticks(pid)])
        os._exit(0)
    if not pod.own_processes:
        kernel.adopt_orphans()
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGTERM})
    if not os.read(0, 1):
        # The kubelet has ended meanwhile.
        sys.exit(1)
    kernel.keep_mounts_to_ourselves()
    if pod.own_network:
        socket.sethostname(pod.hostname)
    for place, options in pod.in_memory.items():
        kernel.mount("tmpfs", Path(place), options)
    Sandbox(pod, folder).run()


def _become(one: Container, host_processes: bool, writer: int) -> None:
    try:
        os.setsid()
        groups.join(one.groups)
        log = os.open(f"{one.own}/log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        kernel.unshare(kernel.NEWNS)
        tree = Tree(Path(one.own) / "root")
        tree.compose(Path(one.own) / "files", one.mounts, host_processes)
        tree.folder(one.folder)
        tree.enter()
        os.chdir(one.folder)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, set())
        if one.user or one.group:
            os.setgroups([])
            os.setgid(one.group)
            os.setuid(one.user)
        os.execvpe(one.command[0], one.command, one.env)
    except BaseException as error:
        # The pipe closes by itself when a program is executed.
        os.write(writer, f"{one.command[0]}: {error}".encode())
    finally:
        os._exit(UNSTARTED)


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


if __name__ == "__main__":
    main()
