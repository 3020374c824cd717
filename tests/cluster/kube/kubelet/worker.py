"""One pod on its way: prepared, started, watched, ended, and gone."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from tests.cluster.kube.kubelet import groups, network, resolve, sandbox, volumes
from tests.cluster.kube.kubelet.api import MERGE, UNANSWERED, ApiError, Object
from tests.cluster.kube.kubelet.environment import MissingError
from tests.cluster.kube.kubelet.status import FINAL, Facts, status

if TYPE_CHECKING:
    from tests.cluster.kube.kubelet.node import Node

TICK_S = 0.2
RETRY_S = 1.0
"""After so long what was missing, or refused, is tried again."""
RENEW_S = 30.0
RESOLVERS = "options timeout:1 attempts:1\n"
LOST = 137
"""Exit code of a container that ended while nobody looked."""


class Worker:
    """Brings one pod about, in a thread of its own.

    Parameters
    ----------
    node : Node
        Whose pod it is.
    pod : Object
        As the API has it.
    """

    def __init__(self, node: Node, pod: Object) -> None:
        self.name = str(pod["metadata"]["name"])
        self.folder = node.pods_folder / str(pod["metadata"]["uid"])
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._node = node
        self._pod = pod
        self._wake = threading.Event()
        self._removed = False
        self._named = False
        self._known = pod.get("status", {}).get("startTime") or _now()
        self._reported: Object | None = None
        self._waiting = ("ContainerCreating", "")
        self._kill_at: float | None = None
        self._renew_at = time.monotonic() + RENEW_S
        self._below = groups.path(pod)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def is_alive(self) -> bool:
        """Whether the pod, or something of it, is still here."""
        return self._thread.is_alive()

    def update(self, pod: Object) -> None:
        """Take what the API says of the pod now."""
        self._pod = pod
        self._wake.set()

    def remove(self) -> None:
        """Take away what is left of a pod that the API does not have any more."""
        self._removed = True
        self._wake.set()

    @property
    def pod(self) -> Object:
        """The pod as the API had it last."""
        return self._pod

    @property
    def address(self) -> str | None:
        """Address of the pod; ``None`` while it has none."""
        if self._pod["spec"].get("hostNetwork"):
            return self._node.settings.address
        with contextlib.suppress(OSError):
            return (self.folder / "address").read_text("ascii")
        return None

    @property
    def _groups(self) -> list[str]:
        with contextlib.suppress(OSError):
            # Of a pod that the API knows no more, only its folder says where it was.
            return [str(Path(one).parent) for one in sandbox.read(self.folder).groups]
        return [f"{top}/{self._below}" for top in self._node.settings.groups]

    def _run(self) -> None:
        while not self._node.stop.is_set():
            pause = TICK_S
            try:
                if self._step():
                    return
            except (MissingError, ValueError, resolve.ImageError) as error:
                kinds = {MissingError: "ContainerCreating", resolve.ImageError: "ErrImagePull"}
                self._waiting = (kinds.get(type(error), "CreateContainerConfigError"), str(error))
                pause = RETRY_S
            except (*UNANSWERED, network.NoAddressError, subprocess.SubprocessError) as error:
                print(f"{self.name}: {error}", file=sys.stderr, flush=True)
                pause = RETRY_S
            self._wake.wait(pause)
            self._wake.clear()

    def _step(self) -> bool:
        pod = self._pod
        if self._removed:
            self._take_away()
            return True
        ending = "deletionTimestamp" in pod["metadata"]
        begun = (self.folder / "sandbox.pid").exists()
        if begun and not self._named:
            self._name()
        over = pod.get("status", {}).get("phase") in FINAL
        if not begun and not ending and not over:
            self._report()
            self._start()
            begun = True
        if ending and begun and self._alive():
            self._end(pod["metadata"].get("deletionGracePeriodSeconds", 30))
        if not over:
            self._report()
        if ending and not self._alive():
            self._take_away()
            self._delete()
            return True
        if begun and not self._alive():
            self._release()
        elif begun and time.monotonic() > self._renew_at:
            self._renew_at = time.monotonic() + RENEW_S
            volumes.renew(pod, self.folder, self._node.sources(pod))
        return False

    def _start(self) -> None:
        pod, node = self._pod, self._node
        if lack := resolve.unsupported(pod):
            raise ValueError(f"not had on a test bed: {', '.join(lack)}")
        self.folder.mkdir(parents=True, exist_ok=True)
        volumes.prepare(pod, self.folder, node.sources(pod))
        own_network = not pod["spec"].get("hostNetwork", False)
        if own_network and self.address is None:
            (self.folder / "address").write_text(node.new_address(), "ascii")
        known = {**pod, "status": {**pod.get("status", {}), **self._addresses()}}
        told = resolve.sandbox(
            known, self.folder, node.settings.images, node.given,
            lambda kind, name: node.texts(pod, kind, name), node.settings.groups,
        )  # fmt: skip
        # Nobody is asked for a name that is not in the other file, and so it is missed at once.
        (self.folder / "resolv.conf").write_text(RESOLVERS, "ascii")
        self._name()
        sandbox.write(told, self.folder)
        self._launch(own_network)

    def _name(self) -> None:
        """Have the names that the pod knows kept up to date."""
        self._named = True
        if not self._pod["spec"].get("hostNetwork") and self.address:
            place = (self.address, resolve.hostname(self._pod), self._pod["metadata"]["namespace"])
            self._node.names.keep(self.folder / "hosts", *place)

    def _launch(self, own_network: bool) -> None:
        with (self.folder / "log").open("ab") as out:
            launched = subprocess.Popen(
                [sys.executable, "-S", "-m", sandbox.__name__, str(self.folder)],
                stdin=subprocess.PIPE, stdout=out, stderr=out, start_new_session=True,
            )  # fmt: skip
        with launched:
            # It ends at once: its child stays.
            launched.wait()
            pid = self._process()
            if pid is None:
                last = (self.folder / "log").read_text("utf-8", "replace").strip()
                raise OSError(f"no sandbox: {last.rpartition(chr(10))[2] or 'it wrote nothing'}")
            try:
                if own_network:
                    network.connect(pid, str(self.address))
            except (OSError, subprocess.SubprocessError):
                groups.kill(self._groups)
                (self.folder / "sandbox.pid").unlink()
                raise
            if launched.stdin is not None:
                launched.stdin.write(b"1")

    def _end(self, grace_s: float) -> None:
        if self._kill_at is None:
            self._kill_at = time.monotonic() + grace_s
            pid = self._process()
            if pid is not None and self._alive():
                os.kill(pid, signal.SIGTERM)
        elif time.monotonic() > self._kill_at:
            # The sandbox goes on, to say how its containers ended.
            told = sandbox.read(self.folder)
            groups.kill([folder for one in told.containers for folder in one.groups])
            if time.monotonic() > self._kill_at + grace_s + RETRY_S:
                groups.kill(self._groups)

    def _report(self) -> None:
        states = sandbox.states(self.folder)
        if (self.folder / "sandbox.pid").exists() and not self._alive():
            # Once more: it may have written between the two.
            states = sandbox.states(self.folder)
            for one in self._pod["spec"]["containers"]:
                state = states.setdefault(one["name"], sandbox.State())
                if state.state != "terminated":
                    state.state, state.exit_code = "terminated", LOST
                    state.reason, state.finished_at = "ContainerStatusUnknown", _now()
        address = self.address or self._pod.get("status", {}).get("podIP")
        facts = Facts(
            self._node.settings.address, address, _now(), self._known, states, *self._waiting
        )
        found = status(self._pod, facts)
        comparable = {
            **found,
            "conditions": [{**c, "lastTransitionTime": ""} for c in found["conditions"]],
        }
        if comparable == self._reported:
            return
        try:
            self._node.api.ask("PATCH", f"{self._path()}/status", {
                "metadata": {"uid": self._pod["metadata"]["uid"]}, "status": found,
            }, kind=MERGE)  # fmt: skip
        except ApiError as error:
            # Another pod of that name, or none, is no longer ours to speak of.
            if error.status not in (404, 409, 422):
                raise
        self._reported = comparable

    def _delete(self) -> None:
        options = {
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": self._pod["metadata"]["uid"]},
        }
        while not self._node.stop.is_set() and not self._removed:
            try:
                self._node.api.ask("DELETE", self._path(), options)
                return
            except ApiError as error:
                if error.status in (404, 409):
                    return
            except UNANSWERED:
                pass
            self._wake.wait(RETRY_S)

    def _release(self) -> None:
        """Give back what a pod that has ended needs no more; its logs stay until it is deleted."""
        if (self.folder / "address").exists():
            network.disconnect(str(self.address))
            (self.folder / "address").unlink()
            self._node.names.forget(self.folder / "hosts")
            groups.kill(self._groups)
            groups.remove(self._groups)

    def _take_away(self) -> None:
        groups.kill(self._groups)
        groups.remove(self._groups)
        self._release()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _alive(self) -> bool:
        return self._process() is not None

    def _process(self) -> int | None:
        try:
            pid, ticks = sandbox.loaded(self.folder / "sandbox.pid")
        except FileNotFoundError:
            return None
        return pid if sandbox.start_ticks(pid) == ticks else None

    def _addresses(self) -> Object:
        return {"podIP": self.address, "hostIP": self._node.settings.address}

    def _path(self) -> str:
        of = self._pod["metadata"]
        return f"/api/v1/namespaces/{of['namespace']}/pods/{of['name']}"


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def leftovers(folder: Path) -> list[Path]:
    """Give the folders of pods that a kubelet left."""
    return sorted(one for one in folder.glob("*") if one.is_dir())
